import type pg from 'pg'
import { constraintsAndIndexes, HELPERS, itemIdSql, vacuumAsUsual } from '../shared/seed.ts'

/** The highest rate that the limits allow for a whole day: 28,800 orders. */
const ORDER_EVERY_MS = 3_000
const ITEMS = 200
const OPENING_CENTS = 100_000_000_000
/** The newest wait for their links. Delivered orders have none, which only the service could seal. */
const PAID = 8
const CANCELLED_EVERY = 300
/** Events are kept for a while only; see SHOPWIRE_EVENT_RETENTION_DAYS. */
const EVENT_DAYS = 30
/** Of the newest events, one in so many has failed for good, and one in so many needed a second attempt. */
const FAILED_EVERY = 900
const RETRIED_EVERY = 125
const FILLED = [
  'orders',
  'order_lines',
  'transfers',
  'events',
  'deliveries',
  'delivery_attempts',
  'order_answers',
]

export interface SeededAccount {
  readonly account_id: string
  readonly key_id: string
}

/**
 * Gives one account so many orders, one every three seconds up to now, with lines, transfers, requests, events, deliveries and their
 * attempts. Two attributes are rare on purpose: one order in a million costs more than $100, one in 10,000 was bought with another key.
 */
export async function seedAccount(
  owner: pg.Client,
  { account_id, key_id }: SeededAccount,
  orders: number,
): Promise<void> {
  await owner.query('begin')
  await owner.query(`set local maintenance_work_mem = '1GB'`)
  await owner.query(HELPERS)
  const { drops, makes } = await constraintsAndIndexes(owner, FILLED)
  for (const drop of drops) await owner.query(drop)
  for (const insert of insertsFor(account_id, key_id, orders, Date.now())) await owner.query(insert)
  for (const make of makes) await owner.query(make)
  await owner.query('commit')
  await vacuumAsUsual(owner)
}

function insertsFor(account_id: string, key_id: string, orders: number, nowMs: number): string[] {
  const firstMs = nowMs - orders * ORDER_EVERY_MS
  const since = `to_timestamp(${(nowMs - EVENT_DAYS * 86_400_000) / 1000})`
  const item = '(1 + n * 7919 % 200)'
  const status = `case when n >= ${orders - PAID} then 'paid' when n % ${CANCELLED_EVERY} = 7 then 'cancelled' else 'delivered' end`
  // Most take half a minute, some minutes.
  const tookMs = '(12000 + n * 7919 % 40000 + case when n % 20 = 0 then 90000 else 0 end)'
  const endpoint = `whe_${'0'.repeat(26)}`
  return [
    `insert into items (id, name, type, collection, price_cents, is_for_sale, available_until, revision)
     select ${itemIdSql('n')}, pg_temp.item_name(n), 'decoration', 'Collection ' || n % 9, pg_temp.price(n), true,
            case when n % 40 = 0 then now() + interval '3 days' end, 2
       from generate_series(1::bigint, ${ITEMS}) n
         on conflict do nothing`,
    `insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, delivered_at,
                         cancelled_at, cancel_reason, request_id, client_address)
     select '${account_id}', pg_temp.id_at('ord', at_ms, n::text), 'bench-' || lpad(n::text, 12, '0'), sha256(n::text::bytea), status,
            case when n % 1000000 = 500000 then 12345 else pg_temp.price${item} end,
            case when n % 10000 = 5000 then 'key_c1_rare' else '${key_id}' end, pg_temp.time_of(at_ms),
            case status when 'delivered' then pg_temp.time_of(at_ms + ${tookMs}) end,
            case status when 'cancelled' then pg_temp.time_of(at_ms + 600000) end,
            case status when 'cancelled' then 'out of stock' end, pg_temp.id_at('req', at_ms, n::text), '203.0.113.7'
       from (select n, ${firstMs} + n * ${ORDER_EVERY_MS} as at_ms, ${status} as status
               from generate_series(0::bigint, ${orders - 1}) n) s`,
    `insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
     select account_id, id, 1, ${itemIdSql(item)}, pg_temp.item_name${item}, 1, total_cents
       from (select account_id, id, total_cents, right(idempotency_key, 12)::bigint as n from orders) o`,
    // Refunds of cancelled orders follow at once; positions have no gaps.
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
     select account_id, row_number() over w + 1, kind, change_cents, ${OPENING_CENTS} + sum(change_cents) over w, id, created_at
       from (select o.account_id, o.id, k.sign * o.total_cents as change_cents, o.created_at, k.kind,
                    right(idempotency_key, 12)::bigint as n
               from orders o
               join (values ('order', -1), ('refund', 1)) k (kind, sign) on k.kind = 'order' or o.status = 'cancelled') t
     window w as (order by n, kind)`,
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, reference, created_at)
     values ('${account_id}', 1, 'funding', ${OPENING_CENTS}, ${OPENING_CENTS}, 'opening', pg_temp.time_of(${firstMs - 1000}))`,
    `update balances b
        set order_count = ${orders}, transfer_count = t.seq, balance_cents = t.balance_after_cents
       from (select seq, balance_after_cents from transfers order by seq desc limit 1) t
      where b.account_id = '${account_id}'`,
    `insert into webhook_endpoints (account_id, id, url, set_by, created_at, last_delivered_at)
     values ('${account_id}', '${endpoint}', 'https://hook.example/', '${key_id}', pg_temp.time_of(${firstMs}), now())`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, 'evt_' || right(id, 26), 'order.accepted', id, created_at from orders where created_at > ${since}`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, pg_temp.id_at('evt', (extract(epoch from delivered_at) * 1000)::bigint, id), 'order.delivered', id, delivered_at
       from orders
      where created_at > ${since}
        and delivered_at is not null`,
    `insert into deliveries (account_id, endpoint_id, event_id, state, attempts, created_at, next_at, done_at)
     select account_id, '${endpoint}', id, case when n % ${FAILED_EVERY} = 3 then 'failed' else 'delivered' end,
            case when n % ${FAILED_EVERY} = 3 then 12 when n % ${RETRIED_EVERY} = 9 then 2 else 1 end, created_at, created_at,
            created_at + interval '1 s'
       from (select account_id, id, created_at, row_number() over (order by id) as n from events) e`,
    `insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error)
     select account_id, endpoint_id, event_id, 1, a.n, created_at + a.n * interval '60 s', created_at + a.n * interval '60 s' + interval '140 ms',
            case when a.n < d.attempts or d.state = 'failed' then 503 else 200 end,
            case when a.n < d.attempts or d.state = 'failed' then 'http_503' end
       from deliveries d, generate_series(1, d.attempts) a (n)`,
    `insert into order_answers (order_id, account_id, is_sent)
     select id, account_id, true
       from orders
      where created_at > ${since}`,
  ]
}
