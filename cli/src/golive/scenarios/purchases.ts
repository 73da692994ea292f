import type { AppAnswer } from '../app.ts'
import type { Bench, Outcome, Purchase } from '../bench.ts'
import type { FaultToArm } from '../emulator.ts'
import { cents, expectAtMost, expectBoughtOnce, expectNotBought, problem, times } from '../expectations.ts'
import type { Scenario } from '../scenario.ts'
import { until } from '../until.ts'

const ONCE = 'guides/buy-exactly-once.md'
/** A first attempt and a retry or two: more is a storm, however slow. */
const ATTEMPTS_MAX = 3
/** So long is a closed store watched for requests, unless the code is done sooner. */
const WATCH_MS = 6_000
const SKEW_MS = 90_000
const SKEW_ATTEMPTS_MAX = 5
const OVERLAP_MS = 500
/** The gap between looking and writing is small; a few tries find it. */
const ROUNDS = 3
const CLICKS = 4

const oneKeyPerPurchase =
  'Find or make the key under a unique index on your own id of the purchase, before the first attempt: insert … on conflict do nothing, then read it.'

/** Purchases, and what stands in their way for good. */
export const purchases: readonly Scenario[] = [
  {
    id: 'plain',
    title: 'A plain purchase is one order at the price shown',
    needs: [],
    does: 'One purchase, and nothing goes wrong.',
    means: 'Nothing else can be trusted.',
    fix: 'Send every line with its id and qty, and expected_price_cents as the customer saw it; answer 2xx when the store did.',
    docs: `${ONCE}#in-code`,
    run: async (bench) => expectBoughtOnce(await bench.buy(await bench.newPurchase({ linesMin: 2 }))),
  },
  {
    id: 'twice-in-a-row',
    title: 'The same purchase submitted twice is one order',
    needs: [],
    does: 'The same purchase is sent to your buy endpoint again after it was answered.',
    means: 'A reload or an impatient click buys twice.',
    fix: oneKeyPerPurchase,
    docs: `${ONCE}#buy-exactly-once`,
    run: buysOnceInARow,
  },
  {
    id: 'twice-at-once',
    title: 'The same purchase submitted twice at once is one order',
    needs: [],
    does: `The same purchase is sent to your buy endpoint ${CLICKS} times at the same moment, and the store takes its time; ${ROUNDS} times over.`,
    means: 'A double click buys twice: both find no key, and both make one.',
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
    fix: 'Make the key of your id of the purchase, never of what is in the cart.',
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
    docs: 'reference/errors/price_changed.md',
    run: keepsToThePrice,
  },
  {
    id: 'sold-out',
    title: 'Sold out: nothing is bought, and your code says so',
    needs: [],
    does: 'The item is gone just before the order arrives.',
    means: 'A customer waits for what never comes, or the store is asked again and again.',
    fix: 'item_unavailable is final for this cart: tell the customer, and give the money back.',
    docs: 'reference/errors/item_unavailable.md',
    run: takesSoldOut,
  },
  {
    id: 'no-funds',
    title: 'An empty balance: nothing is bought, no storm of retries',
    needs: [],
    does: 'The balance is empty.',
    means: 'Retries use up the 20 order attempts a minute, and hide the alarm you need.',
    fix: 'insufficient_funds is not mended by waiting. Stop, ring an alarm, fund the balance; the same key is still free.',
    docs: 'reference/errors/insufficient_funds.md',
    run: takesNoFunds,
  },
  {
    id: 'store-closed',
    title: 'A closed store is not hammered',
    needs: [],
    does: `The store is closed: 503 store_closed. Requests are counted for up to ${WATCH_MS / 1000} seconds.`,
    means: 'Attempts are used up, and customers are told of purchases that do not exist.',
    fix: 'After 503 look at GET /status before the order is sent again, and only send it when the store is open. Until then tell the customer, or keep the purchase for later.',
    docs: 'reference/errors/store_closed.md',
    run: leavesTheClosedStoreAlone,
  },
  {
    id: 'clock-skew',
    title: 'A clock that is off: mended, or refused plainly',
    needs: [],
    does: `The store's clock is ${SKEW_MS / 1000} seconds ahead, then right again.`,
    means: 'Every request is refused, and asking again with the same clock changes nothing.',
    fix: 'After timestamp_out_of_range take the time from the Date header of that answer, as the SDK does, or stop and ring an alarm. Keep the clock by NTP.',
    docs: 'reference/errors/timestamp_out_of_range.md',
    run: bearsAnotherClock,
  },
]

