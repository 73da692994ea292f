import type pg from 'pg'

/** How large a shop is. Every account has the same number of orders, and every order three lines. */
export interface ShopSize {
  readonly accounts: number
  readonly orders: number
  readonly items: number
}

/** More than any run of ours spends. */
const BALANCE_CENTS = 1_000_000_000_000
const ORDER_EVERY_MS = 6_000
/** The links of delivered orders have been erased, as only the service could seal them; the newest orders still wait for theirs. */
const PAID_SHARE = 0.001
const FILLED = [
  'items',
  'orders',
  'order_lines',
  'order_links',
  'link_fingerprints',
  'unassigned_units',
  'transfers',
  'events',
  'jobs',
]

/**
 * Fills a migrated database whose accounts exist, so that every invariant holds. Rows are in the order of time, as in a system that grew, so one account's are
 * far apart. Indexes and keys are dropped and made again: adding to them row by row would take most of an hour at full size.
 */
export async function seed(
  owner: pg.Client,
  size: ShopSize,
  report: (line: string) => void,
  { paidShare = PAID_SHARE }: { paidShare?: number } = {},
): Promise<void> {
  const began = performance.now()
  await owner.query('begin')
  // Only for this transaction. Sorting millions of keys on disk would take longer than everything else.
  await owner.query(`set local maintenance_work_mem = '1GB'`)
  await owner.query(HELPERS)
  const { drops, makes } = await constraintsAndIndexes(owner)
  for (const drop of drops) await owner.query(drop)
  await owner.query(`truncate ${FILLED.join(', ')}`)
  for (const insert of insertsFor(size, paidShare)) await owner.query(insert)
  for (const make of makes) await owner.query(make)
  await owner.query('commit')
  await vacuumAsUsual(owner)
  report(
    `seeded ${size.accounts} accounts, ${size.orders} orders, ${size.items} items in ${((performance.now() - began) / 1000).toFixed(0)} s`,
  )
}

/** What autovacuum would do within a minute, and nothing else: tables with few changes keep the statistics they have. */
export async function vacuumAsUsual(owner: pg.Client): Promise<void> {
  await owner.query('select pg_stat_force_next_flush()')
  const { rows } = await owner.query<{ name: string }>(
    `select s.relid::regclass::text as name
       from pg_stat_user_tables s
       join pg_class c on c.oid = s.relid
      where s.n_mod_since_analyze > 50 + 0.1 * greatest(c.reltuples, 0)
         or s.n_ins_since_vacuum > 1000 + 0.2 * greatest(c.reltuples, 0)`,
  )
  for (const { name } of rows) await owner.query(`vacuum (analyze) ${name}`)
}

/** The id of the item with this number, from 1. All are of one length. */
export function itemId(n: number): string {
  return String(ITEM_ID_BASE + ITEM_ID_STEP * BigInt(n))
}
const ITEM_ID_BASE = 100_000_000_000_000_000n
const ITEM_ID_STEP = 1_000_003n

/** The same in SQL, for an expression that is the number. */
export function itemIdSql(n: string): string {
  return `(${ITEM_ID_BASE} + ${ITEM_ID_STEP} * (${n}))::text`
}

/** Three different items, as far apart as the catalogue is wide. */
export function cartSql(first: string, items: number): string[] {
  const third = Math.floor(items / 3)
  return [0, third, 2 * third].map((far) => itemIdSql(`1 + ((${first})::bigint + ${far}) % ${items}`))
}

export function cart(first: number, items: number): string[] {
  const third = Math.floor(items / 3)
  return [0, third, 2 * third].map((far) => itemId(1 + ((first + far) % items)))
}

