import type { Queryable } from '../platform/database/db.ts'
import { assert } from '../platform/trouble.ts'
import {
  type MovementSum,
  selectBalancesAfter,
  selectBoundaries,
  selectMovementSums,
  selectTransfersBetween,
  type TransferFilter,
} from './statement-queries.ts'

export type { TransferFilter } from './statement-queries.ts'

/** opening + top-ups + refunds + adjustments - orders = closing, in cents. Adjustments are signed, the others are not. */
export interface Period {
  /** Positions in the statement: from the first, up to but not including the last. */
  readonly from_seq: number
  readonly to_seq: number
  readonly opening_cents: number
  readonly top_ups_cents: number
  readonly top_ups_count: number
  readonly refunds_cents: number
  readonly refunds_count: number
  readonly adjustments_cents: number
  readonly adjustments_count: number
  readonly orders_cents: number
  readonly orders_count: number
  readonly closing_cents: number
}

/**
 * What happened between each two of these instants, which must ascend. The number of an account's orders does not matter: both
 * balances are read from the statement, everything but orders is added up, and orders are the difference. That is exact because
 * every transfer carries the balance after it and no position is missing (invariants M03 and M13).
 */
export async function readPeriods(
  db: Queryable,
  account_id: string,
  instants: readonly Date[],
): Promise<Period[]> {
  const boundaries = await selectBoundaries(db, account_id, instants)
  assert(boundaries.length === instants.length, `account ${account_id} has a balance row`)
  // A clock that was set back must not make a period end before it begins.
  const seqs: number[] = []
  for (const { seq } of boundaries) seqs.push(Math.max(seq, seqs.at(-1) ?? 0))
  const [balances, sums] = [
    await selectBalancesAfter(
      db,
      account_id,
      seqs.map((seq) => seq - 1),
    ),
    await selectMovementSums(db, account_id, seqs),
  ]
  const balanceBefore = new Map(
    balances.map(({ seq, balance_after_cents }) => [seq + 1, balance_after_cents]),
  )
  return seqs.slice(0, -1).map((from_seq, n) => {
    const to_seq = seqs[n + 1] as number
    return describePeriod(
      { from_seq, to_seq },
      { opening_cents: balanceBefore.get(from_seq) ?? 0, closing_cents: balanceBefore.get(to_seq) ?? 0 },
      sums.filter(({ period }) => period === n + 1),
    )
  })
}

function describePeriod(
  range: Pick<Period, 'from_seq' | 'to_seq'>,
  balances: Pick<Period, 'opening_cents' | 'closing_cents'>,
  sums: readonly MovementSum[],
): Period {
  const of = (kind: string) => {
    const found = sums.find((sum) => sum.kind === kind)
    return { cents: found?.change_cents ?? 0, count: found?.count ?? 0 }
  }
  const [top_ups, refunds, adjustments] = [of('funding'), of('refund'), of('adjustment')]
  const others = top_ups.cents + refunds.cents + adjustments.cents
  return {
    ...range,
    ...balances,
    top_ups_cents: top_ups.cents,
    top_ups_count: top_ups.count,
    refunds_cents: refunds.cents,
    refunds_count: refunds.count,
    adjustments_cents: adjustments.cents,
    adjustments_count: adjustments.count,
    orders_cents: balances.opening_cents + others - balances.closing_cents,
    orders_count: range.to_seq - range.from_seq - top_ups.count - refunds.count - adjustments.count,
  }
}

/** Positions of the first transfers at or after each instant; for a later instant, the next position that will be assigned. */
export async function readPositions(db: Queryable, account_id: string, instants: readonly Date[]) {
  return (await selectBoundaries(db, account_id, instants)).map(({ seq }) => seq)
}

export interface Burn {
  /** Whole days in the average: fewer than requested when the account is younger. */
  readonly days: number
  readonly per_day_cents: number
  /** Null when nothing is spent. */
  readonly days_left: number | null
}

const DAY_MS = 86_400_000
const BURN_DAYS = 7

/** How long the balance lasts if spending, less refunds, continues as in the last seven days. */
export async function readBurn(
  db: Queryable,
  account_id: string,
  account_created_at: Date,
  nowMs: number,
): Promise<Burn> {
  const age = Math.ceil((nowMs - account_created_at.getTime()) / DAY_MS)
  const days = Math.min(BURN_DAYS, Math.max(1, age))
  const [period] = await readPeriods(db, account_id, [new Date(nowMs - days * DAY_MS), FAR_FUTURE])
  assert(period, 'two instants have one period between them')
  const per_day_cents = Math.max(0, Math.round((period.orders_cents - period.refunds_cents) / days))
  return { days, per_day_cents, days_left: daysLeft(period.closing_cents, per_day_cents) }
}

/** Null when nothing is spent. */
export const daysLeft = (balance_cents: number, per_day_cents: number): number | null =>
  per_day_cents === 0 ? null : Math.floor(balance_cents / per_day_cents)

/** After every transfer; still a date that every program can read. */
export const FAR_FUTURE = new Date('9999-12-31T00:00:00.000Z')

/** Transfers in a range of positions that fit the filter, in either direction. */
export const readTransfers = (
  db: Queryable,
  account_id: string,
  range: { readonly from_seq: number; readonly to_seq: number; readonly newestFirst: boolean },
  filter: TransferFilter,
  limit: number,
) => selectTransfersBetween(db, account_id, range, filter, limit)
