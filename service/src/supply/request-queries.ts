import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { RequestName, Stage } from './obligation.ts'

/** A request to a supplier. It is open, which is requested, accepted or unknown, as long as it has no end. */
export interface SupplierRequest extends RequestName {
  readonly sku: string
  readonly qty: number
  readonly stage: Stage
  readonly unit_cost_cents: number | null
  readonly attempts: number
  readonly failures: number
  readonly error: string | null
  readonly first_at: Date
  readonly last_at: Date
}

/** A request, with the fencing token of the lease that may write to it. */
export interface FencedRequest extends RequestName {
  readonly fencing_token: number
}

/** A request of an order that may still bring links, with its line's item. */
export type OrderRequestRow = Pick<
  SupplierRequest,
  'line' | 'supplier' | 'round' | 'sku' | 'qty' | 'stage' | 'unit_cost_cents'
> & { readonly item_id: string }

/**
 * Gives the requests of an order that may bring links to this lease: open ones, and ones written off, whose answer may have been on its
 * way. The order must be locked and the fencing token must be the latest; the previous holder can no longer write to any of them.
 */
export const takeOverRequests = (tx: Tx, account_id: string, order_id: string, fencing_token: number) =>
  tx.many<OrderRequestRow>(sql`
    update supplier_requests r
       set fencing_token = ${fencing_token}
      from order_lines l
     where r.account_id = ${account_id}
       and r.order_id = ${order_id}
       and (r.ended_at is null or r.stage = 'written_off')
       and l.account_id = r.account_id
       and l.order_id = r.order_id
       and l.line = r.line
    returning r.line, r.supplier, r.round, r.sku, r.qty, r.stage, r.unit_cost_cents, l.item_id`)

/** Whether a supplier may still deliver links for the order. */
export const selectIsOwed = (tx: Tx, account_id: string, order_id: string) =>
  tx.one<{ is_owed: boolean }>(sql`
    select exists (select from supplier_requests
                    where account_id = ${account_id}
                      and order_id = ${order_id}
                      and ended_at is null) as is_owed`)

/** The reason recorded for a request that an operator ended. */
export const GIVEN_UP = 'given_up'

/** Writes off the open requests of a line. The order must be locked. */
export const writeOffRequests = (tx: Tx, account_id: string, order_id: string, line: number, at: Date) =>
  tx.many<RequestName & Pick<SupplierRequest, 'qty' | 'unit_cost_cents'>>(sql`
    update supplier_requests
       set stage = 'written_off',
           error = ${GIVEN_UP},
           ended_at = ${at}
     where account_id = ${account_id}
       and order_id = ${order_id}
       and line = ${line}
       and ended_at is null
    returning account_id, order_id, line, supplier, round, qty, unit_cost_cents`)

/** Locks the order if it is paid: the transaction that ends it sees a request made now, or the request is not made. */
export const lockPaidOrder = (tx: Tx, account_id: string, order_id: string) =>
  tx.maybeOne<{ id: string }>(sql`
    select id
      from orders
     where account_id = ${account_id}
       and id = ${order_id}
       and status = 'paid'
       for no key update`)

/** All requests of a line, oldest first. */
export const selectRequestsOfLine = (
  db: Queryable,
  { account_id, order_id, line }: Pick<RequestName, 'account_id' | 'order_id' | 'line'>,
) =>
  db.many<SupplierRequest & { readonly is_open: boolean }>(sql`
    select account_id, order_id, line, supplier, round, sku, qty, stage, unit_cost_cents, attempts, failures, error, first_at, last_at,
           ended_at is null as is_open
      from supplier_requests
     where account_id = ${account_id}
       and order_id = ${order_id}
       and line = ${line}
     order by round, first_at`)

/** A request as it is sent. */
export type Asking = Pick<SupplierRequest, 'order_id' | 'line' | 'round' | 'sku' | 'qty' | 'attempts'>

export type NewRequest = FencedRequest & Pick<SupplierRequest, 'sku' | 'qty' | 'unit_cost_cents'>

export const insertRequest = (tx: Tx, ask: NewRequest, at: Date) =>
  tx.one<Asking>(sql`
    insert into supplier_requests (account_id, order_id, line, supplier, round, sku, qty, unit_cost_cents, stage, attempts, first_at,
                                   last_at, fencing_token)
    values (${ask.account_id}, ${ask.order_id}, ${ask.line}, ${ask.supplier}, ${ask.round}, ${ask.sku}, ${ask.qty},
            ${ask.unit_cost_cents}, 'requested', 1, ${at}, ${at}, ${ask.fencing_token})
    returning order_id, line, round, sku, qty, attempts`)

/** Of a line that is refused again and again, how many refusals are kept. */
const REFUSALS_KEPT = 20

/** Forgets a line's older refusals, for which nothing is owed, once there are twice as many as are kept. */
export async function forgetRefusals(tx: Tx, { account_id, order_id, line }: RequestName, count: number) {
  if (count < 2 * REFUSALS_KEPT) return
  await tx.run(sql`
    select forget_old_refusals(${account_id}, ${order_id}, ${line}, ${REFUSALS_KEPT})`)
}

/** A request that never reached the supplier is made again under its id. */
export const reviveRequest = (tx: Tx, ask: NewRequest, at: Date) =>
  tx.one<Asking>(sql`
    update supplier_requests
       set stage = 'requested',
           sku = ${ask.sku},
           qty = ${ask.qty},
           unit_cost_cents = ${ask.unit_cost_cents},
           attempts = 1,
           failures = 0,
           error = null,
           first_at = ${at},
           last_at = ${at},
           fencing_token = ${ask.fencing_token}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and round = ${ask.round}
    returning order_id, line, round, sku, qty, attempts`)

