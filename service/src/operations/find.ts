import { type Queryable, type Statement, sql } from '../platform/database/db.ts'
import { timeInId } from '../platform/text/ids.ts'

/** For each kind. If there are this many results, the search text should be longer. */
export const FOUND_MAX = 20

export interface Found {
  readonly kind: string
  readonly id: string
  readonly account_id: string | null
  readonly about: string
}

/**
 * Everything that an id, the beginning of one, a name, an address, an idempotency key, the reference of a payment or a link's
 * fingerprint can refer to. Every statement uses an index, or reads a table that stays small.
 */
export async function findAnything(db: Queryable, text: string): Promise<Found[]> {
  const statements = [...byId(text), byName(text), byKey(text), byReference(text), byItem(text)]
  if (/^[0-9a-f]{64}$/i.test(text)) statements.push(byFingerprint(Buffer.from(text, 'hex')))
  if (text.includes('@')) statements.push(byAddress(text))
  return (await Promise.all(statements.map((statement) => db.many<Found>(statement)))).flat()
}

/** In a pool, sold, or known but no longer there. */
export const findLink = (db: Queryable, hash: Buffer) => db.many<Found>(byFingerprint(hash))

const byFingerprint = (hash: Buffer) => sql`
  select 'link' as kind, encode(f.hash, 'hex') as id, coalesce(o.account_id, l.account_id) as account_id,
         case
           when o.order_id is not null then 'of ' || o.order_id || ', line ' || o.line
           when l.hash is not null then 'sold in a time that a restore lost, to ' || coalesce(l.order_id, 'one of several orders')
           when p.set_aside_at is not null then 'set aside in the pool of ' || p.item_id
           when p.item_id is not null then 'in the pool of ' || p.item_id
           else 'held before, now neither in a pool nor sold'
         end as about
    from (select ${hash}::bytea as hash) f
    left join order_links o on o.link_hash = f.hash
    left join lost_links l on l.hash = f.hash
    left join pool_links p on p.link_hash = f.hash
   where l.hash is not null
      or exists (select from link_fingerprints s where s.hash = f.hash)`

/** The id of a request may be up to a minute older than the order. */
const REQUEST_MS_MAX = 60_000
const LETTERS = 26

function byId(text: string): Statement[] {
  const [, supplied = text] = /^(ord_[0-9a-z]{26})-\d+$/.exec(text) ?? []
  const [prefix = '', letters = ''] = supplied.split('_', 2)
  const range = { first: supplied, last: `${supplied}{` }
  // Ids begin with the time at which they were made. Orders and events are found by that time, because their tables are sorted
  // by account.
  const time = (fill: string, moreMs = 0) =>
    new Date((timeInId(`${prefix}_${letters.padEnd(LETTERS, fill)}`) ?? 0) + moreMs)
  const times = { from: time('0'), until: time('z', REQUEST_MS_MAX) }
  const statement = BY_PREFIX[prefix]?.({ ...range, ...times })
  return statement && supplied.includes('_') ? [statement] : []
}

interface Range {
  readonly first: string
  readonly last: string
  readonly from: Date
  readonly until: Date
}

const BY_PREFIX: Readonly<Record<string, (range: Range) => Statement>> = {
  acct: ({ first, last }) => sql`
    select 'account' as kind, id, id as account_id,
           name || ', ' || case when closed_at is null then status else 'closed' end as about
      from accounts
     where id >= ${first}
       and id < ${last}
     order by id
     limit ${FOUND_MAX}`,
  ord: ({ first, last, from, until }) => sql`
    select 'order' as kind, id, account_id, status as about
      from orders
     where created_at between ${from} and ${until}
       and id >= ${first}
       and id < ${last}
     order by created_at, id
     limit ${FOUND_MAX}`,
  evt: ({ first, last, from, until }) => sql`
    select 'event' as kind, id, account_id, concat_ws(' of ', type, order_id) as about
      from events
     where created_at between ${from} and ${until}
       and id >= ${first}
       and id < ${last}
     order by created_at, id
     limit ${FOUND_MAX}`,
  req: ({ first, last, from, until }) => sql`
    select 'order' as kind, id, account_id, status || ', bought by ' || request_id as about
      from orders
     where created_at between ${from} and ${until}
       and request_id >= ${first}
       and request_id < ${last}
     union all
    select 'attempt' as kind, idempotency_key as id, account_id, outcome || ' (' || status || '), ' || request_id as about
      from order_attempts
     where at between ${from} and ${until}
       and request_id >= ${first}
       and request_id < ${last}
     limit ${FOUND_MAX}`,
  key: ({ first, last }) => sql`
    select 'key' as kind, id, account_id, name || case when revoked_at is null then '' else ', revoked' end as about
      from api_keys
     where id >= ${first}
       and id < ${last}
     order by id
     limit ${FOUND_MAX}`,
  whe: ({ first, last }) => sql`
    select 'endpoint' as kind, id, account_id, url || case when ended_at is null then '' else ', ended' end as about
      from webhook_endpoints
     where id >= ${first}
       and id < ${last}
     order by id
     limit ${FOUND_MAX}`,
  top: ({ first, last }) => sql`
    select 'top-up' as kind, id, account_id, state || ', ' || reference as about
      from top_ups
     where id >= ${first}
       and id < ${last}
     order by id
     limit ${FOUND_MAX}`,
  person: ({ first, last }) => sql`
    select 'person' as kind, id, null as account_id, email as about
      from people
     where id >= ${first}
       and id < ${last}
     order by id
     limit ${FOUND_MAX}`,
}

const byName = (text: string) => sql`
  select 'account' as kind, id, id as account_id,
         name || ', ' || case when closed_at is null then status else 'closed' end as about
    from accounts
   where strpos(lower(name), lower(${text})) > 0
   order by id
   limit ${FOUND_MAX}`

/** Keys are unique within one account only; each account is searched by its index. */
const byKey = (text: string) => sql`
  select 'order' as kind, o.id, o.account_id, o.status || ', by its idempotency key' as about
    from accounts a
   cross join lateral (select id, account_id, status
                         from orders
                        where account_id = a.id
                          and idempotency_key = ${text}
                       offset 0) o
   order by o.id
   limit ${FOUND_MAX}`

/** The bank's reference of incoming money, or that of a top-up as the customer writes it. */
const byReference = (text: string) => sql`
  select 'transfer' as kind, 'tr_' || t.seq as id, t.account_id, 'money in under ' || t.reference as about
    from funding_references f
    join transfers t on t.account_id = f.account_id and t.kind = 'funding' and t.reference = f.reference
   where f.reference = ${text}
   union all
  select 'top-up' as kind, id, account_id, state || ', ' || reference as about
    from top_ups
   where reference = upper(regexp_replace(${text}, '[ -]', '', 'g'))`

const byItem = (text: string) => sql`
  select 'item' as kind, id, null as account_id, name as about
    from items
   where id like replace(replace(${text}, '_', '\\_'), '%', '\\%') || '%'
      or strpos(lower(name), lower(${text})) > 0
   order by id
   limit ${FOUND_MAX}`

const byAddress = (text: string) => sql`
  select 'person' as kind, p.id, m.account_id, p.email || coalesce(', ' || m.role, '') as about
    from people p
    left join memberships m on m.person_id = p.id
   where p.email = lower(${text})
   limit ${FOUND_MAX}`
