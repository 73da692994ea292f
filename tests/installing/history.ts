import { psql } from '@shopwire/test-kit/systems'

/** As in a real store, where few accounts have thousands. */
const ORDERS_PER_ACCOUNT = 100
const PRICE_CENTS = 499
const ORDER_EVERY_MS = 2_000
const BALANCE_CENTS = 1_000_000

/**
 * Orders of the past, written by SQL, with everything that the invariants ask of them. All were cancelled and refunded: a delivered one
 * needs links that only the service can encrypt, a paid one a job that a worker would take up.
 */
export async function seedHistory(superuserUrl: string, orders: number): Promise<void> {
  const accounts = Math.ceil(orders / ORDERS_PER_ACCOUNT)
  const firstMs = Date.now() - 86_400_000 - orders * ORDER_EVERY_MS
  const account = (n: string) => `'acct_' || lpad((${n})::text, 26, '0')`
  const id = (prefix: string, salt: string) => `pg_temp.id_at('${prefix}', at_ms, '${salt}' || n)`
  const numbered = `(
    select n, ${account(`n % ${accounts}`)} as account_id, n / ${accounts} as place, ${firstMs} + n * ${ORDER_EVERY_MS} as at_ms,
           to_timestamp((${firstMs} + n * ${ORDER_EVERY_MS}) / 1000::double precision) as at
      from generate_series(0::bigint, ${orders - 1}) n) s`
  await psql(
    superuserUrl,
    `${ID_AT}
     -- Foreign keys are not checked row by row: every reference is right by construction.
     set session_replication_role = replica;
     insert into accounts (id, name, created_at)
     select ${account('n')}, 'History', to_timestamp(${firstMs / 1_000}) from generate_series(0, ${accounts - 1}) n;
     insert into balances (account_id, balance_cents, transfer_count, order_count)
     select account_id, ${BALANCE_CENTS}, 1 + 2 * count(*), count(*) from ${numbered} group by account_id;
     insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, cancelled_at, cancel_reason)
     select account_id, ${id('ord', 'o')}, 'history-' || n, sha256(n::text::bytea), 'cancelled', ${PRICE_CENTS}, 'operator', at, at, 'history'
       from ${numbered};
     insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
     select account_id, ${id('ord', 'o')}, 1, '10000000000000000', 'History', 1, ${PRICE_CENTS} from ${numbered};
     insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, created_at)
     select distinct account_id, 1, 'funding', ${BALANCE_CENTS}, ${BALANCE_CENTS},
            to_timestamp(${firstMs / 1_000})
       from ${numbered};
     insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
     select account_id, 2 * place + 2, 'order', -${PRICE_CENTS},
            ${BALANCE_CENTS - PRICE_CENTS}, ${id('ord', 'o')}, at
       from ${numbered};
     insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
     select account_id, 2 * place + 3, 'refund', ${PRICE_CENTS},
            ${BALANCE_CENTS}, ${id('ord', 'o')}, at
       from ${numbered};
     insert into events (account_id, id, type, order_id, created_at)
     select account_id, ${id('evt', 'a')}, 'order.accepted', ${id('ord', 'o')}, at from ${numbered};
     insert into events (account_id, id, type, order_id, created_at)
     select account_id, ${id('evt', 'c')}, 'order.cancelled', ${id('ord', 'o')}, at from ${numbered};`,
  )
  await psql(superuserUrl, 'vacuum (analyze)')
}

/** An id in the form of the service's: the time in ten characters of base 32, then sixteen that make it unique. */
const ID_AT = `
  create function pg_temp.id_at(prefix text, at_ms bigint, salt text) returns text language sql immutable as $$
    select prefix || '_' || ${Array.from({ length: 10 }, (_, n) => `substr('0123456789abcdefghjkmnpqrstvwxyz', ((at_ms >> ${45 - 5 * n}) & 31)::integer + 1, 1)`).join(' || ')}
           || left(md5(salt), 16)
  $$;`
