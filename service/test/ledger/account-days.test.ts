import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  closeAccountDays,
  createOrderedTotal,
  dayOf,
  readAccountDays,
} from '../../src/ledger/account-days.ts'
import { inAccount } from '../../src/platform/database/account-scope.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const DAY_MS = 86_400_000
const NOON = Date.parse('2026-05-20T12:00:00.000Z')

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

type Move = readonly [kind: 'funding' | 'order' | 'refund' | 'adjustment', change: number, at: string]

/** An account with these transfers, one after the other, as the ledger would have written them. */
async function accountWith(moves: readonly Move[]): Promise<string> {
  const { id } = await shop.operator.createAccount('Days')
  let balance = 0
  for (const [n, [kind, change, at]] of moves.entries()) {
    balance += change
    const order = kind === 'order' || kind === 'refund' ? `'ord_${id}_${n}'` : 'null'
    await shop.database.asOwner(`
      insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
      values ('${id}', ${n + 1}, '${kind}', ${change}, ${balance}, ${order}, '${at}')`)
  }
  await shop.database.asOwner(
    `update balances set balance_cents = ${balance}, transfer_count = ${moves.length} where account_id = '${id}'`,
  )
  return id
}

async function closeAll(nowMs: number) {
  while (await closeAccountDays(shop.database.worker, nowMs));
}
/** As if no day had been closed. */
const startAgain = () =>
  shop.database.asOwner(
    "delete from account_days; update account_days_progress set day = '2000-01-01', done_up_to = null",
  )
const closedDays = (account_id: string) =>
  shop.database.owner.many<{ day: string }>(sql`
    select day::text
      from account_days
     where account_id = ${account_id}
     order by day`)

const MOVES: readonly Move[] = [
  ['funding', 10_000, '2026-05-17T09:00:00Z'],
  ['order', -300, '2026-05-17T10:00:00Z'],
  ['order', -200, '2026-05-19T00:00:00Z'],
  ['refund', 200, '2026-05-19T23:59:59.999Z'],
  ['adjustment', -50, '2026-05-20T08:00:00Z'],
  ['order', -450, '2026-05-20T11:00:00Z'],
]

test('sums of closed days and of today lead from one balance to the next, before and after the worker ran', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  const before = await readAccountDays(shop.database.owner, account_id, '2026-05-01')
  expect(before).toMatchObject({
    isComplete: true,
    days: [
      { day: '2026-05-17', first_seq: 1, last_seq: 2, orders: 1, order_cents: 300, topup_cents: 10_000 },
      { day: '2026-05-19', orders: 1, order_cents: 200, refunds: 1, refund_cents: 200, topups: 0 },
      { day: '2026-05-20', orders: 1, order_cents: 450, adjustments: 1, adjustment_cents: -50 },
    ],
  })
  expect(before.days.map(({ closing_balance_cents }) => closing_balance_cents)).toEqual([9_700, 9_700, 9_200])
  await closeAll(NOON)
  expect(await closedDays(account_id)).toEqual([{ day: '2026-05-17' }, { day: '2026-05-19' }])
  expect(await readAccountDays(shop.database.owner, account_id, '2026-05-01')).toEqual(before)
  expect(await createOrderedTotal()(shop.database.owner, account_id)).toBe(950)
})

test('reads only the days asked for, and today also when no closed day is among them', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  await closeAll(NOON)
  const { days } = await readAccountDays(shop.database.owner, account_id, '2026-05-20')
  expect(days.map(({ day }) => day)).toEqual(['2026-05-20'])
})

test('a transfer that comes after midnight with an earlier time belongs to the day that has begun', async () => {
  await startAgain()
  const account_id = await accountWith([
    ['funding', 100, '2026-05-18T23:59:58Z'],
    ['order', -10, '2026-05-19T00:00:00.100Z'],
    ['order', -20, '2026-05-18T23:59:59.900Z'],
    ['order', -30, '2026-05-20T09:00:00Z'],
  ])
  const expected = [
    ['2026-05-18', 0, 100],
    ['2026-05-19', 30, 70],
    ['2026-05-20', 30, 40],
  ]
  const sums = async () =>
    (await readAccountDays(shop.database.owner, account_id, '2026-01-01')).days.map((row) => [
      row.day,
      row.order_cents,
      row.closing_balance_cents,
    ])
  expect(await sums()).toEqual(expected)
  await closeAll(NOON)
  expect(await sums()).toEqual(expected)
})

test('closes a day only ten minutes after its end, each day once, and continues with the next', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  await closeAll(Date.parse('2026-05-20T00:09:59Z'))
  expect(await closedDays(account_id)).toEqual([{ day: '2026-05-17' }])
  await closeAll(Date.parse('2026-05-20T00:10:00Z'))
  expect(await closedDays(account_id)).toHaveLength(2)
  expect(await closeAccountDays(shop.database.worker, NOON)).toBe(false)
  await closeAll(NOON + DAY_MS)
  expect(await closedDays(account_id)).toHaveLength(3)
})

test('two workers at once: every day is closed once', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  await Promise.all([closeAll(NOON), closeAll(NOON)])
  await closeAll(NOON)
  expect(await closedDays(account_id)).toHaveLength(2)
})

test('the dashboard reads the days of its own account and no other', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  await closeAll(NOON)
  const dashboard = shop.database.dashboard
  const read = (scope: string) =>
    inAccount(dashboard, scope, (tx) => readAccountDays(tx, account_id, '2026-01-01'))
  expect((await read(account_id)).days).toHaveLength(3)
  expect((await read(shop.account.id)).days).toEqual([])
})

test('the total of all orders grows with each transfer that comes, and is right before and after a day is closed', async () => {
  await startAgain()
  const account_id = await accountWith(MOVES)
  const total = createOrderedTotal()
  expect(await total(shop.database.owner, account_id)).toBe(950)
  await closeAll(NOON)
  await shop.operator.fundAccount(account_id, { amount_cents: 1, reference: 'total' })
  expect([
    await total(shop.database.owner, account_id),
    await createOrderedTotal()(shop.database.owner, account_id),
  ]).toEqual([950, 950])
})

test('an order of today counts at once', async () => {
  const { days } = await readAccountDays(shop.database.owner, shop.account.id, dayOf(Date.now() - DAY_MS))
  expect(days.at(-1)).toMatchObject({ topup_cents: 25_000, closing_balance_cents: 25_000 })
})
