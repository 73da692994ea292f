import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiProcess, type System, startSystem } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { Pool } from 'undici'
import { loadPages } from './dashboard/load-pages.ts'
import { type BenchPerson, headersOf, signIn } from './dashboard/open-dashboards.ts'
import { type SeededAccount, seedAccount } from './dashboard/seed.ts'
import { besideSignIns } from './dashboard/sign-in-flood.ts'
import { quantile, rounded, say } from './shared/figures.ts'
import type { BenchOptions } from './shared/options.ts'

const ORDERS = 5_000_000
const SAMPLES = 120
/** Of one route, however few samples that makes. */
const SECONDS_MAX = 8
const WARM_UP = 5
/** A session has a rate limit of its own. */
const SESSIONS = 20
/** What the answers of lists are promised to take at most, 95 of 100. */
const PROMISED_MS = 150

/**
 * How long the answers behind the pages take for an account with very many orders: through the dashboard's process, with a session
 * and row-level security.
 */
export async function dashboard({ orders = ORDERS }: BenchOptions): Promise<void> {
  const system = await startSystem({ admission: 'postgres', durable: true })
  const owner = new pg.Client({ connectionString: system.superuserUrl })
  await owner.connect()
  try {
    const { account_id, key } = await system.createAccount({ name: 'Bench' })
    await owner.query('delete from transfers')
    let began = performance.now()
    await seedAccount(owner, { account_id, key_id: key.id }, orders)
    say(`seeded ${orders} orders in ${seconds(began)} s`)
    began = performance.now()
    await closeDays(system, owner, account_id)
    say(`closed all days in ${seconds(began)} s`)
    const people = await signIn(owner, Array<string>(SESSIONS).fill(account_id))
    const targets = await targetsOf(owner, { account_id, key_id: key.id })
    const process = await system.startDashboard()
    const figures = await measure(process, people, targets)
    const pages = await loadPages(
      `http://localhost:${process.port}`,
      people.map(({ cookie }) => cookie),
    )
    const flooded = await besideSignIns(process, owner, people[0] as BenchPerson)
    const slowest = Math.max(...Object.values(figures).map(({ p95_ms }) => p95_ms))
    say(
      JSON.stringify({
        bench: 'dashboard',
        orders,
        promised_ms: PROMISED_MS,
        slowest_p95_ms: slowest,
        slowest_page_ms: Math.max(...Object.values(pages)),
        pages,
        ...flooded,
        routes: figures,
      }),
    )
  } finally {
    await owner.end()
    await system.stop()
  }
}

const seconds = (began: number) => ((performance.now() - began) / 1000).toFixed(0)

/** A worker writes the sums of past days, a day per row. */
async function closeDays(system: System, owner: pg.Client, account_id: string): Promise<void> {
  const worker = await system.startWorker()
  const isDone = async () => {
    const { rows } = await owner.query(
      `select b.transfer_count - coalesce(max(d.last_seq), 0) < 60000 as done
         from balances b
         left join account_days d on d.account_id = b.account_id
        where b.account_id = $1
        group by b.transfer_count`,
      [account_id],
    )
    return rows[0].done as boolean
  }
  while (!(await isDone())) await sleep(500)
  await worker.kill('SIGKILL')
}

