import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { expect, test } from 'vitest'
import { createMemberAct } from '../src/dashboard/act.ts'
import { keysArea } from '../src/dashboard/keys/keys.ts'
import { callerOfToken, tokensArea } from '../src/dashboard/keys/tokens.ts'
import { mailArea } from '../src/dashboard/team/mail.ts'
import { createMailOwners } from '../src/dashboard/team/mail-owners.ts'
import { viewsArea } from '../src/dashboard/views/views.ts'
import { checkBalances, upsertAlert } from '../src/funding/balance-alert.ts'
import { insertPaymentEvent } from '../src/funding/event-queries.ts'
import { createPaymentWorker } from '../src/funding/payment-worker.ts'
import type { PaymentFact, PaymentProvider, ReadReversal } from '../src/funding/provider.ts'
import { insertTopUp } from '../src/funding/queries.ts'
import { createReconciliation } from '../src/funding/reconcile.ts'
import { newReference } from '../src/funding/reference.ts'
import { closeAccountDays } from '../src/ledger/account-days.ts'
import { notifyPeople } from '../src/operations/notify-people.ts'
import { createOperator, type Operator } from '../src/operations/operator.ts'
import { sealNext } from '../src/operations/seals/sealer.ts'
import { deleteOldPeriods, recordCondition } from '../src/operations/status-page/history.ts'
import { createBacklogCounter } from '../src/orders/fulfilment/backlog.ts'
import { composeEvent } from '../src/orders/fulfilment/compose-event.ts'
import { keepLinks } from '../src/orders/fulfilment/delivery.ts'
import { createFulfilment } from '../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../src/orders/fulfilment/fulfil-queue.ts'
import { createRefundRule } from '../src/orders/fulfilment/refund-rule.ts'
import { markOverlooked, wakeRestocked } from '../src/orders/fulfilment/wake-waiting.ts'
import { createPositionKeeper } from '../src/orders/journal/keep-position.ts'
import { eraseOldLinks } from '../src/orders/links/link-retention.ts'
import { createEvidenceWriter, deleteOldEvidence } from '../src/orders/placing/evidence.ts'
import { placeInBatches } from '../src/orders/placing/order-batches.ts'
import { hashCart, placeOrder } from '../src/orders/placing/place-order.ts'
import { systemClock as clock } from '../src/platform/clock.ts'
import { inAccount } from '../src/platform/database/account-scope.ts'
import { nameIdentity, readDatabaseState } from '../src/platform/database/database-identity.ts'
import { markBehind, noteJournalProblem } from '../src/platform/database/store-position.ts'
import { type Keyring, localKeks, openKeyring } from '../src/platform/encryption/encryption.ts'
import { verifyEncryptionKeys } from '../src/platform/encryption/key-checks.ts'
import { createDatabaseTime } from '../src/platform/jobs/clock-watch.ts'
import { extendLeases, failJob, postponeJob, releaseFrozenJobs, wakeJob } from '../src/platform/jobs/jobs.ts'
import { createRemovalLimit } from '../src/platform/jobs/removal-limit.ts'
import {
  deleteOldHeartbeats,
  recordHeartbeat,
  recordWorkerStop,
} from '../src/platform/jobs/worker-heartbeats.ts'
import { createLog } from '../src/platform/observability/log.ts'
import type { Sent } from '../src/platform/outbound/guarded-client.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import { openJournalFolder } from '../src/supply/journal-files.ts'
import { createObtainer } from '../src/supply/obtain.ts'
import { recordLinks } from '../src/supply/record-links.ts'
import { lockRestocked, markRestocked, moveBack } from '../src/supply/restocked.ts'
import { announceCatalogue } from '../src/webhooks/announce.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/deliver-queue.ts'
import { queueTest, setEndpoint, stopEndpoint } from '../src/webhooks/endpoint.ts'
import { deleteOldEvents } from '../src/webhooks/retention.ts'
import { claimFromAllLanes } from '../testing/claim.ts'
import { openTestDatabase, type TestDatabase } from '../testing/database.ts'
import { walkIdentity } from '../testing/identity-walk.ts'
import { itemOf } from '../testing/items.ts'
import { LOCK_ORDER, recordLocks, tablesLockedBy } from '../testing/lock-order.ts'
import { callAs, memberOf, signIn } from '../testing/member.ts'

