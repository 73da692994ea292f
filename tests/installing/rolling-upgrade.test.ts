import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Buyer } from '@shopwire/test-kit/people/buyer'
import { type Haproxy, startHaproxy } from '@shopwire/test-kit/proxies/haproxy'
import { createAuthority, freePort, freePorts } from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  describeSales,
  type Sale,
  startSteadySales,
  untilDelivered,
  waitOf,
} from '@shopwire/test-kit/shops/steady-sales'
import {
  capture,
  limitless,
  type Settings,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeNextRelease, type NextRelease } from './next-release.ts'
import { writeReleaseFolder } from './release-folder.ts'
import { type ServiceManager, startServiceManager, type Unit } from './service-manager.ts'

const IS_LONG = process.env.SHOPWIRE_LONG === '1'
const MINUTE_MS = 60_000
const ORDERS_PER_S = 100
const ACCOUNTS = IS_LONG ? 40 : 1
/** How long this release sells before anything changes. */
const QUIET_MS = 60_000
/** Before that, not counted: connections are opened, code is compiled, PostgreSQL plans for empty tables. */
const WARM_UP_MS = 15_000
/** How long each release sells alone. */
const ALONE_MS = 20_000
const SLOWER_MAX = 2
const LINKS = 30_000
const POOLED_SHARE = 5
const DASHBOARD = 'dashboard.shop.test'
const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url))