/** One request of each kind that a page makes; rare filters and pages far back among them. */
async function targetsOf(owner: pg.Client, { key_id }: SeededAccount): Promise<Record<string, string>> {
  const { rows } = await owner.query<{
    id: string
    idempotency_key: string
    request_id: string
    created_at: Date
  }>(`
    select id, idempotency_key, request_id, created_at
      from orders
     order by id desc
    offset (select order_count / 2 from balances order by order_count desc limit 1)
     limit 1`)
  const [middle] = rows as [(typeof rows)[number]]
  const { rows: recent } = await owner.query<{
    id: string
    event_id: string
    transfer_id: string
    item_id: string
  }>(`
    select o.id, e.id as event_id, 'tr_' || t.seq as transfer_id, l.item_id
      from orders o
      join events e on e.account_id = o.account_id and e.order_id = o.id and e.type = 'order.delivered'
      join transfers t on t.account_id = o.account_id and t.order_id = o.id and t.kind = 'order'
      join order_lines l on l.account_id = o.account_id and l.order_id = o.id
     order by o.id desc
     limit 1`)
  const [latest] = recent as [(typeof recent)[number]]
  const from = new Date(Date.now() - 7 * 86_400_000).toISOString()
  const orders = (query: string) => `/api/orders?limit=25${query}`
  const find = (q: string) => `/api/find?q=${q}`
  return {
    home: '/api/home',
    store: '/api/store',
    orders: orders(''),
    'orders, page in the middle': orders(`&before=${middle.id}`),
    'orders, newer page': orders(`&after=${middle.id}`),
    'orders, paid': orders('&status=paid'),
    'orders, cancelled': orders('&status=cancelled'),
    'orders, delivered': orders('&status=delivered'),
    'orders, last 7 days': orders(`&from=${from}`),
    'orders, total above $100 (one in a million)': orders('&min_cents=10001'),
    'orders, rare key': orders('&key_id=key_c1_rare'),
    'orders, unknown key': orders('&key_id=key_c1_none'),
    'orders, cancelled above $100': orders('&status=cancelled&min_cents=10001'),
    'orders, one item': orders(`&item_id=${latest.item_id}`),
    'orders, unknown item': orders('&item_id=10000000000000000'),
    'orders, usual key in 7 days': orders(`&from=${from}&key_id=${key_id}`),
    'orders, by id': orders(`&q=${middle.id}`),
    'orders, by idempotency key': orders(`&q=${middle.idempotency_key}`),
    'orders, by the end of an id': orders(`&q=${middle.id.slice(-8)}`),
    'order, recent': `/api/orders/${latest.id}`,
    'order, old': `/api/orders/${middle.id}`,
    'find, order': find(middle.id),
    'find, request': find(middle.request_id),
    'find, transfer': find(latest.transfer_id),
    'find, event': find(latest.event_id),
    'find, nothing': find('zzzzzzzz'),
    balance: '/api/balance',
    transfers: '/api/balance/transfers?limit=25',
    spend: '/api/balance/spend',
    deliveries: '/api/deliveries?limit=25',
    'delivery hours': '/api/delivery-hours',
    keys: '/api/keys',
  }
}

type Figures = Record<string, { p50_ms: number; p95_ms: number; max_ms: number }>

async function measure(
  { url, logs }: ApiProcess,
  people: readonly BenchPerson[],
  targets: Record<string, string>,
): Promise<Figures> {
  const client = new Pool(url, { connections: 1 })
  const headers = (n: number) => headersOf(people[n % people.length] as BenchPerson)
  const figures: Figures = {}
  for (const [name, path] of Object.entries(targets)) {
    const taken: number[] = []
    const until = performance.now() + SECONDS_MAX * 1000
    for (let n = 0; n < SAMPLES + WARM_UP && performance.now() < until; n += 1) {
      const began = performance.now()
      const { statusCode, body } = await client.request({ method: 'GET', path, headers: headers(n) })
      const text = await body.text()
      if (statusCode !== 200)
        throw new Error(`${name} answered ${statusCode}: ${text.slice(0, 200)}\n${logs().slice(-2_000)}`)
      if (n >= WARM_UP) taken.push(performance.now() - began)
    }
    const of = (share: number) => rounded(quantile(taken, share), 1)
    figures[name] = { p50_ms: of(0.5), p95_ms: of(0.95), max_ms: of(1) }
    say(
      `${name.padEnd(44)} p50 ${String(of(0.5)).padStart(6)} ms   p95 ${String(of(0.95)).padStart(6)} ms   max ${of(1)} ms`,
    )
  }
  await client.close()
  return figures
}
