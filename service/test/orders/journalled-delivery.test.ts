import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getAccount } from '../../src/accounts/account.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { placeInBatches } from '../../src/orders/placing/order-batches.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import type { Journal, JournalEntry } from '../../src/supply/journal.ts'
import { setEndpoint } from '../../src/webhooks/endpoint.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { keeperOf, openTestJournal, type TestJournal } from '../../testing/journal.ts'
import { orderWith } from '../../testing/new-order.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const item = '10000000000000001'
const LINKS = 300
const ROUNDS = 20
let files: TestJournal
let shop: Shop
/** Between the shop and its files. */
let appending: (real: () => Promise<void>) => Promise<void>
beforeEach(async () => {
  files = await openTestJournal()
  appending = (real) => real()
  const journal: Journal = {
    ...files.journal,
    append: (links) => appending(() => files.journal.append(links)),
  }
  shop = await openShop({ journal })
  await putItems(shop.database.operator, [itemOf(item)])
  await shop.operator.loadPool(
    item,
    Array.from({ length: LINKS }, (_, n) => `https://gift.example/card-${n + 1}?code=secret-${n + 1}`),
  )
  await keeperOf(shop.database.worker, shop.vault, journal)()
})
afterEach(async () => {
  await shop.close()
  await files.remove()
})

async function buy(qty = 1): Promise<string> {
  const request = { items: [{ id: item, qty }], idempotency_key: `journal-${Math.random()}` }
  const placed = await shop.operator.placeOrder(shop.account.id, request)
  return placed.kind === 'bought' ? placed.order.id : placed.order_id
}

const statusOf = async (id: string) =>
  (await shop.database.owner.one<{ status: string }>(sql`select status from orders where id = ${id}`)).status

async function entries(): Promise<JournalEntry[]> {
  const all: JournalEntry[] = []
  for await (const some of files.journal.read(new Date(0), () => {})) all.push(...some)
  return all
}

test('a delivered order has all its links in the journal, by fingerprint, with account, item and unit', async () => {
  const order_id = await buy(2)
  const worker = startWorker(shop)
  await expect.poll(() => statusOf(order_id)).toBe('delivered')
  await worker.stop()
  const sold = (await entries()).filter((entry) => entry.kind === 'sold')
  expect(sold).toMatchObject([
    { account_id: shop.account.id, order_id, line: 1, unit: 1, item_id: item, source: 'pool' },
    { account_id: shop.account.id, order_id, line: 1, unit: 2, item_id: item, source: 'pool' },
  ])
  const hash = (n: number) => shop.vault.fingerprint(`https://gift.example/card-${n}?code=secret-${n}`)
  expect(sold.map((link) => link.hash)).toEqual([hash(1), hash(2)])
  await expect
    .poll(async () => (await entries()).filter(({ kind }) => kind === 'delivered'))
    .toMatchObject([{ order_id }])
  for (const name of await readdir(files.dir))
    expect(await readFile(join(files.dir, name), 'utf8')).not.toMatch(/gift\.example|secret/)
})

test('until its links are in the journal an order is not delivered, and nobody can read them', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  appending = async (real) => {
    begin()
    await released
    await real()
  }
  const order_id = await buy()
  const worker = startWorker(shop)
  await begun
  const shown = await shop.call('GET', `/v1/orders/${order_id}`)
  expect([shown.body.status, shown.body.links]).toEqual(['paid', []])
  release()
  await expect.poll(() => statusOf(order_id)).toBe('delivered')
  await worker.stop()
})

