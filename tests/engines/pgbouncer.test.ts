import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeBlocks, ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { type Pgbouncer, startPgbouncer } from '@shopwire/test-kit/proxies/pgbouncer'
import { connect } from '@shopwire/test-kit/requests/connection'
import { changeUrls, until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { limitless, runProgram, START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

const DELIVERED_MS_MAX = 20_000
/** `default_pool_size` of pgbouncer.ini. */
const POOL_SIZE = 8

let system: System
let pgbouncer: Pgbouncer
beforeAll(async () => {
  system = await startSystem({ admission: 'redis', apis: 0, settings: limitless })
  pgbouncer = await startPgbouncer(system.postgres.superuserUrl)
  await giveLimits()
}, START_MS_MAX)
afterAll(async () => {
  await pgbouncer?.stop()
  await system?.stop()
})

/** The statements of the page, as written, in the database of this test. */
async function giveLimits(): Promise<void> {
  const path = join(ROOT, 'docs/self-hosting/high-availability.md')
  const blocks = codeBlocks({ path, text: await readFile(path, 'utf8') })
  await system.query(String(blocks.find(({ language }) => language === 'sql')?.code))
}

const pooled = () => changeUrls(system.database, pgbouncer.url)

test('a process that is not told of the pooler ends at its start, and says which setting is missing', async () => {
  const settings = { ...system.settingsOf('api'), SHOPWIRE_DATABASE_URL: pooled().processUrls.api }
  const { code, stdout, stderr } = await runProgram('api', [], settings, { msMax: 20_000 })
  expect(`${stdout}${stderr}`).toMatch(/proxy that pools transactions, such as PgBouncer/)
  expect(`${stdout}${stderr}`).toContain('SHOPWIRE_DATABASE_NAMED_STATEMENTS=false')
  expect(code).toBeGreaterThan(0)
})

test('a migration through it is refused, and changes nothing', async () => {
  const settings = { ...system.settings, SHOPWIRE_DATABASE_OWNER_URL: pooled().ownerUrl }
  const { code, stdout, stderr } = await runProgram('migrate', [], settings)
  expect(`${stdout}${stderr}`).toMatch(/pools connections, such as PgBouncer.*Nothing was changed/s)
  expect(code).toBeGreaterThan(0)
})

test.each(['api', 'worker', 'dashboard'] as const)(
  'the limits of the login of %s hold in a pooled session, and nothing is compiled',
  async (process) => {
    const client = new pg.Client({ connectionString: pooled().processUrls[process] })
    await client.connect()
    onTestFinished(() => client.end())
    const value = async (name: string) => (await client.query(`show ${name}`)).rows[0]?.[name]
    expect(await value('statement_timeout')).toBe('5s')
    expect(await value('lock_timeout')).toBe('2s')
    expect(await value('enable_seqscan')).toBe('off')
    expect(await value('jit')).toBe('off')
  },
)

test('with unnamed statements a store sells and delivers through it, while its server sessions are few', async () => {
  const direct = system.database
  system.database = { ...pooled(), ownerUrl: direct.ownerUrl }
  system.settings = { ...system.settings, SHOPWIRE_DATABASE_NAMED_STATEMENTS: 'false' }
  const api = await system.startApi()
  await system.startWorker()
  const shop = openShop(system)
  const [item = ''] = await shop.sell(100)
  await shop.stock(item, 20)
  const buyer = await shop.openBuyer(100_000)
  const via = await connect(api.port)
  onTestFinished(() => via.close())
  const placed = await Promise.all(Array.from({ length: 20 }, () => buyer.place(via, newOrder({ id: item }))))
  expect(placed.map(({ status }) => status)).toEqual(placed.map(() => 201))
  const delivered = () => system.query("select count(*) from orders where status = 'delivered'")
  await until(
    async () => Number(await delivered()) === 20,
    DELIVERED_MS_MAX,
    () => 'orders are not delivered',
  )
  const sessions = await system.query(
    "select max(n) from (select count(*) as n from pg_stat_activity where usename like 'shopwire_%' group by usename) s",
  )
  expect(Number(sessions)).toBeLessThanOrEqual(POOL_SIZE)
})
