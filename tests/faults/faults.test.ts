import { expect, test } from 'vitest'
import { runFaults } from './faults.ts'
import { KINDS } from './kinds.ts'

const SECONDS = 60

test.for([1, 2])(
  '60 s of random faults from seed %i leave no order lost or doubled, and no rule violated',
  {
    timeout: 300_000,
  },
  async (seed) => {
    const report = await runFaults(
      {
        seed,
        seconds: SECONDS,
        orders: Number.MAX_SAFE_INTEGER,
        accounts: 100,
        every: 3,
        kinds: Object.keys(KINDS),
        admission: seed % 2 === 0 ? 'postgres' : 'redis',
        batching: seed % 2 === 0 ? 'adaptive' : 'always',
        worker: true,
      },
      () => {},
    )
    expect(report.wrong).toEqual([])
    expect(report.orders).toBeGreaterThan(SECONDS)
    const broken = Object.values(report.broken).reduce((sum, times) => sum + times, 0)
    expect(broken).toBeGreaterThanOrEqual(5)
  },
)
