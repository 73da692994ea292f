import type { StripePayment } from '@shopwire/test-kit/receivers/stripe-merchant'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FundingShop, openFunding } from '../../testing/funding.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

let shop: FundingShop
let account_id: string
beforeAll(async () => {
  shop = await openFunding()
})
afterAll(async () => {
  // Whatever the tests did, every rule about money holds.
  expect(await shop.violated()).toEqual([])
  await shop.close()
})
beforeEach(async () => {
  shop.stripe.away(false)
  shop.letters.length = 0
  account_id = (await shop.operator.createAccount('Acme Bots')).id
})

const start = (amount_cents: number) => shop.start(amount_cents, account_id)
const balance = () => shop.balance(account_id)
const paidEvent = (session: object) => shop.stripe.event('checkout.session.completed', session)
const reviews = async () => (await shop.operator.listTopUps(1_000)).reviews
const reviewsOf = async ({ payment_intent }: { payment_intent: string | null }) =>
  (await reviews()).filter(({ subject }) => subject === payment_intent).map(({ note }) => note)
const paymentOf = ({ payment_intent }: { payment_intent: string | null }) =>
  shop.stripe.payments.get(String(payment_intent)) as StripePayment
const owed = async () =>
  (await shop.operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)
const statusOf = async () => (await shop.operator.showAccount(account_id)).account.status

async function bookedBy(top_up_id: string) {
  const { transfers } = await shop.operator.showAccount(account_id)
  const { transfer_id } = await shop.topUp(top_up_id, account_id)
  return transfers.filter(({ id }) => id === transfer_id)
}

/** A top-up that was paid and credited. */
async function credited(amount_cents: number) {
  const { top_up, session } = await start(amount_cents)
  shop.stripe.pay(session.id)
  expect(await shop.post(paidEvent(session))).toBe(200)
  await shop.worker.applyEvents()
  return { top_up, session }
}

test('a paid page is credited once the event was applied, with a transfer that names the payment', async () => {
  const { top_up, session, pay_url } = await start(50_000_00)
  expect(pay_url).toBe(session.url)
  expect(top_up).toMatchObject({ state: 'pending', amount_cents: 50_000_00, credited_cents: null })
  expect(session).toMatchObject({
    amount_total: 50_000_00,
    currency: 'usd',
    metadata: { account_id, top_up_id: top_up.id },
    success_url: `https://dashboard.example/balance?top_up=${top_up.id}`,
  })
  shop.stripe.pay(session.id)
  expect(await shop.post(paidEvent(session))).toBe(200)
  expect(await balance()).toBe(0)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(50_000_00)
  expect(await shop.topUp(top_up.id, account_id)).toMatchObject({
    state: 'credited',
    credited_cents: 50_000_00,
  })
  expect(await bookedBy(top_up.id)).toMatchObject([
    { kind: 'funding', change_cents: 50_000_00, reference: `stripe:${session.payment_intent}` },
  ])
  expect(shop.letters).toMatchObject([
    { kind: 'top_up', letter: { subject: '$50,000.00 added to the balance of Acme Bots' } },
  ])
})

test('an event is due as soon as it is recorded, also for a worker whose clock is behind the database', async () => {
  const { session } = await start(600)
  shop.stripe.pay(session.id)
  await shop.post(paidEvent(session))
  const behind = shop.workerWith({ clock: { nowMs: () => Date.now() - MINUTE_MS } })
  await behind.applyEvents()
  expect(await balance()).toBe(600)
})

test('the same event and other events of the payment, sent 30 times and applied by 6 workers at once, credit once', async () => {
  const { session } = await start(700)
  shop.stripe.pay(session.id)
  const events = [
    paidEvent(session),
    paidEvent(session),
    shop.stripe.event('checkout.session.async_payment_succeeded', session),
  ]
  const statuses = await Promise.all(
    Array.from({ length: 30 }, (_, n) => shop.post(events[n % events.length] as (typeof events)[number])),
  )
  expect(new Set(statuses)).toEqual(new Set([200]))
  await Promise.all(Array.from({ length: 6 }, () => shop.worker.applyEvents()))
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(700)
  expect((await shop.operator.showAccount(account_id)).transfers).toHaveLength(1)
})

