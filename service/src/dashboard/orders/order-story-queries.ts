import type { ItemType } from '@shopwire/contract'
import type { OrderLinkRow } from '../../orders/links/link-queries.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'

export const REVEAL_ACTION = 'order.reveal_link'

export interface StoryEvent {
  readonly event_id: string
  readonly type: string
  readonly created_at: Date
  /** Null when the account had no endpoint. */
  readonly state: 'pending' | 'delivered' | 'failed' | 'cancelled' | null
  readonly next_at: Date | null
  readonly attempts: readonly {
    readonly round: number
    readonly n: number
    readonly started_at: string
    readonly ms: number
    readonly status: number | null
    readonly error: string | null
  }[]
}

/** Without the addresses that host names resolved to, which the account may not see. */
export const selectStoryEvents = (db: Queryable, account_id: string, order_id: string) =>
  db.many<StoryEvent>(sql`
    select e.id as event_id, e.type, e.created_at, d.state, d.next_at,
           (select coalesce(json_agg(json_build_object('round', a.round, 'n', a.n, 'started_at', a.started_at,
                                                       'ms', (extract(epoch from a.finished_at - a.started_at) * 1000)::integer,
                                                       'status', a.status, 'error', a.error)
                                     order by a.started_at, a.round, a.n), '[]')
              from attempts_shown a
             where a.account_id = d.account_id and a.event_id = d.event_id and a.endpoint_id = d.endpoint_id) as attempts
      from events e
      left join deliveries d on d.account_id = e.account_id and d.event_id = e.id
     where e.account_id = ${account_id}
       and e.order_id = ${order_id}
     order by e.id, d.created_at`)

export interface RevealRow {
  readonly at: Date
  readonly person_id: string
  readonly person_name: string
  readonly link: number
  readonly address: string | null
}

/** Newest first. Operators' reveals have no account and are not included. */
export const selectReveals = (db: Queryable, account_id: string, order_id: string, limit: number) =>
  db.many<RevealRow>(sql`
    select at, substr(actor, length('person:') + 1) as person_id, coalesce(details ->> 'name', '') as person_name,
           (details -> 'after' ->> 'link')::integer as link, address
      from audit_log
     where target = ${order_id}
       and account_id = ${account_id}
       and action = ${REVEAL_ACTION}
     order by id desc
     limit ${limit}`)

export const countLinks = (db: Queryable, account_id: string, order_id: string) =>
  db.one<{ links: number; erased_at: Date | null }>(sql`
    select count(*) as links, max(erased_at) as erased_at
      from order_links
     where account_id = ${account_id}
       and order_id = ${order_id}`)

interface Kind {
  readonly id: string
  readonly collection: string
  readonly type: ItemType
}

export async function selectKinds(
  db: Queryable,
  item_ids: readonly string[],
): Promise<ReadonlyMap<string, Kind>> {
  const rows = await db.many<Kind>(sql`
    select id, collection, type
      from items
     where id = any(${item_ids}::text[])`)
  return new Map(rows.map((row) => [row.id, row]))
}

/** The n-th link of a delivered order, in the order of its lines. */
export const selectLink = (db: Queryable, account_id: string, order_id: string, n: number) =>
  db.maybeOne<OrderLinkRow & { name: string }>(sql`
    select k.line, k.unit, k.link_sealed, k.erased_at, l.name
      from orders o
      join order_links k on k.account_id = o.account_id and k.order_id = o.id
      join order_lines l on l.account_id = k.account_id and l.order_id = k.order_id and l.line = k.line
     where o.account_id = ${account_id}
       and o.id = ${order_id}
       and o.status = 'delivered'
     order by k.line, k.unit
    offset ${n - 1}
     limit 1`)
