import { WEBHOOK_HORIZON_S, WEBHOOK_TIMEOUT_MS_MAX, webhookHeaders } from '@shopwire/contract'
import { signWebhook } from '@shopwire/contract/signing'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption.ts'
import type { GuardedLine, OpenLine, Sent } from '../platform/guarded-client.ts'
import type { JobEnd } from '../platform/job-runner.ts'
import { assertLease, finishJob, type Job } from '../platform/jobs.ts'
import type { Log } from '../platform/log.ts'
import type { SealedColumn } from '../platform/rewrap.ts'
import { Unavailable } from '../platform/trouble.ts'
import { secretBinding } from './endpoint.ts'
import { noticeTrouble } from './notices.ts'
import {
  type Destination,
  type DueDelivery,
  expireDeliveries,
  freezeBody,
  recordAttempt,
  selectDestination,
  selectDue,
  selectNext,
} from './queries.ts'
import { nextAttemptMs } from './schedule.ts'

export interface DeliverDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  readonly openLine: OpenLine
  readonly log: Log
  /** What an event says, as the receiver will parse it. Called once per event; the bytes are kept. */
  compose(event: EventToCompose): Promise<object>
  random(): number
}

export type EventToCompose = Pick<
  DueDelivery,
  'event_id' | 'type' | 'order_id' | 'revision' | 'event_created_at'
> & {
  readonly account_id: string
}

/** Of one endpoint, whatever the number of workers: its job is in one worker's hands at a time. */
const ATTEMPTS_AT_ONCE = 4
const HELD_MS = 60_000
/** An event that comes while others are under way waits no longer than this, however long their answers take. */
const LOOK_EVERY_MS = 1_000

/**
 * Delivers what is due to one endpoint, the subject of the job. No transaction is open while a stranger's server answers.
 * An endpoint that hangs holds its own job and nobody else's.
 */
export function createDelivery(deps: DeliverDeps): (job: Job) => Promise<JobEnd> {
  const { db, clock, openLine } = deps

  return async (job) => {
    const { account_id, subject: endpoint_id } = job
    const read = () => selectDestination(db, account_id, endpoint_id)
    let destination = await read()
    if (!destination) return finish(db, job, clock)
    const line = openLine(destination.url, {
      totalMsMax: WEBHOOK_TIMEOUT_MS_MAX,
      connectionsMax: ATTEMPTS_AT_ONCE,
      isStillWanted: async () => (await read()) !== undefined,
    })
    const underWay = new Map<string, Promise<void>>()
    try {
      for (;;) {
        const now = new Date(clock.nowMs())
        const horizon = new Date(now.getTime() - WEBHOOK_HORIZON_S * 1000)
        await expireDeliveries(db, account_id, endpoint_id, horizon, now)
        if (destination?.is_suspended && underWay.size === 0) {
          return { kind: 'again', waitMs: HELD_MS, note: 'held while the account is suspended' }
        }
        const free = destination && !destination.is_suspended ? ATTEMPTS_AT_ONCE - underWay.size : 0
        const due =
          free > 0 ? await selectDue(db, account_id, endpoint_id, now, [...underWay.keys()], free) : []
        for (const delivery of due) {
          const running = attempt(deps, job, line, destination as Destination, delivery).finally(() =>
            underWay.delete(delivery.event_id),
          )
          underWay.set(delivery.event_id, running)
        }
        if (underWay.size === 0) break
        await firstOf(underWay.values(), LOOK_EVERY_MS)
        // Meanwhile the endpoint may have ended, the account may have been suspended, the secret rotated.
        destination = await read()
      }
    } finally {
      await Promise.allSettled(underWay.values())
      await line.close()
    }
    return finish(db, job, clock)
  }
}

/** Until one of them has ended, or the time is over. */
async function firstOf(attempts: Iterable<Promise<void>>, msMax: number): Promise<void> {
  const { promise: overdue, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, msMax)
  try {
    await Promise.race([...attempts, overdue])
  } finally {
    clearTimeout(timer)
  }
}

