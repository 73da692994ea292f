import { execFile } from 'node:child_process'
import { chown, mkdir, readdir, rename, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres } from '@shopwire/test-kit/servers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../../src/config/config.ts'
import { INVARIANTS } from '../../src/installation.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { JournalMismatch } from '../../src/orders/journal/keep-position.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { readDatabaseState, watchDatabaseIdentity } from '../../src/platform/database/database-identity.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { createRemovalLimit } from '../../src/platform/jobs/removal-limit.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { settingsSql } from '../../src/platform/schema/database-settings.ts'
import { keepJournal } from '../../src/programs/journal-wiring.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { keeperOf, openTestJournal, type TestJournal } from '../../testing/journal.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { asUser, IS_ROOT, NOBODY } from '../../testing/user.ts'
import { startWorker } from '../../testing/worker.ts'

const [item, other] = ['10000000000000001', '10000000000000002'] as const
const run = promisify(execFile)
const link = (n: number) => `https://gift.example/card-${n}`

let files: TestJournal
let shop: Shop
const restored: TestDatabase[] = []
beforeEach(async () => {
  files = await openTestJournal()
  shop = await openShop({ journal: files.journal })
  await putItems(shop.database.operator, [itemOf(item), itemOf(other)])
  await shop.operator.loadPool(item, [1, 2, 3, 4, 5].map(link))
  await keeperOf(shop.database.worker, shop.vault, files.journal)()
})
afterEach(async () => {
  for (const database of restored.splice(0)) await database.close()
  await shop.close()
  await files.remove()
})

async function buy(from: Shop, account_id = shop.account.id, id: string = item): Promise<string> {
  const request = { items: [{ id }], idempotency_key: `recovery-${Math.random()}` }
  const placed = await from.operator.placeOrder(account_id, request)
  return placed.kind === 'bought' ? placed.order.id : placed.order_id
}

const statusOf = async (db: Db, id: string) =>
  (await db.maybeOne<{ status: string }>(sql`select status from orders where id = ${id}`))?.status

const hashesOf = async (db: Db, order_id: string) =>
  (
    await db.many<{ h: string }>(
      sql`select encode(link_hash, 'hex') as h from order_links where order_id = ${order_id}`,
    )
  ).map(({ h }) => h)

const hashOf = (n: number) => shop.vault.fingerprint(link(n)).toString('hex')

/** Delivers all of these, and no others that wait. */
async function deliver(on: Shop, ...order_ids: string[]) {
  const worker = startWorker(on)
  for (const id of order_ids)
    await expect.poll(() => statusOf(on.database.owner, id), { timeout: 10_000 }).toBe('delivered')
  await worker.stop()
}

/** Until the store has come further than the present position. */
async function advance({ database: { worker }, vault, journal }: Shop) {
  const keep = keeperOf(worker, vault, journal)
  const { position } = await readDatabaseState(worker)
  await expect
    .poll(async () => {
      await keep()
      return (await readDatabaseState(worker)).position
    })
    .toBeGreaterThan(position)
}

const dumpOf = async ({ database }: Shop) =>
  (await run(join(findPostgres(), 'pg_dump'), [database.superuserUrl], { maxBuffer: 64 * 1024 * 1024 }))
    .stdout

/** A dump restored into another database of the same server: system identifier and timeline are the same. */
async function restore(dump: string): Promise<Shop> {
  const database = await openTestDatabase({ isEmpty: true })
  restored.push(database)
  const restoring = run(join(findPostgres(), 'psql'), ['-qXv', 'ON_ERROR_STOP=1', database.superuserUrl])
  restoring.child.stdin?.end(dump)
  await restoring
  // As migrating does: a dump does not bring the settings of its database along.
  await database.asOwner(settingsSql(new URL(database.superuserUrl).pathname.slice(1)))
  const { keyring, admission } = shop
  const journal = files.another()
  const vault = createLinkVault(database.worker, keyring)
  await vault.open()
  const deps = { keyring, clock: systemClock, cell: 'c1', admission: async () => admission, journal }
  const operator = createOperator({ db: database.operator, ...deps }, 'test')
  return { ...shop, database, vault, journal, operator }
}

