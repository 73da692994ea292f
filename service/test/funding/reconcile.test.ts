import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FundingShop, openFunding } from '../../testing/funding.ts'

const DAY_MS = 86_400_000

let shop: FundingShop
let account_id: string
let nowMs = Date.now()
beforeAll(async () => {
  shop = await openFunding()
  shop.stripe.setClock(() => nowMs)
  await shop.reconcile()
})
afterAll(async () => {
  expect(await shop.violated()).toEqual([])
  await shop.close()
})
beforeEach(async () => {
  shop.stripe.away(false)
  shop.stripe.setPageMax(100)
  shop.stripe.asked.length = 0
  nowMs = Date.now()
  account_id = (await shop.operator.createAccount('Acme Bots')).id
})

const balance = () => shop.balance(account_id)
const reviewsOf = async ({ payment_intent }: { payment_intent: string | null }) =>
  (await shop.operator.listTopUps(1_000)).reviews
    .filter(({ subject }) => subject === payment_intent)
    .map(({ note }) => note)

/** Credited, with an event, as of `daysAgo`. */
async function credited(amount_cents: number, daysAgo = 0) {
  nowMs = Date.now() - daysAgo * DAY_MS
  const { top_up, session } = await shop.start(amount_cents, account_id)
  shop.stripe.pay(session.id)
  await shop.post(shop.stripe.event('checkout.session.completed', session))
  await shop.worker.applyEvents()
  await shop.database.asOwner(`
    set session_replication_role = replica;
    update top_ups
       set decided_at = decided_at - ${daysAgo} * interval '1 day', created_at = created_at - ${daysAgo} * interval '1 day'
     where id = '${top_up.id}'`)
  nowMs = Date.now()
  return { top_up, session }
}

/** All was compared until `daysAgo`, and the comparison is due. */
async function comparedUntil(daysAgo: number) {
  await shop.database.asOwner(
    `update payment_reconciliations set due_at = now(), compared_until = now() - ${daysAgo} * interval '1 day'`,
  )
}

test('threat 71: a refund and a dispute whose events never came are booked, and reported to the treasurers', async () => {
  const { session } = await credited(5_000)
  shop.stripe.refund(session, 1_000)
  shop.stripe.dispute(session, 500)
  await comparedUntil(1)
  shop.letters.length = 0
  expect(await shop.reconcile()).toBe(true)
  expect(await balance()).toBe(3_500)
  expect(shop.letters).toHaveLength(2)
  expect(await reviewsOf(session)).toEqual([])
})

test('a dispute that comes 300 days after its payment is found by its own time', async () => {
  const { session } = await credited(2_000, 300)
  await comparedUntil(1)
  shop.stripe.dispute(session, 2_000)
  await shop.reconcile()
  expect(await balance()).toBe(0)
})

test('a dispute that is won after 200 days is found, although its event never came', async () => {
  const { session } = await credited(2_000, 300)
  nowMs = Date.now() - 200 * DAY_MS
  const dispute = shop.stripe.dispute(session, 2_000)
  await shop.report(dispute)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  await comparedUntil(1)
  dispute.status = 'won'
  await shop.reconcile()
  expect(await balance()).toBe(2_000)
})

test('a refund that fails 30 days after it succeeded is returned, although its event never came', async () => {
  const { session } = await credited(2_000, 60)
  nowMs = Date.now() - 30 * DAY_MS
  const refund = shop.stripe.refund(session, 2_000)
  await shop.report(refund)
  await shop.worker.applyEvents()
  expect(await balance()).toBe(0)
  await comparedUntil(1)
  refund.status = 'failed'
  await shop.reconcile()
  expect(await balance()).toBe(2_000)
})

test('after an outage of 30 days all of it is compared', async () => {
  const { session } = await credited(2_000, 90)
  await comparedUntil(30)
  nowMs = Date.now() - 29 * DAY_MS
  shop.stripe.refund(session, 700)
  const unheard = await shop.start(900, account_id)
  shop.stripe.pay(unheard.session.id)
  await shop.reconcile()
  expect(await balance()).toBe(2_200)
})

test('a credit that the provider does not know, and one with another amount there, are for a person', async () => {
  const unknown = await credited(1_000)
  const smaller = await credited(1_000)
  shop.stripe.payments.delete(String(unknown.session.payment_intent))
  Object.assign(shop.stripe.payments.get(String(smaller.session.payment_intent)) ?? {}, {
    amount_received: 900,
  })
  await comparedUntil(1)
  await shop.reconcile()
  expect(await balance()).toBe(2_000)
  expect(await reviewsOf(unknown.session)).toEqual([
    `${unknown.top_up.id} was paid by ${unknown.session.payment_intent}, which the provider does not list as a payment of this store`,
  ])
  expect(await reviewsOf(smaller.session)).toEqual([
    `${smaller.top_up.id} was credited with $10.00; the provider says that $9.00 was paid`,
  ])
})

test('a payment whose top-up a restore lost is for a person', async () => {
  const { session } = await credited(1_000)
  const lost = { ...shop.stripe.payments.get(String(session.payment_intent)), id: `pi_lost_${account_id}` }
  shop.stripe.payments.set(lost.id, { ...lost, metadata: { account_id, top_up_id: 'top_lost' } } as never)
  await comparedUntil(1)
  await shop.reconcile()
  expect(await reviewsOf({ payment_intent: lost.id })).toEqual([
    `${lost.id} was paid for the top-up top_lost of ${account_id}, which is not in this store`,
  ])
  expect(await balance()).toBe(1_000)
})

test('it goes on where it was stopped, and where the provider went away', async () => {
  for (let n = 0; n < 5; n += 1) await credited(100)
  const { session } = await credited(1_000)
  await comparedUntil(1)
  shop.stripe.setPageMax(2)
  shop.stripe.asked.length = 0
  let pages = 0
  await shop.reconcile(() => {
    pages += 1
    return pages > 2
  })
  const stopped = await shop.operator.readReconciliation()
  expect(stopped).toMatchObject({ stage: 'payments', compared: 4 })
  shop.stripe.away(true)
  await expect(shop.reconcile()).rejects.toThrow()
  expect(await shop.operator.readReconciliation()).toMatchObject({ stage: 'payments', compared: 4 })
  shop.stripe.away(false)
  shop.stripe.refund(session, 300)
  expect(await shop.reconcile()).toBe(true)
  expect(await shop.operator.readReconciliation()).toMatchObject({ stage: null, reviews: expect.any(Number) })
  expect(await balance()).toBe(1_200)
  // Nothing more until tomorrow, unless somebody asks.
  expect(await shop.reconcile()).toBe(false)
  await shop.operator.reconcilePayments()
  expect(await shop.reconcile()).toBe(true)
})

test('of two workers one compares; another goes on when it is gone for five minutes', async () => {
  await comparedUntil(1)
  const ran = await Promise.all([shop.reconcile(), shop.reconcile()])
  expect(ran.toSorted()).toEqual([false, true])
  await shop.database.asOwner(
    `update payment_reconciliations set due_at = now(), leased_until = now() + interval '1 minute'`,
  )
  expect(await shop.reconcile()).toBe(false)
  await shop.database.asOwner(`update payment_reconciliations set leased_until = now() - interval '1 second'`)
  expect(await shop.reconcile()).toBe(true)
})
