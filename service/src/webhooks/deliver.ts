import { WEBHOOK_HORIZON_S, WEBHOOK_TIMEOUT_MS_MAX, webhookHeaders } from '@shopwire/contract'
import { signWebhook } from '@shopwire/contract/signing'
import { batched } from '../platform/batching/batched.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import type { JobEnd } from '../platform/jobs/job-runner.ts'
import { finishJob, type Job, lockLease } from '../platform/jobs/jobs.ts'
import type { Log } from '../platform/observability/log.ts'
import { endWith, type Span } from '../platform/observability/tracing.ts'
import type { GuardedClient, GuardedClientOptions, Sent } from '../platform/outbound/guarded-client.ts'
import { Unavailable } from '../platform/trouble.ts'
import { type AttemptKey, excerptOf, sealAnswer } from './answer.ts'
import { secretBinding } from './endpoint.ts'
import type { WebhookMetrics, WebhookOutcome } from './metrics.ts'
import { noticeTrouble } from './notices.ts'
import {
  type Attempt,
  type Destination,
  type DueDelivery,
  type EndpointKey,
  endDeliverJob,
  giveUpDeliveries,
  recordAttempts,
  selectDestinations,
  selectDue,
  selectNext,
} from './queries.ts'
import { nextAttemptMs } from './schedule.ts'

export interface DeliverDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  openClient(url: string, options: GuardedClientOptions, endpoint: EndpointKey): GuardedClient
  readonly log: Log
  readonly metrics: Pick<
    WebhookMetrics,
    'webhookAttempts' | 'webhookAttemptDuration' | 'webhookFirstAttemptDelay' | 'webhookDeliveries'
  >
  /** The body of an event, as the receiver will parse it, the same whenever it is called. After a failed attempt the bytes are stored. */
  compose(event: EventToCompose): Promise<object>
  random(): number
  /** Begins the span of an attempt, while tracing is on. */
  trace?: ((delivery: DeliveryToTrace) => Promise<Span>) | undefined
}

export type DeliveryToTrace = Pick<DueDelivery, 'event_id' | 'type' | 'order_id' | 'round' | 'attempts'> &
  EndpointKey

export type EventToCompose = Pick<
  DueDelivery,
  'event_id' | 'type' | 'order_id' | 'revision' | 'event_created_at'
> & {
  readonly account_id: string
}

/** For one endpoint, whatever the number of workers: one worker at a time has its job. */
const ATTEMPTS_AT_ONCE = 4
/** Read together, sent four at a time. */
const LOOK_AHEAD = 64
const SUSPENDED_WAIT_MS = 60_000
/** The endpoint is read again after this time. The answer to a change of URL is delayed for longer. */
const FRESH_MS = 50
const BATCH_MAX = 256
/** An event that arrives while others are being sent waits no longer than this, however long their answers take. */
const LOOK_EVERY_MS = 1_000
const WITHDRAWN: Sent = { error: 'withdrawn', status: null, remote_address: null }

/**
 * Delivers the due events of one endpoint, the subject of the job. No transaction is open while the receiver answers.
 * An endpoint that hangs holds up only its own job.
 */
