import { IconCheck } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Tone } from './status.tsx'
import classes from './timeline.module.css'

export interface Station {
  readonly key: string
  /** Elapsed time or clock, on the left. */
  readonly when?: ReactNode
  readonly icon?: ReactNode
  readonly tone?: Tone | 'accent'
  readonly title: ReactNode
  readonly note?: ReactNode
  /** A code or an amount, on the right. */
  readonly outcome?: ReactNode
}

/** Between two stations far apart: "9 minutes with nothing to report". */
export interface Quiet {
  readonly key: string
  readonly quiet: ReactNode
}

/** What happened, in order, along one line. */
export function Timeline({
  label,
  stations,
}: {
  readonly label: string
  readonly stations: readonly (Station | Quiet)[]
}) {
  return (
    <ol className={classes.timeline} aria-label={label}>
      {stations.map((station) =>
        'quiet' in station ? (
          <li key={station.key} className={classes.quiet}>
            {station.quiet}
          </li>
        ) : (
          <li key={station.key} className={classes.station} data-tone={station.tone}>
            <span className={classes.when}>{station.when}</span>
            <span className={classes.stop} aria-hidden>
              {station.icon ?? <span className={classes.dot} />}
            </span>
            <div className={classes.what}>
              <div className={classes.title}>{station.title}</div>
              {station.note ? <div className={classes.note}>{station.note}</div> : null}
            </div>
            {station.outcome ? <span className={classes.outcome}>{station.outcome}</span> : null}
          </li>
        ),
      )}
    </ol>
  )
}

export interface Step {
  readonly key: string
  readonly state: 'done' | 'now' | 'later'
  readonly title: ReactNode
  readonly aside?: ReactNode
  readonly children?: ReactNode
}

/** The same line as a checklist: done, the one to do now, and what follows. */
export function Steps({ label, steps }: { readonly label: string; readonly steps: readonly Step[] }) {
  return (
    <ol className={classes.steps} aria-label={label}>
      {steps.map(({ key, state, title, aside, children }, index) => (
        <li
          key={key}
          className={classes.step}
          data-state={state}
          aria-current={state === 'now' ? 'step' : undefined}
        >
          <span className={classes.number}>
            {state === 'done' ? <IconCheck size={14} aria-label="Done" /> : index + 1}
          </span>
          <div className={classes.stepBody}>
            <div className={classes.stepHead}>
              <span className={classes.title}>{title}</span>
              {aside ? <span className={classes.note}>{aside}</span> : null}
            </div>
            {children}
          </div>
        </li>
      ))}
    </ol>
  )
}
