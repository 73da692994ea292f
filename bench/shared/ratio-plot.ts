/** A figure of a bench that says how much of something simpler the service reaches. */
interface Ratio {
  readonly bench: string
  readonly figure: string
  readonly label: string
}

const RATIOS: readonly Ratio[] = [
  { bench: 'orders', figure: 'ratio', label: 'orders, of the bare statement one at a time' },
  { bench: 'orders', figure: 'ratio_postgres', label: 'the same, without Redis' },
  { bench: 'orders', figure: 'ratio_endpoints', label: 'the same, buyers with webhooks' },
  { bench: 'orders', figure: 'of_batched_bare', label: 'orders, of the bare statement, 16 a call' },
  { bench: 'reads', figure: 'ratio_postgres', label: 'reads without Redis, of the floor' },
  { bench: 'reads', figure: 'ratio_redis', label: 'reads with Redis, of the floor' },
  { bench: 'webhooks', figure: 'ratio_fair', label: 'deliveries, of a durable loop' },
  { bench: 'webhooks', figure: 'ratio', label: 'deliveries, of a loop without records' },
]
const WIDTH = 760
const LEFT = 310
const RIGHT = 70
const TOP = 56
const ROW = 30
const BAR = 16

/** One bar per ratio, and a line at one: what PostgreSQL or a loop without the service does. */
export function plotRatios(figures: Readonly<Record<string, Readonly<Record<string, unknown>>>>): string {
  const rows = RATIOS.flatMap(({ bench, figure, label }) => {
    const value = figures[bench]?.[figure]
    return typeof value === 'number' ? [{ bench, label, value }] : []
  })
  const most = Math.max(1, ...rows.map(({ value }) => value))
  const x = (value: number) => Math.round(LEFT + (value / most) * (WIDTH - LEFT - RIGHT))
  const bottom = TOP + rows.length * ROW
  const bars = rows.map(({ bench, label, value }, n) => {
    const y = TOP + n * ROW
    return `<text x="${LEFT - 10}" y="${y + 18}" text-anchor="end">${label}</text><rect class="${bench}" x="${LEFT}" y="${y + 6}" width="${x(value) - LEFT}" height="${BAR}"/><text x="${x(value) + 6}" y="${y + 18}">${value.toFixed(2)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 30}" role="img" aria-labelledby="title">
<title id="title">Speed of the service compared with the bare engine</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .heading { font-size: 16px; font-weight: 600 }
  .one { stroke: #1f2328; stroke-dasharray: 4 3 }
  .orders { fill: #54aeff }
  .reads { fill: #4ac26b }
  .webhooks { fill: #bf5b04 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .one { stroke: #e6edf3 }
  }
</style>
<text class="heading" x="16" y="26">Speed, the bare engine being 1</text>
${bars.join('\n')}
<line class="one" x1="${x(1)}" x2="${x(1)}" y1="${TOP - 6}" y2="${bottom + 6}"/><text x="${x(1)}" y="${bottom + 22}" text-anchor="middle">1</text>
</svg>
`
}
