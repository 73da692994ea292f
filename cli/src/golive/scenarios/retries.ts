import type { FaultToArm } from '../emulator.ts'
import { expectAtMost, expectBoughtOnce, expectLookBetween, problem } from '../expectations.ts'
import type { Harness } from '../harness.ts'
import type { Scenario } from '../scenario.ts'

const ONCE = 'guides/buy-exactly-once.md'
const RETRY_AFTER_S = 2
/** Timers may fire slightly early, and clocks are read in whole milliseconds. */
const TIMER_MS = 50
const SLOW_MS = 3_000
/** Longer than the deadlines that callers give a whole purchase while a customer waits. */
const HELD_MS = 5_000

const retryWithTheSameKey =
  'Store the idempotency key and the cart before the first attempt, and send the same again until there is an answer. The SDK does this automatically.'

/** Failures after which the same request must be sent again. */
export const retries: readonly Scenario[] = [
  {
    id: 'lost-answer',
    title: 'A lost answer does not buy twice, and does not lose the order',
    needs: [],
    does: 'The order is bought, and the connection breaks before the answer.',
    means: 'Your customer gets nothing for an order you paid, or you pay for two.',
    fix: retryWithTheSameKey,
    docs: `${ONCE}#buy-exactly-once`,
    run: boughtOnceDespite({ name: 'lost_answer' }),
  },
  {
    id: 'dropped-connection',
    title: 'A dropped connection is retried',
    needs: [],
    does: 'The connection breaks before the request is read.',
    means:
      'Your code cannot distinguish this from a lost answer. If it gives up here, it also gives up on paid orders.',
    fix: retryWithTheSameKey,
    docs: `${ONCE}#buy-exactly-once`,
    run: boughtOnceDespite({ name: 'dropped_connection' }),
  },
  {
    id: 'request-timeout',
    title: '408 is retried',
    needs: [],
    does: 'The store answers 408 once: the body came too slowly.',
    means: 'A short network problem loses a sale.',
    fix: 'Send the same request again with a fresh timestamp and nonce.',
    docs: 'reference/errors.md#request_timeout',
    run: boughtOnceDespite({ name: 'slow_body' }),
  },
  {
    id: 'rate-limited-requests',
    title: '429 on requests: waits as long as Retry-After says, then buys',
    needs: [],
    does: `The store answers 429 once, with Retry-After: ${RETRY_AFTER_S}.`,
    means: 'Under peak load sales are lost, or you stay limited because you keep sending.',
    fix: 'Wait for Retry-After, then send the same request again with a fresh signature.',
    docs: 'reference/errors.md#rate_limited',
    run: waitsForRetryAfter('req'),
  },
  {
    id: 'rate-limited-orders',
    title: '429 on orders: waits as long as Retry-After says, then buys',
    needs: [],
    does: `The store answers 429 for the bucket of orders once, with Retry-After: ${RETRY_AFTER_S}.`,
    means: 'Under peak load sales are lost, or you stay limited because you keep sending.',
    fix: 'Wait for Retry-After, then send the same request again with a fresh signature. Queue orders on your side when 20 a minute are too few.',
    docs: 'reference/errors.md#rate_limited',
    run: waitsForRetryAfter('orders'),
  },
  {
    id: 'unavailable',
    title: '503 service_unavailable, nothing bought: retried',
    needs: [],
    does: 'The store answers 503 once and has not bought.',
    means:
      'A sale is lost, a customer sees a purchase that does not exist, or your orders add to the load that keeps the store from answering.',
    fix: `After 503 the outcome is unknown: check GET /status, and when the api is up, send the order again. ${retryWithTheSameKey}`,
    docs: 'reference/errors.md#service_unavailable',
    run: looksBeforeItRetries({ name: 'unavailable' }),
  },
  {
    id: 'unavailable-after',
    title: '503 service_unavailable, although bought: found, not bought twice',
    needs: [],
    does: 'The store buys, and answers 503 because it could not confirm the commit.',
    means: 'Your customer gets nothing for an order you paid, or you pay for two.',
    fix: `After 503 the outcome is unknown. ${retryWithTheSameKey}`,
    docs: 'reference/errors.md#service_unavailable',
    run: boughtOnceDespite({ name: 'unavailable', after_commit: true }),
  },
  {
    id: 'server-error-after',
    title: '500 although bought: found, not bought twice',
    needs: [],
    does: 'The store buys, and answers 500.',
    means: 'Your customer gets nothing for an order you paid, or you pay for two.',
    fix: `500 says nothing about the order. ${retryWithTheSameKey}`,
    docs: 'reference/errors.md#internal_error',
    run: boughtOnceDespite({ name: 'server_error', after_commit: true }),
  },
  {
    id: 'overloaded',
    title: '503 under load: waits as long as Retry-After says, then buys',
    needs: [],
    does: 'The store has too much to do and refuses the order once: 503 with Retry-After: 2.',
    means: 'Sales are lost in the busiest minutes, or your retries keep the store busy.',
    fix: 'Wait for Retry-After and check GET /status, then send the same request again with a fresh signature.',
    docs: 'reference/errors.md#service_unavailable',
    run: looksBeforeItRetries({ name: 'overloaded' }),
  },
  {
    id: 'bad-gateway',
    title: 'An empty 502 of a proxy, although bought: found, not bought twice',
    needs: [],
    does: 'The store buys, and a proxy answers 502 without a body.',
    means: 'Your code ends with an error about the empty body, and loses an order that you paid.',
    fix: `An answer that is not JSON is no answer. ${retryWithTheSameKey}`,
    docs: `${ONCE}#in-code`,
    run: boughtOnceDespite({ name: 'bad_gateway', after_commit: true }),
  },
  {
    id: 'slow-answer',
    title: 'A slow answer is waited for, or the order is retried with the same key',
    needs: [],
    does: `The answer to the order comes ${SLOW_MS / 1000} seconds late.`,
    means: 'Your timeout has the effect of a lost answer: it loses a paid order, or buys twice.',
    fix: `Wait 20 seconds for an order; after your timeout continue as after a lost answer. ${retryWithTheSameKey}`,
    docs: `${ONCE}#buy-exactly-once`,
    run: boughtOnceDespite({ name: 'slow_answer', ms: SLOW_MS }),
  },
  {
    id: 'own-deadline',
    title: 'An order that your own deadline cuts off stays open, and is retried',
    needs: [],
    does: `The order is bought, and its answer does not come for ${HELD_MS / 1000} seconds.`,
    means:
      'A deadline on the whole call, or an abort of yours, makes a purchase look failed that was bought and paid.',
    fix: `What your own deadline or AbortSignal ends has an unknown outcome (isOutcomeUnknown of the SDK): answer 202, keep the purchase open, and settle it later. ${retryWithTheSameKey}`,
    docs: `${ONCE}#buy-exactly-once`,
    run: boughtOnceDespite({ name: 'slow_answer', ms: HELD_MS }),
  },
  {
    id: 'same-request',
    title: 'Every attempt has the same key and the same cart',
    needs: [],
    does: 'The store answers 500 twice; the three attempts are compared.',
    means:
      'Another key is another purchase. Another cart under the same key is refused with idempotency_conflict.',
    fix: 'Build the body once, from what you stored, and send those bytes in every attempt.',
    docs: `${ONCE}#the-idempotency-key`,
    run: sendsTheSame,
  },
  {
    id: 'fresh-signature',
    title: 'Every attempt has its own nonce and timestamp',
    needs: [],
    does: 'The store answers 429 once, with Retry-After: 2; the two attempts are compared.',
    means:
      'A nonce is spent by the first attempt that arrives, and a timestamp is valid for a minute: retries are refused.',
    fix: 'Create timestamp, nonce and signature inside the retry loop, and turn off automatic retries of the HTTP library.',
    docs: `${ONCE}#do-not`,
    run: signsAfresh,
  },
]

