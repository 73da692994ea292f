import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  endWithParent,
  findNpm,
  freePort,
  type Postgres,
  provisionDatabase,
  startPostgres,
  startRedis,
} from '@shopwire/engines'

/**
 * From a clone to a running shop: a private database under .data/, migrated, a demo account with money and a key, a
 * catalogue with links in its pools, the API and a worker with reload. Ctrl-C stops all of it, and so does the end of npm or of the
 * terminal; the data stays until `npm run dev -- --reset`.
 */
const DEMO_BALANCE = '250.00'
/** Links per item. */
const DEMO_POOL = 20
/** The first one in the demo catalogue. */
const DEMO_ITEM = '1144058340327047001'
const READY_MS_MAX = 30_000
/** A program that has not ended by then is killed. */
const STOP_MS_MAX = 10_000
const BASE_PORTS = { api: 8080, health: 9090, worker: 9091 }
/** Known to everyone, like the one in the service's configuration: production refuses it. */
const DEVELOPMENT_KEY = `dev:${Buffer.from('shopwire development key, 32 byt').toString('base64')}`

const { values: options } = parseArgs({
  options: {
    reset: { type: 'boolean' },
    data: { type: 'string', default: '.data' },
    admission: { type: 'string', default: 'postgres' },
    help: { type: 'boolean' },
  },
})
if (options.help || !['postgres', 'redis'].includes(options.admission)) {
  say('npm run dev -- [--reset] [--data FOLDER] [--admission postgres|redis]')
  process.exit(options.help ? 0 : 2)
}

const DATA = join(options.data, 'postgres')
const DEMO_FILE = join(options.data, 'demo.env')
const STORE_FILE = join(options.data, 'store.env')
const PORTAL = fileURLToPath(new URL('../docs/.site', import.meta.url))
const isPortalBuilt = () => existsSync(join(PORTAL, 'index.html'))
const running: { name: string; stop(): Promise<unknown> }[] = []
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0))
// npm forwards some signals, because the script replaces its shell, but neither SIGHUP nor SIGKILL.
findNpm('exec node tools/dev.ts')?.onGone(() => void stop(0))
// After the terminal is closed, writing to it would fail.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  await start()
} catch (error) {
  say(`✖ ${(error as Error).message}`)
  await stop(1)
}

async function start() {
  const startedMs = performance.now()
  if (options.reset)
    await Promise.all([rm(DATA, { recursive: true, force: true }), rm(DEMO_FILE, { force: true })])
  const postgres = await step(
    'PostgreSQL',
    openPostgres,
    (pg) => `${pg.version}, port ${pg.port}, data in ${DATA}`,
  )
  const redis = options.admission === 'redis' ? await step('Redis', openRedis, (r) => r.url) : undefined
  const ports = {
    api: await portNear(BASE_PORTS.api),
    health: await portNear(BASE_PORTS.health),
    worker: await portNear(BASE_PORTS.worker),
  }
  const env = await settings(postgres, ports, redis?.url)
  await writeStore(env)
  await step(
    'Schema',
    async () => admin(env, ['migrate']),
    (report) => `version ${report.version}`,
  )
  const demo = await step(
    'Demo account',
    () => seed(env, ports.api),
    (d) => `${d.account_id}, balance $${DEMO_BALANCE} at first`,
  )
  await step(
    'Catalogue',
    () => stock(env),
    (count) => `${count} items with links in their pools`,
  )
  const api = startProgram('api', env)
  const worker = startProgram('worker', { ...env, SHOPWIRE_HEALTH_PORT: String(ports.worker) })
  running.push({ name: 'worker', stop: () => ended(worker) }, { name: 'API', stop: () => ended(api) })
  await Promise.all([untilReady('API', ports.health, api), untilReady('worker', ports.worker, worker)])
  announce(demo, ports, (performance.now() - startedMs) / 1000)
}

async function openPostgres(): Promise<Postgres> {
  const postgres = await startPostgres({ dir: DATA })
  running.push({ name: 'PostgreSQL', stop: () => postgres.stop({ keepData: true }) })
  return postgres
}

async function openRedis() {
  const redis = await startRedis()
  running.push({ name: 'Redis', stop: () => redis.stop() })
  return redis
}

