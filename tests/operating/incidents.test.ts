import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Console, openConsole } from '@shopwire/test-kit/pages/console-page'
import { blocksOf, openMachine, variablesOf } from '@shopwire/test-kit/pages/runbook'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { type Supplier, startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { type PublicReceiver, startPublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { changeUrls, until } from '@shopwire/test-kit/servers'
import { untilPositionKept } from '@shopwire/test-kit/shops/restore-drill'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  limitless,
  newEncryptionKey,
  newLinks,
  SHIFTED_CLOCK,
  START_MS_MAX,
  type System,
  startApi,
  startSystem,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

/** Each incident really happens to a running store; then the commands of its section in docs/runbooks are run as they are written there. */

const SOON_MS = 30_000
const RIGHT_CENTS = 499
const WRONG_CENTS = 49
const SHIFT_MS = 600_000
const LEAKED = newLinks(3)

let receiver: PublicReceiver
let supplier: Supplier
let system: System
let shop: Shop
let worker: WorkerProcess
let journal: string
/** What the receiver accepted, each as `order.delivered ord_…`. */
const accepted = () =>
  receiver.arrivals
    .filter(({ status }) => status < 300)
    .map(({ event, data }) => `${event} ${data.order?.id}`)
let byHand: string
let pooled: string
let supplied: string
beforeAll(async () => {
  receiver = await startPublicReceiver()
  supplier = await startSupplier('acme')
  journal = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
  const settings = { ...limitless, ...receiver.settings, SHOPWIRE_JOURNAL: journal }
  system = await startSystem({ admission: 'postgres', settings })
  shop = openShop(system)
  ;[byHand = '', pooled = '', supplied = ''] = await shop.sell(RIGHT_CENTS, RIGHT_CENTS, RIGHT_CENTS)
  await system.loadPool(pooled, [...LEAKED, ...newLinks(30)])
  const { secret } = await system.admin('suppliers', 'create', 'acme', supplier.url, '--timeout', '1s')
  supplier.setSecret(secret)
  await system.admin('supply', 'set', supplied, '--supplier', 'acme')
  worker = await system.startWorker()
}, START_MS_MAX)
afterAll(async () => {
  await system?.stop()
  await supplier?.close()
  await receiver?.close()
  if (journal) await rm(journal, { recursive: true })
})

const port = () => system.ports[0] as number

test('leaked-api-key: the key is refused at once, the money of an undelivered order is back, and a new key works', async () => {
  const buyer = await shop.openBuyer(5_000)
  const order = await buyer.settle(port(), newOrder({ id: byHand }))
  const page = await open('leaks#a-leaked-api-key', {
    ACCOUNT: buyer.account_id,
    KEY: buyer.key.id,
    ORDER: order.body.id,
  })
  await page.run('first')
  const refused = await exchange(port(), sign(buyer.key, 'GET', '/v1/balance').bytes)
  expect(refused.status).toBe(401)
  expect(await page.run('find')).toMatch(new RegExp(`${order.body.id}[\\s\\S]*${buyer.key.id}`))
  const repaired = await page.run('repair')
  const [, id = '', secret = ''] = /Key +(\S+)\nSecret +(\S+)/.exec(repaired) ?? []
  const balance = await exchange(port(), sign({ id, secret }, 'GET', '/v1/balance').bytes)
  expect(balance.body).toMatchObject({ balance_cents: 5_000 })
  expect(await page.run('prove')).toMatch(/revoked[\s\S]*key\.revoke/)
})

test('leaked-links: those in the pool are never sold, the order that got one is named, replacements are', async () => {
  const buyer = await shop.openBuyer(5_000)
  const order = await deliver(buyer, pooled)
  expect(order.links).toEqual([LEAKED[0]])
  const page = await open(
    'leaks#leaked-links',
    { ACCOUNT: buyer.account_id, ITEM: pooled, ORDER: order.id },
    { 'leaked.txt': LEAKED, 'replacement.txt': newLinks(2) },
  )
  const first = await page.run('first')
  expect(first).toContain('Set 2 links aside')
  expect(first).toContain(`Sold already, to: ${order.id}.`)
  await page.run('find')
  await page.run('repair')
  expect(await buyer.readBalance(port())).toBe(5_000)
  const next = await deliver(buyer, pooled)
  expect(LEAKED).not.toContain(next.links[0])
  const proof = await page.run('prove')
  expect(proof.match(/withdrawn/g)).toHaveLength(2)
  expect(proof).toMatch(/All \d+ rules hold/)
  expect(proof).not.toContain('gift.example')
})

test('double-charge-claim: one key bought once; the courtesy is booked once', async () => {
  const buyer = await shop.openBuyer(5_000)
  const claimed = newOrder({ id: byHand })
  const { body } = await buyer.settle(port(), claimed)
  await buyer.settle(port(), claimed)
  await buyer.settle(port(), newOrder({ id: byHand }))
  const page = await open('money#a-claim-of-a-double-charge', {
    ACCOUNT: buyer.account_id,
    CLAIM: claimed.idempotency_key,
    ORDER: body.id,
  })
  expect(await page.run('find')).toMatch(/Bought once: .*one order, one debit of \$4\.99/)
  await page.run('repair')
  await page.run('repair')
  expect(await buyer.readBalance(port())).toBe(5_000 - RIGHT_CENTS)
  expect(await page.run('prove')).toContain('Bought once')
})

test('supplier-down: it is asked nothing new, and the order that waited is delivered from a pool', async () => {
  const buyer = await shop.openBuyer(5_000)
  supplier.answers(() => ({ status: 500 }))
  const { body } = await buyer.settle(port(), newOrder({ id: supplied }))
  await until(
    () => supplier.asked.length > 0,
    SOON_MS,
    () => 'the supplier is not asked',
  )
  const page = await open(
    'suppliers-and-webhooks#a-supplier-is-down',
    { SUPPLIER: 'acme', ITEM: supplied, ORDER: body.id },
    { 'replacement.txt': newLinks(3) },
  )
  await until(
    async () => (await system.query(`select count(*) from supplier_requests where ended_at is null`)) === '1',
    SOON_MS,
    () => 'no request is open',
  )
  expect(await page.run('first')).toMatch(new RegExp(`${body.id}[\\s\\S]*acme`))
  await page.run('repair')
  await untilDelivered(buyer, body.id)
  expect(await page.run('prove')).toContain('delivered')
  await system.admin('suppliers', 'resume', 'acme')
})

test('mass-webhook-failure: every event that was refused is accepted after the repair', async () => {
  const buyer = await shop.openBuyer(5_000)
  const body = JSON.stringify({ url: receiver.url })
  expect((await exchange(port(), sign(buyer.key, 'POST', '/v1/webhook', body).bytes)).status).toBe(200)
  receiver.answersWith(503)
  const FROM = new Date(Date.now() - 1_000).toISOString()
  const orders = [await deliver(buyer, pooled), await deliver(buyer, pooled)]
  await until(
    async () =>
      (await system.query(`select count(*) from attempts_made where account_id = '${buyer.account_id}'`)) !==
      '0',
    SOON_MS,
    () => 'no attempt is recorded',
  )
  const UNTIL = new Date(Date.now() + 1_000).toISOString()
  const page = await open('suppliers-and-webhooks#many-webhooks-fail', {
    ACCOUNT: buyer.account_id,
    FROM,
    UNTIL,
  })
  expect(await page.run('first')).toContain('http_503')
  await page.run('find')
  // A day passes: the events are given up. Not a change of the catalogue, which may be announced later than UNTIL.
  await worker.kill('SIGTERM')
  await system.query(
    `update deliveries d set state = 'failed', done_at = now() from events e
      where d.account_id = '${buyer.account_id}' and e.account_id = d.account_id and e.id = d.event_id and e.type like 'order.%'`,
  )
  await worker.start()
  receiver.answersWith(200)
  expect(await page.run('repair')).toMatch(/4 events were never accepted[\s\S]*4 events are on their way/)
  for (const { id } of orders)
    await until(
      () => accepted().includes(`order.delivered ${id}`),
      SOON_MS,
      () => `the event of ${id} does not come: ${accepted()}`,
    )
  await until(
    async () => /delivered/.test(await page.run('prove')),
    SOON_MS,
    () => 'the log does not show it',
  )
})

test('wrong-price: the right one is offered at once, the orders at the wrong one are found, an undelivered one is undone', async () => {
  const buyer = await shop.openBuyer(5_000)
  await system.admin('catalogue', 'set', byHand, '--price', '0.49', '--price-factor-max', '20')
  const FROM = new Date(Date.now() - 1_000).toISOString()
  const { body } = await buyer.settle(port(), newOrder({ id: byHand, expected_price_cents: WRONG_CENTS }))
  const page = await open('money#a-wrong-price', { ITEM: byHand, FROM, ORDER: body.id })
  await page.run('first')
  const late = await buyer.settle(port(), newOrder({ id: byHand, expected_price_cents: WRONG_CENTS }))
  expect(late.status).toBe(409)
  const rightful = await buyer.settle(port(), newOrder({ id: byHand }))
  const found = await page.run('find')
  expect(found).toContain(body.id)
  expect(found).not.toContain(rightful.body.id)
  await page.run('repair')
  expect(await buyer.readBalance(port())).toBe(5_000 - RIGHT_CENTS)
  expect(await page.run('prove')).toMatch(/\$4\.99[\s\S]*cancelled[\s\S]*All \d+ rules hold/)
})

test('clock-wrong: /status and doctor name the clock, and are content when it is right', async () => {
  const file = join(journal, 'clock')
  await writeFile(file, String(SHIFT_MS))
  const shifted = { TEST_CLOCK_FILE: file, NODE_OPTIONS: `--import=${SHIFTED_CLOCK}` }
  const api = await startApi({ ...system.settingsOf('api'), ...shifted })
  onTestFinished(() => void api.kill('SIGKILL'))
  const page = await open('machines#a-clock-is-wrong', { STATUS: `${api.url}/v1/status`, ...shifted })
  await until(
    async () => /degraded/.test(await page.run('first')),
    SOON_MS,
    () => '/status is not degraded',
  )
  expect(await page.run('first')).toMatch(/FAILED +The clocks.*PostgreSQL (59|60)\d\.\d s behind/)
  await writeFile(file, '0')
  await until(
    async () => /operational/.test(await page.run('prove')),
    SOON_MS,
    () => '/status is still degraded',
  )
  expect(await page.run('prove')).not.toContain('The clocks')
})

test('leaked-encryption-key: all is encrypted anew under another key, the old one can be removed, and what was exposed is replaced', async () => {
  const old = system.settings.SHOPWIRE_ENCRYPTION_KEYS ?? ''
  const buyer = await shop.openBuyer(5_000)
  const order = await deliver(buyer, pooled)
  const endpoint = JSON.stringify({ url: receiver.url })
  expect((await exchange(port(), sign(buyer.key, 'POST', '/v1/webhook', endpoint).bytes)).status).toBe(200)
  const variables = { ACCOUNT: buyer.account_id, KEY: buyer.key.id }
  const before = await open('leaks#a-leaked-encryption-key', variables)
  await before.run('first')
  const [, made = ''] = /(replacement:\S+)/.exec(await before.run('new')) ?? []
  await restartWith({
    SHOPWIRE_ENCRYPTION_KEYS: `${old},${made}`,
    SHOPWIRE_ENCRYPTION_KEY_ACTIVE: 'replacement',
  })
  const page = await open('leaks#a-leaked-encryption-key', variables)
  expect(await page.run('repair')).toMatch(/all are under "replacement" now[\s\S]*e2e +0 +can be removed/)
  await restartWith({ SHOPWIRE_ENCRYPTION_KEYS: made })
  const after = await open('leaks#a-leaked-encryption-key', variables)
  expect((await buyer.readOrder(port(), order.id)).links).toEqual(order.links)
  const [, id = '', secret = ''] = /Key +(\S+)\nSecret +(\S+)/.exec(await after.run('exposed')) ?? []
  expect((await exchange(port(), sign(buyer.key, 'GET', '/v1/ping').bytes)).status).toBe(401)
  expect((await exchange(port(), sign({ id, secret }, 'GET', '/v1/ping').bytes)).status).toBe(200)
  const proof = await after.run('prove')
  expect(proof).toMatch(/replacement +\d+ +active[\s\S]*encryption\.re-encrypt[\s\S]*All \d+ rules hold/)
  expect(proof).not.toContain('e2e ')
})

test('encryption-key: a lost key is named until it is put back', async () => {
  const [id = ''] = (system.settings.SHOPWIRE_ENCRYPTION_KEYS ?? '').split(':')
  const lost = await open('leaks#a-lost-encryption-key', { SHOPWIRE_ENCRYPTION_KEYS: newEncryptionKey(id) })
  expect(await lost.run('first')).toMatch(new RegExp(`${id} .* WRONG`))
  expect(await lost.run('restored')).toMatch(
    new RegExp(`FAILED +The encryption keys.*"${id}".*does not match`),
  )
  const found = await open('leaks#a-lost-encryption-key', {})
  expect(await found.run('restored')).not.toContain('The encryption keys')
  expect(await found.run('prove')).toMatch(/\d+ +active[\s\S]*All \d+ rules hold/)
})

// The last one: it takes the database away.
test('database-lost: doctor names it, a dump is restored on another server, nothing is sold before it is opened', async () => {
  const buyer = await shop.openBuyer(5_000)
  const machine = await openMachine()
  const variables = variablesOf(system.postgres)
  await machine.run('restore', 'dump-before', variables)
  const lost = await deliver(buyer, pooled)
  await untilPositionKept(system)
  await Promise.all([...system.apis, worker].map((process) => process.kill('SIGKILL')))
  await system.postgres.kill9()
  expect(await (await open('machines#the-database-is-lost', {})).run('first')).toMatch(
    /FAILED +PostgreSQL answers/,
  )

  await machine.run('restore', 'dump-server', variables)
  system.database = changeUrls(system.database, machine.moved)
  const api = await system.startApi()
  // At first the nonces are missing, which are in no dump, and it asks for a new signature.
  await until(
    async () => (await exchange(api.port, orderOf(buyer.key, pooled))).body.error?.type === 'store_closed',
    SOON_MS,
    () => 'the restored store is not closed',
  )
  const page = await open('machines#the-database-is-lost', {})
  const repaired = await page.run('repair')
  expect(repaired).toContain(lost.id)
  const [, identity = ''] = /recover open --identity (\S+)/.exec(repaired) ?? []
  const opened = await open('machines#the-database-is-lost', {})
  expect(await opened.shell(`shopwire-admin recover open --identity ${identity}`)).toMatch(/open/)
  expect(await page.run('prove')).toMatch(/All \d+ rules hold/)
  worker = await system.startWorker()
  const again = await shop.openBuyer(5_000)
  const { body } = await again.settle(api.port, newOrder({ id: pooled }))
  await untilDelivered(again, body.id, api.port)
  expect((await again.readOrder(api.port, body.id)).links).not.toEqual(lost.links)
})

/** A shell with the section's variables, in which its blocks are run. A command that fails ends the block, and the test. */
async function open(
  section: string,
  variables: Readonly<Record<string, string>>,
  files: Readonly<Record<string, readonly string[]>> = {},
) {
  const shell: Console = await openConsole({ ...system.settingsOf('operator'), ...variables }, files)
  onTestFinished(() => shell.close())
  const run = async (script: string) => {
    const printed = await shell.run(`set -euo pipefail\n${script}\necho every command ended well`)
    expect(printed).toMatch(/every command ended well\n$/)
    return printed
  }
  return { shell: run, run: async (mark: string) => run((await blocksOf(section, mark)).join('\n')) }
}

async function restartWith(changed: Readonly<Record<string, string>>) {
  const { SHOPWIRE_ENCRYPTION_KEY_ACTIVE: _, ...others } = system.settings
  system.settings = { ...others, ...changed }
  for (const process of [...system.apis, worker]) {
    await process.kill('SIGTERM')
    await process.start({ SHOPWIRE_ENCRYPTION_KEY_ACTIVE: '', ...changed })
  }
}

type Buyer = Awaited<ReturnType<Shop['openBuyer']>>

async function deliver(buyer: Buyer, item: string): Promise<{ id: string; links: string[] }> {
  const { body } = await buyer.settle(port(), newOrder({ id: item }))
  await untilDelivered(buyer, body.id)
  return buyer.readOrder(port(), body.id)
}

function untilDelivered(buyer: Buyer, id: string, at = port()) {
  return until(
    async () => (await buyer.readOrder(at, id)).status === 'delivered',
    SOON_MS,
    () => `order ${id} is not delivered`,
  )
}

function orderOf(key: Buyer['key'], item: string) {
  return sign(key, 'POST', '/v1/orders', JSON.stringify(newOrder({ id: item }))).bytes
}
