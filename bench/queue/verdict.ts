import { median, quantile } from '../shared/figures.ts'
import type { Cell } from './cells.ts'

/** One row of the table `done`; all times in milliseconds since 1970. */
export interface DoneJob {
  readonly n: number
  readonly insertedMs: number
  readonly startedMs: number
  readonly doneMs: number
}

/** When the parts of a cell began, and when the last one ended. */
export interface Timeline {
  readonly beforeMs: number
  readonly troubleMs: number
  readonly afterMs: number
  readonly endMs: number
}

export interface Outcome {
  /** Jobs done per second. */
  readonly before: number
  readonly during: number
  /** Not a number when a cell ends with the trouble. */
  readonly after: number
  /** Of the rate that counts to the rate before. */
  readonly ratio: number
  readonly startP50Ms: number
  readonly startP99Ms: number
  /** Inserted for certain and never done. */
  readonly lost: number
  readonly doneTwice: number
  readonly isPassed: boolean
}

const RATIO_MIN = { chaos: 0.98, pressure: 0.9 } as const
const START_P99_MS_MAX = 250
const SAMPLE_MS = 1_000

/**
 * What happened to the jobs of a cell. After chaos the rate has to be as before, under pressure it has to stay. Start delays are those
 * of jobs inserted during the trouble and after it, unless the trouble is an outage: then after it.
 */
export function judge(
  { kind, isOutage, rate }: Pick<Cell, 'kind' | 'isOutage' | 'rate'>,
  { beforeMs, troubleMs, afterMs, endMs }: Timeline,
  inserted: ReadonlySet<number>,
  rows: readonly DoneJob[],
): Outcome {
  const first = new Map<number, DoneJob>()
  for (const row of rows) {
    const known = first.get(row.n)
    if (!known || row.startedMs < known.startedMs) first.set(row.n, row)
  }
  const jobs = [...first.values()]
  const before = rateBetween(jobs, beforeMs, troubleMs)
  const during = rateBetween(jobs, troubleMs, afterMs)
  const after = kind === 'chaos' ? rateBetween(jobs, afterMs, endMs) : Number.NaN
  // More jobs than were offered can only have been done because some were left from the warm-up.
  const ratio = (kind === 'chaos' ? after : during) / Math.min(before, rate)
  const fromMs = isOutage ? afterMs : troubleMs
  const delays = jobs
    .filter(({ insertedMs }) => insertedMs >= fromMs && insertedMs < endMs)
    .map(({ startedMs, insertedMs }) => startedMs - insertedMs)
  const startP99Ms = delays.length === 0 ? Number.POSITIVE_INFINITY : quantile(delays, 0.99)
  const lost = [...inserted].filter((n) => !first.has(n)).length
  return {
    before,
    during,
    after,
    ratio,
    startP50Ms: delays.length === 0 ? Number.POSITIVE_INFINITY : quantile(delays, 0.5),
    startP99Ms,
    lost,
    doneTwice: rows.length - first.size,
    isPassed: lost === 0 && ratio >= RATIO_MIN[kind] && startP99Ms < START_P99_MS_MAX,
  }
}

/** The median over samples of about a second. */
function rateBetween(jobs: readonly DoneJob[], fromMs: number, toMs: number): number {
  const samples = Math.max(1, Math.floor((toMs - fromMs) / SAMPLE_MS))
  const sampleMs = (toMs - fromMs) / samples
  const counts = Array<number>(samples).fill(0)
  for (const { doneMs } of jobs) {
    const sample = Math.floor((doneMs - fromMs) / sampleMs)
    if (sample >= 0 && sample < samples) counts[sample] = (counts[sample] ?? 0) + 1
  }
  return (median(counts) * 1_000) / sampleMs
}