async function settings(postgres: Postgres, ports: typeof BASE_PORTS, redisUrl: string | undefined) {
  const { ownerUrl, appUrl } = await provisionDatabase(postgres, 'shopwire')
  return {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: String(ports.api),
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_PORT: String(ports.health),
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_DATABASE_OWNER_URL: ownerUrl,
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_KEY,
    SHOPWIRE_SHUTDOWN_DELAY_MS: '0',
    ...(isPortalBuilt() && { SHOPWIRE_DOCS_FOLDER: PORTAL }),
    ...(redisUrl && { SHOPWIRE_ADMISSION: 'redis', SHOPWIRE_REDIS_URLS: redisUrl }),
  }
}

interface Demo {
  account_id: string
  key: string
  secret: string
}

/** Created once and stored in a file beside the data; created again when the key no longer exists. */
async function seed(env: Record<string, string>, port: number): Promise<Demo> {
  const known = await readDemo()
  if (known && demoStillThere(env, known)) {
    await writeDemo(known, port)
    return known
  }
  const account_id = String(admin(env, ['accounts', 'create', 'Demo']).id)
  admin(env, ['accounts', 'fund', account_id, DEMO_BALANCE, '--reference', 'demo'])
  const made = admin(env, ['keys', 'create', account_id, '--name', 'demo', '--scopes', 'all'])
  const demo = { account_id, key: String((made.key as { id: string }).id), secret: String(made.secret) }
  await writeDemo(demo, port)
  return demo
}

async function readDemo(): Promise<Demo | undefined> {
  const text = await readFile(DEMO_FILE, 'utf8').catch(() => '')
  const value = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(text)?.[1]
  const [account_id, key, secret] = [
    value('SHOPWIRE_ACCOUNT'),
    value('SHOPWIRE_API_KEY'),
    value('SHOPWIRE_API_SECRET'),
  ]
  return account_id && key && secret ? { account_id, key, secret } : undefined
}

function demoStillThere(env: Record<string, string>, { account_id, key }: Demo): boolean {
  try {
    const { keys } = admin(env, ['keys', 'list', account_id]) as {
      keys: { id: string; revoked_at: string | null }[]
    }
    return keys.some(({ id, revoked_at }) => id === key && revoked_at === null)
  } catch {
    return false
  }
}

async function writeDemo({ account_id, key, secret }: Demo, port: number) {
  const lines = [
    '# Written by "npm run dev": a key of the demo account in the private development database.',
    `SHOPWIRE_ACCOUNT=${account_id}`,
    `SHOPWIRE_API_KEY=${key}`,
    `SHOPWIRE_API_SECRET=${secret}`,
    `SHOPWIRE_BASE_URL=http://127.0.0.1:${port}/v1`,
  ]
  await writeFile(DEMO_FILE, `${lines.join('\n')}\n`)
  await chmod(DEMO_FILE, 0o600)
}

/** Settings with which a developer can run shopwire-admin on this store. */
async function writeStore(env: Record<string, string>) {
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  await writeFile(
    STORE_FILE,
    `# Written by "npm run dev": the settings of the private store.\n${lines.join('\n')}\n`,
  )
  await chmod(STORE_FILE, 0o600)
}

function admin(env: Record<string, string>, args: string[], input = ''): Record<string, unknown> {
  const command = ['service/bin/admin.ts', ...args, '--json']
  try {
    const out = execFileSync(process.execPath, command, {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      input,
      stdio: 'pipe',
    })
    return JSON.parse(out) as Record<string, unknown>
  } catch (error) {
    throw new Error(
      `shopwire-admin ${args.join(' ')} failed: ${(error as { stderr?: string }).stderr ?? error}`,
    )
  }
}

/** The catalogue of the demo store. Imported like any catalogue; pools are refilled to their first level. */
async function stock(env: Record<string, string>): Promise<number> {
  const file = new URL('./demo/catalogue.json', import.meta.url)
  admin(env, ['catalogue', 'import', fileURLToPath(file)])
  const items = JSON.parse(await readFile(file, 'utf8')) as { id: string }[]
  const { pools } = admin(env, ['pool', 'levels']) as { pools: { item_id: string; pool_left: number }[] }
  for (const { id } of items) {
    const left = pools.find(({ item_id }) => item_id === id)?.pool_left ?? 0
    const links = Array.from({ length: DEMO_POOL - left }, () => `https://gift.example/${randomUUID()}`)
    if (left < DEMO_POOL / 2) admin(env, ['pool', 'load', id, '-'], links.join('\n'))
  }
  return items.length
}

