import { newOrder } from '@shopwire/test-kit/people/buyer'
import { type Pgbouncer, poolConnections } from '@shopwire/test-kit/proxies/pgbouncer'
import { connect } from '@shopwire/test-kit/requests/connection'
import { until } from '@shopwire/test-kit/servers'
import { openShop } from '@shopwire/test-kit/shops/shop'
import { limitless, runProgram, START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

const DELIVERED_MS_MAX = 20_000
/** `default_pool_size` of pgbouncer.ini. */
const POOL_SIZE = 8

let system: System
let pgbouncer: Pgbouncer
let direct: Pick<System, 'settings' | 'database'>
beforeAll(async () => {
  system = await startSystem({ admission: 'redis', apis: 0, settings: limitless })
  direct = { settings: system.settings, database: system.database }
  pgbouncer = await poolConnections(system)
}, START_MS_MAX)
afterAll(async () => {
  await pgbouncer?.stop()
  await system?.stop()
})

test('a process that is not told of the pooler ends at its start, and says which setting is missing', async () => {
  const { SHOPWIRE_DATABASE_NAMED_STATEMENTS: _, ...settings } = system.settingsOf('api')
  const { code, stdout, stderr } = await runProgram('api', [], settings, { msMax: 20_000 })
  expect(`${stdout}${stderr}`).toMatch(/proxy that pools transactions, such as PgBouncer/)
  expect(`${stdout}${stderr}`).toContain('SHOPWIRE_DATABASE_NAMED_STATEMENTS=false')
  expect(code).toBeGreaterThan(0)
})

test('a migration through it is refused, and changes nothing', async () => {
  const settings = {
    ...direct.settings,
    SHOPWIRE_DATABASE_OWNER_URL: pgbouncer.url(direct.database.ownerUrl),
  }
  const { code, stdout, stderr } = await runProgram('migrate', [], settings)
  expect(`${stdout}${stderr}`).toMatch(/pools connections, such as PgBouncer.*Nothing was changed/s)
  expect(code).toBeGreaterThan(0)
})

test.each(['api', 'worker', 'dashboard'] as const)(
  'the limits of the login of %s hold in a pooled session, and nothing is compiled',
  async (process) => {
    const client = new pg.Client({ connectionString: system.database.processUrls[process] })
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
