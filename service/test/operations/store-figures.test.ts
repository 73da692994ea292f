import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { exposeStoreFigures } from '../../src/operations/store-figures.ts'
import { recordVerifyRun } from '../../src/operations/verify.ts'
import type { Db } from '../../src/platform/database/db.ts'
import {
  deleteOldHeartbeats,
  recordHeartbeat,
  recordWorkerStop,
  watchWorkers,
} from '../../src/platform/jobs/worker-heartbeats.ts'
import { queueMail } from '../../src/platform/mail/mail.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { sendDueMail } from '../../testing/send-mail.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [POOLED, SUPPLIED, BY_HAND] = ['41000000000000001', '41000000000000002', '41000000000000003'] as const

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  const revision = await putItems(
    shop.database.operator,
    [POOLED, SUPPLIED, BY_HAND].map((id) => itemOf(id)),
  )
  await untilFollowed(shop.catalogue, revision)
})
afterAll(() => shop.close())
afterEach(() => shop.database.asOwner('delete from worker_heartbeats'))

function figures(db: Db = shop.database.worker) {
  const metrics = createMetrics('test')
  const exposed = exposeStoreFigures({ db, log: createLog('silent'), metrics })
  exposed.lead(true)
  const value = async (series: string) => {
    const line = (await metrics.registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
  return { ...exposed, metrics, value }
}

test('queues, waiting orders, pools, unsettled requests and the last verify are as the database has them', async () => {
  const { operator } = shop
  const supplier = await startSupplier('acme')
  const { secret } = await operator.createSupplier({
    name: 'acme',
    url: supplier.url,
    timeout_ms: 300,
    allowHttp: true,
  })
  supplier.setSecret(secret)
  supplier.answers(() => ({ status: 200, hangs: true }))
  await operator.loadPool(POOLED, ['https://gift.example/figures-1'])
  await operator.chooseSource(SUPPLIED, { supplier: 'acme' })
  const lines: Record<string, unknown>[] = []
  const worker = startWorker(shop, { write: (line) => void lines.push(JSON.parse(line)) })
  const { refresh, value } = figures()
  await refresh()
  expect(await value('shopwire_pools_empty')).toBe(0)
  expect(await value('shopwire_verify_last_run_timestamp_seconds')).toBe(0)
  expect(await value('shopwire_verify_rules_violated')).toBeUndefined()
  expect(await value('shopwire_orders_waiting')).toBe(0)
  expect(await value('shopwire_queue_oldest_due_seconds{queue="fulfil"}')).toBe(0)

  const ids: string[] = []
  for (const [n, id] of [POOLED, SUPPLIED, BY_HAND].entries()) {
    const body = JSON.stringify({ items: [{ id }], idempotency_key: `figures-${n}-xxxxxxxx` })
    ids.push((await shop.call('POST', '/v1/orders', { body })).body.id)
  }
  await expect
    .poll(() => lines.filter(({ msg }) => msg === 'fulfilment attempt').length)
    .toBeGreaterThanOrEqual(3)
  await worker.stop()
  await recordVerifyRun(
    shop.database.operator,
    [{ rule: 'M01', what: '', violations: 2, ids: [], ms: 1 }],
    Date.now(),
  )
  await refresh()
  expect(await value('shopwire_orders_waiting')).toBe(2)
  expect(await value('shopwire_orders_oldest_waiting_seconds')).toBeGreaterThan(0)
  expect(await value('shopwire_queue_jobs{queue="fulfil",state="parked"}')).toBe(1)
  expect(await value('shopwire_queue_jobs{queue="deliver",state="due"}')).toBe(0)
  expect(await value('shopwire_pools_empty')).toBe(1)
  expect(await value('shopwire_supplier_requests_unsettled{supplier="acme"}')).toBe(1)
  expect(await value('shopwire_supplier_oldest_unsettled_seconds{supplier="acme"}')).toBeGreaterThan(0)
  expect(await value('shopwire_verify_last_run_timestamp_seconds')).toBeGreaterThan(Date.now() / 1000 - 60)
  expect(await value('shopwire_verify_rules_violated')).toBe(1)
  expect(await value('shopwire_nonces_bytes')).toBeGreaterThan(0)

  const line = (order: number, msg: string) =>
    lines.find((each) => each.order_id === ids[order] && each.msg === msg)
  expect(line(0, 'fulfilment attempt')).toMatchObject({
    level: 'info',
    account_id: shop.account.id,
    attempt: 1,
    outcome: 'delivered',
    next: 'done',
    duration_ms: expect.any(Number),
    paid_to_delivered_ms: expect.any(Number),
  })
  expect(line(1, 'supplier call')).toMatchObject({
    level: 'info',
    account_id: shop.account.id,
    supplier: 'acme',
    supplier_request_id: `${ids[1]}-1`,
    attempt: 1,
    outcome: 'failed',
    error: 'timeout',
    next: 'same_request_again',
    duration_ms: expect.any(Number),
  })
  expect(line(1, 'fulfilment attempt')).toMatchObject({
    outcome: 'waiting_for_supplier',
    next: 'retry',
    retry_in_s: 1,
    links_missing: 1,
  })
  expect(line(2, 'fulfilment attempt')).toMatchObject({ outcome: 'waiting_for_operator', next: 'parked' })
  expect(JSON.stringify(lines)).not.toMatch(/gift\.example|127\.0\.0\.1/)
  expect(
    await worker.metrics.supplierCalls
      .get()
      .then(({ values }) => values.find(({ value }) => value > 0)?.labels),
  ).toEqual({ supplier: 'acme', outcome: 'timeout' })
  await supplier.close()
})

test('what operators cancel or deliver by hand is counted by the leader alone, once', async () => {
  const [leader, other] = [figures(), figures()]
  other.lead(false)
  const buy = async (n: number) => {
    const body = JSON.stringify({ items: [{ id: BY_HAND }], idempotency_key: `by-hand-${n}-xxxxxxxx` })
    return (await shop.call('POST', '/v1/orders', { body })).body.id as string
  }
  await shop.operator.cancelOrder(await buy(1), 'before the first look')
  for (const each of [leader, other]) await each.refresh()
  const cancelled = await buy(2)
  await shop.operator.cancelOrder(cancelled, 'test')
  await shop.operator.cancelOrder(cancelled, 'again: changes nothing')
  await shop.operator.deliverOrder(await buy(3), ['https://gift.example/figures-2'])
  for (const each of [leader, other, leader, other]) await each.refresh()
  expect(await leader.value('shopwire_refunds_total{cause="operator"}')).toBe(1)
  expect(await leader.value('shopwire_orders_delivered_by_hand_total')).toBe(1)
  expect(await other.value('shopwire_refunds_total{cause="operator"}')).toBe(0)
  expect(await other.value('shopwire_orders_waiting')).toBeUndefined()
})

test('a change of prices beyond the bounds of the commands is counted, any other is not', async () => {
  const { refresh, value } = figures()
  const price = (cents: string, factorMax: number) =>
    shop.operator.setItem(BY_HAND, { price_cents: cents }, { factorMax })
  await refresh()
  await price('300', 1_000)
  await price('900', 3)
  await refresh()
  const before = Number(await value('shopwire_prices_beyond_bounds_total'))
  await price('90', 10)
  await refresh()
  expect(Number(await value('shopwire_prices_beyond_bounds_total')) - before).toBe(1)
})

test('figures that could not be read again have an age, and are gone when they are too old', async () => {
  let isGone = false
  const db = {
    ...shop.database.worker,
    one: ((statement) =>
      isGone
        ? Promise.reject(new Unavailable('database', new Error('gone')))
        : shop.database.worker.one(statement)) as Db['one'],
  }
  const { refresh, value } = figures(db)
  await refresh()
  isGone = true
  await expect(refresh()).rejects.toThrow(Unavailable)
  expect(await value('shopwire_orders_waiting')).toBeDefined()
  const { now } = performance
  onTestFinished(() => {
    performance.now = now
  })
  performance.now = () => now.call(performance) + 16_000
  expect(await value('shopwire_orders_waiting')).toBeUndefined()
  expect(await value('shopwire_queue_jobs{queue="fulfil",state="due"}')).toBeUndefined()
  expect(await value('shopwire_store_figures_age_seconds')).toBeGreaterThan(15)
})

test('workers are alive while they report; the one that started first leads; a stopped or silent one does not count', async () => {
  const metrics = createMetrics('test')
  const workers = watchWorkers(shop.database.api, metrics)
  const alive = async () => {
    await workers.look()
    return /^shopwire_workers_alive (\d+)$/m.exec(await metrics.registry.metrics())?.[1]
  }
  expect(await alive()).toBe('0')
  expect(workers.problem()).toBeUndefined()
  expect(await recordHeartbeat(shop.database.worker, 'first')).toEqual({ is_leader: true })
  expect(await recordHeartbeat(shop.database.worker, 'second')).toEqual({ is_leader: false })
  expect(await alive()).toBe('2')
  await recordWorkerStop(shop.database.worker, 'first')
  expect(await recordHeartbeat(shop.database.worker, 'second')).toEqual({ is_leader: true })
  expect(await alive()).toBe('1')
  expect(workers.problem()).toBeUndefined()
  const age = (by: string) =>
    shop.database.asOwner(
      `update worker_heartbeats set seen_at = seen_at - interval '${by}', stopped_at = stopped_at - interval '${by}'`,
    )
  await recordWorkerStop(shop.database.worker, 'second')
  expect(await alive()).toBe('0')
  // It may be starting again.
  expect(workers.problem()).toBeUndefined()
  await age('11 s')
  expect(await alive()).toBe('0')
  expect(workers.problem()).toMatch(/no worker has reported/)
  await age('1 day')
  expect(await alive()).toBe('0')
  expect(workers.problem()).toBeUndefined()
  expect(await deleteOldHeartbeats(shop.database.worker)).toBe(2)
})

test('a heartbeat in the future, from before the clock of the database was set back, is no live worker and no leader', async () => {
  const metrics = createMetrics('test')
  const workers = watchWorkers(shop.database.api, metrics)
  await recordHeartbeat(shop.database.worker, 'ahead')
  await shop.database.asOwner(
    "update worker_heartbeats set seen_at = seen_at + interval '1 h' where id = 'ahead'",
  )
  expect(await recordHeartbeat(shop.database.worker, 'current')).toEqual({ is_leader: true })
  await workers.look()
  expect(await metrics.registry.metrics()).toMatch(/^shopwire_workers_alive 1$/m)
  await shop.database.asOwner("delete from worker_heartbeats where id in ('ahead', 'current')")
})

test('mail that waits is seen, with the age of the oldest, until it is sent or given up', async () => {
  const seen = async () => {
    // A new reader each time: one that was slow pauses.
    const { refresh, value } = figures()
    await refresh()
    return [
      await value('shopwire_queue_jobs{queue="mail",state="due"}'),
      await value('shopwire_mail_oldest_waiting_seconds'),
    ]
  }
  await shop.database.asOwner(`delete from jobs where queue = 'mail'; delete from outgoing_mail`)
  expect(await seen()).toEqual([0, 0])
  const nowMs = Date.now()
  for (const ageMs of [1_000, 3_600_000])
    await queueMail(
      shop.database.worker,
      shop.keyring,
      { to: 'ada@example.com', letter: { subject: 'Hello' } },
      nowMs - ageMs,
    )
  const [waiting, oldest_s] = await seen()
  expect(waiting).toBe(2)
  expect(oldest_s).toBeGreaterThanOrEqual(3_600)
  await shop.database.asOwner(
    `update jobs set run_at = 'infinity', dead_at = now()
      where created_at = (select min(created_at) from jobs where queue = 'mail')`,
  )
  const [left, younger_s] = await seen()
  expect([left, Number(younger_s) < 3_600]).toEqual([1, true])
  await sendDueMail({ db: shop.database.worker, keyring: shop.keyring, send: async () => {} })
  expect(await seen()).toEqual([0, 0])
  await shop.database.asOwner(`delete from jobs where queue = 'mail'; delete from outgoing_mail`)
})

test('a token that ends within a week is a warning, and so are all that have ended; another one ends it', async () => {
  const { refresh, value, warning } = figures()
  const series = 'shopwire_operator_token_expiry_timestamp_seconds'
  const look = async () => {
    await refresh()
    return {
      endsInDays: Math.round((Number(await value(series)) - Date.now() / 1_000) / 86_400),
      said: warning(),
    }
  }
  await refresh()
  expect([await value(series), warning()]).toEqual([undefined, undefined])
  expect(await value('shopwire_store_open')).toBe(1)
  const add = (email: string, days: number) => shop.operator.addOperator({ email, days, isFirst: false })
  await add('ada@example.com', 3)
  await add('bob@example.com', 90)
  expect(await look()).toEqual({
    endsInDays: 3,
    said: expect.stringContaining('a token of an operator ends on'),
  })
  await add('ada@example.com', 30)
  expect(await look()).toEqual({ endsInDays: 30, said: undefined })
  await shop.database.asOwner(
    `update operator_tokens set created_at = created_at - interval '100 days', expires_at = now() - interval '1 day'`,
  )
  expect(await look()).toEqual({ endsInDays: -1, said: expect.stringContaining('operators list') })
})
