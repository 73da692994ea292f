import { randomUUID } from 'node:crypto'
import { BASE_PATH } from '@shopwire/contract'
import { createAuthority, isInPublicNetwork, startPostgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { watchWorkers } from './churn/watch.ts'
import { type Footprint, type Look, lookAt, sizesBetween } from './footprint/look.ts'
import { readWal, type WalByRelation } from './footprint/wal.ts'
import { createClient } from './growth/client.ts'
import { type BenchKey, type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import type { BenchOptions } from './shared/options.ts'
import { loadPools } from './shared/pools.ts'
import { itemId, type ShopSize, seed, vacuumAsUsual } from './shared/seed.ts'
import { untilDone } from './shared/until-done.ts'
import { seedEndpoints } from './webhooks/endpoints.ts'
import { benchAgainInPublicNetwork, type Receiver, startReceiver } from './webhooks/start-receiver.ts'

interface Size {
  readonly shop: ShopSize
  readonly buyers: number
  readonly orders: number
}

const ITEMS = 2_000
const POOLS = 200
const POOL_ITEMS = Array.from({ length: POOLS }, (_, n) => itemId(n + 1))
/** Accounts that hardly bought before show what a row takes; many with old orders show on how many pages an order's rows land. */
const SIZES: Readonly<Record<'few' | 'many', Size>> = {
  few: { shop: { accounts: 2_000, orders: 2_000, items: ITEMS }, buyers: 2_000, orders: 20_000 },
  many: { shop: { accounts: 50_000, orders: 500_000, items: ITEMS }, buyers: 5_000, orders: 5_000 },
}
const TINY: Size = { shop: { accounts: 200, orders: 200, items: ITEMS }, buyers: 100, orders: 500 }
const KEPT = ['orders', 'order_lines', 'transfers', 'order_links', 'link_fingerprints']
const RETAINED = [
  'events',
  'deliveries',
  'delivery_attempts',
  'order_answers',
  'order_attempts',
  'link_reads',
]
const CLIENTS = 32
const EVENTS_PER_ORDER = 2

/**
 * What one order of one line costs the database from its placing until it is delivered, notified and read: write-ahead log with and without
 * full pages, bytes of every table with its indexes, updates that stayed out of the indexes, pages looked at. Real processes do the work, on a
 * server that flushes.
 */
export async function footprint({ scale, orders }: BenchOptions): Promise<void> {
  if (!isInPublicNetwork()) return benchAgainInPublicNetwork()
  const sizes = scale === 'tiny' ? { tiny: TINY } : scale === 'small' ? { few: SIZES.few } : SIZES
  const figures: Record<string, unknown> = {}
  for (const [name, size] of Object.entries(sizes))
    figures[name] = await measure({ ...size, ...(orders !== undefined && { orders }) })
  say('')
  say(JSON.stringify({ bench: 'footprint', scale, ...figures }))
}

async function measure({ shop, buyers, orders }: Size): Promise<Footprint> {
  say(`\n${shop.accounts} accounts with ${shop.orders} finished orders, ${orders} new ones`)
  const authority = await createAuthority()
  const postgres = await startPostgres({
    durable: true,
    settings: {
      // The only checkpoints are the ones asked for, so that each page is written whole once in every measured part.
      checkpoint_timeout: '1d',
      max_wal_size: '30GB',
      // Its own writes come at any time; they would fall to one part or the other.
      autovacuum: 'off',
      shared_buffers: '512MB',
    },
  })
  const superuser = new pg.Client({ connectionString: postgres.superuserUrl })
  try {
    const system = await startBenchSystem({
      postgres,
      accounts: shop.accounts,
      keys: buyers,
      scopes: 'ordering',
      settings: { NODE_EXTRA_CA_CERTS: authority.file },
    })
    try {
      await superuser.connect()
      await seed(system.owner, shop, say, { paidShare: 0 })
      await loadPools(system, 'pools', POOL_ITEMS, Math.ceil((2 * orders) / POOLS) + 1)
      const receiver = await startReceiver(system, authority)
      const every = Math.floor(shop.accounts / buyers)
      await seedEndpoints(
        system,
        Array.from({ length: buyers }, (_, n) => ({
          firstAccount: (n + 1) * every,
          count: 1,
          url: `${receiver.url}/ok`,
        })),
      )
      await skipOldRounds(system)
      await vacuumAsUsual(system.owner)
      const between = async (work: () => Promise<void>) => {
        await superuser.query('checkpoint')
        const before = await lookAt(system.owner)
        await work()
        const after = await lookAt(system.owner)
        return { before, after, wal: await readWal(postgres.dir, system.owner, before.lsn, after.lsn) }
      }
      const plain = await between(() => sell(system, receiver, orders))
      // Once more on the same store: whole pages are most of the log, and shrink well.
      await superuser.query(`alter system set wal_compression = 'lz4'`)
      await superuser.query('select pg_reload_conf()')
      const compressed = await between(() => sell(system, receiver, orders))
      await assertInvariants(system)
      return report(plain, compressed.wal, orders)
    } finally {
      await system.stop()
    }
  } finally {
    await superuser.end().catch(() => {})
    await postgres.stop()
    await authority.remove()
  }
}

/** What a worker would catch up of the made-up past, closed days and seals, is not what an order costs. */
async function skipOldRounds({ owner }: BenchSystem): Promise<void> {
  await owner.query(
    `update account_days_progress set day = (now() at time zone 'utc')::date, done_up_to = null`,
  )
  await owner.query(`update seal_progress set finished_at = now() + interval '1 day'`)
}

/** Places the orders, lets a worker deliver and notify them, and reads each with its links once. */
async function sell(system: BenchSystem, receiver: Receiver, orders: number): Promise<void> {
  const first = await system.startApi('redis')
  await first.kill('SIGKILL')
  await system.beginMemory()
  const api = await system.startApi('redis')
  const bought: { key: BenchKey; id: string }[] = []
  await inParallel(api.port, orders, async (client, n) => {
    const key = system.keys[n % system.keys.length] as BenchKey
    const body = JSON.stringify({ idempotency_key: randomUUID(), items: [{ id: POOL_ITEMS[n % POOLS] }] })
    const { body: answer } = await client.ask(key, { method: 'POST', target: `${BASE_PATH}/orders`, body })
    bought.push({ key, id: (JSON.parse(answer) as { id: string }).id })
  })
  const worker = await system.startWorker()
  const watch = await watchWorkers([worker], receiver)
  await untilDone(
    () => [watch.delivered(), orders],
    () => [watch.notified(), EVENTS_PER_ORDER * orders],
  )
  await watch.stop()
  await inParallel(api.port, orders, async (client, n) => {
    const { key, id } = bought[n] as (typeof bought)[number]
    await client.ask(key, { method: 'GET', target: `${BASE_PATH}/orders/${id}` })
  })
  // Both end what they have begun to write.
  await Promise.all([worker.kill('SIGTERM'), api.kill('SIGTERM')])
}

async function inParallel(
  port: number,
  count: number,
  work: (client: ReturnType<typeof createClient>, n: number) => Promise<void>,
): Promise<void> {
  let begun = 0
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = createClient(port)
      for (let n = begun; n < count; n = begun) {
        begun += 1
        await work(client, n)
      }
      client.close()
    }),
  )
}

