import { createFulfilment } from '../../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../../src/orders/fulfilment/fulfil-queue.ts'
import type { Clock } from '../../../src/platform/clock.ts'
import { type Db, sql } from '../../../src/platform/database/db.ts'
import type { Keyring } from '../../../src/platform/encryption/encryption.ts'
import { type Job, LeaseLostError, postponeJob } from '../../../src/platform/jobs/jobs.ts'
import type { Log } from '../../../src/platform/observability/log.ts'
import type { Metrics } from '../../../src/programs/metrics.ts'
import type { LinkVault } from '../../../src/supply/gift-link.ts'
import { createObtainer } from '../../../src/supply/obtain.ts'

export interface WorkerDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly vault: LinkVault
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Where a worker is killed: at its n-th use of the database, or when a supplier has answered. */
export type Death =
  | { readonly at: 'database'; readonly n: number; readonly when: 'before' | 'after' }
  | { readonly at: 'answer' }

/** A worker that stops for a while: before its n-th use of the database, or with a supplier's answer in hand. */
export interface Stall {
  readonly at: 'answer' | number
  wait(): Promise<void>
}

class Killed extends Error {
  override readonly name = 'Killed'
}

/** One worker process: its own circuit breakers, and no memory beyond them. */
export function startSimulatedWorker(deps: WorkerDeps) {
  let death: Death | undefined
  let isDead = false
  let uses = 0
  let stall: Stall | undefined

  async function use<Result>(run: () => Promise<Result>): Promise<Result> {
    uses += 1
    if (stall?.at === uses) await stall.wait()
    const isLast = death?.at === 'database' && death.n === uses
    if (isDead || (isLast && death?.at === 'database' && death.when === 'before')) throw new Killed()
    const result = await run()
    if (isLast) throw new Killed()
    return result
  }
  const db: Db = {
    ...deps.db,
    one: (statement) => use(() => deps.db.one(statement)),
    maybeOne: (statement) => use(() => deps.db.maybeOne(statement)),
    many: (statement) => use(() => deps.db.many(statement)),
    run: (statement) => use(() => deps.db.run(statement)),
    transaction: (work) => use(() => deps.db.transaction(work)),
  }
  const obtain = createObtainer({
    ...deps,
    db,
    asksMax: 4,
    async fetch(url, init) {
      const answer = await fetch(url, init)
      // The whole answer has arrived: a stalled worker has it in hand when it goes on.
      const body = await answer.arrayBuffer()
      if (death?.at === 'answer') isDead = true
      if (stall?.at === 'answer') await stall.wait()
      return new Response(body, { status: answer.status })
    },
  })
  const fulfil = createFulfilment({ ...deps, db, obtain })

  return {
    /** Works on an order once, due or not, and takes its job from whoever has it. How it ended, in a word. */
    async work(order_id: string, how: { death?: Death; stall?: Stall } = {}): Promise<string> {
      const job = await deps.db.maybeOne<Job>(sql`
        update jobs
           set leased_until = clock_timestamp() + interval '1 minute',
               attempts = attempts + 1,
               is_woken = false
         where queue = ${FULFIL_QUEUE}
           and subject = ${order_id}
        returning account_id, queue, subject, attempts, created_at, is_failing, is_backlog, failures`)
      if (!job) return 'no job'
      death = how.death
      stall = how.stall
      uses = 0
      try {
        const end = await fulfil(job)
        if (end.kind !== 'done') await postponeJob(deps.db, job, end)
        return end.kind
      } catch (error) {
        if (error instanceof Killed) return 'killed'
        if (error instanceof LeaseLostError) return 'lease lost'
        throw error
      } finally {
        death = undefined
        stall = undefined
        isDead = false
      }
    },
  }
}