const DAY_MS = 86_400_000
const LEASE_MS = 60_000

test('every transaction locks rows in the order of LOCK_ORDER, and every locking statement in the sources was run', async () => {
  const { database, violations, ran } = await recordLocks(await openTestDatabase())
  const { api, worker } = database
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const keyring = openKeyring(localKeks(new Map([['old', old]]), 'old'))
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const operatorWith = (ring: typeof keyring) =>
    createOperator(
      { db: database.operator, keyring: ring, clock, cell: 'c1', admission: async () => silent },
      'test',
    )
  const silent = { announce: async () => {} } as never
  const operator = operatorWith(keyring)

  let count = 0
  const links = (n: number) =>
    Array.from({ length: n }, () => {
      count += 1
      return `https://gift.example/lock-${count}`
    })
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const network = { fetch: globalThis.fetch }
  const obtain = createObtainer({
    db: worker,
    keyring,
    clock,
    asksMax: 4,
    fetch: (url, init) => network.fetch(url, init),
    log,
    metrics,
  })
  const fulfil = createFulfilment({ db: worker, vault, clock, log, metrics, obtain })
  /** Claims every order that is due, once. */
  async function fulfilAll() {
    while (await wakeRestocked(worker));
    const jobs = await claimFromAllLanes(worker, FULFIL_QUEUE, { limit: 50, leaseMs: LEASE_MS })
    await extendLeases(worker, FULFIL_QUEUE, jobs, LEASE_MS)
    for (const job of jobs) {
      const end = await fulfil(job)
      if (end.kind !== 'done') await postponeJob(worker, job, { note: end.note, waitMs: 0 })
    }
  }
  let answer: Sent = { error: null, status: 200, remote_address: '93.184.216.34' }
  async function deliverAll(laterMs = 0) {
    const deliver = createDelivery({
      db: worker,
      keyring,
      clock: { nowMs: () => clock.nowMs() + laterMs },
      openClient: () => ({ post: async () => answer, close: async () => {} }),
      log,
      metrics,
      notify: notifyPeople(keyring, clock),
      compose: (event) => composeEvent(worker, vault, event),
      random: Math.random,
    })
    await database.asOwner(`update jobs set run_at = now() where queue = '${DELIVER_QUEUE}'`)
    for (const job of await claimFromAllLanes(worker, DELIVER_QUEUE, { limit: 50, leaseMs: LEASE_MS })) {
      const end = await deliver(job)
      if (end.kind !== 'done') await postponeJob(worker, job, end)
    }
  }

  // Accounts, money, keys, store.
  const { id: account_id, access_version } = await operator.createAccount('Locks')
  await operator.fundAccount(account_id, { amount_cents: 100_000, reference: 'opening' })
  await operator.adjustAccount(account_id, { change_cents: -5, reference: 'slip', note: 'test' })
  const other = await operator.createAccount('Another')
  const { key } = await operator.createKey(other.id, 'test', ['account:read'])
  await operator.revokeKey(key.id)
  await operator.suspendAccount(other.id, 'test')
  await operator.resumeAccount(other.id)
  await operator.setStore(false, 'test')
  await operator.setStore(true, null)
  const [from, until] = [new Date(clock.nowMs() + DAY_MS), new Date(clock.nowMs() + 2 * DAY_MS)]
  const window = await operator.planWindow({ closes_at: from, opens_at: until, reason: 'test' })
  await operator.cancelWindow(window.id)

  // The catalogue, and where its links come from.
  const ids = [1, 2, 3, 4].map((n) => `2000000000000000${n}`) as [string, string, string, string]
  const [first, second, supplied, gone] = ids
  const importItems = (wanted: readonly string[]) =>
    operator.importCatalogue(new Map(wanted.map((id) => [id, itemOf(id)])), 'test', {
      isPartial: false,
      allowRemovals: true,
    })
  await importItems(ids)
  await importItems([first, second, supplied])
  await operator.setItem(gone, { price_cents: '400' })
  const supplier = await startSupplier('acme')
  const { secret } = await operator.createSupplier({
    name: supplier.name,
    url: supplier.url,
    timeout_ms: 2_000,
    allowHttp: true,
  })
  supplier.setSecret(secret)
  await operator.pauseSupplier(supplier.name, true)
  await operator.pauseSupplier(supplier.name, false)
  await operator.chooseSource(supplied, { supplier: supplier.name, cost_cents: 100 })
  await operator.limitSupplier(supplier.name, 100_000)
  await operator.paySupplier(supplier.name, { cents: 5, reference: 'transfer 1' })
  await operator.loadPool(first, links(1))
  await operator.loadPool(second, links(1))

  await operator.checkPool(second)
  await operator.restorePool(second)

  // Webhook endpoints.
  const configure = (url: string) =>
    api.transaction((tx) => setEndpoint(tx, keyring, { account_id, url, set_by: 'test' }, clock.nowMs()))
  await configure('https://93.184.216.34/a')
  await operator.rotateWebhookSecret(account_id)
  await api.transaction((tx) => queueTest(tx, account_id, clock.nowMs()))
  await configure('https://93.184.216.34/b')

  // Orders to both final states.
  const alone = placeInBatches(api, { mode: 'off' })
  const together = placeInBatches(api, { mode: 'always' })
  async function buy(...items: { id: string; qty?: number }[]) {
    count += 1
    const request = { items, idempotency_key: `lock-order-${count}` }
    const refuse = () => Promise.reject(new Error('the account changed'))
    const bought = await placeOrder(
      count % 2 === 0 ? alone : together,
      { account_id, key_id: 'test', access_version },
      request,
      { request_hash: hashCart(items), request_id: 'req_test', client_address: '192.0.2.1' },
      clock.nowMs(),
      refuse,
    )
    return bought.kind === 'bought' ? bought.order.id : bought.order_id
  }
  await buy({ id: second }, { id: first })
  await fulfilAll()
  await operator.loadPool(first, links(2))
  await operator.loadPool(second, links(2))
  await buy({ id: second })
  // An item that is delivered by hand is never short.
  await operator.chooseSource(second, { source: 'hand' })
  const cancelled = await buy({ id: first, qty: 2 }, { id: second, qty: 2 })
  await operator.chooseSource(second, { source: 'pool' })
  await fulfilAll()
  await operator.cancelOrder(cancelled, 'test')
  supplier.answers(() => ({ status: 500 }))
  const slow = await buy({ id: supplied, qty: 2 })
  await fulfilAll()
  await fulfilAll()
  await operator.giveUpRequests(slow, 1)
  await operator.collectRequest(`${slow}-1`)
  supplier.answers(() => ({ status: 409 }))
  await operator.collectRequest(`${slow}-1`)
  await operator.retryOrder(slow)
  await fulfilAll()
  // A load fills the line while the supplier is asked for it: its links go to the pool and wake waiting orders.
  supplier.answers(async (ask) => {
    await operator.loadPool(supplied, links(2))
    return supplier.give(ask)
  })
  await operator.retryOrder(slow)
  await fulfilAll()
  // No connection: nothing was received, and the request is made again under its id.
  const unreached = await buy({ id: supplied, qty: 5 })
  const { fetch: reached } = network
  network.fetch = async () => {
    throw new TypeError('fetch failed', { cause: { syscall: 'connect' } })
  }
  await fulfilAll()
  network.fetch = reached
  supplier.answers(() => ({ status: 202 }))
  await operator.retryOrder(unreached)
  await fulfilAll()
  await operator.giveUpRequests(unreached, 1)
  supplier.answers(undefined)
  await operator.collectRequest(`${unreached}-1`)
  await fulfilAll()
  await operator.chooseSource(supplied, { source: 'hand' })
  const { result: byHand } = await operator
    .placeOrder(account_id, { items: [{ id: supplied }], idempotency_key: 'by-hand-1' })
    .then((result) => ({ result }))
  await fulfilAll()
  await operator.deliverOrder(byHand.kind === 'bought' ? byHand.order.id : byHand.order_id, links(1))
  await buy({ id: supplied })
  await operator.setRefundRule({ cancel_after_ms: 1, per_hour_max: 1 })
  await buy({ id: supplied })
  await database.asOwner(`
    update jobs set attempts = 1;
    update refund_rule set working_since = now() - interval '1 hour';
    update database_identity set confirmed_at = now() - interval '1 hour'`)
  await sleep(10)
  expect(await createRefundRule({ db: worker, vault, log, metrics })()).toBe(1)
  await operator.releaseRefundRule()

  // Deliveries of events.
  await deliverAll()
  answer = { error: 'http_500', status: 500, remote_address: '93.184.216.34' }
  for (let n = 0; n < 10; n += 1) await api.transaction((tx) => queueTest(tx, account_id, clock.nowMs()))
  await database.asOwner(`update deliveries set created_at = created_at - interval '2 minutes'`)
  await api.transaction((tx) => queueTest(tx, account_id, clock.nowMs()))
  await deliverAll()
  await deliverAll(2 * DAY_MS)
  await announceCatalogue(worker, 1_000, clock.nowMs())
  const now = clock.nowMs()
  await operator.recoverEvents(account_id, { from: new Date(now - DAY_MS), until: new Date(now + DAY_MS) })
  const [event] = await database.owner.many<{ id: string }>({
    name: 'one',
    text: 'select id from events',
    values: [],
  })
  await operator.resendEvent(account_id, String(event?.id))
  answer = { error: null, status: 200, remote_address: '93.184.216.34' }
  await deliverAll()
  await api.transaction((tx) => stopEndpoint(tx, account_id, clock.nowMs()))
  expect(await closeAccountDays(worker, clock.nowMs() + DAY_MS)).toBe(true)
  while (await sealNext(worker, clock.nowMs()));
  expect((await deleteOldEvents(worker, new Date(clock.nowMs() + DAY_MS))).removed).toBeGreaterThan(10)
  expect(
    (await eraseOldLinks(worker, new Date(clock.nowMs() + DAY_MS), clock.nowMs())).removed,
  ).toBeGreaterThan(1)

  const removals = createRemovalLimit(worker, { log, metrics })
  await removals.remove('journal', 3, async () => ({ removed: 3, isMore: true }))
  await removals.remove('journal', 3, async () => ({ removed: 0, isMore: false }))
  await operator.releaseRemoval('journal', 'test')

  // Evidence.
  const evidence = createEvidenceWriter(api, { log, metrics })
  evidence.add({
    account_id,
    key_id: 'test',
    request_id: 'req_test',
    at_ms: clock.nowMs() - 100 * DAY_MS,
    client_address: '192.0.2.1',
    status: 200,
    refused: null,
    isSent: true,
    attempt: { idempotency_key: 'lock-order-1', request_hash: hashCart([{ id: first }]) },
    read: { order_id: slow, links: 2 },
  })
  await evidence.stop()
  expect((await deleteOldEvidence(worker, new Date(clock.nowMs()))).removed).toBe(2)

  await moneyInAndBack(database, operator, (await operator.createAccount('Payer')).id)
  await changeKeysAndTokens(database, account_id, keyring)
  await chooseMailAndViews(database, account_id)
  await walkIdentity({ database, keyring })

  // A closed account, with its people and what it had.
  const closing = (await operator.createAccount('Closing')).id
  await operator.createKey(closing, 'closing', ['account:read'])
  await api.transaction((tx) =>
    setEndpoint(
      tx,
      keyring,
      { account_id: closing, url: 'https://93.184.216.34/c', set_by: 'test' },
      clock.nowMs(),
    ),
  )
  await operator.closeAccount(closing, 'test')
  await operator.eraseAccount(closing)

  // Keys, the clock, workers, and the database itself.
  await recordHeartbeat(worker, 'wrk_1')
  await recordWorkerStop(worker, 'wrk_1')
  await deleteOldHeartbeats(worker)
  for (const impaired of [[], [], ['buying']] as const)
    await recordCondition(worker, { store: 'open', reason: null, impaired }, new Date(clock.nowMs()))
  await deleteOldPeriods(worker, new Date(0))
  await releaseFrozenJobs(worker, 100)
  await markOverlooked(worker)
  await createBacklogCounter(worker, () => true)()
  await worker.transaction(async (tx) => {
    await markRestocked(tx, ['1'])
    await lockRestocked(tx, 'infinity')
    await moveBack(tx, '1')
  })
  await wakeJob(worker, account_id, DELIVER_QUEUE, 'whe_dead')
  for (const job of await claimFromAllLanes(worker, DELIVER_QUEUE, { limit: 50, leaseMs: 0 }))
    await failJob(worker, job, { waitMs: 0, note: 'test', failuresMax: 1 })
  await operator.retryDeadLetters(null)
  await verifyEncryptionKeys(database.operator, keyring)
  await recoverFromLoss(database, keyring, [first, second])
  await operatorWith(
    openKeyring(
      localKeks(
        new Map([
          ['old', old],
          ['new', next],
        ]),
        'new',
      ),
    ),
  ).reEncryptSecrets({ onUnopened() {} })
  await supplier.close()
  await database.close()

  expect(violations).toEqual([])
  expect(lockingStatements().filter(({ text }) => !ran.has(text))).toEqual([])
})

