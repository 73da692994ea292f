import type { WebhookEventName } from '@shopwire/contract'
import { getAccount } from '../accounts/account.ts'
import type { OrderName } from '../orders/fulfilment/delivery.ts'
import {
  type Attempts,
  LISTED_MAX,
  type LinkRead,
  readAttempts,
  selectBought,
  selectKeptSince,
  selectLinkReads,
} from '../orders/placing/attempts.ts'
import { findOrder } from '../orders/reading/find-order.ts'
import { type AuditRow, listActions } from '../platform/database/audit.ts'
import { type Queryable, sql } from '../platform/database/db.ts'
import { Refusal, refuse } from '../platform/trouble.ts'

export type { Attempts, BoughtOrder, RecordedAttempt } from '../orders/placing/attempts.ts'
export { type OrderTransfer, type Proof, summaryOf } from '../orders/placing/prove-key.ts'

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
  /** Newest first. Includes reading the links with --reveal-links. */
  readonly operator_actions: readonly AuditRow[]
  readonly events: readonly OrderEvent[]
}

/** Everything recorded about an order besides the order itself. Never its links. */
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

/** The key and account that an idempotency key, or the id of an order, refers to. */
export interface MeantKey {
  readonly idempotency_key: string
  /** All accounts that used it. */
  readonly account_ids: readonly string[]
}

/** Without an account all accounts are searched, which reads whole tables: keys are unique within one account only. */
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
      `letter: keys are case-sensitive.${wider} A request that was refused before its body was read (401, 403, 429) ` +
      `leaves no attempt: ask the caller for the X-Request-Id of the answer and look for it in the log of the API.`,
  )
}

const selectOrderEvents = (db: Queryable, account_id: string, order_id: string) =>
  db.many<OrderEvent>(sql`
    select e.id as event_id, e.type, e.created_at, w.url, d.state, d.next_at,
           (select coalesce(json_agg(json_build_object('started_at', a.started_at, 'status', a.status, 'error', a.error,
                                                       'remote_address', host(a.remote_address))
                                     order by a.started_at, a.round, a.n), '[]')
              from attempts_made a
             where a.account_id = d.account_id and a.event_id = d.event_id and a.endpoint_id = d.endpoint_id) as attempts
      from events e
      left join deliveries d on d.account_id = e.account_id and d.event_id = e.id
      left join webhook_endpoints w on w.account_id = d.account_id and w.id = d.endpoint_id
     where e.account_id = ${account_id}
       and e.order_id = ${order_id}
     order by e.id, d.created_at`)

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
