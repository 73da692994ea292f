import classes from './sparkline.module.css'

export interface Tick {
  readonly value: number
  readonly tone?: 'quiet' | 'ink' | 'warn' | 'bad' | 'off'
}

interface SparklineProps {
  readonly ticks: readonly Tick[]
  /** What it shows, in words: the picture itself is hidden from screen readers. */
  readonly label: string
  readonly width?: number
  readonly height?: number
  /** `bars`: heights. `ticks`: equal heights, colours only, such as days left or hours of health. */
  readonly as?: 'bars' | 'ticks'
  /** As wide as its place. */
  readonly isFluid?: boolean
}

const GAP = 1.5

/** Plain SVG rectangles. */
export function Sparkline({
  ticks,
  label,
  width = 140,
  height = 22,
  as = 'bars',
  isFluid = false,
}: SparklineProps) {
  const top = Math.max(1, ...ticks.map(({ value }) => value))
  const step = width / Math.max(1, ticks.length)
  return (
    <svg
      className={classes.sparkline}
      viewBox={`0 0 ${width} ${height}`}
      width={isFluid ? '100%' : width}
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {ticks.map(({ value, tone = 'quiet' }, index) => {
        const tall = as === 'ticks' ? height : value === 0 ? 1 : Math.max(2, (value / top) * height)
        return (
          <rect
            key={index}
            x={index * step}
            y={height - tall}
            width={Math.max(1, step - GAP)}
            height={tall}
            rx={as === 'ticks' ? 1.5 : 0.5}
            data-tone={value === 0 && as === 'bars' ? 'off' : tone}
          />
        )
      })}
    </svg>
  )
}