function startProgram(name: 'api' | 'worker', env: Record<string, string>): ChildProcess {
  const program = spawn(process.execPath, ['--watch', '--watch-preserve-output', `service/bin/${name}.ts`], {
    env: { ...process.env, ...env },
    // A session of its own: Ctrl-C reaches only this process, which stops the others in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Ends the program also when this process is killed.
  void endWithParent(program, 'SIGTERM')
  for (const stream of [program.stdout, program.stderr]) {
    createInterface({ input: stream }).on('line', (line) => printLine(name, line))
  }
  return program
}

/** The programs log JSON; here it is formatted for people. */
function printLine(name: string, line: string) {
  if (isStopping) return
  try {
    const { level, time, msg, status, method, route, ms, error_type, err } = JSON.parse(line)
    const what = msg === 'request' ? `${status} ${method} ${route} ${ms} ms ${error_type ?? ''}` : msg
    if (msg !== 'starting')
      say(
        `  ${String(time).slice(11, 19)}  ${name.padEnd(6)}  ${level}  ${what} ${err?.message ?? ''}`.trimEnd(),
      )
  } catch {
    say(`  ${line}`)
  }
}

async function untilReady(name: string, port: number, program: ChildProcess) {
  const deadline = performance.now() + READY_MS_MAX
  let why = 'no answer'
  while (performance.now() < deadline && program.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok) return
    why = (await answer?.text()) ?? why
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`The ${name} did not become ready: ${why.trim()}. Its lines are above.`)
}

function announce({ key, secret, account_id }: Demo, ports: typeof BASE_PORTS, seconds: number) {
  const base = `http://127.0.0.1:${ports.api}`
  say(`
Ready in ${seconds.toFixed(1)} s.

  API       ${base}/v1/status
  Docs      ${isPortalBuilt() ? `${base}/docs/` : 'docs/README.md; run npm run docs:build to serve the portal from the next start on'}
  Health    http://127.0.0.1:${ports.health}/readyz   /livez   /metrics   (worker: port ${ports.worker})
  Account   ${account_id}
  Key       ${key}   (with its secret in ${DEMO_FILE})
  Operate   node --env-file=${STORE_FILE} service/bin/admin.ts --help

Buy something. It signs when it runs, so it works whenever it is pasted:

key=${key} secret=${secret}
call() {  # call METHOD PATH [BODY]
  ts=$(date +%s); nonce=$(openssl rand -hex 16); hash=$(printf '%s' "$3" | openssl dgst -sha256 -r | cut -d' ' -f1)
  sig=$(printf '%s\\n%s\\n%s\\n%s\\n%s' "$1" "$2" "$ts" "$nonce" "$hash" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
  curl -i -X "$1" ${base}"$2" \${3:+-d "$3"} -H "X-Api-Key: $key" -H "X-Api-Timestamp: $ts" -H "X-Api-Nonce: $nonce" -H "X-Api-Signature: $sig"; echo
}
call GET '/v1/catalogue?limit=3'
buy='{"items":[{"id":"${DEMO_ITEM}"}],"idempotency_key":"first-${Date.now()}"}'
call POST /v1/orders "$buy"
sleep 1; call POST /v1/orders "$buy"   # a replay: the same order, no new charge, and by now its link

Reloads on every change. Ctrl-C stops everything; "npm run dev -- --reset" starts over.
`)
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

async function portNear(wanted: number): Promise<number> {
  const isFree = await new Promise<boolean>((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
  return isFree ? wanted : freePort()
}

/** The whole group: the watcher and the server under it. */
function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return Promise.resolve()
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid as number), name)
    } catch {
      // It has already ended.
    }
  }
  return new Promise((resolve) => {
    const late = setTimeout(() => signal('SIGKILL'), STOP_MS_MAX)
    child.once('close', () => {
      clearTimeout(late)
      resolve()
    })
    signal('SIGTERM')
  })
}

async function stop(code: number) {
  if (isStopping) return
  isStopping = true
  say('\nStopping …')
  for (const part of running.reverse()) {
    await part.stop().catch((error: Error) => say(`${part.name} did not stop: ${error.message}`))
  }
  process.exit(code)
}

function say(text: string) {
  process.stdout.write(`${text}\n`)
}
