import { setTimeout as sleep } from 'node:timers/promises'
import { deleteOldUsage, USAGE_DELETE_CHUNK, USAGE_KEPT_DAYS } from './access/key-usage.ts'
import type { ProgramDeps } from './api-program.ts'
import { selectRevision } from './catalogue/queries.ts'
import type { Config } from './config.ts'
import { closeAccountDays } from './ledger/account-days.ts'
import { moneyLoops } from './money-wiring.ts'
import { exposeStoreFigures, FIGURES_EVERY_MS } from './operations/store-figures.ts'
import { composeEvent } from './orders/compose-event.ts'
import { deleteOldEvidence } from './orders/evidence.ts'
import { createFulfilment } from './orders/fulfil.ts'
import { createRefundRule } from './orders/refund-rule.ts'
import { FULFIL_QUEUE, restoreOwedJobs } from './orders/waiting.ts'
import { systemClock } from './platform/clock.ts'
import { createClockWatch } from './platform/clock-watch.ts'
import { watchDatabaseIdentity } from './platform/database-identity.ts'
import { every } from './platform/every.ts'
import { guardedClients } from './platform/guarded-client.ts'
import { newId } from './platform/ids.ts'
import { createJobRunner, type JobRunnerOptions } from './platform/job-runner.ts'
import { createMailSender, deleteOldMail, smtpSender } from './platform/mail.ts'
import { operatorFetch } from './platform/operator-fetch.ts'
import type { Step } from './platform/shutdown.ts'
import {
  deleteOldHeartbeats,
  HEARTBEAT_EVERY_MS,
  recordHeartbeat,
  recordWorkerStop,
} from './platform/worker-heartbeats.ts'
import { createLinkVault } from './supply/gift-link.ts'
import { createObtainer, type ObtainFromSuppliers } from './supply/obtain.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from './webhooks/announce.ts'
import { createDelivery, type DeliverDeps } from './webhooks/deliver.ts'
import { DELIVER_QUEUE } from './webhooks/endpoint.ts'
import { DELETE_CHUNK, deleteOldEvents } from './webhooks/retention.ts'
import { openKeyringFrom, type UntilAnswered, verifyKeysOf } from './wiring.ts'

const CLOCK_EVERY_MS = 3_000
const REFUND_RULE_EVERY_MS = 5_000
const RETENTION_EVERY_MS = 60_000
const OPEN_REQUESTS_EVERY_MS = 60_000
const RETENTION_PAUSE_MS = 100
const CLOSE_DAYS_EVERY_MS = 60_000
const DAY_MS = 86_400_000
const MAIL_EVERY_MS = 1_000
const MAIL_REMOVAL_EVERY_MS = 3_600_000
const ANNOUNCE_EVERY_MS = 1_000
/** Between two chunks of accounts, so that callers' requests come first. */
const ANNOUNCE_PAUSE_MS = 50
/** The share of the shutdown time that running jobs get to end. */
const PATIENCE = 0.5
/** The share of the slots that requests to one supplier may use, and the share of all jobs whose last run failed. */
const SHARE = 0.5

/** Parts that the emulator replaces. `bin/worker.ts` replaces none, whatever its settings say. */
export interface WorkerParts extends Partial<Pick<DeliverDeps, 'openClient'>> {
  readonly obtain?: ObtainFromSuppliers
  fulfil?(real: JobRunnerOptions['work']): JobRunnerOptions['work']
}

export interface Worker {
  open(until: UntilAnswered): Promise<void>
  /** Why it runs and does no work; undefined when it works. */
  notReady(): string | undefined
  /** To be run in order. The caller closes the database. */
  readonly stops: readonly Step[]
}

