import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { RETRY_AFTER_STORE_CLOSED_S } from '@shopwire/contract'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import {
  findPostgres,
  type ProvisionedDatabase,
  provisionDatabase,
  startPostgres,
} from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../../src/config/config.ts'
import { SCHEMA } from '../../src/installation.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { readWholeOrder } from '../../src/orders/reading/find-order.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import type { OpenGuardedClient } from '../../src/platform/outbound/guarded-client.ts'
import { settingsSql } from '../../src/platform/schema/database-settings.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { createApi } from '../../src/programs/api-program.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { openDatabaseFrom, openKeyringFrom } from '../../src/programs/wiring.ts'
import { createWorker } from '../../src/programs/worker-program.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { openTestDatabase } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { call, openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [pooled, supplied] = ['10000000000000001', '10000000000000002'] as const
/** A worker claims jobs ten times a second: it would have started one by now. */
const QUIET_MS = 1_500
/** Below the caller's rate limit. */
const CALMLY = { interval: 300 }
const run = promisify(execFile)

const settings = { SHOPWIRE_ENV: 'development', SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY }
let shop: Shop
beforeAll(async () => {
  const config = loadConfig({ ...settings, SHOPWIRE_DATABASE_URL: 'postgres://nobody@127.0.0.1/none' })
  shop = await openShop({ keyring: openKeyringFrom(config) })
  await putItems(shop.database.operator, [itemOf(pooled), itemOf(supplied)])
  await shop.operator.loadPool(pooled, ['https://gift.example/1', 'https://gift.example/2'])
})
afterAll(() => shop.close())

const cart = (id: string, idempotency_key: string) => JSON.stringify({ items: [{ id }], idempotency_key })

/** The whole store on another database, in this process; what it sends to callers is recorded. */
async function openStoreOn({ processUrls }: ProvisionedDatabase) {
  const config = loadConfig({
    ...settings,
    SHOPWIRE_DATABASE_URL: processUrls.api,
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: '0',
  })
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const open = (SHOPWIRE_DATABASE_URL: string) =>
    openDatabaseFrom({ ...config, SHOPWIRE_DATABASE_URL }, 'test', log)
  const database = {
    api: open(processUrls.api),
    worker: open(processUrls.worker),
    operator: open(processUrls.operator),
  }
  const metrics = createMetrics('test')
  const received: string[] = []
  const openClient: OpenGuardedClient = () => ({
    async post(_headers, body) {
      received.push(JSON.parse(Buffer.from(body).toString()).event)
      return { error: null, status: 200, remote_address: null }
    },
    close: async () => {},
  })
  const api = await createApi(config, { log, metrics, db: database.api })
  const worker = createWorker(config, { log, metrics, db: database.worker }, { openClient })
  const port = await api.listen()
  await api.open((_part, work) => work())
  await worker.open((_part, work) => work())
  const keyring = openKeyringFrom(config)
  const operator = createOperator(
    { db: database.operator, keyring, clock: systemClock, cell: 'c1', admission: async () => api.admission },
    'test',
  )
  return {
    database,
    port,
    metrics,
    worker,
    received,
    logged: () => lines.join(''),
    admin: (...args: string[]) => runAdminOn({ database, operator, journal: undefined }, ...args),
    async stop() {
      for (const step of [...api.stops, ...worker.stops]) await step.run()
      await Promise.all(Object.values(database).map((db) => db.close()))
    },
  }
}