let system: System
let shop: Shop
let next: NextRelease
let folder: string
let manager: ServiceManager
let haproxy: Haproxy
let authority: Awaited<ReturnType<typeof createAuthority>>
let ca: string
const buyers: Buyer[] = []
const at = (path: string) => join(folder, path)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-rolling-'))
  system = await startSystem({
    admission: 'postgres',
    apis: 0,
    settings: {
      ...limitless,
      SHOPWIRE_LOG_LEVEL: 'warn',
      // As deploy/proxy/haproxy.cfg says.
      SHOPWIRE_TRUSTED_PROXY_HOPS: '1',
      SHOPWIRE_CONNECTIONS_PER_ADDRESS: '0',
      SHOPWIRE_SHUTDOWN_DELAY_MS: IS_LONG ? '5000' : '3000',
    },
  })
  shop = openShop(system)
  next = await makeNextRelease({
    migrations: (today) => ({
      sold_by: `-- compatible-with: ${today}\n-- Who sold it.\nalter table orders add column sold_by text;\n`,
      sold_by_index: `-- migrate: no-transaction\n-- compatible-with: ${today}\n-- needed: no\n-- By seller.\ncreate index concurrently orders_sold_by on orders (account_id, sold_by);\n`,
    }),
    functions: {
      'orders/place_orders.sql': (text) => `-- Of the next release.\n${text}`,
    },
  })
  await writeReleaseFolder(at('releases/1'))
  await writeReleaseFolder(at('releases/2'), next.folder)
  await symlink(at('releases/1'), at('current'))
  await mkdir(at('bin'))
  await writeSettings()
  await startProcesses()
  for (let n = 0; n < ACCOUNTS; n += 1) buyers.push(await shop.openBuyer(1_000_000))
}, START_MS_MAX + MINUTE_MS)
afterAll(async () => {
  await manager?.stopAll()
  await haproxy?.stop()
  await authority?.remove()
  await next?.remove()
  await system?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** As /etc/shopwire has them. */
async function writeSettings(): Promise<void> {
  const { SHOPWIRE_ENCRYPTION_KEYS: encryption_keys = '', ...others } = system.settings
  const { ownerUrl: owner_url, processUrls } = system.database
  await mkdir(at('settings/secrets'), { recursive: true })
  const secrets = { operator_url: processUrls.operator, encryption_keys, owner_url }
  for (const [name, value] of Object.entries(secrets)) await writeFile(at(`settings/secrets/${name}`), value)
  const lines = Object.entries(others).map(([name, value]) => `${name}='${value}'\n`)
  // What a shell would run and systemd, which reads the same file, takes literally.
  const hostile = `SHOPWIRE_BRAND=$(touch ${at('executed')})\`touch ${at('executed')}\`; touch ${at('executed')}\n`
  await writeFile(at('settings/shopwire.env'), lines.join('') + hostile)
}

/** Two API processes and two workers on the ports that the unit files give them, and HAProxy with the configuration of deploy/. */
async function startProcesses(): Promise<void> {
  const apiPorts = [await freePair(), await freePair()]
  const workers = (await freePorts(2)).map((port) => port - 9_100)
  const onPort = (role: Unit['role'], healthPort: number, more: Settings = {}) => ({
    ...system.settingsOf(role),
    SHOPWIRE_HEALTH_PORT: String(healthPort),
    ...more,
  })
  const units = new Map<string, Unit>([
    ...apiPorts.map((port): [string, Unit] => [
      `shopwire-api@${port}.service`,
      { role: 'api', settings: onPort('api', port + 1, { SHOPWIRE_PORT: String(port) }) },
    ]),
    ...workers.map((n): [string, Unit] => [
      `shopwire-worker@${n}.service`,
      { role: 'worker', settings: onPort('worker', 9_100 + n) },
    ]),
  ])
  manager = await startServiceManager(at('current/usr/local/bin/shopwire'), at('bin'), units)
  for (const unit of units.keys()) manager.start(unit)
  const dashboard = await system.startDashboard({ SHOPWIRE_DASHBOARD_ORIGIN: `https://${DASHBOARD}` })
  authority = await createAuthority()
  ca = await readFile(authority.file, 'utf8')
  haproxy = await startHaproxy({
    certificate: await authority.issue('IP:127.0.0.1'),
    apis: apiPorts.map((port) => ({ port, healthPort: port + 1 })),
    variables: {
      HAPROXY_DASHBOARD_HOST: DASHBOARD,
      HAPROXY_DASHBOARD: String(dashboard.port),
      HAPROXY_DASHBOARD_HEALTH: new URL(dashboard.healthUrl).port,
      ...(!IS_LONG && { HAPROXY_SLOWSTART: '1s' }),
    },
  })
}

async function freePair(): Promise<number> {
  for (;;) {
    const port = await freePort()
    const isNextFree = await fetch(`http://127.0.0.1:${port + 1}`).then(
      () => false,
      () => true,
    )
    if (isNextFree) return port
  }
}

async function run(script: 'rolling' | 'rollback', ...args: string[]) {
  const options = ['--home', folder, '--settings', at('settings'), '--state', haproxy.stateUrl]
  const child = spawn(join(DEPLOY, 'upgrade', script), [...options, ...args], {
    env: { PATH: `${manager.bin}:${process.env.PATH}` },
  })
  const [stdout, stderr] = [capture(child, 'stdout'), capture(child, 'stderr')]
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, printed: `${stdout()}${stderr()}` }
}

const TITLE = `two API processes and two workers behind HAProxy go to the next release and back under ${ORDERS_PER_S} orders/s: no call fails, every order exists once`
// On demand: the machine has to be able to sell at this rate by itself.
test.runIf(IS_LONG)(TITLE, { timeout: 15 * MINUTE_MS }, async ({ annotate }) => {
  const [pooled = '', byHand = ''] = await shop.sell(1, 1)
  await shop.stock(pooled, LINKS)
  const selling = await startSteadySales({
    buyers,
    item: (n) => (n % POOLED_SHARE === 0 ? pooled : byHand),
    perSecond: ORDERS_PER_S,
    ports: [haproxy.port],
    ca,
  })
  await sleep(WARM_UP_MS)
  const quietFromMs = performance.now()
  await sleep(QUIET_MS)
  const upgradingFromMs = performance.now()

  const upgraded = await run('rolling', at('releases/2'))
  expect(upgraded.code, `${upgraded.printed}\n${haproxy.log()}\n${manager.logs()}`).toBe(0)
  expect(upgraded.printed).toMatch(
    /sold_by\.sql: Who sold it\.[\s\S]*Way back +open[\s\S]*Go\.[\s\S]*replacing shopwire-api@/,
  )
  expect(await readlink(at('current'))).toBe(at('releases/2'))
  expect(await system.query(`select count(*) from schema_migrations where name like '%sold_by%'`)).toBe('2')
  await sleep(ALONE_MS)
  const rolledBack = await run('rollback')
  expect(rolledBack.code, `${rolledBack.printed}\n${haproxy.log()}\n${manager.logs()}`).toBe(0)
  expect(await readlink(at('current'))).toBe(at('releases/1'))
  await sleep(ALONE_MS)
  const perSecond = await selling.stop()

  const { sales } = selling
  const quiet = sales.filter(({ startedMs }) => startedMs >= quietFromMs && startedMs < upgradingFromMs)
  const rolling = sales.filter(({ startedMs }) => startedMs >= upgradingFromMs)
  await annotate(
    `${sales.length} orders at ${perSecond.toFixed(0)}/s; quiet ${describeSales(quiet)}; rolling ${describeSales(rolling)}`,
  )
  // Each of four processes was replaced twice, one after the other.
  expect(manager.asked.filter((words) => words.startsWith('stop'))).toHaveLength(8)
  expect(manager.crashed()).toEqual([])
  await untilDelivered(system, pooled, 2 * MINUTE_MS)
  await system.query('analyze')
  await shop.expectCleanBooks()
  // Last: a machine that is too slow has still proved the rest. Calls that fail in the quiet time already say that it is.
  const failed = (some: readonly Sale[]) =>
    some.filter(({ status, firstFailure }) => status !== 201 || firstFailure !== undefined)
  expect(failed(quiet)).toEqual([])
  expect(failed(rolling)).toEqual([])
  expect(waitOf(rolling, 0.99)).toBeLessThanOrEqual(SLOWER_MAX * waitOf(quiet, 0.99))
})

test('through HAProxy the dashboard has a host name of its own, and every other name is the API', async () => {
  const titleAt = async (host: string) => {
    const asked = get({
      host: '127.0.0.1',
      port: haproxy.port,
      path: '/',
      ca,
      servername: '',
      headers: { host },
    })
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return /<title>(.*)<\/title>/.exec(await text(answer))?.[1]
  }
  await expect.poll(() => titleAt(DASHBOARD)).toContain('Shopwire')
  expect(await titleAt(`${DASHBOARD}:443`)).toContain('Shopwire')
  expect(await titleAt('api.shop.test')).toBeUndefined()
})

const BACK_MS_MAX = 4 * MINUTE_MS
const usedApis = async () => (await haproxy.state()).match(/^api,api-\d,.*,UP,/gm)?.length

test('a release whose processes do not start: everything goes back, and the release before stays the one to roll back to', {
  timeout: BACK_MS_MAX,
}, async () => {
  await writeReleaseFolder(at('releases/0'))
  await symlink(at('releases/0'), at('former'))
  await writeReleaseFolder(at('releases/3'))
  const script = at('releases/3/usr/local/bin/shopwire')
  const text = await readFile(script, 'utf8')
  await writeFile(script, text.replace('role=$1\n', 'role=$1\n[ $role != api ] || exit 1\n'))
  const { code, printed } = await run('rolling', '--ready', '1', at('releases/3'))
  expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining('went back to') })
  expect(await readlink(at('current'))).toBe(at('releases/1'))
  expect(await readlink(at('former'))).toBe(at('releases/0'))
  expect(await usedApis()).toBe(2)
  expect(existsSync(at('executed'))).toBe(false)
})

