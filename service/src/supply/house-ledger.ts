import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { monthRange } from '../platform/text/months.ts'
import { refuse } from '../platform/trouble.ts'
import { requestId } from './obligation.ts'
import type { SupplierRequest } from './request-queries.ts'

/** What is owed to a supplier, and what may come on top of it. */
export interface SupplierBalance {
  readonly supplier: string
  /** Cost of all links that came. */
  readonly booked_cents: number
  readonly paid_cents: number
  readonly owed_cents: number
  /** Expected cost of requests without a final answer. */
  readonly open_requests: number
  readonly open_cents: number
  /** Expected cost of requests that were written off: the supplier may still ask for it. */
  readonly written_off_requests: number
  readonly written_off_cents: number
  /** Requests that brought links and whose cost was unknown. */
  readonly without_cost: number
}

/**
 * What we owe to each supplier. Without a name, all suppliers. Reads every request: use a connection without the short statement
 * timeout.
 */
export const selectBalances = (db: Queryable, name: string | null) =>
  db.many<SupplierBalance>(sql`
    select s.name as supplier, coalesce(t.booked, 0)::bigint as booked_cents, coalesce(t.paid, 0)::bigint as paid_cents,
           coalesce(t.booked - t.paid, 0)::bigint as owed_cents, coalesce(r.open_requests, 0) as open_requests,
           coalesce(r.open_cents, 0)::bigint as open_cents, coalesce(r.written_off, 0) as written_off_requests,
           coalesce(r.written_off_cents, 0)::bigint as written_off_cents, coalesce(r.without_cost, 0) as without_cost
      from suppliers s
      left join (select supplier,
                        coalesce(sum(amount_cents) filter (where kind = 'cost'), 0) as booked,
                        coalesce(sum(amount_cents) filter (where kind = 'payment'), 0) as paid
                   from supplier_transfers
                  where supplier = coalesce(${name}, supplier)
                  group by supplier) t on t.supplier = s.name
      left join (select supplier,
                        count(*) filter (where ended_at is null) as open_requests,
                        sum(unit_cost_cents * qty) filter (where ended_at is null) as open_cents,
                        count(*) filter (where stage = 'written_off') as written_off,
                        sum(unit_cost_cents * qty) filter (where stage = 'written_off') as written_off_cents,
                        count(*) filter (where stage in ('fulfilled', 'collected') and cost_cents is null) as without_cost
                   from supplier_requests
                  where supplier = coalesce(${name}, supplier)
                  group by supplier) r on r.supplier = s.name
     where s.name = coalesce(${name}, s.name)
     order by s.name`)

export interface Payment {
  readonly cents: number
  /** The same reference twice is the same payment. */
  readonly reference: string
  readonly note?: string | undefined
}

export interface PaymentRow {
  readonly reference: string
  readonly amount_cents: number
  readonly note: string | null
  readonly booked_at: Date
}

/** Books a payment to a supplier, once for each reference. */
export async function payOnce(
  tx: Tx,
  supplier: string,
  { cents, reference, note }: Payment,
  nowMs: number,
): Promise<{ payment: PaymentRow; isNew: boolean }> {
  const { isNew } = await tx.one<{ isNew: boolean }>(sql`
    select pay_supplier(${supplier}, ${reference}, ${cents}, ${note ?? null}, ${new Date(nowMs)}) as "isNew"`)
  const payment = await tx.one<PaymentRow>(sql`
    select reference, amount_cents, note, booked_at
      from supplier_transfers
     where supplier = ${supplier}
       and kind = 'payment'
       and reference = ${reference}`)
  if (payment.amount_cents !== cents) {
    throw refuse(
      'idempotency_conflict',
      `The payment "${reference}" to "${supplier}" was recorded before with ${payment.amount_cents} cents. Nothing was changed; ` +
        'a different payment needs another reference.',
    )
  }
  return { payment, isNew }
}

/** A request as the statement of its supplier lists it. */
export interface Obligation
  extends Pick<
    SupplierRequest,
    | 'account_id'
    | 'order_id'
    | 'line'
    | 'round'
    | 'sku'
    | 'qty'
    | 'stage'
    | 'unit_cost_cents'
    | 'first_at'
    | 'error'
  > {
  readonly id: string
  /** How many links came that were new. */
  readonly links: number | null
  readonly said_cents: number | null
  readonly cost_cents: number | null
  readonly ended_at: Date | null
  readonly written_off_at: Date | null
  /** The supplier charged more than was expected. */
  readonly is_over_cost: boolean
}

/** Requests that ended in this time, and those that were made in it and are open. */
async function selectObligations(
  db: Queryable,
  supplier: string,
  from: Date,
  until: Date,
): Promise<Obligation[]> {
  const rows = await db.many<Omit<Obligation, 'id'>>(sql`
    select account_id, order_id, line, round, sku, qty, stage, unit_cost_cents, links, said_cents, cost_cents, error, first_at, ended_at,
           written_off_at, coalesce(said_cents > unit_cost_cents * qty, false) as is_over_cost
      from supplier_requests
     where supplier = ${supplier}
       and coalesce(ended_at, first_at) >= ${from}
       and coalesce(ended_at, first_at) < ${until}
     order by coalesce(ended_at, first_at), order_id, line, round`)
  return rows.map((row) => ({ id: requestId(row), ...row }))
}

export interface SupplierStatement {
  readonly supplier: string
  readonly month: string
  /** Owed when the month began and when it ended. */
  readonly owed_before_cents: number
  readonly owed_after_cents: number
  readonly booked_cents: number
  readonly paid_cents: number
  readonly obligations: readonly Obligation[]
  readonly payments: readonly PaymentRow[]
  /** As of now, whatever the month. */
  readonly now: SupplierBalance
}

const MONTH_FORM = /^\d{4}-(0[1-9]|1[0-2])$/

/** One month of a supplier, in UTC, to compare with its invoice. Run it in one snapshot. */
export async function readSupplierStatement(
  tx: Tx,
  supplier: string,
  month: string,
): Promise<SupplierStatement> {
  if (!MONTH_FORM.test(month))
    throw refuse('invalid_request', `"${month}" is not a month: write it as year and month, such as 2026-11.`)
  const { from, to: until } = monthRange(month)
  const [now] = await selectBalances(tx, supplier)
  if (!now) {
    throw refuse('not_found', `There is no supplier "${supplier}". "suppliers list" shows all there are.`)
  }
  const sums = await tx.one<{ before: number; booked: number; paid: number }>(sql`
    select coalesce(sum(case kind when 'cost' then amount_cents else -amount_cents end)
                    filter (where booked_at < ${from}), 0)::bigint as before,
           coalesce(sum(amount_cents) filter (where kind = 'cost' and booked_at >= ${from}), 0)::bigint as booked,
           coalesce(sum(amount_cents) filter (where kind = 'payment' and booked_at >= ${from}), 0)::bigint as paid
      from supplier_transfers
     where supplier = ${supplier}
       and booked_at < ${until}`)
  const payments = await tx.many<PaymentRow>(sql`
    select reference, amount_cents, note, booked_at
      from supplier_transfers
     where supplier = ${supplier}
       and kind = 'payment'
       and booked_at >= ${from}
       and booked_at < ${until}
     order by booked_at, reference`)
  return {
    supplier,
    month,
    owed_before_cents: sums.before,
    owed_after_cents: sums.before + sums.booked - sums.paid,
    booked_cents: sums.booked,
    paid_cents: sums.paid,
    obligations: await selectObligations(tx, supplier, from, until),
    payments,
    now,
  }
}
