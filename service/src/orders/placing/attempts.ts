import type { AuditRow } from '../../platform/database/audit.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import type { OrderRow } from '../queries.ts'

/** An attempt to buy with an idempotency key. */
export interface RecordedAttempt {
  readonly at: Date
  /** Null when an operator made it. */
  readonly request_id: string | null
  readonly key_id: string
  readonly key_name: string | null
  /** The operator, as the audit log names them. */
  readonly actor: string | null
  readonly client_address: string | null
  /** SHA-256 of the cart, in hex; null for an operator's order, which has no other cart than its own. */
  readonly request_hash: string | null
  /** `bought`, `replayed` or the type of the error. */
  readonly outcome: string
  /** Null when it was not recorded: the process was killed within a second of the attempt, or an operator made it. */
  readonly status: number | null
  readonly is_sent: boolean | null
}

export interface LinkRead {
  readonly at: Date
  readonly request_id: string
  readonly key_id: string
  readonly key_name: string | null
  readonly client_address: string
  readonly links: number
  readonly is_sent: boolean
}

export interface Attempts {
  /** Oldest first, at most `LISTED_MAX`. */
  readonly attempts: readonly RecordedAttempt[]
  readonly counts: { readonly attempts: number; readonly replayed: number; readonly refused: number }
  /** Requests before this time were not recorded, or have been removed. */
  readonly kept_since: Date
}

export const LISTED_MAX = 500

/** The recorded attempts, plus the one that bought and those of operators, which are stored with the order in any case. */
export async function readAttempts(
  db: Queryable,
  key: BoughtOrder | { readonly account_id: string; readonly idempotency_key: string },
  actions: readonly AuditRow[],
): Promise<Attempts> {
  const { account_id, idempotency_key } = key
  // It may have been answered with an error all the same: if the connection broke at the commit, the caller got 503 and the
  // order exists.
  const buyer = 'id' in key ? key.request_id : null
  const recorded = await selectAttempts(db, account_id, idempotency_key, buyer)
  const counted = await countAttempts(db, account_id, idempotency_key, buyer)
  const { kept_since } = await selectKeptSince(db)
  const own = recorded.map((row): RecordedAttempt => ({ ...row, actor: null }))
  const byOperators = actions.filter(({ action }) => action === 'order.place').map(operatorAttempt)
  // Members of an account do not see operators' actions, but an order that an operator placed was bought all the same.
  const isBuyingKnown = counted.bought > 0 || byOperators.some(({ outcome }) => outcome === 'bought')
  const buying = 'id' in key && !isBuyingKnown ? [buyingAttempt(key)] : []
  const attempts = [...own, ...byOperators, ...buying].sort((a, b) => a.at.getTime() - b.at.getTime())
  const replayedByOperators = byOperators.filter(({ outcome }) => outcome === 'replayed').length
  return {
    attempts,
    counts: {
      attempts: counted.attempts + byOperators.length + buying.length,
      replayed: counted.replayed + replayedByOperators,
      refused: counted.attempts - counted.bought - counted.replayed,
    },
    kept_since,
  }
}

function operatorAttempt({ at, actor, details }: AuditRow): RecordedAttempt {
  return {
    at,
    request_id: null,
    key_id: 'operator',
    key_name: null,
    actor,
    client_address: null,
    request_hash: null,
    outcome: details.kind === 'bought' ? 'bought' : 'replayed',
    status: null,
    is_sent: null,
  }
}

function buyingAttempt(order: BoughtOrder): RecordedAttempt {
  const { created_at: at, request_id, key_id, key_name, client_address, request_hash, is_sent } = order
  const actor = request_id === null ? 'operator' : null
  const status = is_sent === null ? null : 201
  return {
    at,
    request_id,
    key_id,
    key_name,
    client_address,
    request_hash,
    outcome: 'bought',
    status,
    is_sent,
    actor,
  }
}

export interface BoughtOrder
  extends Pick<
    OrderRow,
    'account_id' | 'id' | 'status' | 'total_cents' | 'created_at' | 'delivered_at' | 'cancelled_at'
  > {
  readonly idempotency_key: string
  /** In hex. */
  readonly request_hash: string
  readonly key_id: string
  readonly key_name: string | null
  readonly request_id: string | null
  readonly client_address: string | null
  /** From the answer to the request that bought it; null when that was not recorded. */
  readonly is_sent: boolean | null
}

export const selectBought = (
  db: Queryable,
  account_id: string,
  { order_id = null, idempotency_key = null }: { order_id?: string | null; idempotency_key?: string | null },
) =>
  db.many<BoughtOrder>(sql`
    select o.account_id, o.id, o.status, o.total_cents, o.created_at, o.delivered_at, o.cancelled_at, o.idempotency_key,
           encode(o.request_hash, 'hex') as request_hash, o.key_id, k.name as key_name, o.request_id, o.client_address, a.is_sent
      from orders o
      left join order_answers a on a.order_id = o.id
      left join api_keys k on k.account_id = o.account_id and k.id = o.key_id
     where o.account_id = ${account_id}
       and (o.id = ${order_id}::text or o.idempotency_key = ${idempotency_key}::text)`)

const selectAttempts = (
  db: Queryable,
  account_id: string,
  idempotency_key: string,
  buying_request_id: string | null,
) =>
  db.many<Omit<RecordedAttempt, 'actor'>>(sql`
    select a.at, a.request_id, a.key_id, k.name as key_name, a.client_address, encode(a.request_hash, 'hex') as request_hash,
           case when a.request_id = ${buying_request_id} then 'bought' else a.outcome end as outcome, a.status, a.is_sent
      from order_attempts a
      left join api_keys k on k.account_id = a.account_id and k.id = a.key_id
     where a.account_id = ${account_id}
       and a.idempotency_key = ${idempotency_key}
     order by a.request_id
     limit ${LISTED_MAX}`)

const countAttempts = (
  db: Queryable,
  account_id: string,
  idempotency_key: string,
  buying_request_id: string | null,
) =>
  db.one<{ attempts: number; bought: number; replayed: number }>(sql`
    select count(*) as attempts, count(*) filter (where request_id = ${buying_request_id}) as bought,
           count(*) filter (where outcome = 'replayed') as replayed
      from order_attempts
     where account_id = ${account_id}
       and idempotency_key = ${idempotency_key}`)

export const selectLinkReads = (db: Queryable, account_id: string, order_id: string) =>
  db.many<LinkRead & { total: number }>(sql`
    select r.at, r.request_id, r.key_id, k.name as key_name, r.client_address, r.links, r.is_sent, count(*) over () as total
      from link_reads r
      left join api_keys k on k.account_id = r.account_id and k.id = r.key_id
     where r.account_id = ${account_id}
       and r.order_id = ${order_id}
     order by r.request_id desc
     limit ${LISTED_MAX}`)

export const selectKeptSince = (db: Queryable) =>
  db.one<{ kept_since: Date }>(sql`
    select kept_since
      from evidence_retention`)
