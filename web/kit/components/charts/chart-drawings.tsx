import { AreaChart, BarChart } from '@mantine/charts'
import '@mantine/charts/styles.layer.css'
import { css, textCss } from '@shopwire/look'
import { Rectangle, type RectangleProps } from 'recharts'

export type ChartTone = 'main' | 'quiet' | 'warn' | 'bad'

export interface ChartShape {
  /** `at` is the label of the point; the other names are those of the series. Unfinished: drawn quietly, such as today. */
  readonly points: readonly (Readonly<Record<string, number | string | boolean>> & {
    readonly at: string
    readonly isUnfinished?: boolean
  })[]
  readonly series: readonly {
    readonly name: string
    readonly label: string
    readonly tone: ChartTone
    readonly count?: string
  }[]
  /** Of a value: money, a count. */
  readonly format: (value: number) => string
  /** Of the axis, where the full form is too long: "$6k". */
  readonly formatAxis?: (value: number) => string
  /** A dashed line with its name: the low-balance mail. */
  readonly threshold?: { readonly value: number; readonly label: string }
  /** Every how many points the horizontal axis has a label. */
  readonly labelEvery?: number
}

const colours: Record<ChartTone, string> = {
  main: css('chartMain'),
  quiet: css('chartQuiet'),
  warn: css('chartWarn'),
  bad: css('chartBad'),
}
const tick = { fontSize: textCss('tick'), fill: css('ink3') }

type DrawingProps = ChartShape & { readonly height: number }

export function BarsDrawing(props: DrawingProps) {
  const { points, series, height } = props
  return (
    <BarChart
      {...common(props, sum)}
      h={height}
      type="stacked"
      data={points.map((point) => ({ ...point }))}
      series={series.map(({ name, label, tone }) => ({ name, label, color: colours[tone] }))}
      maxBarWidth={12}
      barProps={{ isAnimationActive: false, shape: Bar, radius: series.length === 1 ? [2, 2, 0, 0] : 0 }}
    />
  )
}

/** Today is not over: its bar says nothing about the day yet, so it is drawn quietly. */
function Bar(props: RectangleProps & { readonly payload?: { readonly isUnfinished?: boolean } }) {
  return <Rectangle {...props} {...(props.payload?.isUnfinished ? { fill: colours.quiet } : {})} />
}

export function StepAreaDrawing(props: DrawingProps) {
  const { points, series, height, threshold } = props
  return (
    <AreaChart
      {...common(props, highestOf)}
      h={height}
      curveType="stepAfter"
      withDots={false}
      strokeWidth={1.5}
      fillOpacity={0.08}
      withGradient={false}
      data={points.map((point) => ({ ...point }))}
      series={series.map(({ name, label, tone }) => ({ name, label, color: colours[tone] }))}
      areaProps={{ isAnimationActive: false }}
      {...(threshold
        ? {
            referenceLines: [
              {
                y: threshold.value,
                label: threshold.label,
                color: css('warn'),
                strokeDasharray: '3 3',
                labelPosition: 'insideBottomLeft' as const,
              },
            ],
          }
        : {})}
    />
  )
}

/** Bars stand on each other, areas lie over each other. */
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
const highestOf = (values: readonly number[]) => Math.max(0, ...values)

function common(
  { points, series, format, formatAxis, threshold, labelEvery }: ChartShape,
  heightOf: (values: readonly number[]) => number,
) {
  const highest = Math.max(
    threshold?.value ?? 0,
    ...points.map((point) => heightOf(series.map(({ name }) => Number(point[name] ?? 0)))),
  )
  const ticks = ticksUpTo(highest)
  return {
    dataKey: 'at',
    valueFormatter: format,
    accessibilityLayer: false,
    withLegend: false,
    withTooltip: true,
    tooltipAnimationDuration: 0,
    tickLine: 'none' as const,
    gridAxis: 'x' as const,
    gridColor: css('chartGrid'),
    strokeDasharray: '0',
    // One vertical line that is not drawn: without any, recharts measures every label to place them.
    gridProps: { syncWithTicks: true, verticalPoints: [0] },
    textColor: css('ink3'),
    cursorFill: css('hover'),
    yAxisProps: {
      ticks: [...ticks],
      domain: [0, (ticks.at(-1) ?? 1) * 1.02] as [number, number],
      tickFormatter: formatAxis ?? format,
      tick,
      axisLine: false,
      width: 48,
    },
    xAxisProps: {
      tick,
      axisLine: false,
      interval: (labelEvery ?? Math.max(1, Math.ceil(points.length / 6))) - 1,
      tickMargin: 8,
    },
  }
}

/** Three steps to a round number at or above the highest value. */
export function ticksUpTo(highest: number): readonly number[] {
  const step = Math.max(highest, 1) / 3
  const unit = 10 ** Math.floor(Math.log10(step))
  const round = [1, 2, 2.5, 3, 5, 10].map((factor) => factor * unit).find((size) => size >= step) ?? 10 * unit
  const whole = Math.max(1, Math.ceil(round))
  return [0, whole, 2 * whole, 3 * whole]
}