export function createDelivery(deps: DeliverDeps): (job: Job) => Promise<JobEnd> {
  const { db, clock, openClient, metrics, log } = deps
  // Many endpoints do the same reads and writes: those made at one moment are sent to the database together.
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
    /** When a look found everything that was due. What comes after it also marks the job, so that it is not ended without another look. */
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
      const asked = { now: new Date(clock.nowMs()), but: [...sending.keys()], limit: LOOK_AHEAD }
      const due = await selectDue(db, { account_id, endpoint_id }, asked)
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
        const { is_ended, was_woken } = await endDeliverJob(db, job)
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

interface Shared extends DeliverDeps {
  read(endpoint: EndpointKey): Promise<Destination | undefined>
  record(attempt: Attempt): Promise<boolean>
}

/** To one endpoint, for as long as this worker has its job. */
interface DeliveryRoute {
  readonly client: GuardedClient
  readonly destination: ReturnType<typeof watch>
  open(secret: Destination['secrets'][number]): Promise<string>
}

function watch(read: () => Promise<Destination | undefined>) {
  let known: Destination | undefined
  let readMs = Number.NEGATIVE_INFINITY
  async function now() {
    const askedMs = performance.now()
    known = await read()
    readMs = askedMs
    return known
  }
  return {
    now,
    fresh: async () => (performance.now() - readMs < FRESH_MS ? known : now()),
  }
}

/** A secret is decrypted once for the events that are sent together. */
function secretOpener(keyring: Keyring, account_id: string): DeliveryRoute['open'] {
  const opened = new Map<string, Promise<string>>()
  return ({ id, secret_sealed }) => {
    const known =
      opened.get(id) ?? keyring.open(Buffer.from(secret_sealed, 'base64'), secretBinding(account_id, id))
    opened.set(id, known)
    return known
  }
}

/** Resolves when one of them has ended, or the time is over. */
async function firstOf(attempts: Iterable<Promise<void>>, msMax: number): Promise<void> {
  const { promise: overdue, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, msMax)
  try {
    await Promise.race([...attempts, overdue])
  } finally {
    clearTimeout(timer)
  }
}

async function attemptInSpan(
  shared: Shared,
  job: Job,
  route: DeliveryRoute,
  delivery: DueDelivery,
): Promise<boolean> {
  if (!shared.trace) return attempt(shared, job, route, delivery)
  const { account_id, subject: endpoint_id } = job
  const span = await shared.trace({ account_id, endpoint_id, ...delivery })
  try {
    return await attempt(shared, job, route, delivery, span)
  } catch (error) {
    endWith(span, error)
    throw error
  }
}

/** Signs anew, sends the same bytes every time, and records the outcome. True when the receiver accepted. */
async function attempt(
  shared: Shared,
  job: Job,
  route: DeliveryRoute,
  delivery: DueDelivery,
  span?: Span,
): Promise<boolean> {
  const { db, clock, metrics } = shared
  const { account_id, subject: endpoint_id } = job
  const { event_id, round, created_at } = delivery
  const startedMs = clock.nowMs()
  const sentMs = performance.now()
  const sent = await send(shared, account_id, route, delivery)
  if (span) endSpan(span, sent)
  // Withdrawn before a byte was sent: the delivery was cancelled with its endpoint, or the account is suspended.
  if (sent.error === 'withdrawn') return true
  const seconds = (performance.now() - sentMs) / 1000
  const finishedMs = clock.nowMs()
  const n = delivery.attempts + 1
  const nextMs = nextAttemptMs(n, finishedMs, created_at.getTime(), shared.random())
  const state = sent.error === null ? 'delivered' : nextMs === undefined ? 'failed' : 'pending'
  const isCounted = await shared.record({
    account_id,
    endpoint_id,
    event_id,
    round,
    n,
    started_at: new Date(startedMs),
    finished_at: new Date(finishedMs),
    status: sent.status,
    error: sent.error,
    remote_address: sent.remote_address,
    signed_s: sent.signed?.s ?? null,
    signatures: sent.signed?.signatures ?? null,
    connect_ms: sent.took?.connect_ms ?? null,
    send_ms: sent.took?.send_ms ?? null,
    wait_ms: sent.took?.wait_ms ?? null,
    ...(await sealedAnswer(shared, { account_id, endpoint_id, event_id, round, n }, delivery, sent)),
    ...(await sealedBody(shared, bodyBinding(account_id, event_id), sent)),
    state,
    next_at: new Date(nextMs ?? finishedMs),
  })
  metrics.webhookAttempts.inc({ outcome: outcomeOf(sent.error) })
  metrics.webhookAttemptDuration.observe(seconds)
  const isFirst = n === 1 && round === 1
  const delayMs = Math.max(0, startedMs - created_at.getTime())
  if (isFirst) metrics.webhookFirstAttemptDelay.observe(delayMs / 1000)
  if (isCounted && state !== 'pending')
    metrics.webhookDeliveries.inc({ outcome: state === 'delivered' ? 'delivered' : 'given_up' })
  const waitMs = nextMs === undefined ? undefined : nextMs - finishedMs
  logAttempt(shared.log, isCounted ? state : 'not_counted', sent, {
    account_id,
    endpoint_id,
    event_id,
    event: delivery.type,
    ...(delivery.order_id !== null && { order_id: delivery.order_id }),
    round,
    attempt: n,
    duration_ms: Math.round(seconds * 1000),
    ...(isFirst && { delay_ms: delayMs }),
    ...(isCounted &&
      state === 'pending' &&
      waitMs !== undefined && { retry_in_s: Math.round(waitMs / 1000) }),
    ...span?.fields,
  })
  if (isCounted && sent.error !== null) {
    await noticeTrouble(db, { account_id, endpoint_id, event_id, isGivenUp: state === 'failed' }, finishedMs)
  }
  return sent.error === null
}

function endSpan(span: Span, { error, status }: SendResult): void {
  span.set({ 'shopwire.outcome': error ?? 'delivered' })
  if (status !== null) span.set({ 'http.response.status_code': status })
  span.end(error === null || error === 'withdrawn' ? undefined : error)
}

const NEXT = {
  delivered: 'delivered',
  failed: 'given_up',
  pending: 'retry',
  /** The delivery was cancelled meanwhile, or another worker has recorded this attempt. */
  not_counted: 'not_counted',
} as const

/** One line per attempt. Never the URL, what was sent, or what was answered. */
function logAttempt(
  log: Log,
  state: keyof typeof NEXT,
  { error, status, cause }: SendResult,
  line: Readonly<Record<string, unknown>>,
): void {
  const facts = {
    ...line,
    outcome: error ?? 'delivered',
    ...(status !== null && { status }),
    next: NEXT[state],
  }
  if (error === 'internal') log.error({ ...facts, err: cause }, 'webhook attempt')
  else if (state === 'failed') log.warn(facts, 'webhook attempt')
  else log.info(facts, 'webhook attempt')
}

function outcomeOf(error: SendResult['error']): WebhookOutcome {
  if (error === null) return 'delivered'
  const [, digit] = /^http_([345])\d\d$/.exec(error) ?? []
  if (digit !== undefined) return `http_${digit as '3' | '4' | '5'}xx`
  return error.startsWith('http_') ? 'http_other' : (error as WebhookOutcome)
}

interface Body {
  readonly text: string
  readonly isStored: boolean
}

type SendResult = Omit<Sent, 'error'> & {
  readonly error: Sent['error'] | 'internal'
  /** What was sent; absent when it could not be made. */
  readonly body?: Body
  readonly signed?: { readonly s: number; readonly signatures: Buffer }
  /** Of an internal error; for the log only. */
  readonly cause?: unknown
}

/**
 * An event that cannot be composed, signed or sent for a reason on our side is a failed attempt like any other: it must not
 * delay the events behind it.
 */
async function send(
  shared: Shared,
  account_id: string,
  { client, destination, open }: DeliveryRoute,
  delivery: DueDelivery,
): Promise<SendResult> {
  const { event_id } = delivery
  try {
    const body = await bodyOf(shared, account_id, delivery)
    const bytes = Buffer.from(body.text)
    const current = await destination.fresh()
    if (!current || current.is_suspended) return WITHDRAWN
    const { headers, ...signed } = await signedHeaders(
      { ...current, open },
      event_id,
      bytes,
      shared.clock.nowMs(),
    )
    return { ...(await client.post(headers, bytes)), body, signed }
  } catch (error) {
    if (error instanceof Unavailable) throw error
    return { error: 'internal', status: null, remote_address: null, cause: error }
  }
}

/** The bytes that a failed attempt has sent, or else those that every attempt would send. */
async function bodyOf(shared: Shared, account_id: string, delivery: DueDelivery): Promise<Body> {
  if (delivery.body_sealed) {
    const text = await openBody(shared.keyring, account_id, delivery.event_id, delivery.body_sealed)
    return { text, isStored: true }
  }
  return { text: JSON.stringify(await shared.compose({ account_id, ...delivery })), isStored: false }
}

async function signedHeaders(
  { secrets, open }: Pick<Destination, 'secrets'> & Pick<DeliveryRoute, 'open'>,
  id: string,
  body: Uint8Array,
  nowMs: number,
): Promise<{ headers: Record<string, string>; s: number; signatures: Buffer }> {
  const s = Math.floor(nowMs / 1000)
  const timestamp = String(s)
  const headers: Record<string, string> = {
    ...PLAIN_HEADERS,
    [webhookHeaders.timestamp]: timestamp,
    [webhookHeaders.id]: id,
  }
  for (const secret of secrets) {
    const name = secret.ends_at === null ? webhookHeaders.signature : webhookHeaders.previousSignature
    headers[name] = signWebhook(await open(secret), { timestamp, id, body })
  }
  const signatures = [headers[webhookHeaders.signature], headers[webhookHeaders.previousSignature]]
  return { headers, s, signatures: Buffer.from(signatures.join(''), 'hex') }
}

/** Sent with every event, besides those of the signature. */
export const PLAIN_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'user-agent': 'Shopwire-Webhooks/1',
} as const

