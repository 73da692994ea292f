import { setTimeout as sleep } from 'node:timers/promises'
import type { ProgramDeps } from './api-program.ts'
import { selectRevision } from './catalogue/queries.ts'
import type { Config } from './config.ts'
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
import { createJobRunner, type JobRunnerOptions } from './platform/job-runner.ts'
import { operatorFetch } from './platform/operator-fetch.ts'
import type { Step } from './platform/shutdown.ts'
import { createLinkVault } from './supply/gift-link.ts'
import { createObtainer, type ObtainFromSuppliers } from './supply/obtain.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from './webhooks/announce.ts'
import { createDelivery, type DeliverDeps } from './webhooks/deliver.ts'
import { DELIVER_QUEUE } from './webhooks/endpoint.ts'
import { DELETE_CHUNK, deleteOldEvents } from './webhooks/retention.ts'
import { openKeyringFrom, type UntilAnswered, verifyKeysOf } from './wiring.ts'

const CLOCK_EVERY_MS = 3_000
const REFUND_RULE_EVERY_MS = 5_000
const DELETE_EVERY_MS = 60_000
const OWED_EVERY_MS = 60_000
const DELETE_PAUSE_MS = 100
const DAY_MS = 86_400_000
const ANNOUNCE_EVERY_MS = 1_000
/** Between two chunks of accounts: callers' requests come first. */
const ANNOUNCE_PAUSE_MS = 50
/** Of the time an orderly stop may take, what jobs under way get. */
const PATIENCE = 0.5
/** The part of the hands that one supplier may keep busy, or all the jobs that did not go well last time. */
const SHARE = 0.5

/** What a store that is put together elsewhere may do in another way. `bin/worker.ts` has none of it, whatever its settings say. */
export interface WorkerParts extends Partial<Pick<DeliverDeps, 'openClient'>> {
  readonly obtain?: ObtainFromSuppliers
  fulfil?(real: JobRunnerOptions['work']): JobRunnerOptions['work']
}

export interface Worker {
  open(until: UntilAnswered): Promise<void>
  /** Why it does no work though it runs; undefined when it does. */
  notReady(): string | undefined
  /** In order. The database is its owner's to close. */
  readonly stops: readonly Step[]
}

/** Fulfils orders and delivers events: the whole of a worker but its process. */
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
  const obtain = parts.obtain ?? createObtainer({ db, keyring, clock, asksMax, fetch })
  const identity = watchDatabaseIdentity(db, log, metrics)
  const openClient = parts.openClient ?? guardedClients(config.SHOPWIRE_EGRESS_PROXY)
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain })

  const orders = createJobRunner(db, {
    queue: FULFIL_QUEUE,
    concurrency: config.SHOPWIRE_WORKER_ORDERS,
    failingMax: asksMax,
    log,
    work: parts.fulfil?.(fulfil) ?? fulfil,
  })
  const deliveries = createJobRunner(db, {
    queue: DELIVER_QUEUE,
    concurrency: config.SHOPWIRE_WORKER_ENDPOINTS,
    failingMax: Math.max(1, Math.floor(config.SHOPWIRE_WORKER_ENDPOINTS * SHARE)),
    log,
    work: createDelivery({
      db,
      keyring,
      clock,
      openClient(...where) {
        const client = openClient(...where)
        return {
          ...client,
          // A job under way does not notice that the database behind it has become another one.
          async post(...what) {
            await identity.assertConfirmed()
            return client.post(...what)
          },
        }
      },
      log,
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
      if (cancelled > 0) log.warn({ cancelled }, 'orders could not be delivered in time and were refunded')
    },
    (error) => log.warn({ err: error }, 'the refund rule could not be applied'),
  )
  // The one seen last time: whoever is told reads the catalogue at once, and every API process must have caught up with it.
  let announceable = 0
  const announcements = every(
    ANNOUNCE_EVERY_MS,
    async () => {
      if (identity.problem() !== undefined) return
      const { revision } = await selectRevision(db)
      // A database that was put back may know less than last time: what it does not know must not count as announced.
      const seenTwice = Math.min(announceable, revision)
      while ((await announceCatalogue(db, seenTwice, clock.nowMs())) === ANNOUNCE_CHUNK)
        await sleep(ANNOUNCE_PAUSE_MS)
      announceable = revision
    },
    (error) => log.warn({ err: error }, 'the change of the catalogue could not be announced'),
  )
  const clockWatch = every(
    CLOCK_EVERY_MS,
    createClockWatch({ db, log, metrics, clock, monotonicMs: () => performance.now() }),
    (error) => log.warn({ err: error }, 'the clock of the database could not be compared'),
  )
  const owed = every(
    OWED_EVERY_MS,
    async () => {
      const restored = await restoreOwedJobs(db)
      if (restored > 0)
        log.warn({ restored }, 'orders with open supplier requests had no job and have one again')
    },
    (error) => log.warn({ err: error }, 'open supplier requests could not be looked at'),
  )
  const deletingEvents = every(
    DELETE_EVERY_MS,
    async () => {
      if (identity.problem() !== undefined) return
      const before = () => new Date(clock.nowMs() - config.SHOPWIRE_EVENT_RETENTION_DAYS * DAY_MS)
      while ((await deleteOldEvents(db, before())) === DELETE_CHUNK) await sleep(DELETE_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, 'events past their time could not be removed'),
  )

  const deletingEvidence = every(
    DELETE_EVERY_MS,
    async () => {
      if (identity.problem() !== undefined) return
      const before = () => new Date(clock.nowMs() - config.SHOPWIRE_EVIDENCE_RETENTION_DAYS * DAY_MS)
      while ((await deleteOldEvidence(db, before())) > 0) await sleep(DELETE_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, 'evidence past its time could not be removed'),
  )

  return {
    async open(until) {
      await until('database', () => verifyKeysOf(db, keyring))
      await until('database', () => identity.start())
      await until('database', () => vault.open())
      orders.start()
      deliveries.start()
      refunds.start()
      announcements.start()
      deletingEvents.start()
      deletingEvidence.start()
      owed.start()
      clockWatch.start()
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
      { name: 'leave the refund rule', run: () => refunds.stop() },
      { name: 'stop announcing', run: () => announcements.stop() },
      { name: 'leave the identity of the database', run: () => identity.stop() },
      { name: 'stop deleting old events', run: () => deletingEvents.stop() },
      { name: 'stop deleting old evidence', run: () => deletingEvidence.stop() },
      { name: 'leave open supplier requests', run: () => owed.stop() },
      { name: 'stop watching the clock', run: () => clockWatch.stop() },
    ],
  }
}
