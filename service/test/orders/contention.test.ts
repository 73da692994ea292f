import { setTimeout as sleep } from 'node:timers/promises'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { INVARIANTS } from '../../src/installation.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { composeEvent } from '../../src/orders/fulfilment/compose-event.ts'
import { createFulfilment } from '../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { markOverlooked, wakeRestocked } from '../../src/orders/fulfilment/wake-waiting.ts'
import { systemClock as clock } from '../../src/platform/clock.ts'
import { openDatabase, sql } from '../../src/platform/database/db.ts'
import { createJobRunner } from '../../src/platform/jobs/job-runner.ts'
import { extendLeases, type Job } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'
import { createObtainer } from '../../src/supply/obtain.ts'
import { announceCatalogue } from '../../src/webhooks/announce.ts'
import { createDelivery } from '../../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../../src/webhooks/deliver-queue.ts'
import { type Attempt, recordAttempts } from '../../src/webhooks/delivery-queries.ts'
import { queueTest, setEndpoint } from '../../src/webhooks/endpoint.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const STRESS_MS = process.env.SHOPWIRE_LONG ? 20_000 : 5_000
/** Far below the lock timeout; far above what anything here takes on a busy machine. */
const PROMPT_MS = 1_500
const HERE = 'https://93.184.216.34/hook'
const limits = { requestsMax: 1_000_000, ordersMax: 1_000_000 }

let count = 0
const number = () => {
  count += 1
  return count
}
const itemIds = (n: number) => Array.from({ length: n }, () => `3${String(number()).padStart(16, '0')}`)
const linksOf = (n: number) => Array.from({ length: n }, () => `https://gift.example/contended-${number()}`)
const pick = <Thing>(things: readonly Thing[]) => things[Math.floor(Math.random() * things.length)] as Thing