/** Fulfils orders and delivers events: everything of a worker except its process. */
export function createWorker(
  config: Config,
  { log, metrics, db }: ProgramDeps,
  parts: WorkerParts = {},
): Worker {
  const keyring = openKeyringFrom(config)
  const vault = createLinkVault(db, keyring)
  const clock = systemClock
  const asksMax = Math.max(1, Math.floor(config.SHOPWIRE_WORKER_ORDERS * SHARE))
  const fetch = operatorFetch(config.SHOPWIRE_EGRESS_PROXY)
  const obtain = parts.obtain ?? createObtainer({ db, keyring, clock, asksMax, fetch, log, metrics })
  const identity = watchDatabaseIdentity(db, log, metrics)
  const openClient = parts.openClient ?? guardedClients(config.SHOPWIRE_EGRESS_PROXY)
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain })

  const orders = createJobRunner(db, {
    queue: FULFIL_QUEUE,
    subjectName: 'order_id',
    concurrency: config.SHOPWIRE_WORKER_ORDERS,
    failingMax: asksMax,
    log,
    metrics,
    work: parts.fulfil?.(fulfil) ?? fulfil,
  })
  const deliveries = createJobRunner(db, {
    queue: DELIVER_QUEUE,
    subjectName: 'endpoint_id',
    concurrency: config.SHOPWIRE_WORKER_ENDPOINTS,
    failingMax: Math.max(1, Math.floor(config.SHOPWIRE_WORKER_ENDPOINTS * SHARE)),
    log,
    metrics,
    work: createDelivery({
      db,
      keyring,
      clock,
      openClient(...where) {
        const client = openClient(...where)
        return {
          ...client,
          // A running job does not notice that the database behind it was replaced.
          async post(...what) {
            await identity.assertConfirmed()
            return client.post(...what)
          },
        }
      },
      log,
      metrics,
      compose: (event) => composeEvent(db, vault, event),
      random: Math.random,
    }),
  })
  const applyRefundRule = createRefundRule({ db, vault, clock, log, metrics })
  const refunds = every(
    REFUND_RULE_EVERY_MS,
    async () => {
      if (identity.problem() !== undefined) return
      const cancelled = await applyRefundRule()
      if (cancelled > 0)
        log.warn({ cancelled }, 'orders could not be delivered in time and were refunded by the refund rule')
    },
    (error) => log.warn({ err: error }, 'the refund rule could not be applied'),
  )
  // The revision seen last time: receivers read the catalogue at once, and every API process must have caught up with it.
  let announceable = 0
  const announcements = every(
    ANNOUNCE_EVERY_MS,
    async () => {
      if (identity.problem() !== undefined) return
      const { revision } = await selectRevision(db)
      // A restored database may have an older revision: one that it does not have must not count as announced.
      const seenTwice = Math.min(announceable, revision)
      while ((await announceCatalogue(db, seenTwice, clock.nowMs())) === ANNOUNCE_CHUNK)
        await sleep(ANNOUNCE_PAUSE_MS)
      announceable = revision
    },
    (error) => log.warn({ err: error }, 'a catalogue change could not be announced'),
  )
  const clockWatch = every(
    CLOCK_EVERY_MS,
    createClockWatch({ db, log, metrics, clock, monotonicMs: () => performance.now() }),
    (error) => log.warn({ err: error }, 'the clock of the database could not be read'),
  )
  const openRequests = every(
    OPEN_REQUESTS_EVERY_MS,
    async () => {
      const restored = await restoreOwedJobs(db)
      if (restored > 0)
        log.warn({ restored }, 'orders with open supplier requests had no job; it was created again')
    },
    (error) => log.warn({ err: error }, 'open supplier requests could not be checked'),
  )
  /** Removes one chunk after the other until none is left. What has piled up may take minutes, which a stop does not wait for. */
  const retain = (days: number, removeChunk: (before: Date) => Promise<boolean>, onError: string) =>
    every(
      RETENTION_EVERY_MS,
      async (isStopped) => {
        if (identity.problem() !== undefined) return
        const before = () => new Date(clock.nowMs() - days * DAY_MS)
        while (!isStopped() && (await removeChunk(before()))) await sleep(RETENTION_PAUSE_MS)
      },
      (error) => log.warn({ err: error }, onError),
    )
  const eventRetention = retain(
    config.SHOPWIRE_EVENT_RETENTION_DAYS,
    async (before) => (await deleteOldEvents(db, before)) === DELETE_CHUNK,
    'events past their retention time could not be removed',
  )
  const evidenceRetention = retain(
    config.SHOPWIRE_EVIDENCE_RETENTION_DAYS,
    async (before) => (await deleteOldEvidence(db, before)) > 0,
    'evidence past its retention time could not be removed',
  )
  const smtp =
    config.SHOPWIRE_SMTP_URL === undefined
      ? undefined
      : smtpSender(config.SHOPWIRE_SMTP_URL, config.SHOPWIRE_MAIL_FROM ?? '')
  const sendDueMail = createMailSender({ db, keyring, clock, log, send: smtp?.send })
  const mail = every(
    MAIL_EVERY_MS,
    async (isStopped) => {
      if (identity.problem() !== undefined) return
      while (!isStopped() && (await sendDueMail()) > 0);
    },
    (error) => log.warn({ err: error }, 'mail could not be read from the database'),
  )
  const mailRemoval = every(
    MAIL_REMOVAL_EVERY_MS,
    async (isStopped) => {
      while (!isStopped() && (await deleteOldMail(db, clock.nowMs())) > 0) await sleep(RETENTION_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, 'old mail could not be removed'),
  )
  const dayClosing = every(
    CLOSE_DAYS_EVERY_MS,
    async (isStopped) => {
      if (identity.problem() !== undefined) return
      while (!isStopped() && (await closeAccountDays(db, clock.nowMs()))) await sleep(RETENTION_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, "the sums of yesterday's transfers could not be written"),
  )
  const usageRetention = retain(
    USAGE_KEPT_DAYS,
    async (before) => (await deleteOldUsage(db, before)) === USAGE_DELETE_CHUNK,
    'the usage of keys past its retention time could not be removed',
  )
  const money = moneyLoops(config, {
    db,
    clock,
    keyring,
    log,
    mayWork: () => identity.problem() === undefined,
  })
  const worker_id = newId('wrk', clock.nowMs())
  const figures = exposeStoreFigures({ db, log, metrics })
  const beat = async () => figures.lead((await recordHeartbeat(db, worker_id)).is_leader)
  const heartbeats = every(HEARTBEAT_EVERY_MS, beat, (error) =>
    log.warn({ err: error }, 'the heartbeat of this worker could not be written'),
  )
  const figuresRefresh = every(
    FIGURES_EVERY_MS,
    () => figures.refresh(),
    (error) => log.warn({ err: error }, 'the figures of the store could not be read'),
  )
  metrics.workerSlots.from(() => [
    [{ queue: FULFIL_QUEUE }, config.SHOPWIRE_WORKER_ORDERS],
    [{ queue: DELIVER_QUEUE }, config.SHOPWIRE_WORKER_ENDPOINTS],
  ])
  metrics.workerSlotsInUse.from(() => [
    [{ queue: FULFIL_QUEUE }, orders.running()],
    [{ queue: DELIVER_QUEUE }, deliveries.running()],
  ])

  return {
    async open(until) {
      await until('database', () => verifyKeysOf(db, keyring))
      await until('database', () => identity.start())
      await until('database', () => vault.open())
      await until('database', beat)
      await until('database', async () => void (await deleteOldHeartbeats(db)))
      orders.start()
      deliveries.start()
      refunds.start()
      announcements.start()
      eventRetention.start()
      evidenceRetention.start()
      mail.start()
      mailRemoval.start()
      dayClosing.start()
      money.start()
      usageRetention.start()
      openRequests.start()
      clockWatch.start()
      heartbeats.start()
      figuresRefresh.start()
    },
    notReady: () => identity.problem(),
    stops: [
      {
        name: 'finish jobs',
        run: async () => {
          const patienceMs = config.SHOPWIRE_SHUTDOWN_MS * PATIENCE
          await Promise.all([orders.stop(patienceMs), deliveries.stop(patienceMs)])
        },
      },
      {
        name: 'report the stop',
        run: async () => {
          await heartbeats.stop()
          // Without a database the API processes notice the missing heartbeat instead.
          await recordWorkerStop(db, worker_id).catch((error: unknown) =>
            log.warn({ err: error }, 'the stop of this worker could not be recorded'),
          )
        },
      },
      { name: 'stop the refund rule', run: () => refunds.stop() },
      { name: 'stop announcing', run: () => announcements.stop() },
      { name: 'stop watching the identity of the database', run: () => identity.stop() },
      { name: 'stop removing old events', run: () => eventRetention.stop() },
      { name: 'stop removing old evidence', run: () => evidenceRetention.stop() },
      {
        name: 'stop sending mail',
        run: async () => {
          await Promise.all([mail.stop(), mailRemoval.stop()])
          smtp?.close()
        },
      },
      { name: 'stop summing up days', run: () => dayClosing.stop() },
      { name: 'stop crediting and warning', run: () => money.stop() },
      { name: 'stop removing old usage of keys', run: () => usageRetention.stop() },
      { name: 'stop checking open supplier requests', run: () => openRequests.stop() },
      { name: 'stop watching the clock', run: () => clockWatch.stop() },
      { name: 'stop reading figures', run: () => figuresRefresh.stop() },
    ],
  }
}