/**
 * A store with a journal, one of whose deliveries is undone as by a restore: the link of one order is in the pool again, that of another is
 * with an order that waits.
 */
async function recoverFromLoss(
  database: TestDatabase,
  keyring: Keyring,
  [first, second]: readonly [string, string],
) {
  const { worker } = database
  const dir = await mkdtemp(join(tmpdir(), 'shopwire-locks-'))
  const journal = openJournalFolder(dir, { nowMs: clock.nowMs, onError() {} })
  const vault = createLinkVault(worker, keyring)
  await vault.open()
  const log = createLog('silent')
  const keep = createPositionKeeper({
    db: worker,
    vault,
    journal,
    log,
    metrics: createMetrics('test'),
    nowMs: clock.nowMs,
  })
  await keep()
  const admission = async () => ({ announce: async () => {} }) as never
  const operator = createOperator(
    { db: database.operator, keyring, clock, cell: 'c1', admission, journal },
    'test',
  )
  const account = await operator.createAccount('Lost')
  await operator.fundAccount(account.id, { amount_cents: 10_000, reference: 'lost' })
  const buy = async (id: string) => {
    count += 1
    const placed = await operator.placeOrder(account.id, {
      items: [{ id }],
      idempotency_key: `lost-${count}`,
    })
    return placed.kind === 'bought' ? placed.order.id : placed.order_id
  }
  let count = 0
  const links = ['https://gift.example/lost-1', 'https://gift.example/lost-2'] as const
  for (const id of [first, second]) await operator.chooseSource(id, { source: 'hand' })
  const [pooled, held, waiting] = [await buy(first), await buy(second), await buy(second)]
  for (const id of [first, second]) await operator.chooseSource(id, { source: 'pool' })
  const hash = (link: string) => vault.fingerprint(link)
  const sold = (order_id: string, item_id: string, link: string) => ({
    ...{ at: new Date(), account_id: account.id, order_id, line: 1, unit: 1, item_id, source: 'pool' },
    hash: hash(link),
  })
  await journal.append([sold(pooled, first, links[0]), sold(held, second, links[1])])
  await operator.loadPool(first, [links[0]])
  await worker.transaction(async (tx) => {
    await recordLinks(tx, [hash(links[1])], clock.nowMs())
    const place = { account_id: account.id, order_id: waiting, line: 1 }
    await keepLinks(tx, vault, place, 0, [links[1]], 'pool', clock.nowMs())
  })
  await database.asOwner('update database_identity set compared_start = null')
  await keep()
  await noteJournalProblem(worker, 'test')
  await markBehind(worker, 'test')
  const { kept } = await operator.compareWithJournal(journal, { from: undefined, apply: true })
  expect(kept).toEqual({ recorded: 2, set_aside: 1, given_back: 2, taken_back: 1 })
  const identity = nameIdentity((await readDatabaseState(worker)).present)
  await operator.openStore(journal, { identity, withoutJournal: false })
  await keep()
  await operator.openStore(undefined, { identity, withoutJournal: true })
  await operator.setFailover('ask')
  await journal.close()
  await rm(dir, { recursive: true })
}

