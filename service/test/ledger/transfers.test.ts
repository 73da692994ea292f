import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/account.ts'
import { adjust, fund, readBalance, readStatement } from '../../src/ledger/transfer.ts'
import { sql } from '../../src/platform/database/db.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../testing/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

const newAccount = () => database.operator.transaction((tx) => createAccount(tx, 'Saver', Date.now()))
const fundOnce = (account_id: string, amount_cents: number, reference: string) =>
  database.operator.transaction((tx) => fund(tx, account_id, { amount_cents, reference }, Date.now()))
const fundAnyway = (account_id: string, amount_cents: number, reference: string) =>
  database.operator.transaction((tx) =>
    fund(tx, account_id, { amount_cents, reference, reference_used_elsewhere: true }, Date.now()),
  )
const adjustOnce = (account_id: string, change_cents: number, reference: string) =>
  database.operator.transaction((tx) =>
    adjust(tx, account_id, { change_cents, reference, note: 'test' }, Date.now()),
  )

/** The balance rules; the full set is in the invariants. */
async function expectBooksToBalance() {
  const wrong = await database.owner.many(sql`
    with signed as (
      select account_id, seq, balance_after_cents,
             sum(change_cents) over (partition by account_id order by seq) as running
        from transfers
    )
    select account_id, 'running balance' as what from signed where running <> balance_after_cents
    union all
    select b.account_id, 'balance is not the last running balance'
      from balances b
      left join transfers t on t.account_id = b.account_id and t.seq = b.transfer_count
     where b.balance_cents <> coalesce(t.balance_after_cents, 0)
    union all
    select b.account_id, 'gap in the statement'
      from balances b
     where b.transfer_count <> (select count(*) from transfers t where t.account_id = b.account_id)`)
  expect(wrong).toEqual([])
}

test('funding raises the balance and writes one transfer with the balance after it', async () => {
  const { id } = await newAccount()
  await fundOnce(id, 1_000, 'a')
  await fundOnce(id, 250, 'b')
  expect(await readBalance(database.owner, id)).toBe(1_250)
  const lines = await readStatement(database.operator, id, 10)
  expect(lines.map((t) => [t.seq, t.id, t.kind, t.change_cents, t.balance_after_cents])).toEqual([
    [2, 'tr_2', 'funding', 250, 1_250],
    [1, 'tr_1', 'funding', 1_000, 1_000],
  ])
})

test('the same reference twice is booked once, even when both arrive at the same time', async () => {
  const { id } = await newAccount()
  const recorded = await Promise.all(Array.from({ length: 10 }, () => fundOnce(id, 500, 'wire-7')))
  expect(recorded.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(new Set(recorded.map(({ transfer }) => transfer.id)).size).toBe(1)
  expect(await readBalance(database.owner, id)).toBe(500)
})

test('the same reference with another amount is refused', async () => {
  const { id } = await newAccount()
  await fundOnce(id, 500, 'wire-8')
  await expect(fundOnce(id, 501, 'wire-8')).rejects.toMatchObject({ type: 'invalid_request' })
})

test('a reference that has credited one account is refused for another, with transfer, account and time', async () => {
  const [first, second] = [await newAccount(), await newAccount()]
  const { transfer } = await fundOnce(first.id, 500, 'wire-9')
  const refused = await fundOnce(second.id, 500, 'wire-9').catch((error) => error)
  expect(refused).toMatchObject({ type: 'idempotency_conflict' })
  for (const named of [
    first.id,
    transfer.id,
    '500 cents',
    transfer.created_at.toISOString(),
    'Nothing was booked',
  ]) {
    expect(refused.message).toContain(named)
  }
  expect(await readBalance(database.owner, second.id)).toBe(0)
  await adjustOnce(second.id, 500, 'wire-9')

  expect(await fundAnyway(second.id, 500, 'wire-9')).toMatchObject({
    isNew: true,
    alsoBookedAs: { account_id: first.id, transfer_id: transfer.id },
  })
  expect(await fundOnce(second.id, 500, 'wire-9')).toMatchObject({ isNew: false })
  expect(await readBalance(database.owner, second.id)).toBe(1_000)
  await expectBooksToBalance()
})

test('ten concurrent fundings of ten accounts with one reference: exactly one is booked', async () => {
  const accounts = await Promise.all(Array.from({ length: 10 }, newAccount))
  const tries = await Promise.allSettled(accounts.map(({ id }) => fundOnce(id, 500, 'wire-10')))
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const tried of tries) {
    if (tried.status === 'rejected') expect(tried.reason).toMatchObject({ type: 'idempotency_conflict' })
  }
  const balances = await Promise.all(accounts.map(({ id }) => readBalance(database.owner, id)))
  expect(balances.reduce((sum, cents) => sum + cents)).toBe(500)
})

