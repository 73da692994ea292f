import { afterAll, beforeAll, expect, test } from 'vitest'
import { printReference } from '../../src/funding/reference.ts'
import { inAccount } from '../../src/platform/database/account-scope.ts'
import { type Statement, statement } from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { BANK, type FundingShop, openFunding } from '../../testing/funding.ts'

let shop: FundingShop
beforeAll(async () => {
  shop = await openFunding()
})
afterAll(() => shop.close())

const start = (amount_cents: number) => shop.start(amount_cents, shop.account.id, 'bank')
const admin = (...args: string[]) => runAdminOn(shop as never, ...args)

test('asking for a bank transfer returns where to send it and a reference, moves no money and is audited', async () => {
  const { top_up, instructions, pay_url } = await start(25_000)
  expect(pay_url).toBeNull()
  expect(instructions).toEqual([...BANK, { label: 'Reference', value: printReference(top_up.reference) }])
  expect(top_up).toMatchObject({ state: 'pending', provider: 'bank', created_by_name: 'Ada Lovelace' })
  expect(await shop.balance()).toBe(0)
  const [audit] = await shop.operator.listActions(top_up.id, 1)
  expect(audit).toMatchObject({
    actor: 'person:per_1',
    action: 'balance.start_top_up',
    details: { after: { provider: 'bank', amount_cents: 25_000 } },
  })
})

test('the same request again, also at the same time, starts one top-up; another amount under its name is refused', async () => {
  const { area, call } = shop
  const attempt = '0d6a2b1c-7e4f-4a3b-8c5d-6e7f8a9b0c1d'
  const ask = (amount_cents: number) =>
    area.startTopUp(call({ body: { provider: 'bank', amount_cents, attempt } }) as never)
  const started = await Promise.all([ask(4_200), ask(4_200), ask(4_200)])
  started.push(await ask(4_200))
  expect(new Set(started.map(({ top_up }) => top_up.id)).size).toBe(1)
  expect(new Set(started.map(({ instructions }) => JSON.stringify(instructions))).size).toBe(1)
  await expect(ask(4_300)).rejects.toMatchObject({ type: 'conflict' })
})

test('an operator confirms by the reference as the customer wrote it; confirming twice credits once', async () => {
  const { top_up } = await start(30_000)
  const before = await shop.balance()
  expect((await admin('topups', 'list')).out).toContain(top_up.id)
  const words = ['topups', 'confirm', printReference(top_up.reference).toLowerCase()]
  const arrived = ['--amount', '299.50', '--reference', 'BANK-2026-11-16-1']
  const first = await admin(...words, ...arrived)
  expect([first.code, first.out, first.err]).toEqual([0, expect.stringContaining('Credited $299.50'), ''])
  const again = await admin(...words, ...arrived)
  expect([again.code, again.out]).toEqual([0, expect.stringContaining('Already credited, nothing moved')])
  expect(await shop.balance()).toBe(before + 29_950)
  expect(await shop.topUp(top_up.id)).toMatchObject({
    state: 'credited',
    amount_cents: 30_000,
    credited_cents: 29_950,
  })
  expect((await admin('topups', 'list')).out).not.toContain(top_up.id)

  const otherAmount = await admin(...words, '--amount', '300.00', '--reference', 'BANK-2026-11-16-1')
  expect([otherAmount.code, otherAmount.err]).toEqual([5, expect.stringContaining('Nothing was booked')])
})

test('ten confirmations at once credit once', async () => {
  const { top_up } = await start(1_000)
  const before = await shop.balance()
  const results = await Promise.all(
    Array.from({ length: 10 }, () =>
      shop.operator.confirmTopUp(top_up.id, { amount_cents: 1_000, reference: 'BANK-at-once' }),
    ),
  )
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(await shop.balance()).toBe(before + 1_000)
})

test('one payment at the bank does not credit two top-ups', async () => {
  const [one, two] = [await start(1_000), await start(1_000)]
  const before = await shop.balance()
  const arrived = { amount_cents: 1_000, reference: 'BANK-one-payment' }
  await shop.operator.confirmTopUp(one.top_up.id, arrived)
  await expect(shop.operator.confirmTopUp(two.top_up.id, arrived)).rejects.toMatchObject({
    type: 'conflict',
    message: expect.stringContaining(one.top_up.id),
  })
  expect(await shop.balance()).toBe(before + 1_000)
})

test('a payment that was booked by hand is linked instead of booked again', async () => {
  const { top_up } = await start(1_700)
  await shop.operator.fundAccount(shop.account.id, { amount_cents: 1_700, reference: 'BANK-by-hand' })
  const before = await shop.balance()
  await shop.operator.confirmTopUp(top_up.id, { amount_cents: 1_700, reference: 'BANK-by-hand' })
  expect(await shop.balance()).toBe(before)
  expect((await shop.topUp(top_up.id)).state).toBe('credited')
})

