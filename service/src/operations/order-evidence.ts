import type { WebhookEventName } from '@shopwire/contract'
import { getAccount } from '../accounts/account.ts'
import type { Transfer } from '../ledger/queries.ts'
import type { OrderName } from '../orders/delivery.ts'
import { findOrder } from '../orders/find-order.ts'
import type { OrderRow } from '../orders/queries.ts'
import { type AuditRow, listActions } from '../platform/audit.ts'
import { type Queryable, sql } from '../platform/db.ts'
import { Refusal, refuse } from '../platform/trouble.ts'

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
  /** SHA-256 of the cart, in hex; null for an operator's, whose cart is the one that was bought. */
  readonly request_hash: string | null
  /** `bought`, `replayed` or the type of the error. */
  readonly outcome: string
  /** Null when it was not recorded: the process was killed within a second of it, or an operator made the attempt. */
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

export interface OrderEvent {
  readonly event_id: string
  readonly type: WebhookEventName
  readonly created_at: Date
  /** Null when the account had no endpoint. */
  readonly url: string | null
  readonly state: 'pending' | 'delivered' | 'failed' | 'cancelled' | null
  readonly next_at: Date | null
  readonly attempts: readonly {
    readonly started_at: string
    readonly status: number | null
    readonly error: string | null
    readonly remote_address: string | null
  }[]
}

export interface Attempts {
  /** Oldest first, at most `LISTED_MAX`. */
  readonly attempts: readonly RecordedAttempt[]
  readonly counts: { readonly attempts: number; readonly replayed: number; readonly refused: number }
  /** Requests before this time were not recorded, or are no longer kept. */
  readonly kept_since: Date
}

export interface OrderEvidence extends Attempts {
  readonly idempotency_key: string
  /** SHA-256 of the cart that was bought, in hex. */
  readonly request_hash: string
  readonly key: { readonly id: string; readonly name: string | null }
  readonly request_id: string | null
  readonly client_address: string | null
  /** Newest first, at most `LISTED_MAX` of `link_reads_total`. */
  readonly link_reads: readonly LinkRead[]
  readonly link_reads_total: number
  /** Newest first. Reading the links with --reveal-links is among them. */
  readonly operator_actions: readonly AuditRow[]
  readonly events: readonly OrderEvent[]
}

export const LISTED_MAX = 500

/** All that is known of an order besides the order itself. Never its links. */
export async function readOrderEvidence(
  db: Queryable,
  { account_id, order_id }: OrderName,
): Promise<OrderEvidence> {
  const [bought] = await selectBought(db, account_id, { order_id })
  if (!bought) throw refuse('not_found', `There is no order ${order_id}.`)
  const operator_actions = await listActions(db, order_id, LISTED_MAX)
  const [attempts, reads, events] = await Promise.all([
    readAttempts(db, bought, operator_actions),
    selectLinkReads(db, account_id, order_id),
    selectOrderEvents(db, account_id, order_id),
  ])
  const { idempotency_key, request_hash, key_id, key_name, request_id, client_address } = bought
  return {
    idempotency_key,
    request_hash,
    key: { id: key_id, name: key_name },
    request_id,
    client_address,
    ...attempts,
    link_reads: reads.map(({ total: _, ...read }) => read),
    link_reads_total: reads[0]?.total ?? 0,
    operator_actions,
    events,
  }
}

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
  'id' | 'kind' | 'amount_cents' | 'balance_after_cents' | 'order_id' | 'created_at'
>

/** What one idempotency key of one account bought, and what it cost. */
export async function proveKey(db: Queryable, account_id: string, idempotency_key: string): Promise<Proof> {
  const orders = await selectBought(db, account_id, { idempotency_key })
  const ids = orders.map(({ id }) => id)
  const [first] = orders
  const actions = first ? await listActions(db, first.id, LISTED_MAX) : []
  const [attempts, transfers] = await Promise.all([
    readAttempts(db, first ?? { account_id, idempotency_key }, actions),
    selectOrderTransfers(db, account_id, ids),
  ])
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
  const isPaidOnce = debits.length === 1 && debits[0]?.amount_cents === order.total_cents
  const isRefundedOnce = refunds.length === 1 && refunds[0]?.amount_cents === order.total_cents
  const isRefundRight = order.status === 'cancelled' ? isRefundedOnce : refunds.length === 0
  return orders.length === 1 && isPaidOnce && isRefundRight ? 'bought_once' : 'not_once'
}

/** Which key of which account is meant by an idempotency key, or by the id of an order. */
export interface MeantKey {
  readonly idempotency_key: string
  /** All accounts that used it. */
  readonly account_ids: readonly string[]
}

/** Without an account all of them are searched, which reads whole tables: keys are unique in one account only. */
export async function findKey(db: Queryable, named: string, account: string | undefined): Promise<MeantKey> {
  const order = await findOrder(db, named).catch(unlessNotFound)
  if (order) {
    const [bought] = await selectBought(db, order.account_id, { order_id: order.order_id })
    if (account !== undefined && account !== order.account_id)
      throw refuse('not_found', `Order ${named} belongs to ${order.account_id}, not to ${account}.`)
    if (bought) return { idempotency_key: bought.idempotency_key, account_ids: [order.account_id] }
  }
  if (account !== undefined) await getAccount(db, account)
  const found = account === undefined ? await selectAccountsOf(db, named) : []
  const isKnown = account === undefined ? found.length > 0 : await isKeyKnown(db, account, named)
  if (!isKnown) throw await unknownKey(db, named, account)
  return {
    idempotency_key: named,
    account_ids: account === undefined ? found.map(({ account_id }) => account_id) : [account],
  }
}

