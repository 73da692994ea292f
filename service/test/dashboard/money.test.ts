import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { moneyRoutes } from '@shopwire/contract/dashboard'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Download } from '../../src/dashboard/area.ts'
import { statementPdf } from '../../src/dashboard/money/statement-pdf.ts'
import type { TransferKind } from '../../src/ledger/queries.ts'
import { readPeriods } from '../../src/ledger/statement.ts'
import { selectBoundaries } from '../../src/ledger/statement-queries.ts'
import { inAccount } from '../../src/platform/database/account-scope.ts'
import { type Queryable, type Statement, statement } from '../../src/platform/database/db.ts'
import { type FundingShop, openFunding } from '../../testing/funding.ts'
import { textOfPdf } from '../../testing/pdf-text.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 10, 16, 12)

let shop: FundingShop
beforeAll(async () => {
  shop = await openFunding({ clock: { nowMs: () => NOW_MS } })
})
afterAll(() => shop.close())

interface Move {
  readonly kind: TransferKind
  readonly change: number
  readonly atMs: number
}

/** A history of which every balance is at least zero, in the order of its times. */
const histories = fc
  .array(
    fc.record({
      kind: fc.constantFrom<TransferKind>('order', 'order', 'order', 'refund', 'funding', 'adjustment'),
      cents: fc.integer({ min: -5_000, max: 5_000 }),
      // Over three months, and often at the edge of a month.
      atMs: fc.oneof(
        fc.integer({ min: Date.UTC(2026, 8, 2), max: NOW_MS - 1 }),
        fc.integer({ min: Date.UTC(2026, 10, 1) - 2, max: Date.UTC(2026, 10, 1) + 2 }),
        fc.integer({ min: Date.UTC(2026, 9, 1) - 2, max: Date.UTC(2026, 9, 1) + 2 }),
      ),
    }),
    { maxLength: 60 },
  )
  .map((wanted) => {
    let balance = 0
    return (
      wanted
        .toSorted((a, b) => a.atMs - b.atMs)
        .map(({ kind, cents, atMs }): Move => {
          const size = Math.abs(cents)
          const change =
            kind === 'order'
              ? -Math.min(size, balance)
              : kind === 'adjustment'
                ? Math.max(cents, -balance)
                : size
          balance += change
          return { kind, change, atMs }
        })
        // Money that comes in, and a correction, are never of nothing.
        .filter(({ kind, change }) => change !== 0 || kind === 'order' || kind === 'refund')
    )
  })

let count = 0
/** Writes a history as the ledger would have, with times of the past. */
async function accountWith(moves: readonly Move[]): Promise<string> {
  count += 1
  const { id } = await shop.operator.createAccount(`History ${count}`)
  let balance = 0
  const rows = moves.map(({ kind, change, atMs }, n) => {
    balance += change
    const order_id = kind === 'order' || kind === 'refund' ? `'ord_${count}_${n}'` : 'null'
    const reference = kind === 'order' || kind === 'refund' ? 'null' : `'=cmd|${n}'`
    return `('${id}', ${n + 1}, '${kind}', ${change}, ${balance}, ${order_id}, ${reference}, '${new Date(atMs).toISOString()}')`
  })
  if (rows.length > 0)
    await shop.database.asOwner(`
      insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, reference, created_at)
      values ${rows.join(', ')};
      update balances set balance_cents = ${balance}, transfer_count = ${rows.length} where account_id = '${id}'`)
  await shop.database.asOwner(`update accounts set created_at = '2026-09-01T00:00:00Z' where id = '${id}'`)
  return id
}

const ajv = new Ajv({ strict: true })
/** Calls a handler as the edge would, and compares its reply with the contract. */
async function ask<Name extends (typeof moneyRoutes)[number]['name']>(
  name: Name,
  account_id: string,
  query: object = {},
) {
  const handler = shop.area[name] as (call: unknown) => Promise<unknown>
  const reply = await handler(shop.call({ query }, account_id))
  const schema = moneyRoutes.find((route) => route.name === name)?.reply
  if (schema) {
    const isValid = ajv.validate(schema, reply)
    expect(ajv.errorsText(), JSON.stringify(reply)).toBe('No errors')
    expect(isValid).toBe(true)
  }
  return reply as Awaited<ReturnType<(typeof shop.area)[Name]>>
}