test('returns 401 and records nothing for a forged, an unsigned and an old event', async () => {
  const { session } = await start(900)
  shop.stripe.pay(session.id)
  const good = paidEvent(session)
  const other = shop.stripe.event('checkout.session.completed', session, {
    withSecret: 'whsec_guessed_by_somebody',
  })
  const old = shop.stripe.event('checkout.session.completed', session, { nowMs: Date.now() - 6 * MINUTE_MS })
  expect(await shop.post(other)).toBe(401)
  expect(await shop.post(old)).toBe(401)
  expect(await shop.post({ ...good, body: good.body.replace('900', '901') })).toBe(401)
  expect(await shop.post({ ...good, signature: 'v1=00' })).toBe(401)
  const unsigned = await fetch(shop.eventsUrl, { method: 'POST', body: good.body })
  expect(unsigned.status).toBe(401)
  expect(await unsigned.json()).toMatchObject({ error: { type: 'authentication_failed' } })
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
})

test('accepts events signed with the second secret while one replaces the other', async () => {
  const { session } = await start(1_100)
  shop.stripe.pay(session.id)
  const signedWithNext = shop.stripe.event('checkout.session.completed', session, {
    withSecret: 'whsec_of_next_month',
  })
  expect(await shop.post(signedWithNext)).toBe(200)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_100)
})

test('an event that names another account, another top-up or another page credits nobody it names', async () => {
  const other = await shop.operator.createAccount('Somebody else')
  const { session } = await start(1_300)
  const second = await start(1_300)
  shop.stripe.pay(session.id)
  const { metadata } = session
  for (const wrong of [
    { ...session, metadata: { ...metadata, account_id: other.id } },
    { ...session, metadata: { ...metadata, top_up_id: 'top_of_nobody' } },
    { ...session, metadata: { ...metadata, top_up_id: second.top_up.id } },
  ]) {
    expect(await shop.post(paidEvent(wrong))).toBe(200)
    await shop.worker.applyEvents()
  }
  // What was really paid is credited, once, to whom Stripe names.
  expect([await balance(), await shop.balance(other.id)]).toEqual([1_300, 0])
  expect((await shop.topUp(second.top_up.id, account_id)).state).toBe('pending')
  expect(await reviewsOf(session)).toEqual([])
  expect((await reviews()).filter(({ subject }) => subject === session.id)).toHaveLength(3)
})

test('an event that says paid while Stripe says open credits nothing until Stripe says paid', async () => {
  const { session } = await start(1_500)
  const early = { ...session, status: 'complete', payment_status: 'paid', payment_intent: 'pi_early' }
  await shop.post(paidEvent(early))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  session.payment_intent = 'pi_early'
  shop.stripe.pay(session.id)
  await shop.pass(20 * MINUTE_MS)
  await shop.worker.lookAtTopUps()
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
})

test('another amount than was asked for goes to a person, who confirms what arrived, once', async () => {
  const { top_up, session } = await start(2_000)
  shop.stripe.pay(session.id)
  paymentOf(session).amount_received = 1_999
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  expect(await shop.topUp(top_up.id, account_id)).toMatchObject({
    state: 'review',
    note: '1999 usd cents were paid, 2000 usd cents were requested',
  })
  const confirm = () =>
    shop.operator.confirmTopUp(top_up.id, {
      amount_cents: 1_999,
      reference: `stripe:${session.payment_intent}`,
    })
  expect(await confirm()).toMatchObject({ isNew: true, balance_cents: 1_999 })
  expect(await confirm()).toMatchObject({ isNew: false, balance_cents: 1_999 })
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_999)
})

test('a refund and a dispute that are reported before the payment are booked after its credit', async () => {
  const { session } = await start(3_000)
  shop.stripe.pay(session.id)
  await shop.report(shop.stripe.refund(session, 1_000))
  await shop.report(shop.stripe.dispute(session, 500))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
  expect(await statusOf()).toBe('active')
})

