import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { sql } from '../../src/platform/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const ITEM = '50000000000000008'
const LINKS = process.env.SHOPWIRE_E2E_SHORT === '1' ? 20_000 : 200_000
const PART = 10_000

let shop: Shop
let folder: string
beforeAll(async () => {
  shop = await openShop({ limits: { ordersMax: 1_000_000, requestsMax: 1_000_000 } })
  folder = await mkdtemp(join(tmpdir(), 'shopwire-load-'))
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM, {})]))
})
afterAll(async () => {
  await shop.close()
  await rm(folder, { recursive: true })
})

const held = async () =>
  (await shop.database.owner.one<{ n: number }>(sql`select count(*) as n from link_fingerprints`)).n
const admin = (...args: string[]) => runAdminOn(shop, ...args)

test(`${LINKS} links are loaded beside orders; ended half-way and repeated, each is loaded once`, {
  timeout: 600_000,
}, async () => {
  const file = join(folder, 'links.txt')
  const links = Array.from({ length: LINKS }, (_, n) => `https://gift.example/${n}`)
  await writeFile(file, links.join('\n'))

  // The server ends every session of the command that works, until one of its transactions has ended with it.
  let isOver = false
  const ended = admin('pool', 'load', ITEM, file).finally(() => {
    isOver = true
  })
  while (!isOver) {
    if ((await held()) < PART) continue
    await shop.database.asOwner(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and usename like '%operator%' and xact_start is not null`,
    )
  }
  const first = await ended
  expect(first.code).not.toBe(EXIT.ok)
  expect(first.err).toMatch(/The first \d+ of \d+ links are in the pool.*Run the same command again/)
  const before = await held()
  expect(before % PART).toBe(0)
  expect(before).toBeGreaterThanOrEqual(PART)
  expect(before).toBeLessThan(LINKS)

  const worker = startWorker(shop)
  const statuses: number[] = []
  let isLoading = true
  const ordering = (async () => {
    while (isLoading) {
      const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: `beside-${statuses.length}` })
      statuses.push((await shop.call('POST', '/v1/orders', { body })).status)
    }
  })()
  const again = await admin('pool', 'load', ITEM, file, '--json').finally(() => {
    isLoading = false
  })
  await ordering
  await worker.stop()
  expect(again.code, again.err).toBe(EXIT.ok)
  expect(again.json()).toMatchObject({ loaded: LINKS - before })
  expect(again.json().known).toHaveLength(before)
  expect(await held()).toBe(LINKS)
  expect(statuses.length).toBeGreaterThan(5)
  // 402 once the money is spent; nobody waited in vain.
  expect(statuses.filter((status) => status !== 201 && status !== 402)).toEqual([])

  expect((await admin('pool', 'load', ITEM, file)).code).toBe(EXIT.conflict)
  expect(await held()).toBe(LINKS)
})
