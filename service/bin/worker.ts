#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { selectRevision } from '../src/catalogue/queries.ts'
import { describeConfig } from '../src/config.ts'
import { composeEvent } from '../src/orders/compose-event.ts'
import { createFulfilment } from '../src/orders/fulfil.ts'
import { applyRefundRule } from '../src/orders/refund-rule.ts'
import { FULFIL_QUEUE } from '../src/orders/waiting.ts'
import { systemClock } from '../src/platform/clock.ts'
import { every } from '../src/platform/every.ts'
import { guardedLines } from '../src/platform/guarded-client.ts'
import { createJobRunner } from '../src/platform/job-runner.ts'
import { createLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { onShutdown } from '../src/platform/shutdown.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import { createObtainer } from '../src/supply/obtain.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from '../src/webhooks/announce.ts'
import { createDelivery } from '../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../src/webhooks/endpoint.ts'
import { FORGET_CHUNK, forgetEvents } from '../src/webhooks/retention.ts'
import {
  openDatabaseFrom,
  openKeyringFrom,
  openReadiness,
  startingConfig,
  untilAnswered,
  untilSchemaFits,
  VERSION,
} from '../src/wiring.ts'

const REFUND_RULE_EVERY_MS = 5_000
const FORGET_EVERY_MS = 60_000
const FORGET_PAUSE_MS = 100
const DAY_MS = 86_400_000
const ANNOUNCE_EVERY_MS = 1_000
/** Between two chunks of accounts: callers' requests come first. */
const ANNOUNCE_PAUSE_MS = 50
/** Of the time an orderly stop may take, what jobs under way get. */
const PATIENCE = 0.5

const config = startingConfig()
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const metrics = createMetrics(VERSION)
const db = openDatabaseFrom(config, 'shopwire-worker', log)
const keyring = openKeyringFrom(config)
const vault = createLinkVault(db, keyring)
const clock = systemClock

/** The part of the hands that one supplier may keep busy, or all the jobs that did not go well last time. */
const SHARE = 0.5

const asksMax = Math.max(1, Math.floor(config.SHOPWIRE_WORKER_ORDERS * SHARE))
const obtain = createObtainer({ db, keyring, clock, asksMax })

const orders = createJobRunner(db, {
  queue: FULFIL_QUEUE,
  concurrency: config.SHOPWIRE_WORKER_ORDERS,
  shakyMax: asksMax,
  log,
  work: createFulfilment({ db, vault, clock, log, metrics, obtain }),
})
const deliveries = createJobRunner(db, {
  queue: DELIVER_QUEUE,
  concurrency: config.SHOPWIRE_WORKER_ENDPOINTS,
  shakyMax: Math.max(1, Math.floor(config.SHOPWIRE_WORKER_ENDPOINTS * SHARE)),
  log,
  work: createDelivery({
    db,
    keyring,
    clock,
    openLine: guardedLines(config.SHOPWIRE_EGRESS_PROXY),
    log,
    compose: (event) => composeEvent(db, vault, event),
    random: Math.random,
  }),
})
const refunds = every(
  REFUND_RULE_EVERY_MS,
  async () => {
    const cancelled = await applyRefundRule(db, vault, clock.nowMs(), (order_id, err) =>
      log.error({ err, order_id }, 'an overdue order could not be refunded'),
    )
    if (cancelled > 0) log.warn({ cancelled }, 'orders could not be delivered in time and were refunded')
  },
  (error) => log.warn({ err: error }, 'the refund rule could not be applied'),
)
const announcements = every(
  ANNOUNCE_EVERY_MS,
  async () => {
    const { revision } = await selectRevision(db)
    while ((await announceCatalogue(db, revision, clock.nowMs())) === ANNOUNCE_CHUNK)
      await sleep(ANNOUNCE_PAUSE_MS)
  },
  (error) => log.warn({ err: error }, 'the change of the catalogue could not be announced'),
)
const forgetting = every(
  FORGET_EVERY_MS,
  async () => {
    const before = () => new Date(clock.nowMs() - config.SHOPWIRE_EVENT_RETENTION_DAYS * DAY_MS)
    while ((await forgetEvents(db, before())) === FORGET_CHUNK) await sleep(FORGET_PAUSE_MS)
  },
  (error) => log.warn({ err: error }, 'events past their time could not be removed'),
)
const health = openReadiness(db, metrics)

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    name: 'finish jobs',
    run: async () => {
      health.tell('shutting down')
      const patienceMs = config.SHOPWIRE_SHUTDOWN_MS * PATIENCE
      await Promise.all([orders.stop(patienceMs), deliveries.stop(patienceMs)])
    },
  },
  { name: 'leave the refund rule', run: () => refunds.stop() },
  { name: 'stop announcing', run: () => announcements.stop() },
  { name: 'stop forgetting', run: () => forgetting.stop() },
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await health.listen(config)
await untilSchemaFits(db, log, health.tell)
await untilAnswered('database', log, health.tell, () => vault.open())
orders.start()
deliveries.start()
refunds.start()
announcements.start()
forgetting.start()
health.tell(undefined)
log.info({ health_port }, 'ready')
