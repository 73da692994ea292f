import type { ProvisionedDatabase } from '@shopwire/test-kit/servers'
import { INVARIANTS } from '../../src/installation.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import type { Db } from '../../src/platform/database/db.ts'
import { type Random, randomOf } from '../random.ts'
import { ScheduleFailed } from './schedule-failed.ts'

/** What is simulated. */
export interface Simulation<Lane extends { readonly admin: Db }> {
  openLane(database: ProvisionedDatabase): Promise<{ lane: Lane; close(): Promise<void> }>
  /** The nth schedule; it throws ScheduleFailed. */
  runSchedule(lane: Lane, n: number, random: Random): Promise<void>
}

export interface ScheduleRun {
  readonly schedules: number
  /** Of the first schedule; each of the others has the next number. */
  readonly seed: number
  readonly lanes: number
  /** A new, migrated, empty database. */
  newDatabase(): Promise<ProvisionedDatabase & { drop(): Promise<void> }>
  onProgress?(done: number): void
}

/** Schedules in one database. */
const BATCH = 100
/** Between two checks of all rules, which read whole tables. What breaks a rule stays, so the next check finds it. */
const CHECK_EVERY = 20

/**
 * Runs seeded schedules, several lanes side by side, each on databases of its own. Fails with the seed and the steps of the first schedule
 * that leaves something it does not allow, or violates a rule.
 */
export async function runSchedules<Lane extends { readonly admin: Db }>(
  { openLane, runSchedule }: Simulation<Lane>,
  run: ScheduleRun,
): Promise<void> {
  const rules = await readRules(INVARIANTS)
  let next = 0
  let done = 0

  async function runBatch(from: number, until: number, checkEvery: number): Promise<void> {
    const database = await run.newDatabase()
    const { lane, close } = await openLane(database)
    try {
      for (let n = from; n < until; n += 1) {
        try {
          await runSchedule(lane, n, randomOf(run.seed + n))
        } catch (error) {
          throw new ScheduleFailed(`seed ${run.seed + n}: ${(error as Error).message}`)
        }
        if ((n + 1 - from) % checkEvery === 0 || n + 1 === until) await check(lane.admin, n)
        if (checkEvery === 1) continue
        done += 1
        run.onProgress?.(done)
      }
    } finally {
      await close()
      await database.drop()
    }
  }

  async function check(db: Db, n: number): Promise<void> {
    const findings = await verifyData(db, rules, () => {})
    const violated = findings.filter(({ violations }) => violations > 0)
    if (violated.length === 0) return
    const named = violated.map(({ rule, what, ids }) => `${rule} (${what}): ${ids.join(', ')}`)
    throw new RuleViolated(
      `seed ${run.seed + n}, or one of the ${CHECK_EVERY} before it: ${named.join('; ')}`,
    )
  }

  async function work(): Promise<void> {
    while (next < run.schedules) {
      const [from, until] = [next, Math.min(next + BATCH, run.schedules)]
      next = until
      try {
        await runBatch(from, until, CHECK_EVERY)
      } catch (error) {
        next = run.schedules
        if (!(error instanceof RuleViolated)) throw error
        // Once more with a check after each schedule, to name the one.
        await runBatch(from, until, 1)
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: run.lanes }, work))
}

class RuleViolated extends Error {
  override readonly name = 'RuleViolated'
}
