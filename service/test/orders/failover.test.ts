import {
  changeUrls,
  describeInstallation,
  type Postgres,
  provisionDatabase,
  startPostgres,
  until,
} from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { INVARIANTS, SCHEMA } from '../../src/installation.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { rememberAcknowledged } from '../../src/orders/journal/acknowledged-orders.ts'
import { createPositionKeeper } from '../../src/orders/journal/keep-position.ts'
import type { Placed } from '../../src/orders/queries.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { readDatabaseState } from '../../src/platform/database/database-identity.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openAfterFailover, type StorePosition } from '../../src/platform/database/store-position.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { asSuperuser, openTestPool } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openTestJournal, type TestJournal } from '../../testing/journal.ts'
import { testKeyring } from '../../testing/shop.ts'

const ITEM = '10000000000000001'
const SOON = { timeout: 20_000, interval: 100 }
const keyring = testKeyring()
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

let files: TestJournal
let primary: Postgres
let standby: Postgres
/** Of a standby that had been running for a second when it was promoted, as a backup that was restored has. */
let fresh: Postgres
let atPrimary: Awaited<ReturnType<typeof openStoreAt>>
let bought: string

beforeAll(async () => {
  files = await openTestJournal()
  stops.push(() => files.remove())
  primary = await startPostgres()
  stops.push(() => primary.stop())
  const database = await provisionDatabase(primary, 'shopwire')
  await migrate(database.ownerUrl, SCHEMA)
  standby = await startPostgres({ standbyOf: primary.superuserUrl })
  stops.push(() => standby.stop())
  await atServer(primary, "alter system set synchronous_standby_names = '*'")
  await atServer(primary, 'select pg_reload_conf()')
  atPrimary = await openStoreAt(primary)
  await putItems(atPrimary.db.operator, [itemOf(ITEM)])
  await atPrimary.operator.loadPool(ITEM, ['https://gift.example/1', 'https://gift.example/2'])
  // What the rule asks for: a position that was written while commits waited for a standby that had been running for a while.
  const started = await startOf(standby)
  const isWritten = async () => {
    await atPrimary.keep()
    const outside = await files.journal.readPosition()
    return outside?.is_synchronous === true && outside.at.getTime() - started.getTime() > 5_500
  }
  await until(isWritten, SOON.timeout, () => 'no position was written while commits waited for the standby')
  bought = await atPrimary.buy()
  fresh = await startPostgres({ standbyOf: primary.superuserUrl })
  stops.push(() => fresh.stop())
  await primary.kill9()
  for (const server of [standby, fresh]) {
    await atServer(server, 'select pg_promote()')
    await leaveAlone(server)
  }
}, 120_000)

async function atServer<Row>(server: Postgres, text: string, database = 'postgres'): Promise<Row[]> {
  const url = server.superuserUrl.replace(/[^/]*$/, database)
  return (await asSuperuser((client) => client.query(text), url)).rows as Row[]
}

const startOf = async (server: Postgres) =>
  (await atServer<{ at: Date }>(server, 'select pg_postmaster_start_time() as at'))[0]?.at as Date

const setPolicy = (server: Postgres, failover: string) =>
  atServer(server, `update shopwire.database_identity set failover = '${failover}'`, 'shopwire')

