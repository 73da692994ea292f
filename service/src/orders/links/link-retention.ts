import { type Db, sql, type Tx } from '../../platform/database/db.ts'
import type { Removed } from '../../platform/jobs/removal-limit.ts'

/** Orders per transaction: small, so that locks are held briefly. */
export const ERASE_CHUNK = 500
const HOUR_MS = 3_600_000
/**
 * Orders are checked an hour later than necessary. By then nearly all of them were delivered before the limit and their events are
 * deleted, so few have to be checked again.
 */
const CHECK_LATER_MS = HOUR_MS
/** For an order that was not delivered, or too recently. */
const RECHECK_MS = HOUR_MS

interface OrderNames {
  readonly account_ids: readonly string[]
  readonly order_ids: readonly string[]
}

/**
 * Erases the links of orders that were delivered before a time. Fingerprints stay. A link is kept as long as the event that carries
 * it: the body of an event may be composed as late as its first attempt. Each call handles one chunk in one transaction, and
 * records how far it got; returns how many orders it checked for the first time. Any number of workers may call this; one of them
 * does the work.
 */
export async function eraseOldLinks(db: Db, before: Date, nowMs: number): Promise<Removed> {
  const checked = await db.transaction(async (tx) => {
    const lock = await tx.maybeOne(sql`
      select looked_to
        from link_retention
         for update skip locked`)
    if (!lock) return undefined
    const next = await nextOrders(tx, before)
    const orders = namesOf([...next, ...(await keptOrders(tx, nowMs))])
    if (orders.order_ids.length === 0) return undefined
    await eraseLinks(tx, orders, before, nowMs)
    await keepTheRest(tx, orders, nowMs)
    return next.length
  })
  return { removed: checked ?? 0, isMore: checked !== undefined }
}

const namesOf = (orders: readonly { account_id: string; order_id: string }[]): OrderNames => ({
  account_ids: orders.map(({ account_id }) => account_id),
  order_ids: orders.map(({ order_id }) => order_id),
})

/** Includes ties: of two orders of the same moment none may be skipped. The time stays in the database, which has more digits. */
const nextOrders = (tx: Tx, before: Date) =>
  tx.many<{ account_id: string; order_id: string }>(sql`
    with next as materialized (
      select account_id, id, created_at
        from orders
       where created_at > (select looked_to from link_retention)
         and created_at < ${new Date(before.getTime() - CHECK_LATER_MS)}
       order by created_at
       fetch first ${ERASE_CHUNK} rows with ties
    ), checked as (
      update link_retention
         set looked_to = (select max(created_at) from next)
       where exists (select from next)
    )
    select account_id, id as order_id
      from next`)

const keptOrders = (tx: Tx, nowMs: number) =>
  tx.many<{ account_id: string; order_id: string }>(sql`
    select account_id, order_id
      from links_kept_longer
     where look_at <= ${new Date(nowMs)}
     order by look_at
     limit ${ERASE_CHUNK}`)

/** Locks in the order of the key, as replacing an encryption key does. */
const eraseLinks = (tx: Tx, { account_ids, order_ids }: OrderNames, before: Date, nowMs: number) =>
  tx.run(sql`
    with due as materialized (
      select o.account_id, o.id
        from unnest(${account_ids}::text[], ${order_ids}::text[]) as n (account_id, order_id)
        join orders o on o.account_id = n.account_id and o.id = n.order_id
       where o.delivered_at < ${before}
         and not exists (select
                           from events e
                          where e.account_id = o.account_id
                            and e.order_id = o.id
                            and e.type = 'order.delivered')
    ), held as materialized (
      select k.account_id, k.order_id, k.line, k.unit
        from order_links k
        join due d on d.account_id = k.account_id and d.id = k.order_id
       where k.erased_at is null
       order by k.order_id, k.line, k.unit
         for update of k
    )
    update order_links k
       set link_sealed = null, link_kek_id = null, erased_at = ${new Date(nowMs)}
      from held h
     where k.account_id = h.account_id
       and k.order_id = h.order_id
       and k.line = h.line
       and k.unit = h.unit`)

/** A cancelled order has no links. */
async function keepTheRest(tx: Tx, { account_ids, order_ids }: OrderNames, nowMs: number): Promise<void> {
  await tx.run(sql`
    delete from links_kept_longer l
     using unnest(${account_ids}::text[], ${order_ids}::text[]) as n (account_id, order_id)
     where l.account_id = n.account_id
       and l.order_id = n.order_id`)
  await tx.run(sql`
    insert into links_kept_longer (account_id, order_id, look_at)
    select o.account_id, o.id, ${new Date(nowMs + RECHECK_MS)}
      from unnest(${account_ids}::text[], ${order_ids}::text[]) as n (account_id, order_id)
      join orders o on o.account_id = n.account_id and o.id = n.order_id
     where o.status = 'paid'
        or exists (select
                     from order_links k
                    where k.account_id = o.account_id
                      and k.order_id = o.id
                      and k.erased_at is null)`)
}