async function buysOnceInARow(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  expectBoughtOnce(await bench.buy(purchase))
  const again = await bench.settle(purchase, await bench.click(purchase))
  // "You have that already" may be said with any status.
  expectAtMost(again, 1)
  bench.said.set(purchase, 'bought')
}

async function buysOnceAtOnce(bench: Bench): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    const purchase = await bench.newPurchase()
    const fault = { name: 'slow_answer', ms: OVERLAP_MS }
    const clicks = () => Promise.all(Array.from({ length: CLICKS }, () => bench.click(purchase)))
    const answers = await bench.withFault(fault, clicks)
    const outcomes: Outcome[] = []
    for (const answer of answers) outcomes.push(await bench.settle(purchase, answer))
    // "Somebody is at it already" may be said with any status, but not to all of them.
    const best = outcomes.find(({ said }) => said === 'bought') ?? outcomes[0]
    if (!best) return
    bench.said.set(purchase, best.said)
    expectBoughtOnce(best)
  }
}

async function buysBoth(bench: Bench): Promise<void> {
  const one = await bench.newPurchase()
  const other = await bench.newPurchase({ cart: one.items })
  const first = await bench.buy(one)
  const second = await bench.buy(other)
  expectAtMost(second, 2)
  if (second.orders.length === 2) return
  const said = [first, second].map(({ answer }) => answer.status).join(' and ')
  throw problem(
    { attempts: [...first.attempts, ...second.attempts.slice(first.attempts.length)] },
    `Two purchases became ${second.orders.length === 1 ? 'one order' : 'no order'}; your code answered ${said}.`,
  )
}

async function keepsToThePrice(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const outcome = await restoring(bench, purchase.items, () =>
    bench.withFault({ name: 'price_change', by_cents: 50 }, () => bench.buy(purchase)),
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

async function takesSoldOut(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const outcome = await restoring(bench, purchase.items, () =>
    bench.withFault({ name: 'sold_out' }, () => bench.buy(purchase)),
  )
  expectNotBought(outcome, ATTEMPTS_MAX)
}

async function takesNoFunds(bench: Bench): Promise<void> {
  const before = await bench.emulator.balance()
  await bench.emulator.setBalance(0)
  try {
    expectNotBought(await bench.buy(), ATTEMPTS_MAX)
  } finally {
    await bench.emulator.setBalance(before)
  }
}

async function leavesTheClosedStoreAlone(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const { click, attempts } = await watch(bench, purchase, { name: 'store_closed' })
  if (attempts.length > ATTEMPTS_MAX) {
    throw problem(
      { attempts },
      `Your code sent the order ${times(attempts.length)} while the store was closed.`,
    )
  }
  const looks = await bench.looksAtStatus(purchase)
  const [first, second] = attempts
  if (first && second && !looks.some(({ seq }) => seq > first.seq && seq < second.seq)) {
    throw problem({ attempts }, 'Your code sent the order again without having looked at GET /status.')
  }
  expectConsistent(await bench.settle(purchase, await click))
}

async function bearsAnotherClock(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const { click, attempts } = await watch(bench, purchase, { name: 'clock_skew', ms: SKEW_MS })
  if (attempts.length > SKEW_ATTEMPTS_MAX) {
    throw problem({ attempts }, `Your code asked ${times(attempts.length)} with a clock that is off.`)
  }
  expectConsistent(await bench.settle(purchase, await click))
  // What was learnt of the wrong clock must not outlive it.
  const { said, orders } = await bench.buy()
  if (said !== 'bought' || orders.length !== 1) expectBoughtOnce(await bench.buy())
}

/**
 * A click while something lasts, and the attempts until the app has answered or the time is over. Whoever waits for it to pass is
 * let go afterwards.
 */
async function watch(bench: Bench, purchase: Purchase, fault: FaultToArm) {
  return bench.withFault(fault, async () => {
    let answer: AppAnswer | undefined
    const click = bench.click(purchase).then((given) => {
      answer = given
      return given
    })
    // Who said 202, or nothing yet, may still be at it.
    await until(async () => answer && answer.status !== 202, WATCH_MS)
    return { click, attempts: await bench.attemptsFor(purchase) }
  })
}

/** Bought or not, as the app says; or still under way, and not bought twice. */
function expectConsistent(outcome: Outcome): void {
  expectAtMost(outcome, 1)
  const isBought = outcome.orders.length === 1
  if (outcome.said !== 'under_way' && isBought !== (outcome.said === 'bought')) expectBoughtOnce(outcome)
}

async function restoring<Result>(
  bench: Bench,
  items: readonly { id: string; price_cents: number }[],
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act()
  } finally {
    for (const { id, price_cents } of items) await bench.emulator.setItem(id, { price_cents, sellable: true })
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