const bytesOf = ({ content }: Download) => buffer(Readable.from(content as AsyncIterable<Buffer>))
const csvOf = async (account_id: string, query: object) =>
  (
    await text(
      Readable.from((await ask('exportStatement', account_id, query)).content as AsyncIterable<string>),
    )
  )
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','))
const cents = (decimal: string | undefined) => Math.round(Number(decimal) * 100)

const MONTHS = ['2026-09', '2026-10', '2026-11'] as const

test('the equation of every month adds up, months follow each other, and CSV and PDF end with the balance of the API', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (moves) => {
      const id = await accountWith(moves)
      let opening = 0
      for (const month of MONTHS) {
        const view = await ask('getBalance', id, { month })
        const sums = view.month
        const inMonth = moves.filter(({ atMs }) => new Date(atMs).toISOString().startsWith(month))
        const sum = (kind: TransferKind) =>
          inMonth.filter((move) => move.kind === kind).reduce((all, { change }) => all + change, 0)
        expect(sums).toMatchObject({
          opening_cents: opening,
          top_ups_cents: sum('funding'),
          refunds_cents: sum('refund'),
          adjustments_cents: sum('adjustment'),
          orders_cents: -sum('order') + 0,
          orders_count: inMonth.filter(({ kind }) => kind === 'order').length,
          top_ups_count: inMonth.filter(({ kind }) => kind === 'funding').length,
        })
        expect(
          sums.opening_cents +
            sums.top_ups_cents +
            sums.refunds_cents +
            sums.adjustments_cents -
            sums.orders_cents,
        ).toBe(sums.closing_cents)
        opening = sums.closing_cents

        const lines = await csvOf(id, { month })
        expect(lines).toHaveLength(inMonth.length)
        expect(lines.reduce((all, line) => all + cents(line[3]), sums.opening_cents)).toBe(sums.closing_cents)
        if (lines.length > 0) expect(cents(lines.at(-1)?.[5])).toBe(sums.closing_cents)

        const pages = textOfPdf(await bytesOf(await ask('statementPdf', id, { month })))
        const closing = `$${(sums.closing_cents / 100).toLocaleString('en', { minimumFractionDigits: 2 })}`
        expect(pages[0]).toContain(`${sums.is_current ? 'Balance now' : 'Closing balance'}\n${closing}`)
        expect(pages.at(-1)?.trimEnd().endsWith(closing)).toBe(true)
        expect(pages.every((page, n) => page.includes(`Page ${n + 1} of ${pages.length}`))).toBe(true)
        expect(pages.join('\n').match(/^(Order|Refund|Top-up|Adjustment)$/gm) ?? []).toHaveLength(
          inMonth.length,
        )
      }
      const { balance_cents } = await ask('getBalance', id)
      expect(balance_cents).toBe(opening)
      expect(balance_cents).toBe(await shop.balance(id))
    }),
    { numRuns: 12 },
  )
})

test('the days of the chart add up to the same balances, over 90 days', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (moves) => {
      const id = await accountWith(moves)
      const { days } = await ask('getSpend', id, { days: 90 })
      expect(days).toHaveLength(90)
      expect(days.at(-1)?.day).toBe('2026-11-16')
      for (const [n, day] of days.entries()) {
        const before = days[n - 1]
        const { closing_cents, top_ups_cents, refunded_cents, adjustments_cents, spent_cents } = day
        if (before)
          expect(
            before.closing_cents + top_ups_cents + refunded_cents + adjustments_cents - spent_cents,
          ).toBe(closing_cents)
        const orders = moves.filter(
          ({ kind, atMs }) => kind === 'order' && new Date(atMs).toISOString().startsWith(day.day),
        )
        expect(day.orders_count).toBe(orders.length)
      }
      expect(days.at(-1)?.closing_cents).toBe(await shop.balance(id))
    }),
    { numRuns: 15 },
  )
})

