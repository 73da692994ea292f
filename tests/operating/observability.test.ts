import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Buyer, newOrder } from '@shopwire/test-kit/people/buyer'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  type ApiProcess,
  limitless,
  newEncryptionKey,
  readMetric,
  SHIFTED_CLOCK,
  START_MS_MAX,
  type System,
  startApi,
  startSystem,
  startWorker,
  untilMetric,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** A failure shows within this time, and is gone within twice as much after its repair. */
const SEEN_MS_MAX = 15_000
const GONE_MS_MAX = 30_000
const SHIFT_MS = 600_000

let system: System
let shop: Shop
let worker: WorkerProcess
beforeAll(async () => {
  system = await startSystem({ admission: 'postgres', settings: limitless })
  shop = openShop(system)
  worker = await startWorker(system.settingsOf('worker'))
}, START_MS_MAX)
afterAll(async () => {
  if (worker?.pid() !== undefined) await worker.kill('SIGKILL')
  await system?.stop()
})

const port = () => system.ports[0] as number
const statusOf = async (api: ApiProcess) =>
  ((await (await fetch(`${api.url}/v1/status`)).json()) as { status: string }).status
const untilStatus = (api: ApiProcess, status: string, msMax: number) =>
  until(
    async () => (await statusOf(api)) === status,
    msMax,
    () => `/status is not ${status}`,
  )

/** The metric may be read a moment before the order that changed it is committed. */
const untilDelivered = (buyer: Buyer, id: string) =>
  until(
    async () => (await buyer.readOrder(port(), id)).status === 'delivered',
    SEEN_MS_MAX,
    () => `order ${id} is not delivered`,
  )

// The three do not touch each other's figures, so they share the system and the time.
test.concurrent('an empty pool shows within 15 s and is gone within 30 s of a load', async ({
  annotate,
  expect,
}) => {
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(100)
  await untilMetric(worker, 'shopwire_pools_empty', (value) => value === 0, GONE_MS_MAX)
  // Sold before it has a pool, which would not allow two.
  const { id } = (await buyer.settle(port(), newOrder({ id: item, qty: 2 }))).body
  await shop.stock(item, 1)
  const seenMs = await untilMetric(worker, 'shopwire_pools_empty', (value) => value === 1, SEEN_MS_MAX)
  const parked = 'shopwire_queue_jobs{queue="fulfil",state="parked"}'
  await untilMetric(worker, parked, (value) => value === 1, SEEN_MS_MAX)
  await expect
    .poll(() => lineOf(worker, id, 'fulfilment attempt'), { timeout: SEEN_MS_MAX })
    .toMatchObject({ outcome: 'waiting_for_stock', links_missing: 1, next: 'parked' })
  await shop.stock(item, 2)
  const goneMs = await untilMetric(worker, 'shopwire_pools_empty', (value) => value === 0, GONE_MS_MAX)
  await untilDelivered(buyer, id)
  await annotate(`seen after ${seenMs} ms, gone after ${goneMs} ms`)
})

test.concurrent('a supplier that times out shows within 15 s and is gone within 30 s of its recovery', async ({
  annotate,
}) => {
  const supplier = await startSupplier()
  const [item = ''] = await shop.sell(1)
  await system.admin('suppliers', 'create', 'maker', supplier.url, '--timeout', '1s')
  await system.admin('supply', 'set', item, '--source', 'supplier', '--supplier', 'maker')
  const buyer = await shop.openBuyer(100)
  supplier.hang(true)
  const { id } = (await buyer.settle(port(), newOrder({ id: item }))).body
  const unsettled = 'shopwire_supplier_requests_unsettled{supplier="maker"}'
  const seenMs = await untilMetric(worker, unsettled, (value) => value === 1, SEEN_MS_MAX)
  const timeouts = 'shopwire_supplier_calls_total{supplier="maker",outcome="timeout"}'
  await untilMetric(worker, timeouts, (value) => Number(value) > 0, SEEN_MS_MAX)
  expect(await lineOf(worker, id, 'supplier call')).toMatchObject({
    supplier: 'maker',
    outcome: 'failed',
    error: 'timeout',
    next: 'same_request_again',
  })
  supplier.release()
  const goneMs = await untilMetric(worker, unsettled, (value) => value === 0, GONE_MS_MAX)
  await untilDelivered(buyer, id)
  await annotate(`seen after ${seenMs} ms, gone after ${goneMs} ms`)
  await supplier.close()
})

