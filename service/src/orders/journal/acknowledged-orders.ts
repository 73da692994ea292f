import type { DatabaseState } from '../../platform/database/database-identity.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import type { Log } from '../../platform/observability/log.ts'
import type { Place } from '../placing/order-batches.ts'

/**
 * The orders that this process has bought of late. When the database server turns out to be another one, or was started again, the
 * process looks whether it has them: a standby that confirmed nothing may have been promoted in place of the one that did.
 */
export interface AcknowledgedOrders {
  /** Remembers each order from the moment its commit is confirmed. */
  remembering(place: Place): Place
  /** To be called about once a second. Closes the store, in the database, if an order is missing. */
  follow(state: Pick<DatabaseState, 'start' | 'present'>): Promise<void>
}

/** While the server stays the same. From the moment it is gone nothing is forgotten until its successor was asked. */
const KEPT_MS = 30_000
const ASKED_AT_ONCE = 5_000

interface Acknowledged {
  readonly account_id: string
  readonly order_id: string
  readonly atMs: number
}

export function rememberAcknowledged(
  db: Queryable,
  log: Log,
  nowMs: () => number = () => performance.now(),
): AcknowledgedOrders {
  let recent: Acknowledged[] = []
  let known: string | undefined

  async function lookUp(): Promise<number> {
    let missing = 0
    // A copy: orders are placed meanwhile, on the server that is asked.
    const asked = [...recent]
    for (let from = 0; from < asked.length; from += ASKED_AT_ONCE)
      missing += (await reportMissing(db, asked.slice(from, from + ASKED_AT_ONCE))).missing
    return missing
  }

  return {
    remembering: (place) => async (order) => {
      const placed = await place(order)
      if (placed.verdict === 'bought')
        recent.push({ account_id: order.account_id, order_id: placed.order_id, atMs: nowMs() })
      return placed
    },
    async follow({ start, present }) {
      // A standby cannot be written to, and may still become the primary.
      if (present.timeline === null) return
      if (known !== undefined && start !== known && recent.length > 0) {
        const missing = await lookUp()
        if (missing > 0)
          log.error(
            { missing },
            'orders that were answered with 201 are missing in this database: the store is closed until an operator opens it',
          )
      }
      known = start
      const oldestMs = nowMs() - KEPT_MS
      recent = recent.filter(({ atMs }) => atMs >= oldestMs)
    },
  }
}

const reportMissing = (db: Queryable, orders: readonly Acknowledged[]) =>
  db.one<{ missing: number }>(sql`
    select report_missing_orders(${orders.map(({ account_id }) => account_id)}::text[],
                                 ${orders.map(({ order_id }) => order_id)}::text[]) as missing`)