test('the place of an instant in the statement is the same however long it has grown, with times that are slightly out of order', async () => {
  const at = Date.UTC(2026, 10, 1)
  const times = [-5, -4, -3, 1, -2, 2, -1, 3, 4, 5].map((ms) => at + ms)
  const moves = times.map((atMs): Move => ({ kind: 'funding', change: 100, atMs }))
  const periods = async (moreAfter: number) => {
    const more = Array.from(
      { length: moreAfter },
      (_, n): Move => ({ kind: 'funding', change: 1, atMs: at + 10 + n }),
    )
    const id = await accountWith([...moves, ...more])
    const starts = [new Date(at), new Date(at + DAY_MS)]
    const [first] = await inAccount(shop.database.dashboard, id, (tx) => readPeriods(tx, id, starts))
    return first?.from_seq
  }
  expect(await Promise.all([periods(0), periods(1), periods(6), periods(37), periods(300)])).toEqual([
    4, 4, 4, 4, 4,
  ])
})

test('a place in the statement is found by look-ups in the primary key, never by reading the table', async () => {
  const moves = Array.from({ length: 5_000 }, (_, n): Move => {
    return { kind: 'funding', change: 1, atMs: NOW_MS - (5_000 - n) * 1_000 }
  })
  const id = await accountWith(moves)
  await shop.database.asOwner('analyze transfers')
  let sent: Statement | undefined
  const many = async (of: Statement) => {
    sent = of
    return []
  }
  const spy = { many } as unknown as Queryable
  await selectBoundaries(spy, id, [new Date(NOW_MS - 1_000_000), new Date(NOW_MS)])
  const plan = await inAccount(shop.database.dashboard, id, (tx) =>
    tx.many<{ 'QUERY PLAN': string }>(statement(`explain ${sent?.text}`, sent?.values ?? [])),
  )
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toContain('Index Scan using transfers_pkey')
  expect(text).not.toMatch(/Hash Join|Merge Join|Seq Scan on transfers/)
})

test('pages of the statement go back and forth without repeating or losing a row, under every filter', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories,
      fc.record(
        {
          kind: fc.constantFrom('order', 'refund', 'funding', 'adjustment'),
          min_cents: fc.integer({ min: 0, max: 3_000 }),
          max_cents: fc.integer({ min: 2_000, max: 5_000 }),
          month: fc.constantFrom(...MONTHS),
        },
        { requiredKeys: [] },
      ),
      fc.integer({ min: 1, max: 7 }),
      async (moves, filter, limit) => {
        const id = await accountWith(moves)
        const expected = moves
          .map((move, n) => ({ ...move, seq: n + 1 }))
          .filter(
            ({ kind, change, atMs }) =>
              (filter.kind === undefined || filter.kind === kind) &&
              (filter.min_cents === undefined || Math.abs(change) >= filter.min_cents) &&
              (filter.max_cents === undefined || Math.abs(change) <= filter.max_cents) &&
              (filter.month === undefined || new Date(atMs).toISOString().startsWith(filter.month)),
          )
          .map(({ seq }) => seq)
          .reverse()
        const seen: number[] = []
        let page = await ask('listTransfers', id, { ...filter, limit })
        const pages = [page]
        for (;;) {
          seen.push(...page.transfers.map(({ seq }) => seq))
          if (page.next === null) break
          page = await ask('listTransfers', id, { ...filter, limit, before: page.next })
          pages.push(page)
        }
        expect(seen).toEqual(expected)
        for (let n = pages.length - 1; n > 0; n -= 1) {
          const back = await ask('listTransfers', id, { ...filter, limit, after: pages[n]?.previous })
          expect(back.transfers).toEqual(pages[n - 1]?.transfers)
        }
        const lines = await csvOf(id, filter)
        expect(lines.map(([seq]) => Number(seq)).reverse()).toEqual(expected)
      },
    ),
    { numRuns: 20 },
  )
})

