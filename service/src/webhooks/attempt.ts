import type { Job } from '../platform/jobs/jobs.ts'
import type { Log } from '../platform/observability/log.ts'
import { endWith, type Span } from '../platform/observability/tracing.ts'
import { type AttemptKey, excerptOf, sealAnswer } from './answer.ts'
import type { DeliveryRoute, Shared } from './delivery-deps.ts'
import type { DueDelivery } from './delivery-queries.ts'
import { bodyBinding, sealedBody } from './event-body.ts'
import type { WebhookOutcome } from './metrics.ts'
import { noticeTrouble } from './notices.ts'
import { nextAttemptMs } from './schedule.ts'
import { type SendResult, send } from './send.ts'

export async function attemptInSpan(
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

/** Signs again, sends the same bytes every time, and records the outcome. True when the receiver accepted. */
async function attempt(
  shared: Shared,
  job: Job,
  route: DeliveryRoute,
  delivery: DueDelivery,
  span?: Span,
): Promise<boolean> {
  const { clock, metrics } = shared
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
    ...(await sealedBody(shared.keyring, bodyBinding(account_id, event_id), sent)),
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
    await noticeTrouble(shared, { account_id, endpoint_id, event_id, state }, finishedMs)
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

const NO_ANSWER = { answer_sealed: null, answer_kek_id: null }

/** Answers of accepted events are not stored: most events are accepted, and nobody needs their answers. A test shows its answer. */
function sealedAnswer(
  { keyring }: Shared,
  key: AttemptKey,
  { type }: DueDelivery,
  { error, answer, body }: SendResult,
) {
  if (!answer || body === undefined || (error === null && type !== 'test')) return NO_ANSWER
  return sealAnswer(keyring, key, excerptOf(answer, body.text))
}