test('threat 77: while a delivery waits for the disk of the journal, six accounts, its own among them, buy as fast as before', async () => {
  const accounts = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async (name) => {
      const { id } = await shop.operator.createAccount(name)
      await shop.operator.fundAccount(id, { amount_cents: 100_000, reference: `opening ${id}` })
      return id
    }),
  )
  const { api } = shop.database
  const endpoint = { account_id: shop.account.id, url: 'https://93.184.216.34/hook', set_by: 'test' }
  await api.transaction((tx) => setEndpoint(tx, shop.keyring, endpoint, Date.now()))
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  appending = async (real) => {
    begin()
    await released
    await real()
  }
  const place = placeInBatches(api, { mode: 'always' })
  const { access_version } = await getAccount(shop.database.operator, shop.account.id)
  /** One order of each account at the same moment, several times; the median of what a round took. */
  async function buyTogether(when: string): Promise<number> {
    const tookMs: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const beganMs = performance.now()
      const placed = await Promise.all(
        [shop.account.id, ...accounts].map((account_id) => {
          const idempotency_key = `${when}-${round}`
          return place(
            orderWith({ account_id, access_version, idempotency_key, cart: [{ id: item, qty: 1 }] }),
          )
        }),
      )
      tookMs.push(performance.now() - beganMs)
      expect(placed.map(({ verdict }) => verdict)).toEqual(Array(6).fill('bought'))
    }
    return tookMs.sort((a, b) => a - b)[ROUNDS / 2] as number
  }
  const order_id = await buy()
  const quietMs = await buyTogether('quiet')
  // Everything was sent: the delivery of the order creates the endpoint's job anew, in the transaction that waits for the disk.
  await shop.database.asOwner(`delete from jobs where queue = 'deliver'`)
  const worker = startWorker(shop)
  await begun
  const stoppedMs = await buyTogether('stopped')
  // 1.2 times on a busy machine; it was 30 times when a batch waited with the delivery.
  expect(stoppedMs).toBeLessThan(3 * quietMs)
  expect(await statusOf(order_id)).toBe('paid')
  release()
  await expect.poll(() => statusOf(order_id)).toBe('delivered')
  await worker.stop()
})

test('a journal that cannot be written: the order waits, and is delivered when it can be again', async () => {
  let failures = 0
  appending = async (real) => {
    failures += 1
    if (failures < 3) throw new Unavailable('journal', new Error('no space left'))
    return real()
  }
  const order_id = await buy()
  const worker = startWorker(shop)
  await expect.poll(() => failures).toBeGreaterThan(0)
  expect(await statusOf(order_id)).toBe('paid')
  await expect.poll(() => statusOf(order_id), { timeout: 10_000 }).toBe('delivered')
  await worker.stop()
  expect((await shop.database.owner.one<{ n: number }>(sql`select count(*) as n from order_links`)).n).toBe(1)
})

test('a program without the journal delivers nothing in a store that keeps one, by a worker or by hand', async () => {
  const order_id = await buy()
  const lines: string[] = []
  const worker = startWorker({ ...shop, journal: undefined }, { write: (line) => void lines.push(line) })
  await expect.poll(() => lines.join('')).toContain('this program does not write it')
  await worker.stop()
  expect(await statusOf(order_id)).toBe('paid')

  const { database, keyring, admission } = shop
  const without = {
    db: database.operator,
    keyring,
    clock: systemClock,
    cell: 'c1',
    admission: async () => admission,
  }
  const path = join(files.dir, 'links.txt')
  await writeFile(path, 'https://gift.example/by-hand\n')
  const deliver = (journal?: Journal) =>
    runAdminOn(
      { ...shop, operator: createOperator({ ...without, journal }, 'test') },
      ...['orders', 'deliver', order_id, path],
    )
  expect(await deliver()).toMatchObject({
    code: 5,
    err: expect.stringContaining('SHOPWIRE_JOURNAL is not set'),
  })
  const other = await openTestJournal()
  await other.journal.begin({ journal_id: 'jrn_other', kept_since: new Date(), key_check: '00' })
  expect(await deliver(other.journal)).toMatchObject({ code: 2, err: expect.stringContaining('jrn_other') })
  await other.remove()
  expect(await deliver(files.another())).toMatchObject({ code: 0 })
  await expect.poll(entries).toMatchObject([
    { kind: 'sold', order_id, source: 'hand' },
    { kind: 'delivered', order_id },
  ])
})