test('a dump restored into another server delivers, sends and sells nothing until an operator confirms it', async () => {
  await shop.call('POST', '/v1/webhook', { body: JSON.stringify({ url: 'https://93.184.216.34/hook' }) })
  const bought = await shop.call('POST', '/v1/orders', { body: cart(pooled, 'before-the-restore') })
  expect(bought.status).toBe(201)
  const other = await startPostgres()
  const database = await provisionDatabase(other, 'shopwire')
  const target = other.superuserUrl.replace(/[^/]*$/, 'shopwire')
  const programs = findPostgres()
  const { stdout: dump } = await run(join(programs, 'pg_dump'), [shop.database.superuserUrl], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const restoring = run(join(programs, 'psql'), ['-qXv', 'ON_ERROR_STOP=1', target])
  restoring.child.stdin?.end(dump)
  await restoring
  // It finds everything done, and gives the database its settings, which a dump does not bring along.
  expect((await migrate(database.ownerUrl, SCHEMA)).applied).toEqual([])

  const restored = await openStoreOn(database)
  try {
    const ask = (method: string, path: string, body?: string) =>
      call(restored.port, shop.key, method, path, body === undefined ? {} : { body })
    const orderStatus = async () => (await ask('GET', `/v1/orders/${bought.body.id}`)).body.status
    // The admission store starts a new epoch with the copy and admits nobody for a second or two.
    await expect.poll(orderStatus, CALMLY).toBe('paid')
    await sleep(QUIET_MS)
    expect(restored.received).toEqual([])
    expect(await orderStatus()).toBe('paid')
    const refused = await ask('POST', '/v1/orders', cart(pooled, 'after-the-restore'))
    expect([refused.status, refused.body.error.type, refused.headers.get('retry-after')]).toEqual([
      503,
      'store_closed',
      String(RETRY_AFTER_STORE_CLOSED_S),
    ])
    expect((await ask('POST', '/v1/orders', cart(pooled, 'before-the-restore'))).status).toBe(200)
    expect((await ask('GET', '/v1/status')).body).toMatchObject({
      status: 'degraded',
      api: 'up',
      store: 'closed',
    })
    expect(restored.worker.notReady()).toMatch(/is not the one the store last ran on .* recover status/s)
    expect(restored.logged()).toContain('Nothing is delivered, sent, refunded or bought')
    expect(await restored.metrics.registry.metrics()).toContain('shopwire_database_unconfirmed 1')
    const byHand = await restored.admin('orders', 'cancel', bought.body.id, '--reason', 'too early')
    expect(byHand).toMatchObject({ code: 5, err: expect.stringContaining('recover status') })
    expect((await restored.admin('store', 'show')).out).toContain('the database was restored or failed over')

    const status = await restored.admin('recover', 'status')
    expect(status.out).toContain('The system identifier differs')
    const [, identity = ''] = /open --identity (\S+) --without-journal/.exec(status.out) ?? []
    const { recorded } = (await restored.admin('recover', 'status', '--json')).json().database
    const old = `${recorded.system_identifier}/${recorded.timeline}`
    const open = (...args: string[]) => restored.admin('recover', 'open', ...args)
    expect((await open()).code).toBe(2)
    expect((await open('--identity', old, '--without-journal')).code).toBe(2)
    expect(await open('--identity', identity)).toMatchObject({
      code: 2,
      err: expect.stringContaining('was not compared with the journal'),
    })
    expect((await open('--identity', identity, '--without-journal')).code).toBe(0)
    await expect.poll(orderStatus, CALMLY).toBe('delivered')
    await expect
      .poll(() => restored.received)
      .toEqual(expect.arrayContaining(['order.accepted', 'order.delivered']))
    await expect.poll(() => restored.worker.notReady()).toBeUndefined()
    expect((await ask('POST', '/v1/orders', cart(pooled, 'after-the-restore'))).status).toBe(201)
    const { json } = await restored.admin('audit', '--target', 'database', '--json')
    expect(json().actions).toMatchObject([
      {
        action: 'recover.open',
        details: { before: old, after: identity, generation: 2, without_journal: true },
      },
    ])
    expect(await open('--identity', identity)).toMatchObject({
      code: 5,
      err: expect.stringContaining('already'),
    })
  } finally {
    await restored.stop()
    await other.stop()
  }
}, 60_000)

test('threat 76: a dump restored into the same server, of a store without a journal, sells nothing until an operator opens it', async () => {
  const copy = await openTestDatabase({ isEmpty: true })
  /** Into the empty database, and then over its own tables. */
  async function restore() {
    const options = { maxBuffer: 64 * 1024 * 1024 }
    const from = ['--clean', '--if-exists', shop.database.superuserUrl]
    const { stdout: dump } = await run(join(findPostgres(), 'pg_dump'), from, options)
    const restoring = run(join(findPostgres(), 'psql'), ['-qXv', 'ON_ERROR_STOP=1', copy.superuserUrl])
    restoring.child.stdin?.end(dump)
    await restoring
    await copy.asOwner(settingsSql(new URL(copy.superuserUrl).pathname.slice(1)))
  }
  const { keyring, admission, account } = shop
  const deps = { keyring, clock: systemClock, cell: 'c1', admission: async () => admission }
  const operator = createOperator({ db: copy.operator, ...deps }, 'test')
  const admin = (...args: string[]) => runAdminOn({ database: copy, operator, journal: undefined }, ...args)
  const buy = (idempotency_key: string) =>
    operator.placeOrder(account.id, { items: [{ id: supplied }], idempotency_key })
  try {
    for (const place of ['another database', 'the same tables']) {
      await restore()
      await expect(buy('in-a-copy'), place).rejects.toMatchObject({ type: 'store_closed' })
      const status = await admin('recover', 'status')
      expect(status.out).toContain('another copy of the data')
      const [, identity = ''] = /open --identity (\S+) --without-journal/.exec(status.out) ?? []
      expect(await admin('recover', 'open', '--identity', identity, '--without-journal')).toMatchObject({
        code: 0,
      })
      expect(await buy('in-a-copy')).toMatchObject({ kind: 'bought' })
    }
  } finally {
    await copy.close()
  }
})

test('on the server where the database was created, the store works without a confirmation', async () => {
  const { out, code } = await runAdminOn(shop, 'recover', 'status')
  expect([code, out.includes('there is nothing to recover')]).toEqual([0, true])
  expect(out).toContain('none: after a restore it is unknown which links were sold')
  expect((await runAdminOn(shop, 'store', 'show')).out).toContain(
    'Warning: it keeps no journal of sold links',
  )
})

test('links of a supplier that answers after the database identity changed are not delivered until it is confirmed', async () => {
  const supplier = await startSupplier('slow')
  const { secret } = await shop.operator.createSupplier({
    name: 'slow',
    url: supplier.url,
    timeout_ms: 30_000,
    allowHttp: true,
  })
  supplier.setSecret(secret)
  await shop.operator.chooseSource(supplied, { supplier: 'slow' })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  supplier.answers(async (ask) => {
    await released
    return supplier.give(ask)
  })
  const { body: order } = await shop.call('POST', '/v1/orders', { body: cart(supplied, 'under-way-1') })
  const { body: waiting } = await shop.call('POST', '/v1/orders', { body: cart(supplied, 'under-way-2') })
  const statuses = () =>
    Promise.all(
      [order, waiting].map(
        async ({ id }) =>
          (await readWholeOrder(shop.database.api, { account_id: shop.account.id, order_id: id })).status,
      ),
    )
  const worker = startWorker(shop)
  try {
    await expect.poll(() => supplier.asked.length).toBe(2)
    const asked = supplier.asked.length
    // What a failover to another timeline looks like to connected clients.
    await shop.database.asOwner('update database_identity set timeline = timeline + 1')
    release()
    await expect
      .poll(async () => (await selectNotes()).every((note) => note.includes('interrupted')))
      .toBe(true)
    await sleep(QUIET_MS)
    expect(await statuses()).toEqual(['paid', 'paid'])
    expect(supplier.asked.length).toBe(asked)
    await shop.database.asOwner('update database_identity set timeline = timeline - 1')
    await expect.poll(statuses).toEqual(['delivered', 'delivered'])
    expect(new Set(supplier.asked.map(({ id }) => id)).size).toBe(2)
  } finally {
    await worker.stop()
    await supplier.close()
  }

  async function selectNotes() {
    const rows = await shop.database.owner.many<{ note: string | null }>(sql`
      select note
        from jobs
       where subject in (${order.id}, ${waiting.id})`)
    return rows.map(({ note }) => note ?? '')
  }
})
