import { describe, expect, test } from 'vitest'
import { bucketQuantileMs } from '../churn/metrics.ts'
import { CELLS } from '../queue/cells.ts'
import { type DoneJob, judge } from '../queue/verdict.ts'

const TIMES = { beforeMs: 0, troubleMs: 5_000, afterMs: 10_000, endMs: 15_000 }
const CHAOS = { kind: 'chaos', isOutage: false, rate: 100 } as const
const PRESSURE = { kind: 'pressure', isOutage: false, rate: 100 } as const

describe('a cell of the queue bench', () => {
  test('passes when every job is done once, at the same rate and in time', () => {
    const jobs = steadily()
    expect(judge(CHAOS, TIMES, numbersOf(jobs), jobs)).toMatchObject({
      before: 100,
      during: 100,
      after: 100,
      ratio: 1,
      startP50Ms: 2,
      startP99Ms: 2,
      lost: 0,
      doneTwice: 0,
      isPassed: true,
    })
  })

  test('fails when one confirmed job was never done', () => {
    const jobs = steadily()
    const outcome = judge(CHAOS, TIMES, new Set([...numbersOf(jobs), 99_999]), jobs)
    expect(outcome).toMatchObject({ lost: 1, isPassed: false })
  })

  test('counts a job that was done again, at its first start', () => {
    const jobs = steadily()
    const again = { ...(jobs[700] as DoneJob), startedMs: 14_000, doneMs: 14_005 }
    expect(judge(CHAOS, TIMES, numbersOf(jobs), [again, ...jobs])).toMatchObject({
      doneTwice: 1,
      startP99Ms: 2,
      isPassed: true,
    })
  })

  test('fails after chaos below 98 % of the rate before, and passes under pressure from 90 %', () => {
    const slower = steadily().filter(({ n }) => n < 500 || n % 20 !== 0)
    expect(judge(CHAOS, TIMES, numbersOf(slower), slower)).toMatchObject({ ratio: 0.95, isPassed: false })
    expect(judge(PRESSURE, TIMES, numbersOf(slower), slower)).toMatchObject({ ratio: 0.95, isPassed: true })
  })

  test('fails when one job in fifty of the trouble starts late, unless the trouble is an outage', () => {
    const late = steadily().map((job) =>
      job.n >= 500 && job.n < 1_000 && job.n % 25 === 0 ? { ...job, startedMs: job.startedMs + 1_000 } : job,
    )
    expect(judge(CHAOS, TIMES, numbersOf(late), late).isPassed).toBe(false)
    expect(judge({ ...CHAOS, isOutage: true }, TIMES, numbersOf(late), late).isPassed).toBe(true)
  })

  test('is one of five chaos and four pressure cells', () => {
    expect(CELLS.map(({ kind }) => kind).sort()).toEqual([
      ...Array(5).fill('chaos'),
      ...Array(4).fill('pressure'),
    ])
  })
})

describe('the quantile of a histogram between two looks', () => {
  const before = new Map([
    [0.005, 10],
    [0.01, 10],
    [Number.POSITIVE_INFINITY, 10],
  ])

  test('is found within its bucket', () => {
    const after = new Map([
      [0.005, 60],
      [0.01, 110],
      [Number.POSITIVE_INFINITY, 110],
    ])
    expect(bucketQuantileMs(before, after, 0.25)).toBeCloseTo(2.5)
    expect(bucketQuantileMs(before, after, 0.75)).toBeCloseTo(7.5)
  })

  test('is at least the last bound when it lies beyond it', () => {
    const after = new Map([
      [0.005, 10],
      [0.01, 10],
      [Number.POSITIVE_INFINITY, 110],
    ])
    expect(bucketQuantileMs(before, after, 0.5)).toBe(10)
  })
})

/** A job every ten milliseconds, started after 2 ms and done after 5. */
function steadily(): DoneJob[] {
  return Array.from({ length: 1_500 }, (_, n) => ({
    n,
    insertedMs: 10 * n,
    startedMs: 10 * n + 2,
    doneMs: 10 * n + 5,
  }))
}

function numbersOf(jobs: readonly DoneJob[]): Set<number> {
  return new Set(jobs.map(({ n }) => n))
}