const violated = async (db: Db) =>
  (await verifyData(db, await readRules(INVARIANTS), () => {})).filter(({ violations }) => violations > 0)

test('a dump restored into the same server is found behind; what was sold since is never sold again', async () => {
  const before = await buy(shop)
  await deliver(shop, before)
  const waiting = await buy(shop)
  const dump = await dumpOf(shop)
  await deliver(shop, waiting)
  const { id: lostAccount } = await shop.operator.createAccount('Lost')
  await shop.operator.fundAccount(lostAccount, { amount_cents: 500, reference: 'lost' })
  const lost = await buy(shop, lostAccount)
  await deliver(shop, lost)
  expect(await hashesOf(shop.database.owner, lost)).toEqual([hashOf(3)])
  await advance(shop)

  const copy = await restore(dump)
  const admin = (...args: string[]) => runAdminOn(copy, ...args)
  // Nobody has compared it yet, so it is closed before any worker looks at it.
  expect(await readDatabaseState(copy.database.owner)).toMatchObject({
    is_confirmed: false,
    is_compared: false,
  })
  const keep = keeperOf(copy.database.worker, copy.vault, copy.journal)
  await keep()
  expect((await readDatabaseState(copy.database.owner)).behind_why).toMatch(
    /position \d+ of generation 1 .* the journal at \d+ of 1/,
  )
  await expect(buy(copy)).rejects.toMatchObject({ type: 'store_closed' })
  const idle = startWorker(copy)
  const status = await admin('recover', 'status')
  expect(status.out).toContain('an earlier state of the store')
  expect(status.out).toMatch(/Missing: up to \d+ seconds/)
  const [, identity = ''] = /open --identity (\S+)/.exec(status.out) ?? []
  expect(await admin('recover', 'open', '--identity', identity)).toMatchObject({
    code: 2,
    err: expect.stringContaining('recover compare --apply'),
  })

  const look = await admin('recover', 'compare')
  expect(look.out).toContain('Nothing was changed')
  expect(look.out).toContain('the delivery of 2 is not in this database')
  expect(look.out).toMatch(new RegExp(`${lost} +${lostAccount} .* missing`))
  expect(look.out).toMatch(new RegExp(`${waiting} +${shop.account.id} .* paid`))
  expect(look.out).not.toContain('gift.example')
  const applied = (await admin('recover', 'compare', '--apply', '--json')).json()
  expect(applied.kept).toEqual({ recorded: 2, set_aside: 2, given_back: 1, taken_back: 0 })
  expect(applied.orders).toMatchObject([
    { order_id: waiting, status: 'paid', links: 1, items: [item] },
    { order_id: lost, account_id: lostAccount, status: null, links: 1, items: [item] },
  ])
  expect((await admin('recover', 'compare', '--apply', '--json')).json().kept.recorded).toBe(0)
  expect([await statusOf(copy.database.owner, waiting), await statusOf(copy.database.owner, lost)]).toEqual([
    'paid',
    undefined,
  ])
  await idle.stop()

  expect((await admin('recover', 'open', '--identity', identity)).code).toBe(0)
  await keep()
  await deliver(copy, waiting)
  // The same link as before: its caller has it already.
  expect(await hashesOf(copy.database.owner, waiting)).toEqual([hashOf(2)])
  const next = [await buy(copy), await buy(copy)]
  await deliver(copy, ...next)
  const sold = (await Promise.all(next.map((id) => hashesOf(copy.database.owner, id)))).flat()
  expect(sold.sort()).toEqual([hashOf(4), hashOf(5)].sort())

  expect((await admin('pool', 'restore', item)).out).toContain('1 stay set aside')
  expect((await admin('pool', 'set-aside')).out).toContain(`sold to ${lost}, then lost`)
  expect(await copy.operator.loadPool(other, [link(3)])).toMatchObject({ loaded: 0, known: [1] })
  expect(await violated(copy.database.operator)).toEqual([])
  const { actions } = (await admin('audit', '--target', 'database', '--json')).json()
  expect(actions.map(({ action }: { action: string }) => action)).toEqual([
    'recover.open',
    'recover.compare',
    'recover.compare',
  ])

  // Threat 10: the database that was replaced is of an earlier generation, however far it comes.
  await keeperOf(shop.database.worker, shop.vault, files.another())()
  await expect(buy(shop)).rejects.toMatchObject({ type: 'store_closed' })
}, 60_000)