test('two refunds of one payment take back the sum of both, in either order and however often they are reported', async () => {
  const { top_up, session } = await credited(5_000)
  const first = shop.stripe.event('refund.created', shop.stripe.refund(session, 1_000))
  await shop.post(first)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  const second = shop.stripe.event('refund.created', shop.stripe.refund(session, 1_500))
  const charge = shop.stripe.event('charge.refunded', shop.stripe.chargeOf(session))
  for (const event of [charge, second, charge, first]) {
    await shop.post(event)
    await shop.worker.applyEvents()
  }
  expect(await balance()).toBe(2_500)
  expect((await shop.topUp(top_up.id, account_id)).reversed_cents).toBe(2_500)
})

test('a second refund, reported while Stripe is being asked about the first, is taken too', async () => {
  const { session } = await credited(5_000)
  await shop.report(shop.stripe.refund(session, 1_000))
  // Stripe has answered, and before the answer is applied there is another refund and its event.
  const slow = shop.workerWith({
    provider: {
      async readPayment(payment) {
        const read = await shop.provider.readPayment(payment)
        if (shop.stripe.refunds.size === refundsBefore) await shop.report(shop.stripe.refund(session, 2_000))
        return read
      },
    },
  })
  const refundsBefore = shop.stripe.refunds.size
  await slow.applyEvents()
  expect(await balance()).toBe(4_000)
  await slow.applyEvents()
  expect(await balance()).toBe(2_000)
})

test('an answer that is older than the one applied before is not applied', async () => {
  const { session } = await credited(5_000)
  const refund = shop.stripe.refund(session, 3_000, 'pending')
  const old = await shop.provider.readPayment(String(session.payment_intent))
  await shop.report(refund)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(2_000)
  let asked = 0
  const late = shop.workerWith({
    provider: {
      async readPayment(payment) {
        asked += 1
        if (asked > 1) return shop.provider.readPayment(payment)
        // While this answer is on its way, the refund fails and another worker books that.
        refund.status = 'failed'
        await shop.report(refund, 'refund.failed')
        await shop.worker.applyEvents()
        return old
      },
    },
  })
  await late.settle(String(session.payment_intent))
  expect(asked).toBe(2)
  expect(await balance()).toBe(5_000)
})

test('a refund that fails at the bank is returned, and the repeated refund is taken', async () => {
  const { session } = await credited(4_000)
  const refund = shop.stripe.refund(session, 4_000, 'pending')
  await shop.report(refund)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  refund.status = 'failed'
  await shop.report(refund, 'refund.failed')
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  expect(shop.letters.at(-1)?.letter.subject).toBe('$40.00 returned to the balance of Acme Bots')
  await shop.report(shop.stripe.refund(session, 4_000))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
})

test('a dispute larger than the balance takes what is there, suspends the account and records what is owed; the next top-up pays it first', async () => {
  const { session } = await credited(10_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -7_000,
    reference: 'spent',
    note: 'as if orders',
  })
  shop.letters.length = 0
  const dispute = shop.stripe.dispute(session, 10_000)
  await Promise.all([shop.report(dispute), shop.report(dispute, 'charge.dispute.funds_withdrawn')])
  await Promise.all([shop.worker.applyEvents(), shop.worker.applyEvents()])
  expect(await balance()).toBe(0)
  expect(await statusOf()).toBe('suspended')
  expect(await owed()).toMatchObject([
    { kind: 'dispute', amount_cents: 10_000, taken_cents: 3_000, owed_cents: 7_000 },
  ])
  expect(shop.letters.map(({ kind, letter }) => [kind, letter.subject])).toEqual([
    ['reversal', 'Acme Bots is suspended: $70.00 are owed'],
  ])
  expect((await shop.operator.listActions(account_id, 10)).map(({ action }) => action)).toContain(
    'account.suspend',
  )

  await credited(8_000)
  expect(await balance()).toBe(1_000)
  expect(await owed()).toEqual([])
  expect(await statusOf()).toBe('suspended')
})

test('a dispute that was won returns what it took, and nothing is owed any more', async () => {
  const { session } = await credited(4_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -3_000,
    reference: 'spent',
    note: 'as if orders',
  })
  const dispute = shop.stripe.dispute(session, 4_000)
  await shop.report(dispute)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  expect(await owed()).toMatchObject([{ owed_cents: 3_000 }])
  dispute.status = 'won'
  await shop.report(dispute, 'charge.dispute.funds_reinstated')
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_000)
  expect(await owed()).toEqual([])
  // The beginning is reported once more.
  await shop.report(dispute)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_000)
})

