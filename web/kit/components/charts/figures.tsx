import type { ReactNode } from 'react'
import classes from './figures.module.css'

interface FigureProps {
  readonly label: string
  /** Usually a number, or <Money as="headline">. */
  readonly value: ReactNode
  readonly unit?: string
  /** A small picture: days left, today by hour. */
  readonly picture?: ReactNode
  readonly note?: ReactNode
  /** Takes the room of two, for the balance. */
  readonly isWide?: boolean
}

/** One row of figures between two hairlines. Never boxes. */
export function Figures({ children }: { readonly children: ReactNode }) {
  return <dl className={classes.figures}>{children}</dl>
}

export function Figure({ label, value, unit, picture, note, isWide = false }: FigureProps) {
  return (
    <div className={classes.figure} data-wide={isWide || undefined}>
      <dt className={classes.label}>{label}</dt>
      <dd>
        <div className={classes.value}>
          <span>{value}</span>
          {unit ? <span className={classes.unit}>{unit}</span> : null}
        </div>
        {picture ? <div className={classes.picture}>{picture}</div> : null}
        {note ? <div className={classes.note}>{note}</div> : null}
      </dd>
    </div>
  )
}