test('the same position, but an order that was delivered after it is missing: found behind', async () => {
  const waiting = await buy(shop)
  const dump = await dumpOf(shop)
  await deliver(shop, waiting)
  const copy = await restore(dump)
  await keeperOf(copy.database.worker, copy.vault, copy.journal)()
  expect((await readDatabaseState(copy.database.owner)).behind_why).toContain('1 orders that were delivered')
})

test('a delivery that was rolled back after it was written to the journal does not close the store', async () => {
  const order_id = await buy(shop)
  await files.journal.append([
    {
      at: new Date(),
      account_id: shop.account.id,
      order_id,
      line: 1,
      unit: 1,
      item_id: item,
      source: 'pool',
      hash: Buffer.from(hashOf(1), 'hex'),
    },
  ])
  await shop.database.asOwner('update database_identity set compared_start = null')
  await expect(buy(shop)).rejects.toMatchObject({ type: 'store_closed' })
  await keeperOf(shop.database.worker, shop.vault, files.journal)()
  expect(await readDatabaseState(shop.database.owner)).toMatchObject({
    is_confirmed: true,
    behind_since: null,
  })
  await deliver(shop, order_id)
})

test('a link that was loaded and sold in the lost time cannot be loaded again, except for its own order', async () => {
  const [hand, another] = [await buy(shop, shop.account.id, other), await buy(shop, shop.account.id, other)]
  const dump = await dumpOf(shop)
  await shop.operator.deliverOrder(hand, [link(9)])
  await advance(shop)
  const copy = await restore(dump)
  await keeperOf(copy.database.worker, copy.vault, copy.journal)()
  await copy.operator.compareWithJournal(copy.journal, { from: undefined, apply: true })
  const { present } = await readDatabaseState(copy.database.owner)
  const identity = `${present.system_identifier}/${present.timeline}`
  await copy.operator.openStore(copy.journal, { identity, withoutJournal: false })
  expect(await copy.operator.loadPool(item, [link(9)])).toMatchObject({ loaded: 0, known: [1] })
  await expect(copy.operator.deliverOrder(another, [link(9)])).rejects.toThrow('was in this store before')
  await copy.operator.deliverOrder(hand, [link(9)])
  expect(await hashesOf(copy.database.owner, hand)).toEqual([hashOf(9)])
  expect(await violated(copy.database.operator)).toEqual([])
})