interface Part {
  readonly before: Look
  readonly after: Look
  readonly wal: WalByRelation
}

function report({ before, after, wal }: Part, compressed: WalByRelation, orders: number): Footprint {
  const each = (bytes: number) => rounded(bytes / orders, 0)
  const sizes = sizesBetween(before, after)
  say(
    `${'bytes per order'.padEnd(24)}${['stored', 'WAL', 'full pages', 'updates', 'heap-only'].map((name) => name.padStart(12)).join('')}`,
  )
  const rows = [...new Set([...sizes.keys(), ...wal.byTable.keys()])].map((table) => {
    const logged = wal.byTable.get(table) ?? { records: 0, pages: 0 }
    const size = sizes.get(table)
    return {
      table,
      logged,
      bytes: size?.bytes ?? 0,
      updates: size?.updates ?? 0,
      heapOnly: size?.heapOnly ?? 0,
    }
  })
  rows.sort((a, b) => b.logged.records + b.logged.pages - (a.logged.records + a.logged.pages))
  for (const { table, logged, bytes, updates, heapOnly } of rows) {
    if (Math.max(bytes, logged.records, logged.pages) < orders) continue
    const cells = [each(bytes), each(logged.records), each(logged.pages), rounded(updates / orders, 2)]
    const share = updates === 0 ? '' : `${((100 * heapOnly) / updates).toFixed(0)} %`
    say(`${table.padEnd(24)}${[...cells, share].map((cell) => String(cell).padStart(12)).join('')}`)
  }
  const sum = (tables: readonly string[]) =>
    tables.reduce((bytes, table) => bytes + (sizes.get(table)?.bytes ?? 0), 0)
  const total = ({ records, pages }: WalByRelation) => each(records + pages)
  const updates = rows.reduce((all, row) => all + row.updates, 0)
  return {
    wal_bytes: each(wal.records),
    wal_full_bytes: total(wal),
    wal_compressed_bytes: total(compressed),
    kept_bytes: each(sum(KEPT)),
    retained_bytes: each(sum(RETAINED)),
    heap_only: rounded(rows.reduce((all, row) => all + row.heapOnly, 0) / updates, 2),
    buffers: each(after.buffers - before.buffers),
  }
}
