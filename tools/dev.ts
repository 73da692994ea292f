import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type DevAccess, openDevAccess } from '@shopwire/service/dev-access'
import { startRedis } from '@shopwire/test-kit/redis'
import {
  findNpm,
  type Postgres,
  type ProvisionedDatabase,
  provisionDatabase,
  startPostgres,
} from '@shopwire/test-kit/servers'
import type { DemoHistory } from './demo/history.ts'
import { LANTERN } from './demo/lantern-games.ts'
import { KESTREL } from './demo/other-accounts.ts'
import { peopleShown } from './demo/people.ts'
import { announceDemo, announceEmpty, type Ports } from './dev/announce.ts'
import { startMailInbox } from './dev/mail-inbox.ts'
import { startPages } from './dev/pages.ts'
import { ended, portNear, startProgram, untilReady } from './dev/programs.ts'
import {
  type DemoKey,
  demoKey,
  makeDemo,
  refillPools,
  runAdmin,
  type Settings,
  storeFiles,
} from './dev/store.ts'
import { startTrickle, type TrickleCustomer } from './dev/trickle.ts'
import { buildWeb } from './dev/web.ts'
import { startWebhookInbox } from './dev/webhook-inbox.ts'

/**
 * From a clone to a running store: a private database under .data/, migrated, with three demo accounts and months of their history,
 * API, worker and dashboard with reload, and pages for the mail and the events that it sends. Ctrl-C stops all of it, and so does the
 * end of npm or of the terminal; the data stays until `npm run dev -- --reset`.
 */
const BASE_PORTS: Ports = { api: 8080, dashboard: 8081, pages: 8085, health: 9090, worker: 9091, web: 9092 }
/** Known to everyone, like the one in the service's configuration: production refuses it. */
const DEVELOPMENT_KEY = `dev:${Buffer.from('shopwire development key, 32 byt').toString('base64')}`

/** How often the two customers buy. */
const TRICKLE_MS: Readonly<Record<string, number>> = { [LANTERN.name]: 9_000, [KESTREL.name]: 16_000 }
const TRICKLE_FUNDS = '500.00'

const { values: options } = parseArgs({
  options: {
    reset: { type: 'boolean' },
    empty: { type: 'boolean' },
    data: { type: 'string', default: '.data' },
    admission: { type: 'string', default: 'postgres' },
    help: { type: 'boolean' },
  },
})
if (options.help || !['postgres', 'redis'].includes(options.admission)) {
  say(`npm run dev -- [--reset] [--empty] [--data FOLDER] [--admission postgres|redis]

  --reset      starts over: removes the data of earlier starts
  --empty      a store without demo accounts, in a folder of its own
  --data       where the data is kept; .data by default
  --admission  where nonces and rate limits are kept`)
  process.exit(options.help ? 0 : 2)
}

const FOLDER = options.empty ? join(options.data, 'empty-store') : options.data
const files = storeFiles(FOLDER)
const PORTAL = fileURLToPath(new URL('../docs/.site', import.meta.url))
const isPortalBuilt = () => existsSync(join(PORTAL, 'index.html'))
const running: { name: string; stop(): Promise<unknown> | unknown }[] = []
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0))
// npm forwards some signals, because the script replaces its shell, but neither SIGHUP nor SIGKILL.
findNpm('exec node tools/dev.ts')?.onGone(() => void stop(0))
// After the terminal is closed, writing to it would fail.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  await start()
} catch (error) {
  if (!isStopping) say(`✖ ${(error as Error).message}`)
  await stop(1)
}