test('an order that gets its link back and is cancelled leaves it set aside', async () => {
  const waiting = await buy(shop)
  const dump = await dumpOf(shop)
  await deliver(shop, waiting)
  await advance(shop)
  const copy = await restore(dump)
  await keeperOf(copy.database.worker, copy.vault, copy.journal)()
  await copy.operator.compareWithJournal(copy.journal, { from: undefined, apply: true })
  const { present } = await readDatabaseState(copy.database.owner)
  const identity = `${present.system_identifier}/${present.timeline}`
  await copy.database.asOwner(
    `insert into payment_reconciliations (provider, compared_until, due_at) values ('stripe', now(), now() + interval '1 day')`,
  )
  await copy.operator.openStore(copy.journal, { identity, withoutJournal: false })
  // The server is started again while the settled orders are still within the time that a comparison reads.
  await copy.database.asOwner('update database_identity set compared_start = null')
  await keeperOf(copy.database.worker, copy.vault, copy.journal)()
  expect((await readDatabaseState(copy.database.owner)).behind_since).toBeNull()
  // What the payment provider reported in the lost time is gone too.
  expect((await copy.operator.readReconciliation())?.due_at.getTime()).toBeLessThanOrEqual(Date.now())
  await expect(copy.operator.cancelOrder(waiting, 'test')).rejects.toThrow('its customer has the links')
  await copy.operator.cancelOrder(waiting, 'test', { althoughDelivered: true })
  expect(
    await copy.database.owner.many(
      sql`select set_aside_at is not null as aside from pool_links where link_hash = ${Buffer.from(hashOf(1), 'hex')}`,
    ),
  ).toEqual([{ aside: true }])
  expect(await violated(copy.database.operator)).toEqual([])
})

test('is not opened while another database of the store still sells or advances', async () => {
  const dump = await dumpOf(shop)
  await advance(shop)
  const copy = await restore(dump)
  await keeperOf(copy.database.worker, copy.vault, copy.journal)()
  await copy.operator.compareWithJournal(copy.journal, { from: undefined, apply: true })
  const { present } = await readDatabaseState(copy.database.owner)
  const open = () =>
    copy.operator.openStore(copy.journal, {
      identity: `${present.system_identifier}/${present.timeline}`,
      withoutJournal: false,
    })
  const sold = await buy(shop)
  await deliver(shop, sold)
  await expect(open()).rejects.toThrow(/1 links were sold.*still in use/)
  await copy.operator.compareWithJournal(copy.journal, { from: undefined, apply: true })
  await advance(shop)
  await expect(open()).rejects.toThrow('still in use')
  await copy.operator.compareWithJournal(copy.journal, { from: undefined, apply: true })
  expect(await open()).toMatchObject({ generation: 2 })
})

test('a journal that was begun after the backup does not cover what is missing, and the store is not opened with it', async () => {
  const bare = await openTestJournal()
  try {
    await shop.database.asOwner(`update store_position set at = at - interval '1 day'`)
    await shop.database.asOwner(`update database_identity set behind_since = now(), behind_why = 'test'`)
    const young = bare.journal
    const mark = await files.journal.readMark()
    await young.begin({ journal_id: 'jrn_young', kept_since: new Date(), key_check: mark?.key_check ?? '' })
    const compared = await shop.operator.compareWithJournal(young, { from: undefined, apply: true })
    expect(compared.is_complete).toBe(false)
    const { present } = await readDatabaseState(shop.database.owner)
    const identity = `${present.system_identifier}/${present.timeline}`
    await expect(shop.operator.openStore(young, { identity, withoutJournal: false })).rejects.toThrow(
      'begins later',
    )
    await shop.operator.openStore(young, { identity, withoutJournal: true })
    expect(await readDatabaseState(shop.database.owner)).toMatchObject({
      is_confirmed: true,
      journal_id: null,
      generation: 2,
    })
  } finally {
    await bare.remove()
  }
})

test('a worker does not start with an empty folder, the journal of another store or none when the store keeps one', async () => {
  const empty = await openTestJournal()
  const start = (journal: TestJournal['journal'] | undefined) =>
    keeperOf(shop.database.worker, shop.vault, journal)()
  await expect(start(empty.journal)).rejects.toThrow(JournalMismatch)
  await expect(start(undefined)).rejects.toThrow(/keeps a journal.*SHOPWIRE_JOURNAL is not set/)
  await empty.journal.begin({ journal_id: 'jrn_other', kept_since: new Date(), key_check: '00' })
  await expect(start(empty.journal)).rejects.toThrow('jrn_other')
  await shop.database.asOwner('update database_identity set journal_id = null')
  await expect(start(empty.journal)).rejects.toThrow('another key')
  await empty.remove()
})