test('a rejected top-up shows why, and cannot be confirmed', async () => {
  const { top_up } = await start(1_000)
  expect((await admin('topups', 'reject', top_up.id, '--reason', 'no payment in 30 days')).code).toBe(0)
  expect(await shop.topUp(top_up.id)).toMatchObject({ state: 'rejected', note: 'no payment in 30 days' })
  const confirmed = await admin('topups', 'confirm', top_up.id, '--amount', '10.00', '--reference', 'late')
  expect([confirmed.code, confirmed.err]).toEqual([5, expect.stringContaining('accounts fund')])
  expect((await admin('topups', 'reject', top_up.id, '--reason', 'again')).code).toBe(5)
  expect((await admin('topups', 'confirm', 'top_none', '--amount', '10.00', '--reference', 'x')).code).toBe(4)
})

test('refuses amounts outside the limits, and a provider that is not configured', async () => {
  const { area, call } = shop
  const startWith = (body: object) => area.startTopUp(call({ body }) as never)
  await expect(startWith({ provider: 'bank', amount_cents: 99 })).rejects.toMatchObject({
    type: 'invalid_request',
  })
  await expect(startWith({ provider: 'bank', amount_cents: 1_000_000_01 })).rejects.toMatchObject({
    type: 'invalid_request',
  })
})

test("the dashboard's role can neither credit a top-up nor move money nor read payment events", async () => {
  const { top_up } = await start(1_000)
  const account_id = shop.account.id
  const dashboard = shop.database.dashboard
  const attempt = (text: string, values: unknown[] = []) =>
    inAccount(dashboard, account_id, (tx) => tx.run(statement(text, values) as Statement))
  const forbidden = { code: '42501' }
  await expect(
    attempt(`update top_ups set state = 'credited' where id = $1`, [top_up.id]),
  ).rejects.toMatchObject(forbidden)
  await expect(
    attempt(
      `insert into top_ups (account_id, id, provider, amount_cents, reference, created_by, created_by_name, created_at, state)
       values ($1, 'top_x', 'bank', 100, 'RF18SW', 'p', 'P', now(), 'credited')`,
      [account_id],
    ),
  ).rejects.toMatchObject(forbidden)
  await expect(
    attempt(
      `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, created_at)
       values ($1, 999, 'funding', 1, 1, now())`,
      [account_id],
    ),
  ).rejects.toMatchObject(forbidden)
  await expect(attempt('update balances set balance_cents = 1')).rejects.toMatchObject(forbidden)
  await expect(attempt('select event_id from payment_events')).rejects.toMatchObject(forbidden)
  await expect(attempt(`update payment_events set state = 'applied'`)).rejects.toMatchObject(forbidden)
  await expect(attempt('delete from top_ups')).rejects.toMatchObject(forbidden)
  await expect(attempt(`update balance_alerts set state = 'ok'`)).rejects.toMatchObject(forbidden)
  await expect(
    attempt(
      `insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, amount_cents, taken_cents, owed_cents, created_at)
             values ($1, 'r', $2, 'refund', 'x', 1, 1, 0, now())`,
      [account_id, top_up.id],
    ),
  ).rejects.toMatchObject(forbidden)
})

test('another account sees none of it: its list is empty and the id is 404', async () => {
  const { top_up } = await start(1_000)
  const other = await shop.operator.createAccount('Somebody else')
  const { area, call } = shop
  await expect(area.getTopUp(call({ id: top_up.id }, other.id) as never)).rejects.toMatchObject({
    type: 'not_found',
  })
  expect(await area.listTopUps(call({ query: {} }, other.id) as never)).toEqual({
    top_ups: [],
    next: null,
    previous: null,
  })
  const insertElsewhere = inAccount(shop.database.dashboard, other.id, (tx) =>
    tx.run(
      statement(
        `insert into top_ups (account_id, id, provider, amount_cents, reference, created_by, created_by_name, created_at)
         values ($1, 'top_y', 'bank', 100, 'RF18SW', 'p', 'P', now())`,
        [shop.account.id],
      ),
    ),
  )
  await expect(insertElsewhere).rejects.toMatchObject({ code: '42501' })
})

test('the list of top-ups continues where a page ends, newest first', async () => {
  const { area, call } = shop
  const other = await shop.operator.createAccount('Pages')
  const ids: string[] = []
  for (let n = 0; n < 5; n += 1) ids.unshift((await shop.start(1_000 + n, other.id, 'bank')).top_up.id)
  const page = (query: object) => area.listTopUps(call({ query }, other.id) as never)
  const first = await page({ limit: 3 })
  const second = await page({ limit: 3, before: first.next })
  expect([...first.top_ups, ...second.top_ups].map(({ id }) => id)).toEqual(ids)
  expect(second.next).toBeNull()
})

test('an account has at most 20 top-ups that wait for their money, also of 60 that are started at once', async () => {
  const other = await shop.operator.createAccount('Many')
  await shop.start(1_000, other.id, 'bank')
  const settled = await Promise.allSettled(
    Array.from({ length: 60 }, () => shop.start(1_000, other.id, 'bank')),
  )
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(19)
  await expect(shop.start(1_000, other.id, 'bank')).rejects.toMatchObject({ type: 'conflict' })
})
