import type { BalanceView, moneyRoutes, TransferRow } from '@shopwire/contract/dashboard'
import { getAccount } from '../../accounts/account.ts'
import { upsertAlert } from '../../funding/balance-alert.ts'
import { sumOwed } from '../../funding/reversal-queries.ts'
import {
  FAR_FUTURE,
  type Period,
  readBurn,
  readPeriods,
  readPositions,
  readTransfers,
  type TransferFilter,
} from '../../ledger/statement.ts'
import type { Transfer } from '../../ledger/transfer.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Queryable } from '../../platform/database/db.ts'
import { monthOf, monthRange } from '../../platform/text/months.ts'
import { assert } from '../../platform/trouble.ts'
import { chooseMail } from '../../sessions/mail-choices.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import { type AlertAddressDeps, alertAddressArea, readAlert } from './alert-addresses.ts'
import { dayStarts, knownMonth } from './months.ts'
import { type StatementRange, statementCsv } from './statement-csv.ts'
import { statementPdf } from './statement-pdf.ts'
import { type TopUpDeps, topUpArea } from './top-ups.ts'

export interface MoneyDeps extends TopUpDeps, AlertAddressDeps {
  readonly db: Db
  readonly act: MemberAct
  /** Name and address, by lines. */
  readonly seller?: readonly string[] | undefined
}

const DAY_MS = 86_400_000
/** A search for rare amounts stops after this many rows and says so, rather than read millions of transfers. */
const SEARCHED_MAX = 100_000

type MoneyFilters = TransferFilter & {
  readonly month?: string
  readonly from?: string
  readonly to?: string
}

/** Balance, statement, alert and top-ups. */
export const moneyArea = (deps: MoneyDeps): Area<typeof moneyRoutes> => {
  const { db, act, seller = [] } = deps
  return {
    ...topUpArea(deps),
    ...alertAddressArea(deps),

    getBalance: ({ member: { account_id }, query, nowMs }) =>
      inAccount(db, account_id, async (tx): Promise<BalanceView> => {
        const account = await getAccount(tx, account_id)
        const month = knownMonth(query.month, account.created_at, nowMs)
        const { sums } = await readMonth(tx, account_id, month, nowMs)
        const burn = await readBurn(tx, account_id, account.created_at, nowMs)
        const { owed_cents } = await sumOwed(tx, account_id)
        const [now] = await readPeriods(tx, account_id, [FAR_FUTURE, FAR_FUTURE])
        assert(now, 'two instants have one period between them')
        return {
          balance_cents: sums.is_current ? sums.closing_cents : now.closing_cents,
          currency: 'USD',
          burn: { ...burn, runs_out_on: runsOutOn(burn.days_left, nowMs) },
          owed_cents,
          month: sums,
          first_month: monthOf(account.created_at),
        }
      }),

    listTransfers: ({ member: { account_id }, query, nowMs }) =>
      inAccount(db, account_id, async (tx) => {
        const range = await rangeOf(tx, account_id, query, nowMs)
        return listPage(tx, account_id, range, query, query.limit ?? 50)
      }),

    async exportStatement({ member: { account_id }, query, nowMs }) {
      const range = await inAccount(db, account_id, (tx) => rangeOf(tx, account_id, query, nowMs))
      const when = query.month ?? new Date(nowMs).toISOString().slice(0, 10)
      return {
        filename: `statement-${when}.csv`,
        content: statementCsv(db, account_id, range, query),
      }
    },

    async statementPdf({ member: { account_id }, query, nowMs }) {
      const { account, sums, range } = await inAccount(db, account_id, async (tx) => {
        const found = await getAccount(tx, account_id)
        const month = knownMonth(query.month, found.created_at, nowMs)
        return { account: found, ...(await readMonth(tx, account_id, month, nowMs)) }
      })
      return {
        filename: `statement-${query.month}.pdf`,
        content: statementPdf(db, { account, seller, sums, range, made_at: new Date(nowMs) }),
      }
    },

    getSpend: ({ member: { account_id }, query, nowMs }) =>
      inAccount(db, account_id, async (tx) => {
        const starts = dayStarts(query.days ?? 30, nowMs)
        const periods = await readPeriods(tx, account_id, starts)
        return {
          days: periods.map((period, n) => ({
            day: (starts[n] as Date).toISOString().slice(0, 10),
            spent_cents: period.orders_cents,
            refunded_cents: period.refunds_cents,
            top_ups_cents: period.top_ups_cents,
            adjustments_cents: period.adjustments_cents,
            orders_count: period.orders_count,
            closing_cents: period.closing_cents,
          })),
        }
      }),

    getBalanceAlert: ({ member: { account_id } }) =>
      inAccount(db, account_id, (tx) => readAlert(tx, account_id)),

    setBalanceAlert: ({ member, body }) =>
      act(member, 'balance.set_alert', async (tx, nowMs) => {
        const { account_id } = member
        const { threshold_cents, people } = body
        const before = await readAlert(tx, account_id)
        await upsertAlert(tx, { account_id, threshold_cents, updated_at: new Date(nowMs) })
        if (threshold_cents !== null)
          await chooseMail(tx, account_id, 'balance_alert', ({ person_id }) => people.includes(person_id))
        return {
          result: await readAlert(tx, account_id),
          target: account_id,
          before: { threshold_cents: before.threshold_cents, people: before.people },
          after: { threshold_cents, people },
        }
      }),
  }
}