test('an adjustment may take the whole balance and not a cent more', async () => {
  const { id } = await newAccount()
  await fundOnce(id, 300, 'x')
  await expect(adjustOnce(id, -301, 'y')).rejects.toMatchObject({ type: 'insufficient_funds' })
  await adjustOnce(id, -300, 'z')
  expect(await readBalance(database.owner, id)).toBe(0)
  await expectBooksToBalance()
})

test('fifty withdrawals race for the money of ten: exactly ten succeed', async () => {
  const { id } = await newAccount()
  await fundOnce(id, 1_000, 'pot')
  const tries = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => adjustOnce(id, -100, `take-${n}`)),
  )
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
  expect(await readBalance(database.owner, id)).toBe(0)
  await expectBooksToBalance()
})

test.each([0, -1, 1.5, Number.NaN, 100_000_000_01])('funding %s cents is refused', async (amount) => {
  const { id } = await newAccount()
  await expect(fundOnce(id, amount, 'odd')).rejects.toMatchObject({ type: 'invalid_request' })
})

test('an unknown account gives not_found', async () => {
  await expect(fundOnce('acct_none', 1, 'r')).rejects.toMatchObject({ type: 'not_found' })
})

test('any sequence of fundings and adjustments gives the balance of the model', async () => {
  const move = fc.record({
    cents: fc.integer({ min: -2_000, max: 2_000 }).filter((n) => n !== 0),
    ref: fc.nat(5),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 12 }), async (moves) => {
      const { id } = await newAccount()
      let balance = 0
      const seen = new Map<number, number>()
      for (const { cents, ref } of moves) {
        const known = seen.get(ref)
        const outcome = await adjustOnce(id, cents, `r${ref}`).then(
          ({ isNew }) => (isNew ? 'moved' : 'same'),
          (error) => error.type,
        )
        const expected =
          known !== undefined
            ? known === cents
              ? 'same'
              : 'invalid_request'
            : balance + cents < 0
              ? 'insufficient_funds'
              : 'moved'
        expect(outcome).toBe(expected)
        if (expected === 'moved') {
          balance += cents
          seen.set(ref, cents)
        }
      }
      expect(await readBalance(database.owner, id)).toBe(balance)
    }),
    { numRuns: 60, seed: 20_261_115 },
  )
  await expectBooksToBalance()
})

test.each(['api', 'worker', 'operator', 'dashboard'] as const)(
  'threat 70: the login of the %s cannot change or delete a transfer or an audit row',
  async (process) => {
    const { id } = await newAccount()
    await fundOnce(id, 100, `fixed, ${process}`)
    for (const [table, change] of [
      ['transfers', 'change_cents = 1'],
      ['audit_log', `id = 'x'`],
    ]) {
      for (const statement of [
        `update ${table} set ${change}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        await expect(
          database[process].run({ name: statement, text: statement, values: [] }),
        ).rejects.toMatchObject({ code: '42501' })
      }
    }
    for (const statement of [
      'drop table transfers',
      'create table mine (id int)',
      'delete from balances',
      'delete from accounts',
    ]) {
      await expect(
        database[process].run({ name: statement, text: statement, values: [] }),
      ).rejects.toMatchObject({
        code: '42501',
      })
    }
  },
)

test('the schema refuses a balance below zero and a transfer in the wrong direction', async () => {
  const { id } = await newAccount()
  const attempt = (text: string, values: unknown[]) =>
    asSuperuser((client) => client.query(text, values), database.superuserUrl)
  await expect(
    attempt('update balances set balance_cents = -1 where account_id = $1', [id]),
  ).rejects.toMatchObject({
    code: '23514',
  })
  const insert = `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
                  values ($1, 1, $2, $3, 0, $4, now())`
  for (const [kind, change, order] of [
    ['funding', -1, null],
    ['funding', 0, null],
    ['adjustment', 0, null],
    ['order', 1, 'ord_1'],
    ['refund', -1, 'ord_1'],
  ])
    await expect(attempt(insert, [id, kind, change, order])).rejects.toMatchObject({
      code: '23514',
      constraint: 'transfers_direction',
    })
})