async function start() {
  const startedMs = performance.now()
  const isInterrupted = (await files.readHistory()) === 'unfinished'
  if (options.reset || isInterrupted) await files.removeAll()
  // First: a taken port is known before anything is made.
  const ports = await choosePorts()
  // Takes as long as the rest, and needs nothing of it.
  const building = buildWeb()
  building.catch(() => {})
  const postgres = await step(
    'PostgreSQL',
    openPostgres,
    (pg) => `${pg.version}, port ${pg.port}, data in ${files.postgres}`,
  )
  const redis = options.admission === 'redis' ? await step('Redis', openRedis, (r) => r.url) : undefined
  let access: DevAccess | undefined
  let changed = () => {}
  const mail = await startMailInbox(files.mail, () => changed())
  const webhooks = await startWebhookInbox({
    file: files.events,
    receiversAt: async (url) => access?.receiversAt(url) ?? [],
    onEvent: () => changed(),
  })
  running.push({ name: 'mail inbox', stop: () => mail.close() })
  running.push({ name: 'webhook inbox', stop: () => webhooks.close() })
  const { env, database } = await settings(postgres, ports, { redisUrl: redis?.url, smtpUrl: mail.url })
  await files.writeSettings(env)
  await step(
    'Schema',
    async () => runAdmin(env, ['migrate']),
    (report) => `version ${report.version}`,
  )
  const history = options.empty
    ? undefined
    : await step(
        'Demo',
        () => openDemo(env, database, webhooks.urls),
        (made) => made.accounts.join(', '),
      )
  const keys = history ? await demoKeys(env, ports) : undefined
  await step(
    'Dashboard',
    () => building,
    (what) => what,
  )

  // Before the worker: events that are waiting arrive at once.
  const opened = openDevAccess({ ...process.env, ...env }, database.processUrls.worker)
  access = opened
  running.push({ name: 'connections', stop: () => opened.close() })
  // Each with a login of its own, as in production; what is in the file is the operator's.
  const { api: apiUrl, worker: workerUrl } = database.processUrls
  const api = startProgram('api', { ...env, SHOPWIRE_DATABASE_URL: apiUrl }, say)
  const worker = startProgram(
    'worker',
    { ...workerSettings(env, ports, webhooks.settings), SHOPWIRE_DATABASE_URL: workerUrl },
    say,
  )
  const dashboard = startProgram('dashboard', { ...env, SHOPWIRE_HEALTH_PORT: String(ports.web) }, say)
  running.push({ name: 'worker', stop: () => ended(worker) }, { name: 'API', stop: () => ended(api) })
  running.push({ name: 'dashboard', stop: () => ended(dashboard) })
  await Promise.all([
    untilReady('API', ports.health, api),
    untilReady('worker', ports.worker, worker),
    untilReady('dashboard', ports.web, dashboard),
  ])
  const pages = await startPages({
    port: ports.pages,
    dashboard: env.SHOPWIRE_DASHBOARD_ORIGIN,
    statusFolder: files.status,
    links: {
      Dashboard: env.SHOPWIRE_DASHBOARD_ORIGIN,
      'Mail that the store sent': `http://localhost:${ports.pages}/mail`,
      'Events that it delivered': `http://localhost:${ports.pages}/webhooks`,
      API: `http://localhost:${ports.api}/v1/status`,
      'Status page': `http://localhost:${ports.pages}/status/index.html`,
      ...(isPortalBuilt() && { Documentation: `http://localhost:${ports.api}/docs/` }),
    },
    people: () => (history ? peopleShown(history.people) : []),
    mails: mail.mails,
    events: webhooks.events,
    signIn: opened.signIn,
  })
  changed = pages.changed
  running.push({ name: 'pages', stop: () => pages.close() })
  const seconds = (performance.now() - startedMs) / 1000
  const facts = { ports, seconds, files, isPortalBuilt: isPortalBuilt() }
  if (!keys) return say(announceEmpty(facts))
  const trickle = startTrickle(
    env.SHOPWIRE_API_URL,
    [LANTERN, KESTREL].map(({ name }) => customerOf(env, keys[name] as DemoKey, TRICKLE_MS[name] ?? 0)),
  )
  running.push({ name: 'customers', stop: () => trickle.stop() })
  say(announceDemo({ ...facts, ...(keys[LANTERN.name] as DemoKey) }))
}

async function demoKeys(env: Settings, ports: Ports): Promise<Readonly<Record<string, DemoKey>>> {
  const keys: Record<string, DemoKey> = {}
  for (const { name } of [LANTERN, KESTREL]) {
    const key = await demoKey(env, files, name)
    await files.writeKey(name, key, ports.api)
    keys[name] = key
  }
  return keys
}

function customerOf(env: Settings, { account_id, key, secret }: DemoKey, everyMs: number): TrickleCustomer {
  const reference = () => `dev-${Date.now()}`
  return {
    keyId: key,
    secret,
    everyMs,
    fund: () =>
      void runAdmin(env, ['accounts', 'fund', account_id, TRICKLE_FUNDS, '--reference', reference()]),
  }
}