const NO_BODY = { body_sealed: null, body_kek_id: null }

/**
 * What was refused will be sent again, with the same bytes. What was accepted need not be stored: it can be composed again, as long as
 * the form of events stays the same (service/test/orders/event-form.test.ts).
 */
async function sealedBody({ keyring }: Shared, binding: RowBinding, { error, body }: SendResult) {
  if (error === null || !body || body.isStored) return NO_BODY
  const { bytes, kek_id } = await keyring.seal(body.text, binding)
  return { body_sealed: bytes, body_kek_id: kek_id }
}

const NO_ANSWER = { answer_sealed: null, answer_kek_id: null }

/** Answers of accepted events are not stored: nobody needs them, and most events are accepted. A test shows its answer. */
function sealedAnswer(
  { keyring }: Shared,
  key: AttemptKey,
  { type }: DueDelivery,
  { error, answer, body }: SendResult,
) {
  if (!answer || body === undefined || (error === null && type !== 'test')) return NO_ANSWER
  return sealAnswer(keyring, key, excerptOf(answer, body.text))
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

/** The bytes of an event that was refused or could not be sent. */
export const openBody = (keyring: Keyring, account_id: string, event_id: string, sealed: Uint8Array) =>
  keyring.open(sealed, bodyBinding(account_id, event_id))

export const eventBodies: SealedColumn = {
  table: 'events',
  keys: ['account_id', 'id'],
  column: 'body',
  bindingOf: ({ account_id, id }) => bodyBinding(String(account_id), String(id)),
}

export function bodyBinding(account_id: string, event_id: string): RowBinding {
  return { column: 'events.body', account_id, row_id: event_id }
}