/** The store on this server, with what a worker does once a second. */
async function openStoreAt(server: Postgres) {
  const { processUrls } = loginsAt(server)
  const db = {
    worker: openTestPool(processUrls.worker),
    api: openTestPool(processUrls.api),
    operator: openTestPool(processUrls.operator),
  }
  stops.push(async () => {
    for (const one of Object.values(db)) await one.close()
  })
  const journal = files.another()
  const vault = createLinkVault(db.worker, keyring)
  await vault.open()
  const metrics = createMetrics('test')
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const keep = createPositionKeeper({ db: db.worker, vault, journal, log, metrics, nowMs: systemClock.nowMs })
  const admission = async () => ({ announce: async () => {} }) as never
  const operator = createOperator(
    { db: db.operator, keyring, clock: systemClock, cell: 'c1', admission, journal },
    'test',
  )
  const shop = { operator, journal, database: { operator: db.operator } as never }
  return {
    db,
    log,
    keep,
    operator,
    metrics,
    logged: () => lines.join(''),
    admin: (...args: string[]) => runAdminOn(shop, ...args),
    state: () => readDatabaseState(db.worker),
    async buy() {
      const { id } = await operator.createAccount('Buyer')
      await operator.fundAccount(id, { amount_cents: 25_000, reference: `opening of ${id}` })
      const placed = await operator.placeOrder(id, { items: [{ id: ITEM }], idempotency_key: 'failover' })
      return placed.kind === 'bought' ? placed.order.id : placed.order_id
    },
  }
}

/** Its commits wait for nobody any more. */
async function leaveAlone(server: Postgres) {
  await atServer(server, "alter system set synchronous_standby_names = ''")
  await atServer(server, 'select pg_reload_conf()')
}

/** A standby has the logins and passwords of its primary. */
const loginsAt = (server: Postgres) =>
  changeUrls(
    describeInstallation(primary, 'shopwire'),
    (url) => Object.assign(new URL(url), { port: String(server.port) }).href,
  )

test('the rule: each condition alone keeps a promoted standby closed, and says why', async () => {
  const { db, state } = await openStoreAt(standby)
  const outside = (await files.journal.readPosition()) as StorePosition
  const obstacle = async (changed: Partial<StorePosition> = {}) =>
    (await openAfterFailover(db.worker, { ...outside, ...changed })).obstacle
  expect(await obstacle()).toMatch(/no operator has allowed it/)
  await setPolicy(standby, 'synchronous')
  expect((await openAfterFailover(db.worker, undefined)).obstacle).toMatch(/no position/)
  expect(await obstacle({ generation: outside.generation + 1 })).toMatch(/behind the journal/)
  expect(await obstacle({ position: outside.position + 1_000 })).toMatch(/behind the journal/)
  expect(await obstacle({ is_synchronous: false })).toMatch(/did not wait for a standby/)
  expect(await obstacle({ at: new Date(outside.at.getTime() - 60_000) })).toMatch(
    /more than 10 seconds after/,
  )
  const started = await startOf(standby)
  expect(await obstacle({ at: new Date(started.getTime() + 4_000) })).toMatch(/was started/)
  await atServer(standby, 'update shopwire.database_identity set timeline = timeline + 5', 'shopwire')
  expect(await obstacle()).toMatch(/does not follow the last one/)
  await atServer(standby, 'update shopwire.database_identity set timeline = timeline - 5', 'shopwire')
  await atServer(standby, "update shopwire.database_identity set system_identifier = '1'", 'shopwire')
  expect(await obstacle()).toMatch(/another server/)
  await atServer(
    standby,
    'update shopwire.database_identity set system_identifier = (select system_identifier::text from pg_control_system())',
    'shopwire',
  )
  expect((await state()).is_confirmed).toBe(false)
  await setPolicy(standby, 'ask')
})

const failovers = async ({ metrics }: Awaited<ReturnType<typeof openStoreAt>>, outcome: string) =>
  Number(
    (await metrics.registry.metrics()).match(
      new RegExp(`^shopwire_database_failovers_total\\{outcome="${outcome}"\\} (\\d+)`, 'm'),
    )?.[1],
  )

test('a standby that started after the position was written stays closed, as a restored backup does; said and counted once', async () => {
  const store = await openStoreAt(fresh)
  await setPolicy(fresh, 'synchronous')
  await store.keep()
  await store.keep()
  expect((await store.state()).is_confirmed).toBe(false)
  expect(store.logged().match(/does not open by itself/g)).toHaveLength(1)
  expect(store.logged()).toMatch(/this server was started .* as a restored backup would be/)
  expect([await failovers(store, 'refused'), await failovers(store, 'opened')]).toEqual([1, 0])
})

