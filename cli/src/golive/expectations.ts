import type { RecordedRequest } from '@shopwire/emulator'
import { printable } from '../terminal/paint.ts'
import { describeAnswer } from './app.ts'
import type { Harness, Outcome } from './harness.ts'
import { Problem } from './problem.ts'

/** Expects one order at the price the customer was shown, paid once, and that the app reports it. */
export function expectBoughtOnce(outcome: Outcome): void {
  const { said, answer, orders, purchase } = outcome
  expectAtMost(outcome, 1)
  const [order] = orders
  if (!order) {
    if (said === 'bought')
      throw problem(outcome, `Your code ${describeAnswer(answer)}, and nothing was bought.`)
    if (said === 'under_way')
      throw problem(outcome, 'Your code answered 202, and the purchase never finished.')
    throw problem(
      outcome,
      `Your code ${describeAnswer(answer)} after ${attemptsText(outcome.attempts)}, and nothing was bought.`,
    )
  }
  if (said === 'not_bought') {
    throw problem(
      outcome,
      `Your code ${describeAnswer(answer)}, but the order ${order.id} was bought and paid.`,
    )
  }
  if (said === 'under_way') {
    throw problem(
      outcome,
      `The order ${order.id} was bought and paid, but your state endpoint never reports it.`,
    )
  }
  if (order.total_cents !== purchase.total_cents) {
    throw problem(
      outcome,
      `The customer was shown ${cents(purchase.total_cents)}; the order cost ${cents(order.total_cents)}.`,
    )
  }
  const paid = -order.transfers.reduce((sum, { amount_cents }) => sum + Math.min(0, amount_cents), 0)
  if (paid !== order.total_cents) {
    throw problem(
      outcome,
      `The order costs ${cents(order.total_cents)}, and ${cents(paid)} were taken for it.`,
    )
  }
}

/** Expects that nothing was bought, that the app does not report otherwise, and at most the given number of attempts. */
export function expectNotBought(outcome: Outcome, attemptsMax: number): void {
  const { said, answer, orders, attempts } = outcome
  const [order] = orders
  if (order)
    throw problem(outcome, `The order ${order.id} was bought nevertheless, for ${cents(order.total_cents)}.`)
  if (said === 'bought')
    throw problem(outcome, `Your code ${describeAnswer(answer)}, and nothing was bought.`)
  if (attempts.length > attemptsMax) {
    throw problem(outcome, `Your code asked ${times(attempts.length)}; repeating it cannot succeed.`)
  }
}

export function expectAtMost(outcome: Outcome, ordersMax: number): void {
  const { orders } = outcome
  if (orders.length <= ordersMax) return
  const keys = [...new Set(orders.map(({ idempotency_key }) => idempotency_key))]
  throw problem(
    outcome,
    `${ordersMax === 1 ? 'One purchase' : `${ordersMax} purchases`} became ${orders.length} orders, each paid, under the keys ${keys.join(', ')}.`,
  )
}

/** Expects that after the first attempt, which got 503, the app checked GET /status before the second. */
export async function expectLookBetween(
  harness: Harness,
  { purchase, attempts }: Pick<Outcome, 'purchase' | 'attempts'>,
): Promise<void> {
  const [first, second] = attempts
  if (!first || !second) return
  const looks = await harness.looksAtStatus(purchase)
  if (looks.some(({ seq }) => seq > first.seq && seq < second.seq)) return
  throw problem({ attempts }, 'After a 503 your code sent the order again without checking GET /status.')
}

export function problem({ attempts }: Pick<Outcome, 'attempts'>, message: string): Problem {
  return new Problem(message, attempts.slice(0, EVIDENCE_MAX).map(describeAttempt(attempts[0])))
}

export function cents(amount: number): string {
  return `$${(amount / 100).toFixed(2)}`
}

export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

/** An answer injected by a fault would have been different the next time. */
function attemptsText(attempts: Outcome['attempts']): string {
  const last = attempts.at(-1)
  const count = attempts.length === 1 ? 'one attempt' : `${attempts.length} attempts`
  if (!last) return 'no attempt'
  if (last.fault) return `${count}; the next one would have bought it`
  if (!last.error_type) return count
  const reason = messageIn(last.answer)
  return `${count}, the last of which was refused with ${last.error_type}${reason && ` ("${printable(reason)}")`}`
}

/** The store's message, which names the wrong field. */
function messageIn(answer: string): string {
  try {
    return String((JSON.parse(answer) as { error?: { message?: string } }).error?.message ?? '')
  } catch {
    return ''
  }
}

const EVIDENCE_MAX = 12

/** "+1.02 s  POST /v1/orders  key order-17  nonce 5f3c…  201  lost_answer" */
function describeAttempt(first: RecordedRequest | undefined): (attempt: RecordedRequest) => string {
  return (attempt) => {
    const afterS = (Date.parse(attempt.at) - Date.parse(first?.at ?? attempt.at)) / 1000
    const parts = [
      `+${afterS.toFixed(2)} s`,
      `${attempt.method} ${attempt.target}`,
      `key ${attempt.idempotency_key ?? '-'}`,
      `nonce ${attempt.nonce?.slice(0, 8) ?? '-'}…`,
      String(attempt.status ?? 'not answered'),
      attempt.error_type,
      attempt.fault && `(${attempt.fault})`,
    ]
    return parts.filter(Boolean).join('  ')
  }
}