test('a dispute whose end is reported first moves nothing', async () => {
  const { session } = await credited(4_000)
  const dispute = shop.stripe.dispute(session, 4_000, 'won')
  for (const type of ['charge.dispute.funds_reinstated', 'charge.dispute.created']) {
    await shop.report(dispute, type)
    await shop.worker.applyEvents()
  }
  expect(await balance()).toBe(4_000)
  expect((await shop.operator.showAccount(account_id)).transfers).toHaveLength(1)
})

test('refunds and disputes that Stripe knows nothing of, or says less of, take and return nothing, however well they are signed', async () => {
  const { session } = await credited(4_000)
  const other = await credited(1_000)
  const invented = { ...shop.stripe.refund(session, 1), id: 're_invented', amount: 4_000 }
  shop.stripe.refunds.clear()
  // Another payment's refund, named as this one's.
  const foreign = {
    ...shop.stripe.refund(other.session, 100),
    payment_intent: String(session.payment_intent),
  }
  for (const [type, object] of [
    ['refund.created', invented],
    ['refund.created', foreign],
    ['charge.dispute.created', { ...invented, id: 'du_invented', object: 'dispute', status: 'lost' }],
    ['charge.dispute.funds_withdrawn', { ...invented, id: 'du_other', object: 'dispute' }],
  ] as const) {
    expect(await shop.post(shop.stripe.event(type, object))).toBe(200)
    await shop.worker.applyEvents()
  }
  expect(await balance()).toBe(5_000)
  // A list of Stripe's may be a moment behind its event. After ten minutes it is a person's.
  expect((await reviews()).filter(({ note }) => note.includes('invented'))).toEqual([])
  await shop.pass(11 * MINUTE_MS)
  await shop.worker.applyEvents()
  const notes = (await reviews()).map(({ note }) => note)
  expect(notes).toContain(`The provider has no re_invented of ${session.payment_intent}`)
  expect(notes).toContain(`The provider has no du_invented of ${session.payment_intent}`)

  // What Stripe says counts, not what the event says.
  const small = shop.stripe.refund(session, 300)
  await shop.post(shop.stripe.event('refund.created', { ...small, amount: 4_000 }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_700)
  const open = shop.stripe.dispute(session, 700)
  await shop.post(shop.stripe.event('charge.dispute.created', { ...open, amount: 3_000 }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  await shop.post(shop.stripe.event('charge.dispute.funds_reinstated', { ...open, status: 'won' }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  expect(await statusOf()).toBe('active')
})

test('Stripe does not answer about a refund: it is counted and said, the event waits, and is applied when it answers again', async () => {
  const { session } = await credited(900)
  const failures = async () =>
    Number(/_calls_total\{outcome="failed"\} (\d+)/.exec(await shop.metrics.registry.metrics())?.[1])
  const before = await failures()
  expect(shop.provider.problem()).toBeUndefined()
  await shop.report(shop.stripe.refund(session, 200))
  shop.stripe.away(true)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(900)
  expect(await failures()).toBeGreaterThan(before)
  expect(shop.provider.problem()).toContain('(stripe) does not answer')
  shop.stripe.away(false)
  await shop.pass(MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(700)
  expect(shop.provider.problem()).toBeUndefined()
})

test('an inquiry takes no money until it becomes a dispute', async () => {
  const { session } = await credited(600)
  const inquiry = shop.stripe.dispute(session, 600, 'warning_needs_response')
  await shop.report(inquiry)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(600)
  expect(await reviewsOf(session)).toEqual([])
  inquiry.status = 'needs_response'
  await shop.report(inquiry, 'charge.dispute.updated')
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
})

test('an operator writes off what is owed and may then resume the account', async () => {
  const { session } = await credited(2_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -2_000,
    reference: 'spent',
    note: 'as if orders',
  })
  await shop.report(shop.stripe.dispute(session, 2_000))
  await shop.worker.applyEvents()
  const [dispute] = await owed()
  expect(await shop.operator.writeOffReceivable(String(dispute?.id), 'paid by cheque')).toMatchObject({
    written_off_cents: 2_000,
    still_owed_cents: 0,
  })
  await shop.operator.resumeAccount(account_id)
  expect(await statusOf()).toBe('active')
})

test('Stripe does not answer: the event waits, and is applied when it answers again', async () => {
  const { session } = await start(800)
  shop.stripe.pay(session.id)
  await shop.post(paidEvent(session))
  shop.stripe.away(true)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  shop.stripe.away(false)
  await shop.pass(MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(800)
})

test('a paid page whose event never came is found by asking, and an abandoned one ends as expired', async () => {
  const paid = await start(1_200)
  const abandoned = await start(1_201)
  shop.stripe.pay(paid.session.id)
  abandoned.session.status = 'expired'
  await shop.pass(10 * MINUTE_MS)
  await Promise.all([shop.worker.lookAtTopUps(), shop.worker.lookAtTopUps()])
  expect(await balance()).toBe(1_200)
  expect((await shop.topUp(abandoned.top_up.id, account_id)).state).toBe('expired')
  await shop.post(paidEvent(paid.session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_200)
})

test('refunds and disputes of other business in the same Stripe account are ignored, and nobody is asked about them', async () => {
  const foreign = { payment_intent: 'pi_of_another_shop', currency: 'usd' }
  shop.stripe.payments.set('pi_of_another_shop', {
    id: 'pi_of_another_shop',
    object: 'payment_intent',
    metadata: { cart: '17' },
    created: Math.floor(Date.now() / 1000),
    status: 'succeeded',
    amount_received: 900,
    currency: 'usd',
  })
  const before = await reviews()
  await shop.report(shop.stripe.dispute(foreign, 100))
  await shop.report(shop.stripe.refund(foreign, 100))
  await shop.worker.applyEvents()
  await shop.pass(DAY_MS)
  await shop.reconcile()
  expect(await reviews()).toEqual(before)
  const events = await shop.database.owner.many<{ state: string }>({
    name: 'event',
    text: `select distinct state from payment_events where subject = 'pi_of_another_shop'`,
    values: [],
  })
  expect(events).toEqual([{ state: 'ignored' }])
})

test('a card payment for a top-up that was confirmed by wire is for a person, and its page is closed', async () => {
  const { top_up, session } = await start(10_000)
  const late = await start(10_000)
  // This one is confirmed while its page is open.
  await shop.operator.confirmTopUp(late.top_up.id, { amount_cents: 10_000, reference: 'wire-2' })
  shop.stripe.pay(session.id)
  await shop.operator.confirmTopUp(top_up.id, { amount_cents: 5_000, reference: 'wire-1' })
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  await shop.worker.lookAtTopUps()
  expect(await balance()).toBe(15_000)
  expect(await reviewsOf(session)).toEqual([
    `$100.00 paid as ${session.payment_intent} are with the provider and were not credited: ${top_up.id} was credited by the payment "wire-1"`,
  ])
  expect(late.session.status).toBe('expired')
  // Refunded at Stripe, it needs nobody any more.
  await shop.report(shop.stripe.refund(session, 10_000))
  await shop.worker.applyEvents()
  expect(await reviewsOf(session)).toEqual([])
  expect(await balance()).toBe(15_000)
})

test('a wire for a top-up that a card has paid is refused, and a rejected one whose page was paid is for a person', async () => {
  const { top_up } = await credited(3_000)
  await expect(
    shop.operator.confirmTopUp(top_up.id, { amount_cents: 3_000, reference: 'wire-3' }),
  ).rejects.toThrow('was credited by')
  const rejected = await start(2_000)
  shop.stripe.pay(rejected.session.id)
  await shop.operator.rejectTopUp(rejected.top_up.id, 'test')
  await shop.worker.lookAtTopUps()
  expect(await balance()).toBe(3_000)
  expect(await reviewsOf(rejected.session)).toEqual([
    `$20.00 paid as ${rejected.session.payment_intent} are with the provider and were not credited: ${rejected.top_up.id} was rejected`,
  ])
})

test('a dispute about a top-up in review is taken as soon as an operator has confirmed it', async () => {
  const { top_up, session } = await start(2_000)
  shop.stripe.pay(session.id)
  paymentOf(session).amount_received = 1_900
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  await shop.report(shop.stripe.dispute(session, 1_500))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  const confirmed = { amount_cents: 1_900, reference: `stripe:${session.payment_intent}` }
  await expect(shop.operator.confirmTopUp(top_up.id, confirmed)).rejects.toThrow(
    `$15.00 of ${session.payment_intent} were refunded or are disputed. Nothing was booked.`,
  )
  await shop.operator.confirmTopUp(top_up.id, { ...confirmed, although_taken_back: true })
  await shop.worker.lookAtTopUps()
  expect(await balance()).toBe(400)
})

test('more taken back than was paid is booked up to what was paid, and the rest is for a person', async () => {
  const { session } = await credited(1_000)
  await shop.report(shop.stripe.refund(session, 600))
  const dispute = shop.stripe.dispute(session, 1_000)
  await shop.report(dispute)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  expect(await reviewsOf(session)).toEqual([
    `The dispute ${dispute.id} of $10.00 is $6.00 more than was left of the top-up; that much was not taken`,
  ])
})

test('one page that Stripe does not know holds up no other top-up, and is for a person', async () => {
  const unknown = await start(700)
  const paid = await start(800)
  shop.stripe.sessions.delete(unknown.session.id)
  shop.stripe.pay(paid.session.id)
  await shop.pass(10 * MINUTE_MS)
  await shop.worker.lookAtTopUps()
  expect(await balance()).toBe(800)
  expect(await shop.topUp(unknown.top_up.id, account_id)).toMatchObject({
    state: 'review',
    note: `The provider has no page ${unknown.session.id}`,
  })
})

test('what is owed is collected from every kind of credit, and resuming says what is still owed', async () => {
  const { session } = await credited(5_000)
  const spend = (change_cents: number, reference: string) =>
    shop.operator.adjustAccount(account_id, { change_cents, reference, note: 'as if orders' })
  await spend(-5_000, 'spent')
  const dispute = shop.stripe.dispute(session, 5_000)
  await shop.report(dispute)
  await shop.worker.applyEvents()
  expect(await shop.operator.resumeAccount(account_id)).toMatchObject({ status: 'active', owed_cents: 5_000 })
  expect(
    await shop.operator.fundAccount(account_id, { amount_cents: 1_000, reference: `wire of ${account_id}` }),
  ).toMatchObject({
    balance_cents: 0,
    collected_cents: 1_000,
  })
  expect(await spend(500, 'goodwill')).toMatchObject({ balance_cents: 0, collected_cents: 500 })
  expect(await owed()).toMatchObject([{ owed_cents: 3_500, taken_cents: 1_500 }])
  dispute.status = 'won'
  await shop.report(dispute, 'charge.dispute.closed')
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
  expect(await owed()).toEqual([])
})

test('a dispute won after the account was closed pays nothing into it: a person decides', async () => {
  const { session } = await credited(1_000)
  const dispute = shop.stripe.dispute(session, 1_000)
  await shop.report(dispute)
  await shop.worker.applyEvents()
  await shop.operator.closeAccount(account_id, 'test')
  dispute.status = 'won'
  await shop.report(dispute, 'charge.dispute.closed')
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  expect(await reviewsOf(session)).toEqual([
    `The dispute ${dispute.id} of $10.00 is "won": $10.00 belong to ${account_id}, which is closed`,
  ])
  const [review] = (await reviews()).filter(({ subject }) => subject === session.payment_intent)
  await shop.operator.decideReview(String(review?.id), 'paid out by wire')
  expect(await reviewsOf(session)).toEqual([])
  // The same difference is not found again.
  await shop.worker.settle(String(session.payment_intent))
  expect(await reviewsOf(session)).toEqual([])
})

test('a session is opened with the id of the top-up as idempotency key', async () => {
  const { top_up } = await start(999)
  expect(shop.stripe.asked).toContainEqual({
    method: 'POST',
    path: '/v1/checkout/sessions',
    key: top_up.id,
  })
})
