import { WEBHOOK_HORIZON_S, WEBHOOK_TIMEOUT_MS_MAX } from '@shopwire/contract'
import { batched } from '../platform/batching/batched.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { JobEnd } from '../platform/jobs/job-runner.ts'
import { finishJob, type Job, lockLease } from '../platform/jobs/jobs.ts'
import { attemptInSpan } from './attempt.ts'
import { type DeliverDeps, type DeliveryRoute, type Shared, secretOpener, watch } from './delivery-deps.ts'
import {
  type Attempt,
  type DueDelivery,
  type EndpointKey,
  endDeliverJobs,
  giveUpDeliveries,
  type Look,
  recordAttempts,
  selectDestinations,
  selectDue,
  selectNext,
} from './delivery-queries.ts'

/** For one endpoint, whatever the number of workers: one worker at a time has its job. */
const ATTEMPTS_AT_ONCE = 4
/** Read together, sent four at a time. */
const LOOK_AHEAD = 64
const SUSPENDED_WAIT_MS = 60_000
const BATCH_MAX = 256
/** Endpoints that are looked at together; each may bring as many events as are read ahead. */
const LOOKS_MAX = 32
/** An event that arrives while others are being sent waits no longer than this, however long their answers take. */
const LOOK_EVERY_MS = 1_000

/**
 * Delivers the due events of one endpoint, the subject of the job. No transaction is open while the receiver answers.
 * An endpoint that hangs holds up only its own job.
 */
export function createDelivery(deps: DeliverDeps): (job: Job) => Promise<JobEnd> {
  const { db, clock, openClient, metrics, log } = deps
  // Many endpoints do the same reads and writes: simultaneous ones are sent to the database together.
  const shared: Shared = {
    ...deps,
    read: batched({
      part: 'database',
      sizeMax: BATCH_MAX,
      runMany: (endpoints: readonly EndpointKey[]) => selectDestinations(db, endpoints),
    }),
    record: batched({
      part: 'database',
      sizeMax: BATCH_MAX,
      runMany: (attempts: readonly Attempt[]) => recordAttempts(db, attempts),
    }),
    look: batched({
      part: 'database',
      sizeMax: LOOKS_MAX,
      runMany: (looks: readonly Look[]) => selectDue(db, looks, LOOK_AHEAD),
    }),
    end: batched({
      part: 'database',
      sizeMax: BATCH_MAX,
      runMany: (jobs: readonly Job[]) => endDeliverJobs(db, jobs),
    }),
  }

  return async (job) => {
    const { account_id, subject: endpoint_id } = job
    const destination = watch(() => shared.read({ account_id, endpoint_id }))
    const first = await destination.fresh()
    if (!first) return release(db, job, clock, false)
    const clientOptions = {
      totalMsMax: WEBHOOK_TIMEOUT_MS_MAX,
      connectionsMax: ATTEMPTS_AT_ONCE,
      owner: account_id,
      isStillWanted: async () => (await destination.now()) !== undefined,
    }
    const client = openClient(first.url, clientOptions, { account_id, endpoint_id })
    const route: DeliveryRoute = { client, destination, open: secretOpener(deps.keyring, account_id) }
    const sending = new Map<string, Promise<void>>()
    let waiting: DueDelivery[] = []
    /** When the last read found everything that was due. Later events also mark the job, so that it does not end without another read. */
    let sawAllMs = Number.NEGATIVE_INFINITY
    let isFailing = job.is_failing
    const horizon = () => new Date(clock.nowMs() - WEBHOOK_HORIZON_S * 1000)
    const giveUpLate = async () => {
      const times = { now: new Date(clock.nowMs()), horizon: horizon() }
      const events = await giveUpDeliveries(db, { account_id, endpoint_id }, times)
      if (events === 0) return
      metrics.webhookDeliveries.inc({ outcome: 'given_up' }, events)
      const line = { account_id, endpoint_id, events, outcome: 'expired', next: 'given_up' }
      log.warn(line, 'webhook deliveries expired')
    }
    const look = async () => {
      const now = new Date(clock.nowMs())
      const due = await shared.look({ account_id, endpoint_id, now, but: [...sending.keys()] })
      sawAllMs = due.length < LOOK_AHEAD ? performance.now() : Number.NEGATIVE_INFINITY
      const inTime = due.filter(({ created_at }) => created_at > horizon())
      if (inTime.length < due.length) await giveUpLate()
      return inTime
    }
    try {
      for (;;) {
        // Meanwhile the endpoint may have ended, the account may have been suspended, the secret rotated.
        const current = await destination.fresh()
        const canSend = current !== undefined && !current.is_suspended
        if (!canSend) waiting = []
        if (current?.is_suspended && sending.size === 0) {
          await giveUpLate()
          return {
            kind: 'again',
            waitMs: SUSPENDED_WAIT_MS,
            isFailing,
            note: 'held while the account is suspended',
          }
        }
        const mayFindMore = performance.now() - sawAllMs >= LOOK_EVERY_MS
        if (canSend && waiting.length === 0 && sending.size < ATTEMPTS_AT_ONCE && mayFindMore) {
          waiting = await look()
        }
        while (waiting.length > 0 && sending.size < ATTEMPTS_AT_ONCE) {
          const delivery = waiting.shift() as DueDelivery
          const running = attemptInSpan(shared, job, route, delivery)
            .then((isAccepted) => {
              isFailing = !isAccepted
            })
            .finally(() => sending.delete(delivery.event_id))
          sending.set(delivery.event_id, running)
        }
        if (sending.size > 0) {
          await firstOf(sending.values(), LOOK_EVERY_MS)
          continue
        }
        const { is_ended, was_woken } = await shared.end(job)
        if (is_ended) return { kind: 'done' }
        if (!was_woken) break
        sawAllMs = Number.NEGATIVE_INFINITY
      }
    } finally {
      await Promise.allSettled(sending.values())
      await client.close()
    }
    return release(db, job, clock, isFailing)
  }
}

/** Resolves when one of them has ended, or after the time limit. */
async function firstOf(attempts: Iterable<Promise<void>>, msMax: number): Promise<void> {
  const { promise: overdue, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, msMax)
  try {
    await Promise.race([...attempts, overdue])
  } finally {
    clearTimeout(timer)
  }
}

/** Done when no delivery is left; else due at the time of the next one. An event recorded meanwhile wakes the job again. */
function release(db: Db, job: Job, clock: Clock, isFailing: boolean): Promise<JobEnd> {
  return db.transaction(async (tx) => {
    await lockLease(tx, job)
    const { next_at } = await selectNext(tx, job.account_id, job.subject)
    if (next_at === null) {
      await finishJob(tx, job)
      return { kind: 'done' }
    }
    const waitMs = Math.max(0, next_at.getTime() - clock.nowMs())
    return { kind: 'again', waitMs, isFailing, note: 'waits for its next attempt' }
  })
}