function boughtOnceDespite(fault: FaultToArm): Scenario['run'] {
  return async (harness) => expectBoughtOnce(await harness.withFault(fault, () => harness.buy()))
}

function looksBeforeItRetries(fault: FaultToArm): Scenario['run'] {
  return async (harness) => {
    const outcome = await harness.withFault(fault, () => harness.buy())
    await expectLookBetween(harness, outcome)
    expectBoughtOnce(outcome)
  }
}

function waitsForRetryAfter(bucket: 'req' | 'orders'): Scenario['run'] {
  return async (harness) => {
    const fault = { name: 'rate_limited', bucket, retry_after_s: RETRY_AFTER_S }
    const outcome = await harness.withFault(fault, () => harness.buy())
    const [limited, next] = outcome.attempts
    if (limited && next) {
      const waitedMs = Date.parse(next.at) - Date.parse(limited.at)
      if (waitedMs < RETRY_AFTER_S * 1000 - TIMER_MS) {
        const said = `Retry-After was ${RETRY_AFTER_S} s; your code retried after ${(waitedMs / 1000).toFixed(2)} s.`
        throw problem(outcome, said)
      }
    }
    expectBoughtOnce(outcome)
  }
}

async function sendsTheSame(harness: Harness): Promise<void> {
  const outcome = await harness.withFault({ name: 'server_error', times: 2 }, () => harness.buy())
  const bodies = outcome.attempts.flatMap(({ body }) => (body === '' ? [] : [readOrder(body)]))
  const keys = new Set(bodies.map(({ key }) => key))
  if (keys.size > 1) {
    throw problem(
      outcome,
      `${bodies.length} attempts at one purchase had ${keys.size} idempotency keys: ${[...keys].join(', ')}.`,
    )
  }
  const carts = new Set(bodies.map(({ cart }) => cart))
  if (carts.size > 1) {
    throw problem(outcome, `The cart changed between attempts: ${[...carts].join('; then ')}.`)
  }
  expectAtMost(outcome, 1)
  if (bodies.length < 2) {
    throw problem(outcome, 'Your code did not send the order again after a 500.')
  }
}

