import { median, quantile, rounded, say } from '../shared/figures.ts'
import { bucketQuantileMs } from './metrics.ts'
import type { Sample } from './probe.ts'

/** What was measured while the orders were placed; lists by third have one entry for each. */
export interface Measured {
  readonly orders: number
  readonly thirds: readonly string[]
  readonly secondsByThird: readonly number[]
  readonly deadJobsByThird: readonly number[]
  /** Histograms of claim times: at the beginning, and at the end of each third. */
  readonly claims: readonly ReadonlyMap<number, number>[]
  readonly status: readonly Sample[]
  readonly order: readonly Sample[]
}

const NAME_WIDTH = 30
const HEADINGS = [
  'orders/s',
  '   claim p50   p99 ms',
  '   status p50   p99 ms',
  '   order p50   p99 ms',
  '   dead jobs',
].join('')

/** Prints the table and returns the figures of the last line. */
export function report(measured: Measured): Record<string, number> {
  const { orders, thirds, secondsByThird, deadJobsByThird, claims, status, order } = measured
  const within = (samples: readonly Sample[], from: number, to: number) =>
    samples.filter(({ placed }) => placed >= from * orders && placed <= to * orders).map(({ ms }) => ms)
  const claimMs = (from: number, to: number, share: number) =>
    bucketQuantileMs(claims[from] ?? new Map(), claims[to] ?? new Map(), share)
  const pair = (p50: number, p99: number, width: number) =>
    p50.toFixed(1).padStart(width) + p99.toFixed(1).padStart(9)
  const both = (samples: readonly number[], width: number) =>
    pair(quantile(samples, 0.5), quantile(samples, 0.99), width)

  say(`\n${''.padEnd(NAME_WIDTH)}${HEADINGS}`)
  for (const [n, name] of thirds.entries()) {
    const part = [n / thirds.length, (n + 1) / thirds.length] as const
    say(
      [
        name.padEnd(NAME_WIDTH),
        (orders / thirds.length / (secondsByThird[n] ?? 0)).toFixed(0).padStart(8),
        pair(claimMs(n, n + 1, 0.5), claimMs(n, n + 1, 0.99), 12),
        both(within(status, ...part), 13),
        both(within(order, ...part), 12),
        String(deadJobsByThird[n]).padStart(12),
      ].join(''),
    )
  }
  const [atFirst, atLast] = [median(within(order, 0.01, 0.1)), median(within(order, 0.9, 1))]
  say(`order p50 ${atFirst.toFixed(1)} ms in the first tenth, ${atLast.toFixed(1)} ms in the last`)
  return {
    take_p99_ms: rounded(claimMs(0, thirds.length, 0.99), 1),
    status_p99_ms: rounded(
      quantile(
        status.map(({ ms }) => ms),
        0.99,
      ),
      1,
    ),
    order_p50_ratio: rounded(atLast / atFirst, 2),
  }
}
