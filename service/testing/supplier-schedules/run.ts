import { randomBytes } from 'node:crypto'
import type { ProvisionedDatabase } from '@shopwire/test-kit/servers'
import { INVARIANTS } from '../../src/installation.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { type Db, openDatabase } from '../../src/platform/database/db.ts'
import { localKeks, openKeyring } from '../../src/platform/encryption/encryption.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'
import { randomOf } from '../random.ts'
import { type Lane, runSchedule, ScheduleFailed } from './schedule.ts'
import { startSimulatedSuppliers } from './suppliers.ts'

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
const BALANCE_CENTS = 100_000_000

/**
 * Runs seeded schedules, several lanes side by side, each on databases of its own. Fails with the seed and the steps of the first schedule
 * after which the suppliers' records, ours and the rules do not agree.
 */
export async function runSchedules(run: ScheduleRun): Promise<void> {
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

const log = createLog('silent')
const metrics = createMetrics('test')

function open(url: string): Db {
  return openDatabase(
    {
      url,
      application_name: 'schedules',
      connectionsMax: 4,
      connectMsMax: 30_000,
      statementMsMax: 30_000,
      lockMsMax: 10_000,
      namedStatements: true,
    },
    () => {},
  )
}

async function openLane({
  processUrls,
}: ProvisionedDatabase): Promise<{ lane: Lane; close(): Promise<void> }> {
  const worker = open(processUrls.worker)
  const admin = open(processUrls.operator)
  const keyring = openKeyring(localKeks(new Map([['test', randomBytes(32)]]), 'test'))
  let aheadMs = 0
  const clock = {
    nowMs: () => Date.now() + aheadMs,
    advance(ms: number) {
      aheadMs += ms
    },
  }
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const silent = { announce: async () => {} } as never
  const operator = createOperator(
    { db: admin, keyring, clock, cell: 'c1', admission: async () => silent },
    'schedules',
  )
  const { id: account_id } = await operator.createAccount('Schedules')
  await operator.fundAccount(account_id, { amount_cents: BALANCE_CENTS, reference: 'opening' })
  const suppliers = await startSimulatedSuppliers()
  return {
    lane: { db: worker, admin, keyring, vault, clock, log, metrics, operator, account_id, suppliers },
    async close() {
      await suppliers.close()
      await Promise.all([worker.close(), admin.close()])
    },
  }
}