/** The name of the item with this number. */
export function itemName(n: number): string {
  return `${ADJECTIVES[n % 40]} ${NOUNS[Math.floor(n / 40) % 40]} ${n}`
}
const ADJECTIVES =
  'Amber Ancient Arctic Azure Blazing Brass Broken Bright Cobalt Copper Coral Cosmic Crimson Crystal Dark Distant Dusty Eastern Electric Emerald Faded Frozen Gentle Gilded Golden Hidden Hollow Ivory Jade Lunar Midnight Misty Neon Northern Opal Pale Quiet Royal Silver Velvet'.split(
    ' ',
  )
const NOUNS =
  'Anchor Arrow Badge Banner Beacon Bloom Bridge Candle Castle Cloud Comet Compass Crown Dragon Ember Falcon Feather Forest Fountain Galaxy Garden Harbor Hammer Lantern Lotus Mask Meadow Mirror Moon Orbit Phoenix River Rocket Sail Shield Spark Storm Tower Wave Wolf'.split(
    ' ',
  )

export function accountIdSql(n: string): string {
  return `'acct_' || lpad((${n})::text, 26, '0')`
}

/** The first ten characters of an id, from an expression that is its time in milliseconds. */
export const timeDigitsSql = (at_ms: string) =>
  Array.from(
    { length: 10 },
    (_, n) =>
      `substr('0123456789abcdefghjkmnpqrstvwxyz', ((${at_ms} >> ${45 - 5 * n}) & 31)::integer + 1, 1)`,
  ).join(' || ')

/**
 * Ids have the form of the service's: a UUIDv7 in Crockford's base32, of which the first ten characters are the time. The
 * rest is hexadecimal and not all of base32, which makes it quick; the version and the variant are in their places.
 */
export const HELPERS = `
  create function pg_temp.id_at(prefix text, at_ms bigint, salt text) returns text language sql immutable as $$
    select prefix || '_' || ${timeDigitsSql('at_ms')}
           || 'e' || overlay(left(md5(salt), 14) placing '8' from 3 for 0)
  $$;
  create function pg_temp.time_of(at_ms bigint) returns timestamptz language sql immutable as $$
    select to_timestamp(at_ms / 1000::double precision)
  $$;
  create function pg_temp.item_name(n bigint) returns text language sql immutable as $$
    select (${words(ADJECTIVES)})[n % 40 + 1] || ' ' || (${words(NOUNS)})[n / 40 % 40 + 1] || ' ' || n
  $$;
  create function pg_temp.price(n bigint) returns bigint language sql immutable as $$
    select 100 + n % 900
  $$;`

function words(all: readonly string[]): string {
  return `array['${all.join("','")}']`
}