test('rows have the balance before and after, and a text that a spreadsheet would run is made inert in the CSV', async () => {
  const id = await accountWith([
    { kind: 'funding', change: 1_000, atMs: NOW_MS - 5 },
    { kind: 'order', change: -258, atMs: NOW_MS - 4 },
  ])
  const { transfers } = await ask('listTransfers', id)
  expect(transfers).toMatchObject([
    {
      kind: 'order',
      amount_cents: -258,
      balance_before_cents: 1_000,
      balance_after_cents: 742,
      order_id: expect.stringMatching(/^ord_\d+_1$/),
    },
    { kind: 'funding', amount_cents: 1_000, balance_before_cents: 0, balance_after_cents: 1_000 },
  ])
  const [first, second] = await csvOf(id, {})
  expect(first?.slice(3, 9)).toEqual(['10.00', '0.00', '10.00', 'USD', '', "'=cmd|0"])
  expect(second?.slice(3, 8)).toEqual(['-2.58', '10.00', '7.42', 'USD', transfers[0]?.order_id])
})

test('a month with more lines than a PDF should have adds orders up by day and still ends with the balance', async () => {
  const moves = Array.from({ length: 120 }, (_, n): Move => {
    const atMs = Date.UTC(2026, 9, 1 + Math.floor(n / 10), 0, n % 10)
    return n % 10 === 0 ? { kind: 'funding', change: 10_000, atMs } : { kind: 'order', change: -100, atMs }
  })
  const id = await accountWith(moves)
  const { month: sums } = await ask('getBalance', id, { month: '2026-10' })
  const account = { id, name: 'Größe 日本' }
  const range = { from_seq: 1, to_seq: 121 }
  const file = statementPdf(
    shop.database.dashboard,
    { account, seller: ['Example Ltd', '1 Example Street, London'], sums, range, made_at: new Date(NOW_MS) },
    50,
  )
  const pages = textOfPdf(await buffer(Readable.from(file)))
  const all = pages.join('\n')
  expect(all).toContain('Größe ??')
  expect(all).toContain('1 Example Street, London')
  expect(all.match(/^Orders$/gm)).toHaveLength(12)
  expect(all.match(/^Top-up$/gm)).toHaveLength(12)
  expect(all.trimEnd().endsWith('$1,092.00')).toBe(true)
})

test('burn and days left come from the last seven days, less refunds', async () => {
  const daily = Array.from(
    { length: 7 },
    (_, n): Move => ({
      kind: 'order',
      change: -1_000,
      atMs: NOW_MS - (7 - n) * DAY_MS + 1_000,
    }),
  )
  const id = await accountWith([
    { kind: 'funding', change: 20_000, atMs: NOW_MS - 20 * DAY_MS },
    ...daily,
    { kind: 'refund', change: 700, atMs: NOW_MS - 1_000 },
  ])
  expect((await ask('getBalance', id)).burn).toEqual({
    days: 7,
    per_day_cents: 900,
    days_left: 15,
    runs_out_on: '2026-12-01',
  })
})

test('refuses a month before the account was opened and one that has not begun', async () => {
  const id = await accountWith([])
  for (const month of ['2026-08', '2026-12'])
    await expect(ask('getBalance', id, { month })).rejects.toMatchObject({ type: 'invalid_request' })
})

test("another account's transfers are in no reply", async () => {
  const rich = await accountWith([{ kind: 'funding', change: 5_000, atMs: NOW_MS - 1_000 }])
  const poor = await accountWith([])
  expect((await ask('getBalance', poor)).balance_cents).toBe(0)
  expect((await ask('listTransfers', poor)).transfers).toEqual([])
  expect(await csvOf(poor, {})).toEqual([])
  expect((await ask('getBalance', rich)).balance_cents).toBe(5_000)
})
