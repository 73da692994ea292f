import { type Queryable, sql } from '../../platform/database/db.ts'
import { readBacklog } from './backlog.ts'

/** An order waits unusually long when it has waited this long, and much longer than orders usually take. */
const LATE_MS_MIN = 10 * 60_000
const LATE_FACTOR = 4
/** How many of the latest orders say what is usual, and how few say nothing. */
export const USUAL_OF_LATEST = 200
const DELIVERIES_MIN = 5

/** The times that orders took: half of them at most `usual_s`, 19 in 20 at most `usual_most_s`. Null: not known. */
export interface Usual {
  readonly usual_s: number | null
  readonly usual_most_s: number | null
}

export const usualIfEnough = ({
  deliveries,
  usual_s,
  usual_most_s,
}: Usual & { deliveries: number }): Usual =>
  deliveries < DELIVERIES_MIN ? { usual_s: null, usual_most_s: null } : { usual_s, usual_most_s }

/** From when on an order counts as late. */
export const lateAfterMs = (usual_most_s: number | null) =>
  Math.max(LATE_MS_MIN, (usual_most_s ?? 0) * 1000 * LATE_FACTOR)

/** The state of the queue, and whether the store's oldest waiting order is late. */
export async function readLateness(db: Queryable, now: Date) {
  const backlog = await readBacklog(db)
  if (backlog.oldest_at === null) return { ...backlog, isLate: false }
  const { usual_most_s } = usualIfEnough(await selectUsual(db))
  return { ...backlog, isLate: now.getTime() - backlog.oldest_at.getTime() > lateAfterMs(usual_most_s) }
}

const selectUsual = (db: Queryable) =>
  db.one<Usual & { deliveries: number }>(sql`
    select count(*) as deliveries,
           percentile_cont(0.5) within group (order by seconds) as usual_s,
           percentile_cont(0.95) within group (order by seconds) as usual_most_s
      from (select date_part('epoch', delivered_at - created_at) as seconds
              from (select created_at, delivered_at
                      from orders
                     order by created_at desc
                     limit ${USUAL_OF_LATEST}) latest
             where delivered_at is not null) o`)