describe('while a transaction holds the supply row of an item', () => {
  let shop: Shop
  let worker: ReturnType<typeof startWorker>
  beforeAll(async () => {
    shop = await openShop({ limits })
    worker = startWorker(shop)
  })
  afterAll(async () => {
    await worker.stop()
    await shop.close()
  })

  /** An account with money, an endpoint and one pending event. */
  async function newAccount() {
    const { id } = await shop.operator.createAccount('Contended')
    await shop.operator.fundAccount(id, { amount_cents: 10_000, reference: `opening ${id}` })
    await shop.database.api.transaction((tx) =>
      setEndpoint(tx, shop.keyring, { account_id: id, url: HERE, set_by: 'test' }, Date.now()),
    )
    await shop.database.api.transaction((tx) => queueTest(tx, id, Date.now()))
    return id
  }
  const buy = async (account_id: string, ...ids: string[]) => {
    const items = ids.map((id) => ({ id, qty: 2 }))
    const bought = await shop.operator.placeOrder(account_id, {
      items,
      idempotency_key: `contended-${number()}`,
    })
    return bought.kind === 'bought' ? bought.order.id : bought.order_id
  }
  const nextAttempt = async (account_id: string): Promise<Attempt> => ({
    ...(await shop.database.owner.one<Pick<Attempt, 'account_id' | 'endpoint_id' | 'event_id' | 'round'>>(
      sql`select account_id, endpoint_id, event_id, round from deliveries
           where account_id = ${account_id} order by event_id limit 1`,
    )),
    n: 1,
    started_at: new Date(),
    finished_at: new Date(),
    status: 200,
    error: null,
    remote_address: '93.184.216.34',
    signed_s: null,
    signatures: null,
    connect_ms: null,
    send_ms: null,
    wait_ms: null,
    answer_sealed: null,
    answer_kek_id: null,
    body_sealed: null,
    body_kek_id: null,
    state: 'delivered',
    next_at: new Date(),
  })
  const untilSomebodyWaits = () =>
    expect
      .poll(async () => {
        const waiting = await shop.database.owner.many(
          sql`select from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock' and query like '%item_supply%'`,
        )
        return waiting.length
      })
      .toBeGreaterThan(0)

  test.each([
    ['a cancellation', (id: string) => shop.operator.cancelOrder(id, 'test')],
    ['a delivery', (id: string) => shop.operator.retryOrder(id)],
  ])('%s waits for it; webhooks and orders of other accounts do not', async (_what, begin) => {
    const [stuck, free] = itemIds(2) as [string, string]
    await putItems(shop.database.operator, [itemOf(stuck), itemOf(free)])
    // Attempts are recorded in the order of the accounts: one that waits for the second account would hold the first.
    const [first, second] = [await newAccount(), await newAccount()]
    const order = await buy(second, stuck)
    // It has one link of two, and waits for the other.
    await shop.operator.loadPool(stuck, linksOf(1))
    await expect
      .poll(() =>
        shop.database.owner.many(
          sql`select from jobs j join order_links k on k.order_id = j.subject where j.subject = ${order} and j.run_at = 'infinity'`,
        ),
      )
      .toHaveLength(1)
    const attempts = [await nextAttempt(first), await nextAttempt(second)]

    const holder = new pg.Client({ connectionString: shop.database.superuserUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from item_supply where item_id = $1 for update', [stuck])
    const waits = Promise.resolve(begin(order)).catch((error: unknown) => error)
    await untilSomebodyWaits()

    const startedMs = performance.now()
    const recorded = recordAttempts(shop.database.worker, attempts)
    const bought = await buy(first, free)
    expect(await recorded).toEqual([true, true])
    const tookMs = performance.now() - startedMs
    await holder.query('rollback')
    await holder.end()
    await waits
    expect(bought).toMatch(/^ord_/)
    expect(tookMs).toBeLessThan(PROMPT_MS)
  })
})

test(`${STRESS_MS / 1000} s of loads, deliveries, cancellations, leases, attempts and endpoint changes cause no deadlock`, {
  timeout: STRESS_MS + 60_000,
}, async () => {
  const shop = await openShop({ limits })
  const { name } = await shop.database.owner.one<{ name: string }>(sql`select current_database() as name`)
  // Detected at once instead of after a second: a deadlock does not slow the test down and is still counted.
  await shop.database.asOwner(`alter database ${name} set deadlock_timeout = '20ms'`)
  const open = (url: string) =>
    openDatabase(
      {
        url,
        application_name: 'stress',
        connectionsMax: 12,
        connectMsMax: 10_000,
        statementMsMax: 10_000,
        lockMsMax: 10_000,
        namedStatements: true,
      },
      () => {},
    )
  const { processUrls, owner } = shop.database
  const [api, worker, admin] = [open(processUrls.api), open(processUrls.worker), open(processUrls.operator)]
  const { keyring } = shop
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const operator = createOperator(
    { db: admin, keyring, clock, cell: 'c1', admission: async () => shop.admission },
    'test',
  )
  const log = createLog('silent')

  const items = itemIds(4)
  await putItems(
    shop.database.operator,
    items.map((id) => itemOf(id)),
  )
  const supplier = await startSupplier('acme')
  const { secret } = await operator.createSupplier({
    name: supplier.name,
    url: supplier.url,
    timeout_ms: 5_000,
    allowHttp: true,
  })
  supplier.setSecret(secret)
  supplier.answers(async (ask) => {
    await sleep(Math.random() * 20)
    return Math.random() < 0.3 ? { status: 202 } : supplier.give(ask)
  })
  for (const item of items) await operator.chooseSource(item, { supplier: supplier.name })
  const accounts: string[] = []
  for (let n = 0; n < 3; n += 1) {
    const { id } = await operator.createAccount(`Stress ${n}`)
    await operator.fundAccount(id, { amount_cents: 100_000_000, reference: `opening ${id}` })
    accounts.push(id)
  }
  const configure = (account_id: string, url: string) =>
    api.transaction((tx) => setEndpoint(tx, keyring, { account_id, url, set_by: 'test' }, Date.now()))
  for (const account_id of accounts) await configure(account_id, HERE)

  const metrics = createMetrics('test')
  const obtain = createObtainer({ db: worker, keyring, clock, asksMax: 100, fetch, log, metrics })
  const fulfil = createFulfilment({ db: worker, vault, clock, log, metrics, obtain })
  const runners = [
    ...[1, 2].map(() =>
      createJobRunner(worker, {
        queue: FULFIL_QUEUE,
        subjectName: 'order_id',
        metrics,
        concurrency: 6,
        backlogMax: 4,
        failingMax: 6,
        log,
        // Due again soon, because waiting jobs are what collides.
        work: async (job) => {
          const end = await fulfil(job)
          return end.kind === 'again' ? { ...end, waitMs: 50 } : end
        },
      }),
    ),
    createJobRunner(worker, {
      queue: DELIVER_QUEUE,
      subjectName: 'endpoint_id',
      metrics,
      concurrency: 4,
      backlogMax: 2,
      failingMax: 4,
      log,
      work: createDelivery({
        db: worker,
        keyring,
        clock,
        openClient: () => ({
          post: async () => ({ error: null, status: 200, remote_address: '93.184.216.34' }),
          close: async () => {},
        }),
        log,
        metrics,
        notify: async () => {},
        compose: (event) => composeEvent(worker, vault, event),
        random: Math.random,
      }),
    }),
  ]
  for (const runner of runners) runner.start()

  const done = { bought: 0, loaded: 0, woken: 0, cancelled: 0, byHand: 0, kept: 0, moved: 0, announced: 0 }
  const endMs = performance.now() + STRESS_MS
  // On a slow machine everything has to happen once all the same.
  const isOver = () =>
    performance.now() > (Math.min(...Object.values(done)) > 0 ? endMs : endMs + 4 * STRESS_MS)
  /** Repeats until the time is up. Refusals, such as ending an order twice, are expected. */
  async function over(what: keyof typeof done, pauseMs: number, work: () => Promise<unknown>) {
    while (!isOver()) {
      try {
        await work()
        done[what] += 1
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
      await sleep(pauseMs)
    }
  }
  const paidOrder = () =>
    owner.maybeOne<{ id: string; units: number }>(sql`
      select o.id, (select sum(qty) from order_lines l where l.account_id = o.account_id and l.order_id = o.id)
                   - (select count(*) from order_links k where k.account_id = o.account_id and k.order_id = o.id) as units
        from orders o
       where status = 'paid'
       order by random()
       limit 1`)
  const shuffled = async () =>
    owner.many<Job>(
      sql`select account_id, queue, subject, attempts, created_at, is_failing, is_backlog, failures from jobs
           where queue = ${FULFIL_QUEUE} order by random()`,
    )
  await Promise.all([
    ...accounts.map((account_id) =>
      over('bought', 15, () => {
        const cart = items.toSorted(() => Math.random() - 0.5).slice(0, 3)
        const request = { items: cart.map((id) => ({ id, qty: 2 })), idempotency_key: `stress-${number()}` }
        return operator.placeOrder(account_id, request)
      }),
    ),
    over('loaded', 5, () => operator.loadPool(pick(items), linksOf(2))),
    over('loaded', 5, () => operator.loadPool(pick(items), linksOf(2))),
    ...[1, 2].map(() =>
      over('woken', 5, async () => {
        await wakeRestocked(worker)
        await markOverlooked(worker)
      }),
    ),
    over('cancelled', 15, async () => {
      const order = await paidOrder()
      if (order) await operator.cancelOrder(order.id, 'test')
    }),
    over('byHand', 15, async () => {
      const order = await paidOrder()
      if (order) await operator.deliverOrder(order.id, linksOf(order.units))
    }),
    ...[1, 2].map(() =>
      over('kept', 2, async () => extendLeases(worker, FULFIL_QUEUE, await shuffled(), 10_000)),
    ),
    over('moved', 20, () => configure(pick(accounts), `${HERE}?${number()}`)),
    over('announced', 20, async () => {
      await owner.run(sql`update catalogue_announcement set begun_at = 'epoch'`)
      await announceCatalogue(worker, number(), Date.now())
    }),
  ])
  await Promise.all(runners.map((runner) => runner.stop(5_000)))
  await supplier.close()
  const delivered = await owner.many(sql`select from orders where status = 'delivered'`)
  const findings = await verifyData(admin, await readRules(INVARIANTS), () => {})
  // A connection reports its statistics when it ends.
  await Promise.all([api, worker, admin].map((db) => db.close()))
  const { deadlocks } = await shop.database.owner.one<{ deadlocks: number }>(
    sql`select deadlocks from pg_stat_database where datname = ${name}`,
  )
  process.stdout.write(
    `stress: ${deadlocks} deadlocks, ${delivered.length} orders delivered, ${JSON.stringify(done)}\n`,
  )
  await shop.close()
  expect(deadlocks).toBe(0)
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
  expect(Math.min(...Object.values(done), delivered.length)).toBeGreaterThan(0)
})
