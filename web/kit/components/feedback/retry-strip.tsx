import classes from './retry-strip.module.css'

export type RetryState = 'failed' | 'accepted' | 'next' | 'later'

/** When the attempts of one event happen, counted from the first. */
const LABELS = ['0', '1m', '3m', '7m', '15m', '31m', '1h03', '2h03', '3h03', '4h03', '5h03', '6h03'] as const
const said: Record<RetryState, string> = {
  failed: 'failed',
  accepted: 'accepted',
  next: 'next',
  later: 'to come',
}

/** The twelve attempts of an event, as one line. Without states: the schedule itself. */
export function RetryStrip({ states }: { readonly states: readonly RetryState[] }) {
  return (
    <ol className={classes.strip} aria-label="Attempts">
      {LABELS.map((label, index) => {
        const state = states[index] ?? 'later'
        return (
          <li key={label} className={classes.attempt} data-state={state}>
            <span className={classes.mark} aria-hidden>
              {state === 'failed' ? '×' : state === 'accepted' ? '✓' : ''}
            </span>
            <span className={classes.label}>{label}</span>
            <span className="sw-hidden">{said[state]}</span>
          </li>
        )
      })}
    </ol>
  )
}