async function signsAfresh(harness: Harness): Promise<void> {
  const fault = { name: 'rate_limited', retry_after_s: RETRY_AFTER_S }
  const outcome = await harness.withFault(fault, () => harness.buy())
  const { attempts } = outcome
  const nonces = new Set(attempts.map(({ nonce }) => nonce))
  if (nonces.size < attempts.length) {
    throw problem(outcome, `${attempts.length} attempts were sent with ${nonces.size} nonces.`)
  }
  const [first, second] = attempts
  if (!first || !second) throw problem(outcome, 'Your code did not send the order again after a 429.')
  const apartS = (Date.parse(second.at) - Date.parse(first.at)) / 1000
  // Whole seconds: two that are this far apart cannot be the same.
  if (apartS >= 1.1 && first.timestamp === second.timestamp) {
    throw problem(
      outcome,
      `Two attempts ${apartS.toFixed(1)} s apart have one timestamp, ${first.timestamp}.`,
    )
  }
}

/** Spacing and the order of members and lines make no difference to the store. */
function readOrder(body: string): { key: string; cart: string } {
  try {
    const { idempotency_key, items } = JSON.parse(body) as {
      idempotency_key?: string
      items?: { id?: string; qty?: number; expected_price_cents?: number }[]
    }
    const lines = (items ?? []).map(
      ({ id, qty = 1, expected_price_cents: price = 'no price' }) => `${qty} × ${id} at ${price}`,
    )
    return { key: String(idempotency_key), cart: lines.sort().join(', ') }
  } catch {
    return { key: 'none', cart: 'no JSON' }
  }
}