test('a process that reports another version than its release after it was replaced: everything goes back, and the cause is named', {
  timeout: BACK_MS_MAX,
}, async () => {
  await writeReleaseFolder(at('releases/4'))
  await writeFile(at('releases/4/app/service/package.json'), '{\n  "version": "4.0.0"\n}\n')
  const { code, printed } = await run('rolling', at('releases/4'))
  expect({ code, printed }).toEqual({
    code: 1,
    printed: expect.stringMatching(
      /shopwire-api@\d+\.service runs version \S+ after it was replaced, and \S+ is 4\.0\.0\. \S*shopwire has to be a link to[\s\S]*went back to/,
    ),
  })
  expect(await readlink(at('current'))).toBe(at('releases/1'))
  expect(await usedApis()).toBe(2)
})

test('processes that do not run the release that "current" names: nothing is begun', async () => {
  await rm(at('current'))
  await symlink(at('releases/4'), at('current'))
  const { code, printed } = await run('rolling', at('releases/3'))
  expect({ code, printed }).toEqual({
    code: 1,
    printed: expect.stringMatching(
      /runs version \S+, and \S+\/current is 4\.0\.0\.[\s\S]*Nothing was changed\./,
    ),
  })
  expect(manager.asked.at(-1)).toMatch(/^list-units/)
})
