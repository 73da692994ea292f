import type { AppAnswer } from '../app.ts'
import type { FaultToArm } from '../emulator.ts'
import {
  cents,
  expectAtMost,
  expectBoughtOnce,
  expectLookBetween,
  expectNotBought,
  problem,
  times,
} from '../expectations.ts'
import type { Harness, Outcome, Purchase } from '../harness.ts'
import type { Scenario } from '../scenario.ts'
import { until } from '../until.ts'

const ONCE = 'guides/buy-exactly-once.md'
/** A first attempt and two retries; more is too many, however slow. */
const ATTEMPTS_MAX = 3
/** How long requests to a closed store are counted, unless the code finishes sooner. */
const WATCH_MS = 6_000
const SKEW_MS = 90_000
const SKEW_ATTEMPTS_MAX = 5
const OVERLAP_MS = 500
/** The window of this race is small, so it is tried several times. */
const ROUNDS = 3
const CLICKS = 4

const oneKeyPerPurchase =
  'Before the first attempt, create or find the idempotency key under a unique index on your own purchase id: insert … on conflict do nothing, then read it.'

/** Scenarios of purchases and of final refusals. */
export const purchases: readonly Scenario[] = [
  {
    id: 'plain',
    title: 'A plain purchase is one order at the price shown',
    needs: [],
    does: 'One purchase, and nothing goes wrong.',
    means: 'The other results are not reliable.',
    fix: 'Send every line with its id and qty, and expected_price_cents as the customer saw it; answer 2xx when the store did.',
    docs: `${ONCE}#in-code`,
    run: async (harness) => expectBoughtOnce(await harness.buy(await harness.newPurchase({ linesMin: 2 }))),
  },
  {
    id: 'twice-in-a-row',
    title: 'The same purchase submitted twice is one order',
    needs: [],
    does: 'The same purchase is sent to your buy endpoint again after it was answered.',
    means: 'A reload or a second click buys twice.',
    fix: oneKeyPerPurchase,
    docs: `${ONCE}#buy-exactly-once`,
    run: buysOnceInARow,
  },
  {
    id: 'twice-at-once',
    title: 'The same purchase submitted twice at once is one order',
    needs: [],
    does: `The same purchase is sent to your buy endpoint ${CLICKS} times at the same moment, and the store answers slowly; ${ROUNDS} times over.`,
    means: 'A double click buys twice: both requests find no key, and both create one.',
    fix: oneKeyPerPurchase,
    docs: `${ONCE}#buy-exactly-once`,
    run: buysOnceAtOnce,
  },
  {
    id: 'same-cart',
    title: 'Two purchases with the same cart are two orders',
    needs: [],
    does: 'Two purchases with different ids and the same cart.',
    means: 'The second customer pays you and gets the first one’s order.',
    fix: 'Derive the idempotency key from your purchase id, never from the cart.',
    docs: `${ONCE}#do-not`,
    run: buysBoth,
  },
  {
    id: 'price-changed',
    title: 'A price that changed is not paid',
    needs: [],
    does: 'The price goes up just before the order arrives.',
    means: 'You pay more than your customer paid you.',
    fix: 'Send expected_price_cents with every line, as the customer saw it. After price_changed show the new price and ask; do not buy by yourself.',
    docs: 'reference/errors.md#price_changed',
    run: keepsToThePrice,
  },
  {
    id: 'sold-out',
    title: 'Sold out: nothing is bought, and your code says so',
    needs: [],
    does: 'The item is gone just before the order arrives.',
    means: 'A customer waits for an order that does not exist, or the order is retried without end.',
    fix: 'item_unavailable is final for this cart: inform the customer and refund the payment.',
    docs: 'reference/errors.md#item_unavailable',
    run: takesSoldOut,
  },
  {
    id: 'no-funds',
    title: 'An empty balance: nothing is bought, and the order is not retried',
    needs: [],
    does: 'The balance is empty.',
    means: 'Retries use up the 20 order attempts a minute, and delay the alert you need.',
    fix: 'Retrying does not help against insufficient_funds. Stop, raise an alert, fund the balance; then the same key can be used.',
    docs: 'reference/errors.md#insufficient_funds',
    run: takesNoFunds,
  },
  {
    id: 'store-closed',
    title: 'A closed store does not get repeated orders',
    needs: [],
    does: `The store is closed: 503 store_closed. Requests are counted for up to ${WATCH_MS / 1000} seconds.`,
    means: 'Attempts are used up, and customers see purchases that do not exist.',
    fix: 'After 503 check GET /status before the order is sent again, and only send it when the store is open. Until then inform the customer, or queue the purchase.',
    docs: 'reference/errors.md#store_closed',
    run: leavesTheClosedStoreAlone,
  },
  {
    id: 'clock-skew',
    title: 'A wrong clock is corrected, or the purchase is refused clearly',
    needs: [],
    does: `The store's clock is ${SKEW_MS / 1000} seconds ahead, then right again.`,
    means: 'Every request is refused, and a retry with the same clock cannot succeed.',
    fix: 'After timestamp_out_of_range take the time from the Date header of that answer, as the SDK does, or stop and raise an alert. Synchronise the clock by NTP.',
    docs: 'reference/errors.md#timestamp_out_of_range',
    run: bearsAnotherClock,
  },
]

async function buysOnceInARow(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  expectBoughtOnce(await harness.buy(purchase))
  const again = await harness.settle(purchase, await harness.click(purchase))
  // The app may report a known purchase with any status.
  expectAtMost(again, 1)
  harness.said.set(purchase, 'bought')
}

