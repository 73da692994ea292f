import pg from 'pg'
import { accountIdSql, constraintsAndIndexes, HELPERS, itemIdSql } from '../../bench/shared/seed.ts'

const FILLED = [
  'balances',
  'orders',
  'order_lines',
  'order_links',
  'link_fingerprints',
  'transfers',
  'events',
]
const ACCOUNTS = 1_000
const PRICE_CENTS = 500
const ORDER_EVERY_MS = 6_000
const ITEM = 7
/** About as many bytes as a sealed link has. They are random: a restored copy has to have the same ones. */
const SEALED = 'sha512(n::text::bytea) || sha512((n + 1)::text::bytea)'

/** Delivered orders of a thousand accounts, one line and one link each, in which every rule of "verify" holds. */
export async function seedDelivered(superuserUrl: string, orders: number): Promise<void> {
  const each = orders / ACCOUNTS
  const firstMs = Date.now() - 3_600_000 - orders * ORDER_EVERY_MS
  const opening = each * PRICE_CENTS * 2
  const account = accountIdSql(`1 + n % ${ACCOUNTS}`)
  const numbered = `(select n, ${firstMs} + n * ${ORDER_EVERY_MS} as at_ms from generate_series(0::bigint, ${orders - 1}) n) s`
  const number = 'right(idempotency_key, 12)::bigint as n'
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  await client.query('begin')
  await client.query(`set local maintenance_work_mem = '1GB'`)
  // Triggers would ask a journal about each delivery.
  await client.query('set local session_replication_role = replica')
  await client.query(HELPERS)
  const { drops, makes } = await constraintsAndIndexes(client, FILLED)
  const statements = [
    ...drops,
    `insert into items (id, name, type, collection, price_cents, is_for_sale, revision)
     values (${itemIdSql(String(ITEM))}, 'Amber Anchor', 'decoration', 'Collection', ${PRICE_CENTS}, true, 2)`,
    `insert into accounts (id, name, created_at)
     select ${accountIdSql('n')}, 'Drill', pg_temp.time_of(${firstMs}) from generate_series(1, ${ACCOUNTS}) n`,
    `insert into balances (account_id, balance_cents, transfer_count, order_count)
     select ${accountIdSql('n')}, ${opening - each * PRICE_CENTS}, ${each + 1}, ${each} from generate_series(1, ${ACCOUNTS}) n`,
    `insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, delivered_at,
                         request_id, client_address)
     select ${account}, pg_temp.id_at('ord', at_ms, n::text), 'drill-' || lpad(n::text, 12, '0'), sha256(n::text::bytea), 'delivered',
            ${PRICE_CENTS}, 'key_c1_drill', pg_temp.time_of(at_ms), pg_temp.time_of(at_ms + 2000),
            pg_temp.id_at('req', at_ms, n::text), '203.0.113.7'
       from ${numbered}`,
    `insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
     select account_id, id, 1, ${itemIdSql(String(ITEM))}, 'Amber Anchor', 1, total_cents from orders where key_id = 'key_c1_drill'`,
    `insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
     select account_id, id, 1, 1, ${SEALED}, 'drill', sha256(('link' || n)::bytea), 'pool', delivered_at
       from (select account_id, id, delivered_at, ${number} from orders where key_id = 'key_c1_drill') o`,
    `insert into link_fingerprints (hash, seen_at)
     select link_hash, obtained_at from order_links where link_kek_id = 'drill'`,
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, created_at)
     select ${accountIdSql('n')}, 1, 'funding', ${opening}, ${opening},
            pg_temp.time_of(${firstMs})
       from generate_series(1, ${ACCOUNTS}) n`,
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
     select account_id, 2 + n / ${ACCOUNTS}, 'order', -${PRICE_CENTS},
            ${opening} - ${PRICE_CENTS} * (n / ${ACCOUNTS} + 1), id, created_at
       from (select account_id, id, created_at, ${number} from orders where key_id = 'key_c1_drill') o`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, 'evt_' || right(id, 26), 'order.accepted', id, created_at from orders where key_id = 'key_c1_drill'`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, 'evt_' || left(right(id, 26), 25) || 'g', 'order.delivered', id, delivered_at
       from orders where key_id = 'key_c1_drill'`,
    ...makes,
    'commit',
    'vacuum (analyze)',
  ]
  for (const statement of statements) await client.query(statement)
  await client.end()
}
