import { median } from '../shared/figures.ts'
import type { ShopSize } from '../shared/seed.ts'

/** All times of one operation in both shops. */
export interface Measured {
  readonly name: string
  /** In the last line of the bench. */
  readonly field: string
  readonly smallMs: readonly number[]
  readonly largeMs: readonly number[]
}

const WIDTH = 760
const LEFT = 190
const RIGHT = 150
const TOP = 84
const ROW = 46
const BAR = 14

/**
 * Two bars per operation, on a scale of powers of ten: the quickest and the slowest are three of those apart. Text and lines
 * take the colour of the reader's theme.
 */
export function plot(measured: readonly Measured[], small: ShopSize, large: ShopSize): string {
  const rows = measured.map(({ name, smallMs, largeMs }) => ({
    name,
    small: median(smallMs),
    large: median(largeMs),
  }))
  const all = rows.flatMap(({ small, large }) => [small, large])
  const from = Math.floor(Math.log10(Math.min(...all)))
  const to = Math.ceil(Math.log10(Math.max(...all)))
  const x = (ms: number) =>
    Math.round(LEFT + ((Math.log10(ms) - from) / (to - from)) * (WIDTH - LEFT - RIGHT))
  const height = TOP + rows.length * ROW + 34
  const bottom = height - 34
  const ticks = Array.from({ length: to - from + 1 }, (_, n) => 10 ** (from + n))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<title id="title">Median time of one answer in a small and a large shop</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .heading { font-size: 16px; font-weight: 600 }
  .grid { stroke: #1f2328; stroke-opacity: .2 }
  .small { fill: #54aeff }
  .large { fill: #bf5b04 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .grid { stroke: #e6edf3 }
    .small { fill: #79c0ff }
    .large { fill: #f0883e }
  }
</style>
<text class="heading" x="16" y="26">Median time of one answer, one request at a time, in ms</text>
${legend('small', small, 46)}
${legend('large', large, 64)}
${ticks.map((ms) => `<line class="grid" x1="${x(ms)}" x2="${x(ms)}" y1="${TOP - 4}" y2="${bottom}"/><text x="${x(ms)}" y="${bottom + 18}" text-anchor="middle">${ms}</text>`).join('\n')}
${rows.map((row, n) => bars(row, TOP + n * ROW, x, LEFT)).join('\n')}
</svg>
`
}

function legend(side: 'small' | 'large', { accounts, orders, items }: ShopSize, y: number): string {
  const [a, o, i] = [accounts, orders, items].map((count) => count.toLocaleString('en'))
  return `<rect class="${side}" x="16" y="${y - 10}" width="12" height="12"/><text x="34" y="${y}">${a} accounts, ${o} orders, ${i} items</text>`
}

function bars(
  { name, small, large }: { name: string; small: number; large: number },
  y: number,
  x: (ms: number) => number,
  left: number,
): string {
  const bar = (side: 'small' | 'large', ms: number, top: number, note = '') =>
    `<rect class="${side}" x="${left}" y="${top}" width="${x(ms) - left}" height="${BAR}"/><text x="${x(ms) + 6}" y="${top + 12}">${ms.toFixed(2)}${note}</text>`
  return [
    `<text x="${left - 10}" y="${y + 22}" text-anchor="end">${name}</text>`,
    bar('small', small, y + 4),
    bar('large', large, y + 4 + BAR, ` (× ${(large / small).toFixed(2)})`),
  ].join('\n')
}
