import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH } from '@shopwire/contract'
import { limitless, newLinks, startSystem } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { createClient } from './growth/client.ts'
import { quantile, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import type { BenchOptions } from './shared/options.ts'
import { HELPERS, vacuumAsUsual } from './shared/seed.ts'

const ACCOUNTS = 20
const BALANCE_CENTS = 1_000_000
const WAITED_FOR = '70000000000000001'
const OTHER = '70000000000000002'
const OTHER_EVERY_MS = 200
const OTHER_LINKS = 20_000
const QUIET_MS = 5_000
const REPORT_EVERY_MS = 10_000

const ORDERS = 200_000

/**
 * Very many orders wait for one item. Its links are loaded with one command, and one worker with default settings delivers all of them.
 * Meanwhile somebody buys another item five times a second: how long do they wait for their links?
 */
export async function restock({ orders: wanted = ORDERS }: BenchOptions): Promise<void> {
  const system = await startSystem({ admission: 'postgres', durable: true, settings: limitless })
  const owner = new pg.Client({ connectionString: system.superuserUrl })
  await owner.connect()
  try {
    const accounts = await Promise.all(
      Array.from({ length: ACCOUNTS }, (_, n) =>
        system.createAccount({ name: `Bench ${n}`, balanceCents: BALANCE_CENTS }),
      ),
    )
    await system.importItems([WAITED_FOR, OTHER].map(item))
    await system.loadPool(OTHER, newLinks(OTHER_LINKS))
    const orders = Math.floor(wanted / ACCOUNTS) * ACCOUNTS
    let began = performance.now()
    await placeAndPark(owner, accounts, orders)
    say(`${orders} orders wait for one item (placed in ${secondsSince(began)} s)`)

    await system.startWorker()
    const [buyer] = accounts as [(typeof accounts)[number]]
    const buying = buyOther(system.apis[0]?.port ?? 0, buyer.key)
    await sleep(QUIET_MS)
    const loadedFrom = new Date()
    began = performance.now()
    await system.loadPool(WAITED_FOR, newLinks(orders))
    const load_s = secondsSince(began)
    say(`pool load of ${orders} links took ${load_s} s`)
    await untilDelivered(owner, orders, began)
    const all_delivered_s = secondsSince(began)
    const bought = await buying.stop()
    const quiet = await waits(owner, new Date(0), loadedFrom)
    const during = await waits(owner, loadedFrom, new Date())
    const of = (values: readonly number[], share: number) => rounded(quantile(values, share))
    say(`${bought} orders of another item meanwhile`)
    await assertInvariants(system)
    say(
      JSON.stringify({
        bench: 'restock',
        orders,
        load_s,
        all_delivered_s,
        other_quiet_p99_s: of(quiet, 0.99),
        other_p50_s: of(during, 0.5),
        other_p99_s: of(during, 0.99),
        other_max_s: of(during, 1),
      }),
    )
  } finally {
    await owner.end()
    await system.stop()
  }
}

const secondsSince = (began: number) => rounded((performance.now() - began) / 1000, 1)

const item = (id: string) => ({
  id,
  name: `Item ${id}`,
  type: 'effect',
  collection: 'Bench',
  price_cents: 1,
  image: 'https://images.example/bench.png',
})

/** By the service's own function, and then as a worker leaves an order that nobody has links for. */
async function placeAndPark(
  owner: pg.Client,
  accounts: readonly { account_id: string; key: { id: string } }[],
  orders: number,
): Promise<void> {
  await owner.query(HELPERS)
  for (const { account_id, key } of accounts) {
    await owner.query(`
      do $$
      declare
        v_version bigint := (select access_version from accounts where id = '${account_id}');
        v_ms bigint := (extract(epoch from now()) * 1000)::bigint;
        v_salt text;
        v_verdict text;
      begin
        for n in 1..${orders / accounts.length} loop
          v_salt := '${account_id}' || n;
          select verdicts[1] into v_verdict from place_orders(
            true, array['${account_id}'], array[v_version], array['${key.id}'], array[pg_temp.id_at('ord', v_ms, v_salt)],
            array[pg_temp.id_at('evt', v_ms, v_salt)], array[pg_temp.time_of(v_ms)],
            array['restock-' || n], array[sha256(v_salt::bytea)], array[pg_temp.id_at('req', v_ms, v_salt)], array[null]::text[],
            array[1], array['${WAITED_FOR}'], array[1], array[null]::bigint[]);
          if v_verdict <> 'bought' then raise exception '%', v_verdict; end if;
        end loop;
      end
      $$`)
  }
  await owner.query(`
    insert into waiting_lines (account_id, order_id, line, item_id, missing)
    select account_id, order_id, line, item_id, qty from order_lines where item_id = '${WAITED_FOR}'`)
  await owner.query(
    `update jobs set run_at = 'infinity', attempts = 1, note = 'waiting for links' where queue = 'fulfil'`,
  )
  await vacuumAsUsual(owner)
}

function buyOther(port: number, key: { id: string; secret: string }) {
  const client = createClient(port)
  let isStopped = false
  let bought = 0
  const running = (async () => {
    while (!isStopped) {
      const body = JSON.stringify({
        idempotency_key: randomBytes(16).toString('hex'),
        items: [{ id: OTHER }],
      })
      await client.ask(key, { method: 'POST', target: `${BASE_PATH}/orders`, body })
      bought += 1
      await sleep(OTHER_EVERY_MS)
    }
  })()
  return {
    async stop() {
      isStopped = true
      await running
      client.close()
      return bought
    },
  }
}

async function untilDelivered(owner: pg.Client, orders: number, began: number): Promise<void> {
  for (let reportedMs = performance.now(); ; ) {
    const { rows } = await owner.query<{ left: string }>('select count(*) as left from waiting_lines')
    const left = Number(rows[0]?.left)
    if (left === 0) {
      const { rows: paid } = await owner.query(
        `select exists (select from orders o join order_lines l on l.account_id = o.account_id and l.order_id = o.id
                         where o.status = 'paid' and l.item_id = '${WAITED_FOR}') as any`,
      )
      if (!paid[0]?.any) return
    }
    if (performance.now() - reportedMs > REPORT_EVERY_MS) {
      reportedMs = performance.now()
      say(`${orders - left} of ${orders} woken after ${secondsSince(began)} s`)
    }
    await sleep(500)
  }
}

/** Seconds from paid to delivered, of the other item's orders placed in a time; one that is not delivered has waited until now. */
async function waits(owner: pg.Client, from: Date, until: Date): Promise<number[]> {
  const { rows } = await owner.query<{ s: number }>(
    `select extract(epoch from coalesce(o.delivered_at, now()) - o.created_at)::float8 as s
       from orders o
       join order_lines l on l.account_id = o.account_id and l.order_id = o.id
      where l.item_id = '${OTHER}'
        and o.created_at >= $1
        and o.created_at < $2`,
    [from, until],
  )
  return rows.map(({ s }) => s)
}
