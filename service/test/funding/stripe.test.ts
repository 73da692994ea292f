import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { INVARIANTS } from '../../src/wiring.ts'
import { type FundingShop, openFunding } from '../../testing/funding.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

let laterMs = 0
let shop: FundingShop
let account_id: string
beforeAll(async () => {
  shop = await openFunding({ clock: { nowMs: () => Date.now() + laterMs } })
})
afterAll(async () => {
  // Whatever the tests did, every rule about money holds.
  const findings = await verifyData(shop.database.operator, await readRules(INVARIANTS), () => {})
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
  await shop.close()
})
beforeEach(async () => {
  laterMs = 0
  shop.stripe.away(false)
  shop.letters.length = 0
  account_id = (await shop.operator.createAccount('Acme Bots')).id
})

/** Moves the clocks of the processes; what is due by the database's clock is due that much sooner. */
async function pass(ms: number) {
  laterMs += ms
  await shop.database.asOwner(`update payment_events set next_at = next_at - ${ms} * interval '1 ms'`)
}
const start = (amount_cents: number) => shop.start(amount_cents, account_id)
const balance = () => shop.balance(account_id)
const paidEvent = (session: object) => shop.stripe.event('checkout.session.completed', session)
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
    { to: { person_ids: ['per_1'] }, letter: { subject: '$50,000.00 added to the balance of Acme Bots' } },
  ])
})

