import { type BatchingMode, batched } from '../platform/batched.ts'
import { type Db, isRolledBack } from '../platform/db.ts'
import { callPlaceOrder, callPlaceOrders, type NewOrder, type Placed } from './queries.ts'

/** Places one order, alone or together with others that came at the same time. */
export type Place = (order: NewOrder) => Promise<Placed>

export interface OrderBatchesOptions {
  readonly mode?: BatchingMode
  onBatch?(size: number, mustWait: number): void
}

/** Those of a trial, docs/decisions/0037. */
const LANES = 3
const ORDERS_MAX = 16

/**
 * Orders of different accounts that arrive while others are being placed are placed together, in one transaction: that costs
 * PostgreSQL about a third of placing them one by one. A lost answer then concerns all of them; each is settled by
 * repeating it with its own idempotency key, as ever.
 */
export function placeInBatches(db: Pick<Db, 'commit'>, options: OrderBatchesOptions = {}): Place {
  return batched<NewOrder, Placed>({
    part: 'database',
    lanes: LANES,
    sizeMax: ORDERS_MAX,
    keyOf: ({ account_id }) => account_id,
    runOne: (order) => callPlaceOrder(db, order),
    runMany: (orders) => callPlaceOrders(db, orders),
    isUndone: isRolledBack,
    ...options,
  })
}