/** Top-ups that are credited, taken back, disputed, won, owed and written off, and an alert about it. */
async function moneyInAndBack(database: TestDatabase, operator: Operator, account_id: string) {
  const { worker, dashboard } = database
  const notify = async () => {}
  const reversals = new Map<string, ReadReversal[]>()
  const taken = (kind: ReadReversal['kind'], reference: string, amount_cents: number, isTaken = true) => ({
    ...{ kind, reference, amount_cents, isTaken },
    ...{ currency: 'usd', status: isTaken ? 'taken' : 'returned', isSettled: !isTaken },
  })
  const log = createLog('silent')
  const provider: PaymentProvider = {
    name: 'stripe',
    open: async () => ({ session: '', url: '' }),
    readSession: async (id) => {
      if (id === 'cs_top_open') return { payment: null, url: null, state: 'open' }
      return id === 'cs_top_3'
        ? { payment: null, url: null, state: 'expired' }
        : { payment: `pi_${id.slice(3)}`, url: null, state: 'paid' }
    },
    readPayment: async (payment) => ({
      ...{ payment, payer: { account_id, top_up_id: payment.slice(3) }, amount_cents: 500, currency: 'usd' },
      ...{ isPaid: true, reversals: reversals.get(payment) ?? [] },
    }),
    endSession: async () => {},
    list: async () => ({ found: [] }),
  }
  const payments = createPaymentWorker({ db: worker, clock, log, notify, provider })
  const ask = async (id: string, provider: 'bank' | 'stripe' = 'stripe') =>
    inAccount(dashboard, account_id, (tx) =>
      insertTopUp(tx, {
        account_id,
        id,
        provider,
        amount_cents: 500,
        reference: newReference(),
        provider_session: provider === 'stripe' ? `cs_${id}` : null,
        attempt: id,
        created_by: 'per_1',
        created_by_name: 'Ada',
        created_at: new Date(clock.nowMs()),
      }),
    )
  let events = 0
  const report = async (subject: string, fact: PaymentFact) => {
    events += 1
    const received_at = new Date(clock.nowMs())
    await insertPaymentEvent(dashboard, {
      provider: 'stripe',
      event_id: `evt_${events}`,
      subject,
      fact,
      received_at,
    })
  }
  const paid = (top_up_id: string) =>
    report(`pi_${top_up_id}`, { what: 'paid', page: { account_id, top_up_id, session: `cs_${top_up_id}` } })
  const take = async (payment: string, ...all: ReadReversal[]) => {
    reversals.set(payment, all)
    await report(payment, { what: 'taken' })
    await payments.applyEvents()
  }
  for (const id of ['top_1', 'top_2', 'top_open', 'top_3', 'top_4']) await ask(id)
  await ask('top_bank', 'bank')
  await ask('top_no', 'bank')
  await inAccount(dashboard, account_id, (tx) =>
    upsertAlert(tx, {
      account_id,
      threshold_cents: 100,
      updated_at: new Date(),
    }),
  )
  await checkBalances({ db: worker, clock, notify })
  await paid('top_1')
  await paid('top_3')
  await payments.applyEvents()
  await take('pi_top_1', taken('refund', 're_1', 100))
  await operator.adjustAccount(account_id, { change_cents: -400, reference: 'all', note: 'test' })
  await paid('top_2')
  await payments.applyEvents()
  await operator.adjustAccount(account_id, { change_cents: -400, reference: 'most', note: 'test' })
  await take('pi_top_2', taken('dispute', 'du_2', 500))
  await take('pi_top_1', taken('refund', 're_1', 100), taken('dispute', 'du_1', 500))
  await operator.confirmTopUp('top_bank', { amount_cents: 50, reference: 'bank' })
  await operator.rejectTopUp('top_no', 'test')
  const [owed] = await operator.listReceivables(10)
  await operator.writeOffReceivable(String(owed?.id), 'test')
  await take('pi_top_1', { ...taken('refund', 're_1', 100), status: 'done' }, taken('dispute', 'du_1', 500))
  await report('pi_top_1', { what: 'taken', reference: 'du_unknown' })
  await payments.applyEvents()
  await take('pi_top_2', taken('dispute', 'du_2', 500, false))
  const { reviews } = await operator.listTopUps(10)
  await operator.decideReview(String(reviews[0]?.id), 'test')
  await database.asOwner('update top_ups set look_at = now()')
  expect(await payments.lookAtTopUps()).toBeGreaterThan(1)
  await createReconciliation({ db: worker, log, provider, settle: payments.settle })()
  await operator.reconcilePayments()
  const monotonic = { monotonicMs: () => performance.now(), boot_id: 'boot', awayMsMax: 1 }
  await createDatabaseTime({ db: worker, clock, log, metrics: createMetrics('test'), ...monotonic }).measure()
  await operator.acceptClock('test')
  await checkBalances({ db: worker, clock, notify })
}

