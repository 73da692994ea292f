import { composeEvent } from '../../../src/orders/fulfilment/compose-event.ts'
import { createFulfilment } from '../../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../../src/orders/fulfilment/fulfil-queue.ts'
import { type Place, placeInBatches } from '../../../src/orders/placing/order-batches.ts'
import type { BatchingMode } from '../../../src/platform/batching/batched.ts'
import type { Clock } from '../../../src/platform/clock.ts'
import { type Db, sql } from '../../../src/platform/database/db.ts'
import type { JobEnd } from '../../../src/platform/jobs/job-runner.ts'
import { type Job, LeaseLostError, postponeJob } from '../../../src/platform/jobs/jobs.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'
import { createDelivery } from '../../../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../../../src/webhooks/deliver-queue.ts'
import type { SimulatedStore } from '../store.ts'
import { type FaultyDatabase, faultyDatabase, Killed } from './faulty-database.ts'
import { postTo } from './receiver.ts'

/** A process of the store: its clock may be wrong, and its database may fail it. */
export interface Process extends Omit<FaultyDatabase, 'db'> {
  readonly clock: Clock
}

export interface Api extends Process {
  readonly place: Place
}

export interface Worker extends Process {
  /** Works on these orders side by side, due or not, and takes their jobs from whoever has them. How each ended, in a word. */
  fulfil(orders: readonly string[]): Promise<string[]>
  /** The same for the events that are due to these endpoints. */
  announce(endpoints: readonly string[]): Promise<string[]>
}

export function startApi(store: SimulatedStore, mode: BatchingMode, clock: Clock): Api {
  const { db, ...faults } = faultyDatabase(store.api)
  return { ...faults, clock, place: placeInBatches(db, { mode }) }
}

export function startWorker(store: SimulatedStore, clock: Clock): Worker {
  const { keyring, vault, log, metrics } = store
  const { db, ...faults } = faultyDatabase(store.worker)
  const obtain = async () => {
    throw new Error('no item has a supplier')
  }
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain })
  const deliver = createDelivery({
    ...{ db, keyring, clock, log, metrics, random: Math.random },
    openClient: (url) => ({ post: (headers, body) => postTo(url, headers, body), close: async () => {} }),
    notify: async () => {},
    compose: (event) => composeEvent(db, vault, event),
  })

  async function work(
    queue: string,
    subjects: readonly string[],
    run: (job: Job) => Promise<JobEnd>,
  ): Promise<string[]> {
    const one = async (job: Job) => {
      const end = await run(job)
      if (end.kind !== 'done' && !faults.isDead()) await postponeJob(store.worker, job, end)
      return end.kind
    }
    try {
      const jobs = await takeJobs(store.worker, queue, subjects)
      return await Promise.all(jobs.map((job) => one(job).catch(troubleOf)))
    } catch (error) {
      return [troubleOf(error)]
    }
  }

  return {
    ...faults,
    clock,
    fulfil: (orders) => work(FULFIL_QUEUE, orders, (job) => fulfil(job)),
    announce: (endpoints) => work(DELIVER_QUEUE, endpoints, deliver),
  }
}

/** What a job runner survives; anything else is a defect. */
export function troubleOf(error: unknown): string {
  if (error instanceof Killed || error instanceof LeaseLostError) return error.name
  if (error instanceof Unavailable) return error.reason
  throw error
}

const takeJobs = (db: Db, queue: string, subjects: readonly string[]) =>
  db.many<Job>(sql`
    update jobs
       set leased_until = clock_timestamp() + interval '1 minute',
           attempts = attempts + 1,
           is_woken = false
     where queue = ${queue}
       and subject = any(${subjects})
    returning account_id, queue, subject, attempts, created_at, is_failing, is_backlog, failures`)
