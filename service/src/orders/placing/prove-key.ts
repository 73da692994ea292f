import type { Transfer } from '../../ledger/queries.ts'
import { listActions } from '../../platform/database/audit.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import { day, dollars } from '../../platform/text/format.ts'
import { type Attempts, type BoughtOrder, LISTED_MAX, readAttempts, selectBought } from './attempts.ts'

export interface Proof extends Attempts {
  readonly idempotency_key: string
  readonly account_id: string
  readonly verdict: 'bought_once' | 'never_bought' | 'not_once'
  readonly orders: readonly BoughtOrder[]
  readonly debits: readonly OrderTransfer[]
  readonly refunds: readonly OrderTransfer[]
}

export type OrderTransfer = Pick<
  Transfer,
  'id' | 'kind' | 'change_cents' | 'balance_after_cents' | 'order_id' | 'created_at'
>

/** What one idempotency key of one account bought, and what it cost. */
export async function proveKey(db: Queryable, account_id: string, idempotency_key: string): Promise<Proof> {
  const orders = await selectBought(db, account_id, { idempotency_key })
  const ids = orders.map(({ id }) => id)
  const [first] = orders
  const actions = first ? await listActions(db, first.id, LISTED_MAX) : []
  // In sequence: both may run in one transaction.
  const attempts = await readAttempts(db, first ?? { account_id, idempotency_key }, actions)
  const transfers = await selectOrderTransfers(db, account_id, ids)
  const debits = transfers.filter(({ kind }) => kind === 'order')
  const refunds = transfers.filter(({ kind }) => kind === 'refund')
  return {
    idempotency_key,
    account_id,
    verdict: verdictOf(orders, debits, refunds),
    orders,
    debits,
    refunds,
    ...attempts,
  }
}

function verdictOf(
  orders: readonly BoughtOrder[],
  debits: readonly OrderTransfer[],
  refunds: readonly OrderTransfer[],
): Proof['verdict'] {
  const [order] = orders
  if (!order) return 'never_bought'
  const isPaidOnce = debits.length === 1 && debits[0]?.change_cents === -order.total_cents
  const isRefundedOnce = refunds.length === 1 && refunds[0]?.change_cents === order.total_cents
  const isRefundRight = order.status === 'cancelled' ? isRefundedOnce : refunds.length === 0
  return orders.length === 1 && isPaidOnce && isRefundRight ? 'bought_once' : 'not_once'
}

/** In plain words, for the person who made the claim. */
export function summaryOf(proof: Proof): string {
  const { verdict, counts, orders, debits, refunds, kept_since } = proof
  const sent = count(counts.attempts, 'attempt')
  const bought = orders[0]
  const earlier =
    bought && bought.created_at < kept_since
      ? [`Attempts before ${day(kept_since)} UTC are no longer stored, so earlier ones may be missing here.`]
      : []
  if (verdict === 'not_once') {
    const found = [
      count(orders.length, 'order'),
      count(debits.length, 'debit'),
      count(refunds.length, 'refund'),
    ]
    return `Not proven: ${sent}, ${found.join(', ')}.`
  }
  if (verdict === 'never_bought')
    return `Never bought: ${sent}, no order, no debit. The key is still free: the same request would buy now.`
  const hung = proof.attempts.some(({ outcome, is_sent }) => outcome === 'bought' && is_sent === false)
  return [
    `Bought once: ${sent}, one order, one debit of ${dollars(bought?.total_cents ?? 0)}${refunds.length > 0 ? ', refunded in full' : ''}.`,
    ...(counts.replayed > 0
      ? [`${wasWere(counts.replayed)} answered with the same order and cost nothing.`]
      : []),
    ...(counts.refused > 0 ? [`${wasWere(counts.refused)} refused and cost nothing.`] : []),
    ...otherCarts(proof),
    ...(hung
      ? ['The caller closed the connection before it had the answer to the attempt that bought.']
      : []),
    ...earlier,
  ].join('\n')
}

const wasWere = (n: number) => (n === 1 ? '1 attempt was' : `${n} attempts were`)
const count = (n: number, what: string) => (n === 1 ? `one ${what}` : `${n === 0 ? 'no' : n} ${what}s`)

function otherCarts({ attempts, orders }: Pick<Proof, 'attempts' | 'orders'>): string[] {
  const bought = orders[0]?.request_hash
  const others = new Set(attempts.map(({ request_hash }) => request_hash))
  others.delete(null)
  others.delete(bought ?? null)
  if (others.size === 0) return []
  return others.size === 1
    ? ['Another cart came with this key and was not bought.']
    : [`${others.size} other carts came with this key and were not bought.`]
}

const selectOrderTransfers = (db: Queryable, account_id: string, order_ids: readonly string[]) =>
  db.many<OrderTransfer>(sql`
    select 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, created_at
      from transfers
     where account_id = ${account_id}
       and order_id = any(${order_ids}::text[])
     order by seq`)