test('an event is due as soon as it is recorded, also for a worker whose clock is behind the database', async () => {
  const { session } = await start(600)
  shop.stripe.pay(session.id)
  await shop.post(paidEvent(session))
  laterMs = -MINUTE_MS
  await shop.worker.applyEvents()
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

test('an event that names another account, another top-up or another page credits nobody', async () => {
  const other = await shop.operator.createAccount('Somebody else')
  const { top_up, session } = await start(1_300)
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
  expect([await balance(), await shop.balance(other.id)]).toEqual([0, 0])
  expect((await shop.topUp(top_up.id, account_id)).state).toBe('pending')
  expect((await shop.operator.listTopUps(100)).events.length).toBeGreaterThanOrEqual(3)
})

test('an event that says paid while Stripe says open credits nothing until Stripe says paid', async () => {
  const { session } = await start(1_500)
  const early = { ...session, status: 'complete', payment_status: 'paid', payment_intent: 'pi_early' }
  await shop.post(paidEvent(early))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  session.payment_intent = 'pi_early'
  shop.stripe.pay(session.id)
  await pass(2 * MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
})

test('another amount than was asked for goes to a person, who confirms what arrived, once', async () => {
  const { top_up, session } = await start(2_000)
  Object.assign(shop.stripe.pay(session.id), { amount_total: 1_999 })
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  expect(await shop.topUp(top_up.id, account_id)).toMatchObject({
    state: 'review',
    note: '1999 usd cents were paid, 2000 usd cents were asked for',
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

test('a refund and a dispute that come before the credit are applied after it', async () => {
  const { session } = await start(3_000)
  shop.stripe.pay(session.id)
  await shop.post(shop.stripe.event('charge.refunded', shop.stripe.chargeOf(session, 1_000)))
  await shop.post(shop.stripe.event('charge.dispute.created', shop.stripe.disputeOf(session, 500)))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  await shop.post(paidEvent(session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_500)
  expect(await statusOf()).toBe('active')
})

test('two refunds of one charge take back the sum of both, in either order and however often they are reported', async () => {
  const { top_up, session } = await credited(5_000)
  const refunded = (cents: number) =>
    shop.stripe.event('charge.refunded', shop.stripe.chargeOf(session, cents))
  const report = async (event: ReturnType<typeof refunded>) => {
    await shop.post(event)
    await shop.worker.applyEvents()
  }
  const first = refunded(1_000)
  await report(first)
  expect(await balance()).toBe(4_000)
  const late = refunded(1_500)
  const both = refunded(2_500)
  for (const event of [both, late, both, refunded(2_500), first]) await report(event)
  expect(await balance()).toBe(2_500)
  expect((await shop.topUp(top_up.id, account_id)).reversed_cents).toBe(2_500)
})

test('a dispute larger than the balance takes what is there, suspends the account and records what is owed; the next top-up pays it first', async () => {
  const { session } = await credited(10_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -7_000,
    reference: 'spent',
    note: 'as if orders',
  })
  shop.letters.length = 0
  const dispute = shop.stripe.disputeOf(session, 10_000)
  await Promise.all([
    shop.post(shop.stripe.event('charge.dispute.created', dispute)),
    shop.post(shop.stripe.event('charge.dispute.funds_withdrawn', dispute)),
  ])
  await Promise.all([shop.worker.applyEvents(), shop.worker.applyEvents()])
  expect(await balance()).toBe(0)
  expect(await statusOf()).toBe('suspended')
  const owed = (await shop.operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)
  expect(owed).toMatchObject([
    { kind: 'dispute', amount_cents: 10_000, taken_cents: 3_000, owed_cents: 7_000 },
  ])
  expect(shop.letters.map(({ to, letter }) => [to, letter.subject])).toEqual([
    [`treasurers of ${account_id}`, 'Acme Bots is suspended: $70.00 are owed'],
  ])
  expect((await shop.operator.listActions(account_id, 10)).map(({ action }) => action)).toContain(
    'account.suspend',
  )

  await credited(8_000)
  expect(await balance()).toBe(1_000)
  expect((await shop.operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)).toEqual(
    [],
  )
  expect(await statusOf()).toBe('suspended')
})

test('a dispute that was won returns what it took, and nothing is owed any more', async () => {
  const { session } = await credited(4_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -3_000,
    reference: 'spent',
    note: 'as if orders',
  })
  const dispute = shop.stripe.disputeOf(session, 4_000)
  const created = shop.stripe.event('charge.dispute.created', dispute)
  const won = shop.stripe.event(
    'charge.dispute.funds_reinstated',
    shop.stripe.disputeOf(session, 4_000, 'won'),
  )
  // The end of it is reported before its beginning.
  await shop.post(won)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_000)
  await shop.post(created)
  await shop.worker.applyEvents()
  await pass(2 * MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_000)
  expect((await shop.operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)).toEqual(
    [],
  )
})

test('refunds and disputes that Stripe knows nothing of, or says less of, take and return nothing, however well they are signed', async () => {
  const { session } = await credited(4_000)
  const charge = {
    id: 'ch_invented',
    object: 'charge',
    amount_refunded: 4_000,
    currency: 'usd',
    payment_intent: session.payment_intent,
    metadata: session.metadata,
  }
  const dispute = { ...charge, id: 'du_invented', object: 'dispute', amount: 4_000, status: 'lost' }
  // Another payment's charge, named as this one's.
  const other = await credited(1_000)
  const foreign = { ...shop.stripe.chargeOf(other.session, 1_000), payment_intent: session.payment_intent }
  for (const [type, object] of [
    ['charge.refunded', charge],
    ['charge.refunded', foreign],
    ['charge.dispute.created', dispute],
    ['charge.dispute.funds_withdrawn', { ...dispute, id: 'du_other' }],
  ] as const) {
    expect(await shop.post(shop.stripe.event(type, object))).toBe(200)
    await shop.worker.applyEvents()
  }
  expect(await balance()).toBe(5_000)
  const notes = (await shop.operator.listTopUps(100)).events.map(({ note }) => note)
  expect(notes).toContain(`The provider knows no ch_invented of ${session.payment_intent}`)
  expect(notes).toContain(`The provider knows no du_invented of ${session.payment_intent}`)

  // What Stripe says counts, not what the event says.
  const small = shop.stripe.chargeOf(session, 300)
  await shop.post(shop.stripe.event('charge.refunded', { ...small, amount_refunded: 4_000 }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_700)
  const open = shop.stripe.disputeOf(session, 700)
  await shop.post(shop.stripe.event('charge.dispute.created', { ...open, amount: 3_000 }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  await shop.post(shop.stripe.event('charge.dispute.funds_reinstated', { ...open, status: 'won' }))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(4_000)
  expect(await statusOf()).toBe('active')
})

test('Stripe does not answer about a refund: the event waits, and is applied when it answers again', async () => {
  const { session } = await credited(900)
  await shop.post(shop.stripe.event('charge.refunded', shop.stripe.chargeOf(session, 200)))
  shop.stripe.away(true)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(900)
  shop.stripe.away(false)
  await pass(MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(700)
})

test('an inquiry takes no money', async () => {
  const { session } = await credited(600)
  const inquiry = shop.stripe.disputeOf(session, 600, 'warning_needs_response')
  await shop.post(shop.stripe.event('charge.dispute.created', inquiry))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(600)
})

test('an operator writes off what is owed and may then resume the account', async () => {
  const { session } = await credited(2_000)
  await shop.operator.adjustAccount(account_id, {
    change_cents: -2_000,
    reference: 'spent',
    note: 'as if orders',
  })
  await shop.post(shop.stripe.event('charge.dispute.created', shop.stripe.disputeOf(session, 2_000)))
  await shop.worker.applyEvents()
  const [owed] = (await shop.operator.listReceivables(1_000)).filter((row) => row.account_id === account_id)
  expect(await shop.operator.writeOffReceivable(String(owed?.id), 'paid by cheque')).toMatchObject({
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
  await pass(MINUTE_MS)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(800)
})

test('a paid page whose event never came is found by asking, and an abandoned one ends as expired', async () => {
  const paid = await start(1_200)
  const abandoned = await start(1_201)
  shop.stripe.pay(paid.session.id)
  abandoned.session.status = 'expired'
  laterMs = 10 * MINUTE_MS
  await Promise.all([shop.worker.askAboutUnheard(), shop.worker.askAboutUnheard()])
  expect(await balance()).toBe(1_200)
  expect((await shop.topUp(abandoned.top_up.id, account_id)).state).toBe('expired')
  laterMs = 0
  await shop.post(paidEvent(paid.session))
  await shop.worker.applyEvents()
  expect(await balance()).toBe(1_200)
})

test('a dispute about a payment that is not ours is ignored after three days', async () => {
  const foreign = {
    ...shop.stripe.disputeOf({ payment_intent: 'pi_of_another_shop' } as never, 100),
    currency: 'usd',
  }
  await shop.post(shop.stripe.event('charge.dispute.created', foreign))
  await shop.worker.applyEvents()
  await pass(4 * DAY_MS)
  await shop.worker.applyEvents()
  const [event] = await shop.database.owner.many<{ state: string; note: string }>({
    name: 'event',
    text: `select state, note from payment_events where subject = 'pi_of_another_shop'`,
    values: [],
  })
  expect(event).toEqual({ state: 'ignored', note: 'No top-up was paid by pi_of_another_shop' })
})

test('a session is opened with the id of the top-up as idempotency key', async () => {
  const { top_up } = await start(999)
  expect(shop.stripe.asked).toContainEqual({
    method: 'POST',
    path: '/v1/checkout/sessions',
    key: top_up.id,
  })
})