async function buysOnceAtOnce(harness: Harness): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    const purchase = await harness.newPurchase()
    const fault = { name: 'slow_answer', ms: OVERLAP_MS }
    const clicks = () => Promise.all(Array.from({ length: CLICKS }, () => harness.click(purchase)))
    const answers = await harness.withFault(fault, clicks)
    const outcomes: Outcome[] = []
    for (const answer of answers) outcomes.push(await harness.settle(purchase, answer))
    // The app may refuse concurrent copies with any status, but not all of them.
    const best = outcomes.find(({ said }) => said === 'bought') ?? outcomes[0]
    if (!best) return
    harness.said.set(purchase, best.said)
    expectBoughtOnce(best)
  }
}

async function buysBoth(harness: Harness): Promise<void> {
  const one = await harness.newPurchase()
  const other = await harness.newPurchase({ cart: one.items })
  const first = await harness.buy(one)
  const second = await harness.buy(other)
  expectAtMost(second, 2)
  if (second.orders.length === 2) return
  const said = [first, second].map(({ answer }) => answer.status).join(' and ')
  throw problem(
    { attempts: [...first.attempts, ...second.attempts.slice(first.attempts.length)] },
    `Two purchases became ${second.orders.length === 1 ? 'one order' : 'no order'}; your code answered ${said}.`,
  )
}

async function keepsToThePrice(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const outcome = await restoring(harness, purchase.items, () =>
    harness.withFault({ name: 'price_change', by_cents: 50 }, () => harness.buy(purchase)),
  )
  const [order] = outcome.orders
  if (order && order.total_cents !== purchase.total_cents) {
    throw problem(
      outcome,
      `The customer was shown ${cents(purchase.total_cents)}; you paid ${cents(order.total_cents)}.`,
    )
  }
  const sent = outcome.attempts.flatMap(({ body }) => expectedPrices(body))
  const shown = new Map(purchase.items.map(({ id, price_cents }) => [id, price_cents]))
  const wrong = sent.find(({ id, price }) => price !== shown.get(id))
  if (wrong) {
    throw problem(
      outcome,
      `The line of ${wrong.id} was sent with expected_price_cents ${wrong.price ?? 'left out'}; the customer was shown ${shown.get(wrong.id)}.`,
    )
  }
  expectNotBought(outcome, ATTEMPTS_MAX)
}

async function takesSoldOut(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const outcome = await restoring(harness, purchase.items, () =>
    harness.withFault({ name: 'sold_out' }, () => harness.buy(purchase)),
  )
  expectNotBought(outcome, ATTEMPTS_MAX)
}

async function takesNoFunds(harness: Harness): Promise<void> {
  const before = await harness.emulator.balance()
  await harness.emulator.setBalance(0)
  try {
    expectNotBought(await harness.buy(), ATTEMPTS_MAX)
  } finally {
    await harness.emulator.setBalance(before)
  }
}

async function leavesTheClosedStoreAlone(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const { click, attempts } = await watch(harness, purchase, { name: 'store_closed' })
  if (attempts.length > ATTEMPTS_MAX) {
    throw problem(
      { attempts },
      `Your code sent the order ${times(attempts.length)} while the store was closed.`,
    )
  }
  // Code that waits as long as Retry-After says sends its second attempt when the store is open again.
  const outcome = await harness.settle(purchase, await click)
  await expectLookBetween(harness, outcome)
  expectConsistent(outcome)
}

async function bearsAnotherClock(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const { click, attempts } = await watch(harness, purchase, { name: 'clock_skew', ms: SKEW_MS })
  if (attempts.length > SKEW_ATTEMPTS_MAX) {
    throw problem({ attempts }, `Your code asked ${times(attempts.length)} with a wrong clock.`)
  }
  expectConsistent(await harness.settle(purchase, await click))
  // The correction must not persist after the clock is right again.
  const { said, orders } = await harness.buy()
  if (said !== 'bought' || orders.length !== 1) expectBoughtOnce(await harness.buy())
}

/**
 * Sends a purchase while a condition lasts, and returns the attempts until the app has answered or the time is over.
 * The condition ends afterwards, so that an app that waits can finish.
 */
async function watch(harness: Harness, purchase: Purchase, fault: FaultToArm) {
  return harness.withFault(fault, async () => {
    let answer: AppAnswer | undefined
    const click = harness.click(purchase).then((given) => {
      answer = given
      return given
    })
    // After 202 or without an answer, the app may still be working.
    await until(async () => answer && answer.status !== 202, WATCH_MS)
    return { click, attempts: await harness.attemptsFor(purchase) }
  })
}

/** Bought or not, in agreement with the app's answer; or still in progress, and not bought twice. */
function expectConsistent(outcome: Outcome): void {
  expectAtMost(outcome, 1)
  const isBought = outcome.orders.length === 1
  if (outcome.said !== 'under_way' && isBought !== (outcome.said === 'bought')) expectBoughtOnce(outcome)
}

async function restoring<Result>(
  harness: Harness,
  items: readonly { id: string; price_cents: number }[],
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act()
  } finally {
    for (const { id, price_cents } of items)
      await harness.emulator.setItem(id, { price_cents, sellable: true })
  }
}

function expectedPrices(body: string): { id: string; price: number | undefined }[] {
  try {
    const { items } = JSON.parse(body) as { items: { id: string; expected_price_cents?: number }[] }
    return items.map(({ id, expected_price_cents }) => ({ id, price: expected_price_cents }))
  } catch {
    return []
  }
}