test('an operator is asked unless the policy says otherwise; then a worker opens the store, audited, and it sells', async () => {
  const store = await openStoreAt(standby)
  await store.keep()
  expect((await store.state()).is_confirmed).toBe(false)
  expect([await failovers(store, 'refused'), await failovers(store, 'opened')]).toEqual([0, 0])
  expect((await store.admin('recover', 'status')).out).toMatch(/^Failover {3}ask:/m)

  const set = await store.admin('recover', 'policy', '--failover', 'synchronous')
  expect(set).toMatchObject({ code: 0, out: expect.stringMatching(/^Failover: synchronous/) })
  const { generation } = await store.state()
  await store.keep()
  expect(await store.state()).toMatchObject({
    is_confirmed: true,
    generation: generation + 1,
    confirmed_by: 'failover',
  })
  expect(await failovers(store, 'opened')).toBe(1)
  const audited = await store.db.operator.many<{ action: string; actor: string }>(
    sql`select action, actor from audit_log where action like 'recover.%' order by id`,
  )
  expect(audited).toEqual([
    { action: 'recover.policy', actor: 'test' },
    { action: 'recover.failover', actor: 'worker:failover' },
  ])
  expect(await store.db.operator.maybeOne(sql`select id from orders where id = ${bought}`)).toBeDefined()
  await store.buy()
  // The next position belongs to the new generation.
  await expect
    .poll(async () => {
      await store.keep()
      return (await files.journal.readPosition())?.generation
    }, SOON)
    .toBe(generation + 1)
})

test('the old primary that comes back is behind, and closed', async () => {
  await primary.start()
  await leaveAlone(primary)
  const store = await openStoreAt(primary)
  await setPolicy(primary, 'synchronous')
  await store.keep()
  expect(await store.state()).toMatchObject({
    is_confirmed: false,
    behind_why: expect.stringMatching(/position \d+ of generation 1 .*, the journal at \d+ of 2/),
  })
})

test('an API process that answered 201 for an order that is missing closes the store, and the comparison names it', async () => {
  const store = await openStoreAt(standby)
  const [order_id, account_id] = ['ord_zzz0000000000000000000lost', 'acc_00000000000000000000000000']
  const acknowledged = rememberAcknowledged(store.db.api, store.log)
  const before = await store.state()
  await acknowledged.follow({ ...before, start: 'the server before' })
  const place = acknowledged.remembering(async () => ({ verdict: 'bought', order_id }) as Placed)
  await place({ account_id } as Parameters<typeof place>[0])
  await acknowledged.follow({ ...before, present: { ...before.present, timeline: null } })
  expect((await store.state()).behind_since).toBeNull()

  await acknowledged.follow(before)
  expect(await store.state()).toMatchObject({
    is_confirmed: false,
    behind_why: '1 orders that an API process had answered with 201 are missing in it',
  })
  expect(store.logged()).toContain('are missing in this database')
  // As the API process records it, after the answer.
  await store.db.api.run(
    sql`insert into order_answers (order_id, account_id, is_sent) values (${order_id}, ${account_id}, true)`,
  )

  const compared = await store.admin('recover', 'compare', '--apply')
  expect(compared.out).toMatch(
    /answered with 201, not delivered, and are not in this database: 1\n.*\nord_zzz0/,
  )
  const { present } = before
  const opened = await store.admin(
    'recover',
    'open',
    '--identity',
    `${present.system_identifier}/${present.timeline}`,
  )
  expect(opened).toMatchObject({ code: 0 })
  // Neither the process nor the rules find it again.
  const again = rememberAcknowledged(store.db.api, store.log)
  await again.follow({ ...before, start: 'the server before' })
  await again.remembering(place)({ account_id } as Parameters<typeof place>[0])
  await again.follow(await store.state())
  expect(await store.state()).toMatchObject({ is_confirmed: true, behind_since: null })
  const results = await verifyData(store.db.operator, await readRules(INVARIANTS), () => {})
  expect(results.filter(({ violations }) => violations > 0)).toEqual([])
})