async function openPostgres(): Promise<Postgres> {
  const postgres = await startPostgres({ dir: files.postgres })
  running.push({ name: 'PostgreSQL', stop: () => postgres.stop({ keepData: true }) })
  return postgres
}

async function openRedis() {
  const redis = await startRedis()
  running.push({ name: 'Redis', stop: () => redis.stop() })
  return redis
}

async function choosePorts(): Promise<Ports> {
  const chosen = Object.entries(BASE_PORTS).map(async ([name, wanted]) => {
    const port = await portNear(wanted)
    if (port !== wanted) say(`  port ${wanted} (${name}) is taken; ${port} is used`)
    return [name, port]
  })
  return Object.fromEntries(await Promise.all(chosen)) as Ports
}

async function settings(
  postgres: Postgres,
  ports: Ports,
  { redisUrl, smtpUrl }: { redisUrl: string | undefined; smtpUrl: string },
) {
  const database = await provisionDatabase(postgres, 'shopwire')
  const env = {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: String(ports.api),
    SHOPWIRE_API_URL: `http://127.0.0.1:${ports.api}/v1`,
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_PORT: String(ports.health),
    SHOPWIRE_DATABASE_URL: database.processUrls.operator,
    SHOPWIRE_DATABASE_OWNER_URL: database.ownerUrl,
    SHOPWIRE_DASHBOARD_HOST: '127.0.0.1',
    SHOPWIRE_DASHBOARD_PORT: String(ports.dashboard),
    // Browsers treat this name as secure without TLS, and cookies of the dashboard need that.
    SHOPWIRE_DASHBOARD_ORIGIN: `http://localhost:${ports.dashboard}`,
    SHOPWIRE_DASHBOARD_DATABASE_URL: database.processUrls.dashboard,
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_KEY,
    SHOPWIRE_SMTP_URL: smtpUrl,
    SHOPWIRE_MAIL_FROM: 'Shopwire <store@shopwire.localhost>',
    SHOPWIRE_BANK_DETAILS: 'Beneficiary=Shopwire Demo Store; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22',
    SHOPWIRE_CONTACT: 'help@shopwire.localhost',
    SHOPWIRE_SELLER: 'Shopwire Demo Store; 1 Example Street; London',
    SHOPWIRE_SHUTDOWN_DELAY_MS: '0',
    ...(isPortalBuilt() && { SHOPWIRE_DOCS_FOLDER: PORTAL }),
    ...(redisUrl && { SHOPWIRE_ADMISSION: 'redis', SHOPWIRE_REDIS_URLS: redisUrl }),
  }
  return { env, database }
}

function workerSettings(env: Settings, ports: Ports, inbox: Settings): Settings {
  mkdirSync(files.status, { recursive: true })
  return {
    ...env,
    ...inbox,
    SHOPWIRE_HEALTH_PORT: String(ports.worker),
    SHOPWIRE_STATUS_FOLDER: files.status,
  }
}

/** Made once, at the first start. */
async function openDemo(
  env: Settings,
  database: ProvisionedDatabase,
  urls: { lantern: string; kestrel: string },
): Promise<DemoHistory> {
  const known = await files.readHistory()
  if (known !== undefined && known !== 'unfinished') {
    refillPools(env)
    return known
  }
  const { accounts } = runAdmin(env, ['accounts', 'list']) as { accounts: unknown[] }
  if (accounts.length > 0)
    throw new Error(
      `${files.postgres} holds a store that was made without the demo. Start over with "npm run dev -- --reset", or choose another folder with --data.`,
    )
  await files.writeHistory('unfinished')
  const made = await makeDemo(env, database, urls, say)
  await files.writeHistory(made)
  return made
}

async function step<Result>(
  name: string,
  work: () => Promise<Result>,
  describe: (result: Result) => string,
): Promise<Result> {
  const result = await work()
  say(`✔ ${name}: ${describe(result)}`)
  return result
}

async function stop(code: number) {
  if (isStopping) return
  isStopping = true
  process.stdout.write('\nStopping …\n')
  for (const part of running.reverse()) {
    try {
      await part.stop()
    } catch (error) {
      process.stdout.write(`${part.name} did not stop: ${(error as Error).message}\n`)
    }
  }
  process.exit(code)
}

function say(text: string) {
  if (!isStopping && text !== '') process.stdout.write(`${text}\n`)
}