test.concurrent('a clock that is ten minutes off shows at its process and in its /status within 15 s, and clears within 30 s', async ({
  annotate,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-clock-'))
  const file = join(folder, 'shift-ms')
  await writeFile(file, '0')
  const api = await startApi({
    ...system.settingsOf('api'),
    NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`,
    TEST_CLOCK_FILE: file,
  })
  const { key } = await system.createAccount()
  const ping = async () => (await exchange(api.port, sign(key, 'GET', '/v1/ping').bytes)).status
  const offset = 'shopwire_database_clock_offset_seconds'
  await untilMetric(api, offset, (value) => value !== undefined && Math.abs(value) < 5, GONE_MS_MAX)
  expect([await ping(), await statusOf(api)]).toEqual([200, 'operational'])
  await writeFile(file, String(SHIFT_MS))
  const isOff = (value: number | undefined) => Math.abs(Number(value) + SHIFT_MS / 1000) < 5
  const seenMs = await untilMetric(api, offset, isOff, SEEN_MS_MAX)
  await untilStatus(api, 'degraded', SEEN_MS_MAX)
  expect(await ping()).toBe(401)
  expect(api.logs()).toContain('are 600 s apart (the database is behind)')
  expect(await readMetric(system.apis[0]?.healthUrl ?? '', offset)).toBeCloseTo(0, -1)
  await writeFile(file, '0')
  const goneMs = await untilMetric(api, offset, (value) => Math.abs(Number(value)) < 5, GONE_MS_MAX)
  await untilStatus(api, 'operational', GONE_MS_MAX)
  await annotate(`seen after ${seenMs} ms, gone after ${goneMs} ms`)
  await api.kill('SIGTERM')
  await rm(folder, { recursive: true, force: true })
})

test('a killed worker, and one that a wrong encryption key keeps from starting, show at the API and in /status', async ({
  annotate,
}) => {
  const api = system.apis[0] as ApiProcess
  const alive = 'shopwire_workers_alive'
  await untilMetric(api, alive, (value) => value === 1, GONE_MS_MAX)
  await untilStatus(api, 'operational', GONE_MS_MAX)
  await worker.kill('SIGKILL')
  const seenMs = await untilMetric(api, alive, (value) => value === 0, SEEN_MS_MAX)
  await untilStatus(api, 'degraded', SEEN_MS_MAX)
  expect(await readMetric(api.healthUrl, 'shopwire_worker_last_seen_seconds')).toBeGreaterThan(5)
  expect(api.logs()).toContain('no worker has reported for ten seconds')

  const { SHOPWIRE_ENCRYPTION_KEYS: right = '' } = system.settings
  const wrong = newEncryptionKey('e2e')
  await expect(worker.start({ SHOPWIRE_ENCRYPTION_KEYS: wrong })).rejects.toThrow('ended at its start')
  expect(worker.logs()).toContain(
    'The encryption key \\"e2e\\" in SHOPWIRE_ENCRYPTION_KEYS does not match the key',
  )
  expect(await worker.readiness()).toBeUndefined()
  expect(await readMetric(api.healthUrl, alive)).toBe(0)
  expect(await statusOf(api)).toBe('degraded')

  await worker.start({ SHOPWIRE_ENCRYPTION_KEYS: right })
  const goneMs = await untilMetric(api, alive, (value) => value === 1, GONE_MS_MAX)
  await untilStatus(api, 'operational', GONE_MS_MAX)
  expect(await readMetric(worker.healthUrl, 'shopwire_ready')).toBe(1)
  await annotate(`seen after ${seenMs} ms, gone after ${goneMs} ms`)
})

test('a verify, a refund and a second process: each is counted where it belongs', async () => {
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(100)
  const order = newOrder({ id: item })
  const api = system.apis[0] as ApiProcess
  const placed = async (outcome: string) =>
    readMetric(api.healthUrl, `shopwire_order_requests_total{outcome="${outcome}"}`)
  const before = Number(await placed('placed'))
  const { id } = (await buyer.settle(port(), order)).body
  await buyer.settle(port(), order)
  expect(await placed('placed')).toBe(before + 1)
  expect(await placed('replayed')).toBe(1)
  expect(await placed('insufficient_funds')).toBe(0)
  const refunds = 'shopwire_refunds_total{cause="operator"}'
  await untilMetric(worker, 'shopwire_orders_waiting', (value) => value === 1, GONE_MS_MAX)
  await system.admin('orders', 'cancel', id, '--reason', 'a test')
  await system.admin('verify')
  await untilMetric(worker, refunds, (value) => value === 1, SEEN_MS_MAX)
  const lastRun = 'shopwire_verify_last_run_timestamp_seconds'
  await untilMetric(worker, lastRun, (value) => Number(value) > Date.now() / 1000 - 60, SEEN_MS_MAX)
  expect(await readMetric(worker.healthUrl, 'shopwire_verify_rules_violated')).toBe(0)
  const statements = 'shopwire_database_statement_duration_seconds_count{statement="place_order"}'
  expect(await readMetric(api.healthUrl, statements)).toBeGreaterThan(0)
  expect(
    await readMetric(api.healthUrl, 'shopwire_admission_duration_seconds_count{store="postgres"}'),
  ).toBeGreaterThan(0)
  const text = await (await fetch(`${worker.healthUrl}/metrics`)).text()
  expect(text).not.toMatch(/(acct|ord|evt|key)_\w{20}|gift\.example|whsec/)
  await shop.expectCleanBooks()
})

/** The last line of this kind about an order; what a process printed comes through a pipe, a moment later than its metrics. */
function lineOf(process: WorkerProcess, order_id: string, msg: string): Promise<Record<string, unknown>> {
  return until(
    () =>
      process
        .logs()
        .split('\n')
        .filter((text) => text.includes(order_id) && text.includes(`"msg":"${msg}"`))
        .map((text) => JSON.parse(text) as Record<string, unknown>)
        .at(-1),
    SEEN_MS_MAX,
    () => `no line "${msg}" about ${order_id}`,
  )
}