function insertsFor({ accounts, orders, items }: ShopSize, paidShare: number): string[] {
  const firstMs = Date.now() - 3_600_000 - orders * ORDER_EVERY_MS
  const paidFrom = orders - Math.ceil(orders * paidShare)
  // Both factors are prime and divide none of our sizes: every account and every item gets its turn.
  const account = accountIdSql(`1 + n * 7919 % ${accounts}`)
  const item = (line: string) => `(1 + (3 * n + ${line}) * 104729 % ${items})`
  const numbered = `(select n, ${firstMs} + n * ${ORDER_EVERY_MS} as at_ms from generate_series(0::bigint, ${orders - 1}) n) s`
  return [
    `insert into items (id, name, type, collection, price_cents, image, is_for_sale, available_until, revision)
     select ${itemIdSql('n')}, pg_temp.item_name(n), (array['decoration', 'effect', 'nameplate', 'bundle'])[n % 4 + 1],
            'Collection ' || n % 500, pg_temp.price(n), 'https://images.example/items/' || n || '.png', true,
            case when n % 20 = 0 then now() + interval '30 days' end, 2
       from generate_series(1::bigint, ${items}) n`,
    'update catalogue_state set revision = 2, changed_at = now()',
    `insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, delivered_at,
                         request_id, client_address)
     select ${account}, pg_temp.id_at('ord', at_ms, n::text), 'seed-' || lpad(n::text, 12, '0'), sha256(n::text::bytea),
            case when n < ${paidFrom} then 'delivered' else 'paid' end,
            ${[1, 2, 3].map((line) => `pg_temp.price${item(String(line))}`).join(' + ')},
            'key_c1_seed', pg_temp.time_of(at_ms), case when n < ${paidFrom} then pg_temp.time_of(at_ms + 2000) end,
            pg_temp.id_at('req', at_ms, n::text), '203.0.113.7'
       from ${numbered}`,
    `insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
     select account_id, id, line, ${itemIdSql(item('line'))}, pg_temp.item_name${item('line')}, 1, pg_temp.price${item('line')}
       from (select account_id, id, right(idempotency_key, 12)::bigint as n from orders) o,
            generate_series(1, 3) line`,
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, created_at)
     select ${accountIdSql('n')}, 1, 'funding', ${BALANCE_CENTS}, ${BALANCE_CENTS}, pg_temp.time_of(${firstMs})
       from generate_series(1, ${accounts}) n`,
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
     select account_id, 2 + right(idempotency_key, 12)::bigint / ${accounts}, 'order', -total_cents,
            ${BALANCE_CENTS} - sum(total_cents) over (partition by account_id order by id), id, created_at
       from orders`,
    `update balances b
        set balance_cents = t.balance_cents, transfer_count = t.transfers, order_count = t.transfers - 1
       from (select account_id, sum(change_cents) as balance_cents, count(*) as transfers from transfers group by account_id) t
      where b.account_id = t.account_id`,
    `insert into link_fingerprints (hash, seen_at)
     select sha256((l.order_id || l.line)::bytea), o.delivered_at
       from order_lines l
       join orders o on o.account_id = l.account_id and o.id = l.order_id
      where o.delivered_at is not null`,
    `insert into order_links (account_id, order_id, line, unit, link_hash, source, obtained_at, erased_at)
     select l.account_id, l.order_id, l.line, 1, sha256((l.order_id || l.line)::bytea), 'pool', o.delivered_at, o.delivered_at
       from order_lines l
       join orders o on o.account_id = l.account_id and o.id = l.order_id
      where o.delivered_at is not null`,
    `insert into unassigned_units (item_id, slot, units)
     select l.item_id, 0, sum(l.qty)
       from order_lines l
       join orders o on o.account_id = l.account_id and o.id = l.order_id
      where o.delivered_at is null
      group by l.item_id`,
    `insert into jobs (account_id, queue, subject, run_at, attempts, note, created_at)
     select account_id, 'fulfil', id, 'infinity', 1, 'to be delivered by hand', created_at
       from orders
      where delivered_at is null`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, 'evt_' || right(id, 26), 'order.accepted', id, created_at from orders`,
    `insert into events (account_id, id, type, order_id, created_at)
     select account_id, 'evt_' || left(right(id, 26), 25) || 'g', 'order.delivered', id, delivered_at
       from orders
      where delivered_at is not null`,
  ]
}

/** Statements that take keys and indexes from the tables we fill, and those that put them back as they were. */
export async function constraintsAndIndexes(
  owner: pg.Client,
  tables: readonly string[] = FILLED,
): Promise<{ drops: string[]; makes: string[] }> {
  // Foreign keys are the first to go and the last to come: they depend on the others, also from tables that we do not fill.
  const { rows } = await owner.query<{ drop: string; make: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
            format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make,
            case contype when 'f' then 1 else 2 end as turn
       from pg_constraint
      where contype in ('p', 'u', 'f')
        and (conrelid = any($1::regclass[]) or (contype = 'f' and confrelid = any($1::regclass[])))
      union all
     select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid), 2
       from pg_index i
      where indrelid = any($1::regclass[])
        and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
      order by turn`,
    [tables],
  )
  return { drops: rows.map(({ drop }) => drop), makes: rows.map(({ make }) => make).reverse() }
}
