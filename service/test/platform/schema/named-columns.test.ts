import { readdir, readFile } from 'node:fs/promises'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { selectOpenRequests } from '../../../src/supply/request-queries.ts'
import { asSuperuser } from '../../../testing/database.ts'
import { itemOf, putItems } from '../../../testing/items.ts'
import { openShop, type Shop } from '../../../testing/shop.ts'
import { startWorker } from '../../../testing/worker.ts'

const SOURCES = new URL('../../../src/', import.meta.url)
const POOL_ITEM = '50000000000000001'
const SUPPLIED_ITEM = '50000000000000002'

let shop: Shop
let supplier: Awaited<ReturnType<typeof startSupplier>>
let worker: ReturnType<typeof startWorker>
beforeAll(async () => {
  shop = await openShop()
  supplier = await startSupplier('first')
  await putItems(shop.database.operator, [itemOf(POOL_ITEM), itemOf(SUPPLIED_ITEM)])
  const { name, url } = supplier
  const { secret } = await shop.operator.createSupplier({ name, url, timeout_ms: 1_000, allowHttp: true })
  supplier.setSecret(secret)
  await shop.operator.chooseSource(SUPPLIED_ITEM, { supplier: name, sku: 'SKU-7' })
  worker = startWorker(shop)
})
afterAll(async () => {
  await worker.stop()
  await supplier.close()
  await shop.close()
})

test('open connections keep working after every table got a new column', async () => {
  await fundBuyAndDeliver('before')
  await addColumnToEveryTable()
  await fundBuyAndDeliver('after')
})

test('no statement in service/src selects or returns *', async () => {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, SOURCES), 'utf8')))
  const statements = texts.flatMap((text, n) =>
    statementsIn(text).map((found) => ({ file: names[n], found })),
  )
  expect(statements.length).toBeGreaterThan(100)
  const wrong = statements.filter(({ found }) => STAR.test(found))
  expect(
    wrong,
    'Name the columns: * in a prepared statement fails with 0A000 in every running process once a migration adds a column.',
  ).toEqual([])
})

test.each([
  ['select * from orders', true],
  ['select o.id,\n  o.*\n from orders o', true],
  ['insert into orders (id) values ($1) returning *', true],
  ['update orders o set n = 1 returning o.*', true],
  ['select distinct * from orders', true],
  ['select id, * from orders', true],
  ['select count(*) as n from orders', false],
  ['select qty * price_cents, 2 * qty from order_lines', false],
])('finds the * in: %s', (text, isWrong) => {
  expect(statementsIn(`db.many(sql\`${text}\`)`).some((found) => STAR.test(found))).toBe(isWrong)
})

const STAR = /\b(?:select|returning|distinct|all)\s+\*|,\s*\*|\b\w+\.\*/i

/** Everything between backticks that looks like SQL, without comments. */
function statementsIn(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  return [...code.matchAll(/`([^`]*)`/g)]
    .map(([, text = '']) => text)
    .filter((text) => /\b(?:select|insert into|update|delete from)\s/i.test(text))
}

async function fundBuyAndDeliver(tag: string) {
  const { id } = shop.account
  await shop.operator.fundAccount(id, { amount_cents: 1_000, reference: tag })
  // The second call with the same reference reads the transfer instead of writing it.
  await shop.operator.fundAccount(id, { amount_cents: 1_000, reference: tag })
  await shop.operator.showAccount(id)
  await shop.operator.loadPool(POOL_ITEM, [`https://gift.example/pool/${tag}`])
  supplier.answers(() => ({ status: 202 }))
  const order_id = await buy(tag)
  await expect.poll(async () => (await selectOpenRequests(shop.database.operator, 10)).length).toBe(1)
  supplier.answers(undefined)
  for (const target of ['/v1/orders', '/v1/balance', '/v1/webhook']) {
    expect((await shop.call('GET', target)).status).toBe(200)
  }
  await expect
    .poll(async () => (await shop.call('GET', `/v1/orders/${order_id}`)).body.status)
    .toBe('delivered')
}

async function buy(tag: string): Promise<string> {
  const items = [{ id: POOL_ITEM }, { id: SUPPLIED_ITEM }]
  const { status, body } = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items, idempotency_key: `named-columns-${tag}` }),
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

async function addColumnToEveryTable() {
  const tables = await asSuperuser(
    async (client) =>
      (
        await client.query<{ name: string }>(
          `select tablename as name from pg_tables where schemaname = 'shopwire'`,
        )
      ).rows,
    shop.database.superuserUrl,
  )
  expect(tables.length).toBeGreaterThan(20)
  for (const { name } of tables)
    await shop.database.asOwner(`alter table ${name} add column added_later text`)
}