/** The last owner's mail of a kind, and a view of each list. */
async function chooseMailAndViews(database: TestDatabase, account_id: string): Promise<void> {
  const member = await signIn(database, memberOf(account_id))
  const shared = { db: database.dashboard, act: createMemberAct(database.dashboard, clock) }
  const [mail, views] = [mailArea(shared), viewsArea(shared)]
  await callAs(member, mail.setOwnMail, { body: { kind: 'top_up', is_on: true } })
  const { id } = await callAs(member, views.saveView, {
    body: { list: 'orders', name: 'Paid', query: 'status=paid' },
  })
  await callAs(member, views.renameView, { body: { id, name: 'Open' } })
  await callAs(member, views.deleteView, { body: { id } })
}

async function changeKeysAndTokens(
  database: TestDatabase,
  account_id: string,
  keyring: Keyring,
): Promise<void> {
  const member = await signIn(database, memberOf(account_id))
  const shared = {
    db: database.dashboard,
    keyring,
    act: createMemberAct(database.dashboard, clock),
    mailOwners: createMailOwners(keyring),
    cell: 'c1',
    apiUrl: 'https://api.shop.example/v1',
    origin: 'https://dashboard.example',
    admission: async () => ({ announce: async () => {} }) as never,
    log: createLog('silent'),
  }
  const [keys, tokens] = [keysArea(shared), tokensArea(shared)]
  const made = await callAs(member, keys.createKey, { body: { name: 'one', scopes: ['account:read'] } })
  const { id } = made.key
  await callAs(member, keys.renameKey, { body: { id, name: 'two' } })
  await callAs(member, keys.rotateKey, { body: { id } })
  await callAs(member, keys.revokeKey, { body: { id } })
  const wanted = { name: 'laptop', rights: ['orders:prove'], with_links: false, days: 1 }
  const { token, secret } = await callAs(member, tokens.createToken, { body: wanted })
  await callerOfToken(database.dashboard, secret, 'orders:prove', clock.nowMs())
  await callAs(member, tokens.revokeToken, { body: { id: token.id } })
}

