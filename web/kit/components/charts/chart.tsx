import { Skeleton, Table } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { words } from '../../words.ts'
import classes from './chart.module.css'
import type { ChartShape } from './chart-drawings.tsx'

// recharts is 119 kB gzipped: it loads after the screen, into a place of the right height. Without it the numbers are in the table.
const loadDrawings = () =>
  import('./chart-drawings.tsx').catch(() => ({ BarsDrawing: NotDrawn, StepAreaDrawing: NotDrawn }))
const NotDrawn = (_shape: ChartShape & { readonly height: number }) => (
  <p className="sw-quiet">{words.failures.didNotLoad(words.chart)}</p>
)
const Bars = lazy(async () => ({ default: (await loadDrawings()).BarsDrawing }))
const StepArea = lazy(async () => ({ default: (await loadDrawings()).StepAreaDrawing }))

interface ChartProps extends ChartShape {
  readonly kind: 'bars' | 'step-area'
  readonly title: string
  /** One sentence that says what the picture shows, for who cannot see it. */
  readonly summary: string
  /** On the right of the title: a sum, or nothing for the legend. */
  readonly aside?: ReactNode
  readonly withLegend?: boolean
  readonly height?: number
}

/** A chart with its title, legend in words, and the same numbers as a table. */
export function Chart({
  kind,
  title,
  summary,
  aside,
  withLegend = false,
  height = 190,
  ...shape
}: ChartProps) {
  const [isTable, setTable] = useState(false)
  const Drawing = kind === 'bars' ? Bars : StepArea
  const placeholder = <Skeleton height={height} radius="sm" animate={false} className={classes.placeholder} />
  useEffect(() => void loadDrawings(), [])
  return (
    <figure className={classes.chart}>
      <figcaption className={classes.head}>
        <h2 className={classes.title}>{title}</h2>
        <div className={classes.aside}>
          {withLegend ? <Legend series={shape.series} /> : null}
          {aside}
          <button type="button" className={classes.toggle} onClick={() => setTable(!isTable)}>
            {isTable ? words.asChart : words.asTable}
          </button>
        </div>
      </figcaption>
      {isTable ? (
        <ChartTable title={title} height={height} {...shape} />
      ) : (
        <div role="img" aria-label={summary} style={{ height }}>
          <Suspense fallback={placeholder}>
            {/* An empty drawing while the numbers are on their way would take as long as the real one. */}
            {shape.points.length === 0 ? placeholder : <Drawing {...shape} height={height} />}
          </Suspense>
        </div>
      )}
    </figure>
  )
}

function Legend({ series }: Pick<ChartShape, 'series'>) {
  return (
    <ul className={classes.legend}>
      {series.map(({ name, label, tone, count }) => (
        <li key={name}>
          <span className={classes.swatch} data-tone={tone} aria-hidden />
          {label} {count}
        </li>
      ))}
    </ul>
  )
}

function ChartTable({
  title,
  points,
  series,
  format,
  height,
}: ChartShape & { readonly title: string; readonly height: number }) {
  return (
    // it scrolls, so it must be reachable by keyboard
    <div
      className={classes.table}
      style={{ maxHeight: Math.max(height, 240) }}
      tabIndex={0}
      role="group"
      aria-label={title}
    >
      <Table>
        <caption className="sw-hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="sw-hidden">When</span>
            </th>
            {series.map(({ name, label }) => (
              <th key={name} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.at}>
              <th scope="row">{point.at}</th>
              {series.map(({ name }) => (
                <td key={name}>{format(Number(point[name] ?? 0))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  )
}