/** Sends an open request once more, unchanged, whatever the order's state. No row: another lease holds it, or it has ended. */
export const recordAskingAgain = (db: Queryable, ask: FencedRequest, at: Date) =>
  db.maybeOne<Asking>(sql`
    update supplier_requests
       set attempts = attempts + 1,
           last_at = ${at}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and round = ${ask.round}
       and ended_at is null
       and fencing_token = ${ask.fencing_token}
    returning order_id, line, round, sku, qty, attempts`)

/** Sends a written-off request once more. No row: it is not written off, or the database is not confirmed. */
export const recordCollecting = (db: Queryable, ask: RequestName, at: Date) =>
  db.maybeOne<Asking>(sql`
    update supplier_requests
       set attempts = attempts + 1,
           last_at = ${at}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and round = ${ask.round}
       and stage = 'written_off'
       and database_is_confirmed()
    returning order_id, line, round, sku, qty, attempts`)

/** Locks a written-off request. The order must be locked. */
export const lockWrittenOff = (tx: Tx, ask: RequestName) =>
  tx.maybeOne<FencedRequest & OrderRequestRow>(sql`
    select r.account_id, r.order_id, r.line, r.supplier, r.round, r.sku, r.qty, r.stage, r.unit_cost_cents, r.fencing_token, l.item_id
      from supplier_requests r
      join order_lines l on l.account_id = r.account_id and l.order_id = r.order_id and l.line = r.line
     where r.account_id = ${ask.account_id}
       and r.order_id = ${ask.order_id}
       and r.line = ${ask.line}
       and r.supplier = ${ask.supplier}
       and r.round = ${ask.round}
       and r.stage = 'written_off'
       for update of r`)

/** The reason recorded for a request whose links this store had held before, all or some. */
export const SOLD_BEFORE = 'sold_before'

/**
 * The supplier accepted, or gave no valid answer; what it accepted stays accepted. Here and below, no changed row means that a later
 * lease holds the request.
 */
export const recordFailure = (
  db: Queryable,
  ask: FencedRequest,
  { stage, error }: { stage: 'accepted' | 'unknown'; error: string },
) =>
  db.run(sql`
    update supplier_requests
       set error = case when ended_at is null then ${error} else error end,
           failures = failures + ${stage === 'unknown' ? 1 : 0},
           stage = case
             when stage = 'requested' or (stage = 'unknown' and ${stage} = 'accepted') then ${stage}
             else stage
           end
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and round = ${ask.round}
       and fencing_token = ${ask.fencing_token}`)

/** Ends a request that brought nothing, and gives its cost back to the supplier's hourly limit. */
export const recordRefusal = async (
  db: Queryable,
  ask: FencedRequest,
  { stage, error }: { stage: 'refused' | 'unsent'; error: string },
  at: Date,
) => {
  const { ended } = await db.one<{ ended: number }>(sql`
    with ended as (
      update supplier_requests
         set stage = ${stage},
             error = ${error},
             ended_at = ${at}
       where account_id = ${ask.account_id}
         and order_id = ${ask.order_id}
         and line = ${ask.line}
         and supplier = ${ask.supplier}
         and round = ${ask.round}
         and (ended_at is null or stage = 'written_off')
         and fencing_token = ${ask.fencing_token}
      returning supplier, first_at, unit_cost_cents * qty as cents
    ), given_back as (
      update supplier_spending s
         set cents = greatest(s.cents - e.cents, 0)
        from ended e
       where s.supplier = e.supplier
         and s.minute = date_trunc('minute', e.first_at)
    )
    select count(*) as ended from ended`)
  return ended
}

/** What came for a request. */
export interface Delivery {
  readonly links: number
  readonly said_cents: number | null
  readonly cost_cents: number | null
  readonly error: string | null
}

/** Ends a request that brought links; the database books its cost. The links are stored in the same transaction. */
export const recordDelivery = (
  tx: Tx,
  ask: FencedRequest,
  stage: 'fulfilled' | 'collected',
  { links, said_cents, cost_cents, error }: Delivery,
  at: Date,
) =>
  tx.run(sql`
    update supplier_requests
       set stage = ${stage},
           links = ${links},
           said_cents = ${said_cents},
           cost_cents = ${cost_cents},
           error = ${error},
           ended_at = ${at}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and round = ${ask.round}
       and (ended_at is null or stage = 'written_off')
       and fencing_token = ${ask.fencing_token}`)

export const selectOpenRequests = (db: Queryable, limit: number) =>
  db.many<SupplierRequest>(sql`
    select account_id, order_id, line, supplier, round, sku, qty, stage, unit_cost_cents, attempts, failures, error, first_at, last_at
      from supplier_requests
     where ended_at is null
     order by last_at
     limit ${limit}`)

export interface OpenAt {
  readonly supplier: string
  readonly requests: number
  readonly links: number
}

/** Open requests for an item, by supplier. */
export const selectOpenOfItem = (db: Queryable, item_id: string) =>
  db.many<OpenAt>(sql`
    select r.supplier, count(*) as requests, sum(r.qty)::integer as links
      from supplier_requests r
      join order_lines l on l.account_id = r.account_id and l.order_id = r.order_id and l.line = r.line
     where r.ended_at is null
       and l.item_id = ${item_id}
     group by r.supplier
     order by r.supplier`)