test('LOCK_ORDER has each table once, and only tables of the schema', () => {
  const folder = new URL('../schema/tables/', import.meta.url)
  const text = readdirSync(folder)
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n')
  const tables = [...text.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name)
  expect(new Set(LOCK_ORDER).size).toBe(LOCK_ORDER.length)
  expect(LOCK_ORDER.filter((table) => !tables.includes(table))).toEqual([])
})

test('the tables that a statement locks are read from its text', () => {
  expect(tablesLockedBy('select a from orders o where not exists (select from jobs) for update')).toEqual([
    'orders',
  ])
  expect(tablesLockedBy('with h as (select id from jobs for share) update items set a = 1 from h')).toEqual([
    'jobs',
    'items',
  ])
  expect(tablesLockedBy('insert into jobs as j (a) select b from events on conflict do nothing')).toEqual([
    'jobs',
  ])
  const functions = new Map([['sell', 'begin delete from pool_links; update orders set a = 1; end']])
  expect(tablesLockedBy('select sell($1)', functions)).toEqual(['pool_links', 'orders'])
})

/** Every locking statement in the sources, with its file, except those of admission, which has its own tables. */
function lockingStatements(): { file: string; text: string }[] {
  const sources = new URL('../src/', import.meta.url)
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('access/'))
    .flatMap((file) =>
      statementsIn(readFileSync(new URL(file, sources), 'utf8')).map((text) => ({ file, text })),
    )
    .filter(({ text }) => tablesLockedBy(text).length > 0)
}

/** The texts as the `sql` tag makes them: each value becomes its number. */
function statementsIn(source: string): string[] {
  return source
    .split('sql`')
    .slice(1)
    .map((rest) => {
      let [text, depth, values] = ['', 0, 0]
      for (let n = 0; n < rest.length; n += 1) {
        if (depth === 0 && rest[n] === '`') return text
        if (depth === 0 && rest.startsWith('${', n)) {
          values += 1
          text += `$${values}`
          depth = 1
          n += 1
        } else if (depth > 0) depth += rest[n] === '{' ? 1 : rest[n] === '}' ? -1 : 0
        else text += rest[n]
      }
      return text
    })
}
