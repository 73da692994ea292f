import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH } from '@shopwire/contract'
import { type Pgbouncer, startPgbouncer } from '@shopwire/test-kit/proxies/pgbouncer'
import { type PublicReceiver, startPublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { type Key, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { changeUrls, until } from '@shopwire/test-kit/servers'
import { limitless, newItem, newLinks, type System, startSystem } from '@shopwire/test-kit/systems'
import { type Account, type Bought, startBuying } from '../faults/buying.ts'
import { compareWithDatabase, makeAccounts, violationsIn } from '../faults/faults.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { FAULTS } from './faults.ts'
import { type Sentinels, startSentinels } from './sentinels.ts'

export interface FailoverOptions {
  readonly rounds: number
  /** Names of FAULTS, one a round, over and over. */
  readonly faults: readonly string[]
  /** Orders a second. */
  readonly rate: number
  readonly accounts: number
  readonly isSynchronous: boolean
  readonly isPooled: boolean
  /** Redis with sentinels for admission, instead of PostgreSQL. */
  readonly hasRedis: boolean
  readonly isPatroniUnpatched: boolean
}

export interface Round {
  readonly fault: string
  readonly orders: number
  /** From the fault until a primary accepts writes, and until an order that was sent after it has been bought. */
  readonly primary_s: number | null
  readonly resumed_s: number | null
  /** The longest time in which no caller was told of an order. */
  readonly gap_s: number
  readonly by: 'itself' | 'operator'
  readonly promotions: number
  /** From the end of the fault until the store closed, when the former primary came back as one and it had to. */
  readonly closed_s: number | null
  readonly seen: Readonly<Record<string, number>>
  /** Orders that a caller was told of and that are gone, and how many of them the recovery has not named. */
  readonly lost: number
  readonly unnamed: number
  readonly webhooks_missing: number
  readonly webhooks_repeated: number
  readonly wrong: readonly string[]
}

const LINKS_A_CALL = 5_000
const WARM_MS = 6_000
const AFTER_MS = 6_000
const RESUMED_MS_MAX = 90_000
const HEALTHY_MS_MAX = 180_000
const WEBHOOKS_MS_MAX = 120_000
const LOOK_MS_MAX = 1_000
/** A paused machine that comes back needs some seconds to take the cluster back. */
const CLOSED_MS_MAX = 40_000
const EVENTS = ['order.accepted', 'order.delivered'] as const
/** A round sells for about as long; the pool must last. */
const ROUND_S = 60

/** A store on a Patroni cluster whose primary is lost again and again while callers buy. */
export async function runFailover(options: FailoverOptions, say: (line: string) => void): Promise<Round[]> {
  say('starting three nodes with etcd, Patroni and PostgreSQL, and HAProxy before them')
  const cluster = await startCluster(options)
  const receiver = await startPublicReceiver()
  const redis = options.hasRedis ? await startSentinels() : undefined
  const journal = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
  try {
    await cluster.untilHealthy(HEALTHY_MS_MAX)
    const store = await openStore({ cluster, receiver, redis, journal, options }, say)
    const rounds: Round[] = []
    for (let n = 0; n < options.rounds; n += 1) {
      const fault = options.faults[n % options.faults.length] as string
      rounds.push(await runRound(store, fault, n, say))
      say(JSON.stringify(rounds.at(-1)))
    }
    await store.system.stop()
    await store.pooler?.stop()
    return rounds
  } finally {
    await receiver.close()
    await redis?.stop()
    await cluster.stop()
    await rm(journal, { recursive: true, force: true })
  }
}

interface Around {
  readonly options: FailoverOptions
  readonly cluster: Cluster
  readonly receiver: PublicReceiver
  /** For the nonces, which are in PostgreSQL without it, and gone after a failover. */
  readonly redis: Sentinels | undefined
  readonly journal: string
}

interface Store extends Around {
  readonly pooler: Pgbouncer | undefined
  readonly system: System
  readonly origins: readonly string[]
  readonly accounts: readonly Account[]
  readonly item: string
  /** What callers were told of in all rounds, by idempotency key. */
  readonly orders: Map<string, string>
}

async function openStore(around: Around, say: (line: string) => void): Promise<Store> {
  const { cluster, receiver, redis, journal, options } = around
  say('making the store')
  const system = await startSystem({
    admission: 'postgres',
    apis: 0,
    postgres: cluster.postgres,
    settings: {
      ...limitless,
      ...receiver.settings,
      ...redis?.settings,
      SHOPWIRE_JOURNAL: journal,
      SHOPWIRE_LOG_LEVEL: 'warn',
      ...(options.isPooled && { SHOPWIRE_DATABASE_NAMED_STATEMENTS: 'false' }),
    },
  })
  const pooler = options.isPooled ? await startPgbouncer(cluster.postgres.superuserUrl) : undefined
  if (pooler) {
    // Migrations hold a lock of their session, so the owner's URL leads around the pooler.
    const { ownerUrl } = system.database
    system.database = { ...changeUrls(system.database, pooler.url), ownerUrl }
  }
  if (options.isSynchronous) await system.admin('recover', 'policy', '--failover', 'synchronous')
  const accounts = await makeAccounts(system, options.accounts)
  const item = newItem(1)
  await system.importItems([item])
  for (let links = options.rate * ROUND_S * options.rounds; links > 0; links -= LINKS_A_CALL)
    await system.loadPool(item.id, newLinks(LINKS_A_CALL))
  const apis = [await system.startApi(), await system.startApi()]
  for (let n = 0; n < 2; n += 1) await system.startWorker()
  const origins = apis.map(({ port }) => `http://127.0.0.1:${port}`)
  for (const { account_id } of accounts)
    await setWebhook(origins[0] as string, await system.createKey(account_id), receiver.url)
  return { ...around, pooler, system, origins, accounts, item: item.id, orders: new Map() }
}

async function setWebhook(origin: string, key: Key, url: string) {
  const target = `${BASE_PATH}/webhook`
  const body = JSON.stringify({ url })
  const headers = { 'content-type': 'application/json', ...signedHeaders(key, 'POST', target, body) }
  const answer = await fetch(`${origin}${target}`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`the webhook was answered with ${answer.status}: ${await answer.text()}`)
}

async function runRound(store: Store, name: string, n: number, say: (line: string) => void): Promise<Round> {
  const { cluster, system, receiver, redis, options } = store
  const fault = FAULTS[name]
  if (!fault) throw new Error(`no fault ${name}`)
  await cluster.untilHealthy(HEALTHY_MS_MAX)
  receiver.arrivals.length = 0
  const buying = startBuying({
    ...store,
    seed: n,
    name: 'failover',
    orders: Number.MAX_SAFE_INTEGER,
    goods: { byHand: store.item, fromPool: store.item },
    perSecond: options.rate,
  })
  await sleep(WARM_MS)
  const primary = await cluster.leader()
  if (primary === undefined) throw new Error('there is no primary')
  const before = await timelineOf(cluster)
  const hitMs = performance.now()
  say(`round ${n + 1}: ${fault.what}, node${primary}`)
  const mend = await fault.hit(cluster, primary, redis)
  if (fault.lastsMs !== undefined) {
    await sleep(fault.lastsMs)
    await mend()
  }
  const mendedMs = performance.now()
  const { primaryMs, resumedMs, by } = await untilResumed(
    store,
    fault.isLoss ? before : undefined,
    // What was sent while the fault came may still have been bought from the primary that was lost.
    (primaryMs) =>
      primaryMs === undefined
        ? buying.hasSoldSince(fault.lastsMs === undefined ? hitMs : mendedMs)
        : buying.wasToldSince(primaryMs),
  )
  await sleep(AFTER_MS)
  if (fault.lastsMs === undefined) await mend()
  const closed_s = options.isPatroniUnpatched ? await closedAfter(store) : null
  await cluster.untilHealthy(HEALTHY_MS_MAX)
  const bought = await buying.stop()
  const missing = await missingOrders(store, bought.orders)
  for (const [key, id] of bought.orders) if (!missing.ids.has(id)) store.orders.set(key, id)
  const compared = await compareWithDatabase(system.superuserUrl, store.orders)
  const violated = await violationsIn(system)
  const kept = [...bought.orders.values()].filter((id) => !missing.ids.has(id))
  const hooks = await webhooksOf(receiver, kept)
  const times = bought.told.map(({ toldMs }) => toldMs).sort((a, b) => a - b)
  const seconds = (ms: number | undefined) => (ms === undefined ? null : Math.round((ms - hitMs) / 100) / 10)
  return {
    fault: name,
    orders: bought.orders.size,
    primary_s: seconds(primaryMs),
    resumed_s: seconds(resumedMs),
    gap_s: Math.round(Math.max(...times.slice(1).map((ms, k) => ms - (times[k] as number))) / 100) / 10,
    by,
    promotions: (await timelineOf(cluster)) - before,
    closed_s,
    seen: bought.seen,
    lost: missing.ids.size,
    unnamed: missing.unnamed,
    ...hooks,
    wrong: [...bought.wrong, ...compared, ...violated].slice(0, 10),
  }
}

/** A former primary that takes the cluster back lacks what was sold meanwhile. The store notices, and an operator opens it. */
async function closedAfter({ cluster, system }: Store): Promise<number | null> {
  const mendedMs = performance.now()
  const isClosed = async () => {
    const [row] = await cluster
      .query<{ is_open: boolean }>('select shopwire.database_is_confirmed() as is_open', LOOK_MS_MAX)
      .catch(() => [])
    return row?.is_open === false
  }
  const closedMs = await until(isClosed, CLOSED_MS_MAX, () => 'it stays open').then(
    () => performance.now(),
    () => undefined,
  )
  if (closedMs === undefined) return null
  await until(
    () => opened(system),
    RESUMED_MS_MAX,
    () => 'it cannot be opened',
  )
  return Math.round((closedMs - mendedMs) / 100) / 10
}

/** As the runbook says; false while the database does not let it. */
async function opened(system: System): Promise<boolean> {
  try {
    await system.admin('recover', 'compare', '--apply')
    const { database } = await system.admin('recover', 'status')
    const { system_identifier, timeline } = database.present
    await system.admin('recover', 'open', '--identity', `${system_identifier}/${timeline}`)
    return true
  } catch {
    return false
  }
}

async function missingOrders({ cluster }: Store, orders: Bought['orders']) {
  const rows = await cluster.query<{ id: string; is_named: boolean }>(
    `select t.id, exists (select from shopwire.lost_orders l where l.order_id = t.id) as is_named
       from unnest('{${[...orders.values()].join(',')}}'::text[]) as t (id)
      where not exists (select from shopwire.orders o where o.id = t.id)`,
  )
  return {
    ids: new Set(rows.map(({ id }) => id)),
    unnamed: rows.filter(({ is_named }) => !is_named).length,
  }
}

const timelineOf = async (cluster: Cluster) =>
  Number(
    (await cluster.query<{ timeline: string }>('select shopwire.present_timeline() as timeline'))[0]
      ?.timeline,
  )

/** An operator opens the store, as the runbook says, when it does not resume by itself. */
async function untilResumed(
  { cluster, system, options }: Store,
  lost: number | undefined,
  hasSoldOn: (primaryMs: number | undefined) => boolean,
) {
  let primaryMs: number | undefined
  if (lost !== undefined) {
    const isThere = async () => (await timelineOf(cluster).catch(() => 0)) > lost
    await until(isThere, RESUMED_MS_MAX, () => 'no standby was promoted')
    primaryMs = performance.now()
  }
  const hasSold = () => hasSoldOn(primaryMs)
  let by: Round['by'] = 'itself'
  const patienceMs = options.isSynchronous ? RESUMED_MS_MAX : AFTER_MS
  await until(hasSold, patienceMs, () => 'nothing was sold').catch(async () => {
    by = 'operator'
    await until(
      () => opened(system),
      RESUMED_MS_MAX,
      () => 'an operator could not open the store',
    )
    await until(hasSold, RESUMED_MS_MAX, () => 'nothing was sold after an operator opened the store')
  })
  return { primaryMs, resumedMs: performance.now(), by }
}

/** Waits until every event of these orders came. */
async function webhooksOf(receiver: PublicReceiver, order_ids: readonly string[]) {
  const names = new Map<string, number>()
  const read = () => {
    for (const { event, data } of receiver.arrivals.splice(0)) {
      const name = `${event} ${data?.order?.id}`
      names.set(name, (names.get(name) ?? 0) + 1)
    }
    return order_ids.flatMap((id) => EVENTS.filter((event) => !names.has(`${event} ${id}`)))
  }
  await until(
    () => read().length === 0,
    WEBHOOKS_MS_MAX,
    () => 'webhooks are missing',
  ).catch(() => {})
  return {
    webhooks_missing: read().length,
    webhooks_repeated: [...names.values()].filter((times) => times > 1).length,
  }
}