test('a journal that cannot be read is a problem of the worker and a metric until it can, from the start and later', async () => {
  const kept = await openTestJournal()
  const config = loadConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
    SHOPWIRE_DATABASE_URL: shop.database.processUrls.worker,
    SHOPWIRE_JOURNAL: kept.dir,
  })
  const plain = await openShop()
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const keeping = keepJournal(config, {
    db: plain.database.worker,
    vault: plain.vault,
    log,
    metrics,
    clock: { ...systemClock, measure: async () => {}, problem: () => undefined },
    removals: createRemovalLimit(plain.database.worker, { log, metrics }),
  })
  const failing = async () => /^shopwire_journal_failing (\d)$/m.exec(await metrics.registry.metrics())?.[1]
  // Not a file: root, which the tests may be, reads whatever file there is.
  const mark = join(kept.dir, 'journal.json')
  await mkdir(mark)
  const opened = keeping.open(async (_part, work) => {
    await expect(work()).rejects.toThrow()
    expect([await failing(), keeping.problem()]).toEqual(['1', expect.stringContaining('cannot be read')])
    await rmdir(mark)
    await work()
  })
  await opened
  expect([await failing(), keeping.problem()]).toEqual(['0', undefined])
  await rename(mark, `${mark}.kept`)
  await mkdir(mark)
  await expect.poll(failing).toBe('1')
  await rmdir(mark)
  await rename(`${mark}.kept`, mark)
  await expect.poll(failing).toBe('0')
  await keeping.stop()
  await kept.remove()
  await plain.close()
})

test('production without a journal: the worker warns when it starts, and works', async () => {
  const plain = await openShop()
  const lines: string[] = []
  const config = {
    ...loadConfig({
      SHOPWIRE_ENV: 'development',
      SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
      SHOPWIRE_DATABASE_URL: plain.database.processUrls.worker,
    }),
    SHOPWIRE_ENV: 'production' as const,
  }
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const { database, vault } = plain
  const clock = { ...systemClock, measure: async () => {}, problem: () => undefined }
  const metrics = createMetrics('test')
  const keeping = keepJournal(config, {
    db: database.worker,
    vault,
    log,
    metrics,
    clock,
    removals: createRemovalLimit(database.worker, { log, metrics }),
  })
  await keeping.open((_part, work) => work())
  await keeping.stop()
  expect(lines.join('')).toContain('this store keeps no journal of sold links')
  expect(keeping.problem()).toBeUndefined()
  await plain.close()
})

test.runIf(IS_ROOT)(
  'a file of root in the journal and a restart: the store says which file, whose it is and what to do, and opens when that is done',
  async () => {
    const { owner, worker } = shop.database
    const giveAway = async () => {
      for (const name of ['.', ...(await readdir(files.dir))])
        await chown(join(files.dir, name), NOBODY, NOBODY)
    }
    await giveAway()
    const keep = keeperOf(worker, shop.vault, files.another())
    const restart = () => owner.run(sql`update database_identity set compared_start = null`)
    const file = join(files.dir, `sold.${new Date().toISOString().slice(0, 10)}.root-1-00000000.log`)
    await writeFile(file, '', { mode: 0o640 })
    await restart()
    await asUser(NOBODY, () => expect(keep()).rejects.toMatchObject({ part: 'journal' }))

    const cause = `${file} belongs to user 0 and group 0, and this process runs as user ${NOBODY}. As root: chown -R`
    const api = watchDatabaseIdentity(shop.database.api, createLog('silent'), createMetrics('api'))
    await api.start()
    expect(api.problem()).toContain(cause)
    expect((await runAdminOn(shop, 'recover', 'status', '--journal', files.dir)).out).toContain(cause)

    await giveAway()
    await asUser(NOBODY, keep)
    await expect.poll(api.problem).toBeUndefined()
    await api.stop()
    expect(await readDatabaseState(owner)).toMatchObject({ is_confirmed: true, journal_problem: null })
  },
)
