import { type BatchingMode, batched } from '../../platform/batching/batched.ts'
import { type Db, isRolledBack } from '../../platform/database/db.ts'
import { endWith, inSpan, type Tracing } from '../../platform/observability/tracing.ts'
import { callPlaceOrder, callPlaceOrders, type NewOrder, type Placed } from '../queries.ts'

/** Places one order, alone or together with others that arrived at the same time. */
export type Place = (order: NewOrder) => Promise<Placed>

export interface OrderBatchesOptions {
  readonly mode?: BatchingMode
  readonly tracing?: Tracing | undefined
  onBatch?(size: number, mustWait: number): void
}

/** As measured in decision 0008. */
const LANES = 3
const ORDERS_MAX = 16

/**
 * Orders of different accounts that arrive while others are being placed are placed together, in one transaction: that costs
 * PostgreSQL about a third of placing them one by one. A lost answer then concerns all of them; each is resolved by repeating it
 * with its own idempotency key, as usual.
 */
export function placeInBatches(
  db: Pick<Db, 'commit'>,
  { tracing, ...options }: OrderBatchesOptions = {},
): Place {
  const place = batched<NewOrder, Placed>({
    part: 'database',
    lanes: LANES,
    sizeMax: ORDERS_MAX,
    keyOf: ({ account_id }) => account_id,
    runOne: (order) => callPlaceOrder(db, order),
    runMany: tracing
      ? (orders) => inOneSpan(tracing, orders, () => callPlaceOrders(db, orders))
      : (orders) => callPlaceOrders(db, orders),
    isUndone: isRolledBack,
    ...options,
  })
  if (!tracing) return place
  return (order) =>
    order.span
      ? inSpan(order.span, 'place_order', 'client', STATEMENT, (span) => place({ ...order, span }))
      : place(order)
}

const STATEMENT = { 'db.system.name': 'postgresql', 'db.stored_procedure.name': 'place_orders' }

/** A call for many orders belongs to none of their traces: it has its own trace, and links to and from each of them. */
async function inOneSpan<Result>(
  tracing: Tracing,
  orders: readonly NewOrder[],
  work: () => Promise<Result>,
): Promise<Result> {
  const attributes = {
    ...STATEMENT,
    'db.operation.batch.size': orders.length,
  }
  const spans = orders.map(({ span }) => span)
  const together = tracing.together(spans, 'place_orders', 'client', attributes)
  try {
    const result = await work()
    together?.end()
    return result
  } catch (error) {
    if (together) endWith(together, error)
    throw error
  }
}