async function readMonth(tx: Queryable, account_id: string, month: string, nowMs: number) {
  const { from, to } = monthRange(month)
  const is_current = to.getTime() > nowMs
  const [period] = await readPeriods(tx, account_id, [from, is_current ? FAR_FUTURE : to])
  assert(period, 'two instants have one period between them')
  const { from_seq, to_seq, ...sums } = period satisfies Period
  return {
    range: { from_seq, to_seq },
    sums: { month, from: from.toISOString(), to: to.toISOString(), is_current, ...sums },
  }
}

function runsOutOn(days_left: number | null, nowMs: number): string | null {
  // A forecast for a day in ten years is useless.
  return days_left === null || days_left > 3_650
    ? null
    : new Date(nowMs + days_left * DAY_MS).toISOString().slice(0, 10)
}

/** The positions that remain after month, from and to; the narrowest range of them. */
async function rangeOf(
  tx: Queryable,
  account_id: string,
  { month, from, to }: MoneyFilters,
  nowMs: number,
): Promise<StatementRange> {
  const account = await getAccount(tx, account_id)
  const whole = month === undefined ? undefined : monthRange(knownMonth(month, account.created_at, nowMs))
  const instants = [
    whole?.from ?? new Date(0),
    from === undefined ? new Date(0) : new Date(from),
    whole?.to ?? FAR_FUTURE,
    to === undefined ? FAR_FUTURE : new Date(to),
  ]
  const [a = 1, b = 1, c = 1, d = 1] = await readPositions(tx, account_id, instants)
  return { from_seq: Math.max(a, b), to_seq: Math.min(c, d) }
}

async function listPage(
  tx: Queryable,
  account_id: string,
  range: StatementRange,
  query: TransferFilter & { before?: string; after?: string },
  limit: number,
) {
  const newestFirst = query.after === undefined
  const from = Math.max(range.from_seq, query.after === undefined ? 1 : Number(query.after) + 1)
  const to = Math.min(range.to_seq, query.before === undefined ? range.to_seq : Number(query.before))
  const isNarrow = query.min_cents !== undefined || query.max_cents !== undefined || query.kind === 'order'
  const searched = {
    from_seq: isNarrow && newestFirst ? Math.max(from, to - SEARCHED_MAX) : from,
    to_seq: isNarrow && !newestFirst ? Math.min(to, from + SEARCHED_MAX) : to,
    newestFirst,
  }
  const found = await readTransfers(tx, account_id, searched, query, limit + 1)
  const isFull = found.length > limit
  const rows = found.slice(0, limit)
  if (!newestFirst) rows.reverse()
  const [newest, oldest] = [rows[0], rows.at(-1)]
  const isCut = !isFull && newestFirst && searched.from_seq > from
  const [hasOlder, hasNewer] = newestFirst
    ? [isFull || isCut, query.before !== undefined]
    : [true, isFull || searched.to_seq < to]
  return {
    transfers: rows.map(toRow),
    next: !hasOlder ? null : isCut ? String(searched.from_seq) : String(oldest?.seq ?? from),
    previous: hasNewer ? String(newest?.seq ?? Math.max(1, to - 1)) : null,
    searched_back_to: isCut ? await timeAt(tx, account_id, searched.from_seq) : null,
  }
}

async function timeAt(tx: Queryable, account_id: string, seq: number): Promise<string | null> {
  const range = { from_seq: seq, to_seq: seq + 1, newestFirst: true }
  const [row] = await readTransfers(tx, account_id, range, {}, 1)
  return row?.created_at.toISOString() ?? null
}

function toRow(transfer: Transfer): TransferRow {
  const { seq, id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at } = transfer
  return {
    seq,
    id,
    kind,
    amount_cents: change_cents,
    balance_before_cents: balance_after_cents - change_cents,
    balance_after_cents,
    order_id,
    reference,
    note,
    created_at: created_at.toISOString(),
  }
}
