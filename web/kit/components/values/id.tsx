import { AppLink } from './app-link.tsx'
import { CopyButton } from './copy-button.tsx'
import classes from './id.module.css'

/** Ids share their beginning, which is a time; what tells them apart is at the end. */
const TAIL = 6

interface IdProps {
  readonly id: string
  /** `full`, or `ord_…cs268m` where room is short. */
  readonly as?: 'full' | 'short'
  readonly to?: string
  /** A copy button; in tables on hover and focus. The key `c` copies the id of the current row. */
  readonly canCopy?: boolean
  /** What it is the id of, for the name of the button. */
  readonly what?: string
}

export function Id({ id, as = 'full', to, canCopy = false, what = 'id' }: IdProps) {
  const prefix = id.slice(0, id.indexOf('_') + 1)
  const head = as === 'full' ? id.slice(0, -TAIL) : `${prefix}…`
  const text = (
    <span className={classes.text}>
      <span className={classes.head}>{head}</span>
      <span className={classes.tail}>{id.slice(-TAIL)}</span>
    </span>
  )
  return (
    <span className={classes.id} title={as === 'short' ? id : undefined}>
      {to === undefined ? (
        text
      ) : (
        <AppLink to={to} className={classes.link}>
          {text}
        </AppLink>
      )}
      {canCopy ? <CopyButton text={id} what={what} className={classes.copy} /> : null}
    </span>
  )
}