/** Signs afresh, sends the same bytes as ever, and writes down how it went. */
async function attempt(
  deps: DeliverDeps,
  job: Job,
  line: GuardedLine,
  destination: Destination,
  delivery: DueDelivery,
): Promise<void> {
  const { db, clock } = deps
  const { account_id, subject: endpoint_id } = job
  const { event_id, created_at } = delivery
  const startedMs = clock.nowMs()
  const sent = await send(deps, account_id, line, destination, delivery)
  // Withdrawn before a byte was sent: the delivery has been cancelled with its endpoint.
  if (sent.error === 'withdrawn') return
  const finishedMs = clock.nowMs()
  const n = delivery.attempts + 1
  const nextMs = nextAttemptMs(n, finishedMs, created_at.getTime(), deps.random())
  const state = sent.error === null ? 'delivered' : nextMs === undefined ? 'failed' : 'pending'
  const recorded = await recordAttempt(
    db,
    {
      account_id,
      endpoint_id,
      event_id,
      round: delivery.round,
      n,
      started_at: new Date(startedMs),
      finished_at: new Date(finishedMs),
      status: sent.status,
      error: sent.error,
      remote_address: sent.remote_address,
    },
    { state, next_at: new Date(nextMs ?? finishedMs) },
  )
  if (recorded > 0 && sent.error !== null) {
    await noticeTrouble(db, { account_id, endpoint_id, event_id, isGivenUp: state === 'failed' }, finishedMs)
  }
}

/** An event that we cannot put together or sign is a failed attempt like any other: it must not hold up those behind it. */
async function send(
  deps: DeliverDeps,
  account_id: string,
  line: GuardedLine,
  destination: Destination,
  delivery: DueDelivery,
): Promise<Omit<Sent, 'error'> & { error: Sent['error'] | 'internal' }> {
  const { event_id } = delivery
  try {
    const body = Buffer.from(await bodyOf(deps, account_id, delivery))
    const nowMs = deps.clock.nowMs()
    const headers = await signedHeaders(deps.keyring, account_id, destination, event_id, body, nowMs)
    return await line.post(headers, body)
  } catch (error) {
    if (error instanceof Unavailable) throw error
    deps.log.error({ err: error, event_id }, 'an event could not be put together')
    return { error: 'internal', status: null, remote_address: null }
  }
}

async function bodyOf(deps: DeliverDeps, account_id: string, delivery: DueDelivery): Promise<string> {
  const { db, keyring } = deps
  const binding = bodyBinding(account_id, delivery.event_id)
  if (delivery.body_sealed) return keyring.open(delivery.body_sealed, binding)
  const text = JSON.stringify(await deps.compose({ account_id, ...delivery }))
  const { bytes, kek_id } = await keyring.seal(text, binding)
  const { body_sealed } = await freezeBody(db, account_id, delivery.event_id, bytes, kek_id)
  return keyring.open(body_sealed, binding)
}

async function signedHeaders(
  keyring: Keyring,
  account_id: string,
  { secrets }: Destination,
  id: string,
  body: Uint8Array,
  nowMs: number,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Shopwire-Webhooks/1',
    [webhookHeaders.timestamp]: timestamp,
    [webhookHeaders.id]: id,
  }
  for (const secret of secrets) {
    const key = await keyring.open(
      Buffer.from(secret.secret_sealed, 'base64'),
      secretBinding(account_id, secret.id),
    )
    const name = secret.ends_at === null ? webhookHeaders.signature : webhookHeaders.previousSignature
    headers[name] = signWebhook(key, { timestamp, id, body })
  }
  return headers
}

/** Done when nothing is left; else at the time of the next one. What is written meanwhile wakes the job again. */
function finish(db: Db, job: Job, clock: Clock): Promise<JobEnd> {
  return db.transaction(async (tx) => {
    await assertLease(tx, job)
    const { next_at } = await selectNext(tx, job.account_id, job.subject)
    if (next_at === null) {
      await finishJob(tx, job)
      return { kind: 'done' }
    }
    return {
      kind: 'again',
      waitMs: Math.max(0, next_at.getTime() - clock.nowMs()),
      note: 'waits for its next attempt',
    }
  })
}

export const eventBodies: SealedColumn = {
  table: 'events',
  keys: ['account_id', 'id'],
  column: 'body',
  bindingOf: ({ account_id, id }) => bodyBinding(String(account_id), String(id)),
}

function bodyBinding(account_id: string, event_id: string): RowBinding {
  return { column: 'events.body', account_id, row_id: event_id }
}
