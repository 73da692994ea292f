import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const POOLED = '50000000000000008'
const BY_HAND = '50000000000000009'
const LINKS = ['https://gift.example/a?one', 'https://gift.example/a?two']

let shop: Shop
let folder: string
let order: string
let other: string
beforeAll(async () => {
  shop = await openShop()
  folder = await mkdtemp(join(tmpdir(), 'shopwire-find-'))
  const items = [itemOf(POOLED, { name: 'Aurora Ring' }), itemOf(BY_HAND, {})]
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, items))
  await shop.operator.loadPool(POOLED, LINKS)
  order = await buy(POOLED, 'bot-purchase-71')
  other = await buy(BY_HAND, 'bot-purchase-72')
})
afterAll(async () => {
  await shop.close()
  await rm(folder, { recursive: true })
})

const admin = (...args: string[]) => runAdminOn(shop, ...args)
const found = async (...args: string[]) => (await admin('find', ...args, '--json')).json().found
async function buy(id: string, idempotency_key: string): Promise<string> {
  const bought = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items: [{ id }], idempotency_key }),
  })
  expect(bought.status).toBe(201)
  return bought.body.id
}

test('finds what a customer quotes: whole ids, their beginning, names, keys, references, items', async () => {
  const { id: account } = shop.account
  const cases: [string, string, string][] = [
    [account, 'account', account],
    [account.slice(0, 12), 'account', account],
    ['test sh', 'account', account],
    [order, 'order', order],
    [order.slice(0, 20), 'order', order],
    [`${other}-1`, 'order', other],
    ['bot-purchase-72', 'order', other],
    [shop.key.id, 'key', shop.key.id],
    ['opening', 'transfer', 'tr_1'],
    ['aurora', 'item', POOLED],
    [POOLED.slice(0, 10), 'item', POOLED],
  ]
  for (const [text, kind, id] of cases)
    expect(await found(text), text).toContainEqual(expect.objectContaining({ kind, id }))
  const { request_id } = await shop.database.owner.one<{ request_id: string }>({
    ...{ name: 'of_order', text: 'select request_id from orders where id = $1', values: [order] },
  })
  expect(await found(request_id)).toMatchObject([{ kind: 'order', id: order }])
  const { out } = await admin('find', 'bot-purchase-71')
  expect(out).toContain(`orders show ${order}`)
})

test('finds a link by its fingerprint, or by itself from a file; never as an argument, and it is not printed', async () => {
  const [first = '', second = ''] = LINKS
  const file = join(folder, 'link.txt')
  await writeFile(file, `${second}\n`)
  const [there] = await found('--link', file)
  expect(there).toMatchObject({ kind: 'link', about: `in the pool of ${POOLED}` })
  expect(await found(there.id)).toEqual([there])
  await writeFile(file, first)
  const worker = startWorker(shop)
  const isSold = async () => (await found('--link', file))[0].about === `of ${order}, line 1`
  await until(isSold, 5_000, () => 'the link is still in the pool')
  await worker.stop()

  const asArgument = await admin('find', first)
  expect(asArgument).toMatchObject({ code: EXIT.usage, out: '' })
  expect(asArgument.err).toContain('--link <file>')
  expect(asArgument.err).not.toContain(first)
  await writeFile(file, 'https://gift.example/never')
  expect(await admin('find', '--link', file)).toMatchObject({ code: EXIT.notFound })
  expect(await admin('find', createHash('sha256').update('x').digest('hex'))).toMatchObject({
    code: EXIT.notFound,
  })
})

test('lists orders of the whole store by account, status, time and item, page by page', async () => {
  const second = await shop.operator.createAccount('Second')
  const ids = async (...args: string[]) =>
    (await admin('orders', 'list', ...args, '--json')).json().orders.map(({ id }: { id: string }) => id)
  expect(await ids()).toEqual([other, order])
  expect(await ids(shop.account.id)).toEqual([other, order])
  expect(await ids(second.id)).toEqual([])
  expect(await ids('--item', BY_HAND)).toEqual([other])
  expect(await ids('--status', 'paid', '--item', BY_HAND)).toEqual([other])
  expect(await ids('--status', 'cancelled')).toEqual([])
  expect(await ids('--since', '2099-01-01T00:00:00Z')).toEqual([])
  expect(await ids('--until', '2099-01-01T00:00:00Z', '--limit', '1')).toEqual([other])
  expect(await ids('--before', other)).toEqual([order])
  expect((await admin('orders', 'list', '--limit', '1')).out).toContain(`More: --before ${other}`)
  expect((await admin('orders', 'list', 'acct_unknown')).code).toBe(EXIT.notFound)
})

test('accounts list shows balances', async () => {
  const { out } = await admin('accounts', 'list')
  expect(out).toMatch(new RegExp(`^${shop.account.id} +active .* \\$\\d+\\.\\d\\d +Test Shop$`, 'm'))
  const { accounts } = (await admin('accounts', 'list', '--json')).json()
  expect(accounts[0].balance_cents).toBeLessThan(25_000)
})