function unlessNotFound(error: unknown): undefined {
  if (!(error instanceof Refusal && error.type === 'not_found')) throw error
}

async function unknownKey(db: Queryable, named: string, account: string | undefined): Promise<Refusal> {
  const { kept_since } = await selectKeptSince(db)
  const where = account === undefined ? 'all accounts were searched' : `account ${account} was searched`
  const wider =
    account === undefined ? '' : ' It may be the key of another account: leave out --account to search all.'
  return refuse(
    'not_found',
    `Nothing is known of the idempotency key "${named}": ${where} for an order, and for attempts since ` +
      `${kept_since.toISOString()}; nothing was charged under it. Compare it with the caller's own log, letter by ` +
      `letter: upper and lower case differ.${wider} A request that was refused before its body was read (401, 403, 429) ` +
      `leaves no attempt: ask the caller for the X-Request-Id of the answer and look for it in the log of the API.`,
  )
}

/** Those that were recorded, with the one that bought and those of operators, which are known in any case. */
async function readAttempts(
  db: Queryable,
  key: BoughtOrder | { readonly account_id: string; readonly idempotency_key: string },
  actions: readonly AuditRow[],
): Promise<Attempts> {
  const { account_id, idempotency_key } = key
  // It may have been answered with an error all the same: a connection that broke at the commit is a 503 whose order exists.
  const buyer = 'id' in key ? key.request_id : null
  const [recorded, counted, { kept_since }] = await Promise.all([
    selectAttempts(db, account_id, idempotency_key, buyer),
    countAttempts(db, account_id, idempotency_key, buyer),
    selectKeptSince(db),
  ])
  const own = recorded.map((row): RecordedAttempt => ({ ...row, actor: null }))
  const byOperators = actions.filter(({ action }) => action === 'order.place').map(operatorAttempt)
  const buying = 'id' in key && buyer !== null && counted.bought === 0 ? [buyingAttempt(key)] : []
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
  const { created_at: at, request_id, key_id, key_name, client_address, request_hash } = order
  const unknown = { outcome: 'bought', status: null, is_sent: null, actor: null }
  return { at, request_id, key_id, key_name, client_address, request_hash, ...unknown }
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
}

const selectBought = (
  db: Queryable,
  account_id: string,
  { order_id = null, idempotency_key = null }: { order_id?: string | null; idempotency_key?: string | null },
) =>
  db.many<BoughtOrder>(sql`
    select o.account_id, o.id, o.status, o.total_cents, o.created_at, o.delivered_at, o.cancelled_at, o.idempotency_key,
           encode(o.request_hash, 'hex') as request_hash, o.key_id, k.name as key_name, o.request_id, o.client_address
      from orders o
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
    select count(*) as attempts, count(*) filter (where outcome = 'bought' or request_id = ${buying_request_id}) as bought,
           count(*) filter (where outcome = 'replayed') as replayed
      from order_attempts
     where account_id = ${account_id}
       and idempotency_key = ${idempotency_key}`)

const selectLinkReads = (db: Queryable, account_id: string, order_id: string) =>
  db.many<LinkRead & { total: number }>(sql`
    select r.at, r.request_id, r.key_id, k.name as key_name, r.client_address, r.links, r.is_sent, count(*) over () as total
      from link_reads r
      left join api_keys k on k.account_id = r.account_id and k.id = r.key_id
     where r.account_id = ${account_id}
       and r.order_id = ${order_id}
     order by r.request_id desc
     limit ${LISTED_MAX}`)

const selectOrderEvents = (db: Queryable, account_id: string, order_id: string) =>
  db.many<OrderEvent>(sql`
    select e.id as event_id, e.type, e.created_at, w.url, d.state, d.next_at,
           (select coalesce(json_agg(json_build_object('started_at', a.started_at, 'status', a.status, 'error', a.error,
                                                       'remote_address', host(a.remote_address))
                                     order by a.started_at, a.round, a.n), '[]')
              from delivery_attempts a
             where a.account_id = d.account_id and a.event_id = d.event_id and a.endpoint_id = d.endpoint_id) as attempts
      from events e
      left join deliveries d on d.account_id = e.account_id and d.event_id = e.id
      left join webhook_endpoints w on w.account_id = d.account_id and w.id = d.endpoint_id
     where e.account_id = ${account_id}
       and e.order_id = ${order_id}
     order by e.id, d.created_at`)

const selectOrderTransfers = (db: Queryable, account_id: string, order_ids: readonly string[]) =>
  db.many<OrderTransfer>(sql`
    select id, kind, amount_cents, balance_after_cents, order_id, created_at
      from transfers
     where account_id = ${account_id}
       and order_id = any(${order_ids}::text[])
     order by seq`)

const selectAccountsOf = (db: Queryable, idempotency_key: string) =>
  db.many<{ account_id: string }>(sql`
    select account_id
      from orders
     where idempotency_key = ${idempotency_key}
     union
    select account_id
      from order_attempts
     where idempotency_key = ${idempotency_key}
     order by account_id`)

async function isKeyKnown(db: Queryable, account_id: string, idempotency_key: string): Promise<boolean> {
  const { known } = await db.one<{ known: boolean }>(sql`
    select exists (select from orders o
                    where o.account_id = ${account_id} and o.idempotency_key = ${idempotency_key})
        or exists (select from order_attempts a
                    where a.account_id = ${account_id} and a.idempotency_key = ${idempotency_key}) as known`)
  return known
}

const selectKeptSince = (db: Queryable) =>
  db.one<{ kept_since: Date }>(sql`
    select kept_since
      from evidence_retention`)
