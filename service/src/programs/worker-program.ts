import type { Config } from '../config/config.ts'
import { notifyPeople } from '../operations/notify-people.ts'
import { exposeStoreFigures, FIGURES_EVERY_MS } from '../operations/store-figures.ts'
import { createComposer } from '../orders/fulfilment/compose-event.ts'
import { followTraces } from '../orders/fulfilment/follow-traces.ts'
import { createFulfilment, type FulfilDeps } from '../orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../orders/fulfilment/fulfil-queue.ts'
import { systemClock } from '../platform/clock.ts'
import { type IdentityWatch, watchDatabaseIdentity } from '../platform/database/database-identity.ts'
import { verifyEncryptionKeys } from '../platform/encryption/key-checks.ts'
import { createDatabaseTime } from '../platform/jobs/clock-watch.ts'
import { createJobRunner, type JobRunner, type JobRunnerOptions } from '../platform/jobs/job-runner.ts'
import { createRemovalLimit } from '../platform/jobs/removal-limit.ts'
import {
  deleteOldHeartbeats,
  HEARTBEAT_EVERY_MS,
  recordHeartbeat,
  recordWorkerStop,
} from '../platform/jobs/worker-heartbeats.ts'
import { guardedClients } from '../platform/outbound/guarded-client.ts'
import { keepClients } from '../platform/outbound/kept-clients.ts'
import { operatorFetch } from '../platform/outbound/operator-fetch.ts'
import { bootId, monotonicMs } from '../platform/process/boot-id.ts'
import { every } from '../platform/process/every.ts'
import { newId } from '../platform/text/ids.ts'
import { createLinkVault, type LinkVault } from '../supply/gift-link.ts'
import { createObtainer, type ObtainFromSuppliers } from '../supply/obtain.ts'
import { createDelivery } from '../webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../webhooks/deliver-queue.ts'
import type { DeliverDeps } from '../webhooks/delivery-deps.ts'
import { keepJournal } from './journal-wiring.ts'
import { mailRunner } from './mail-wiring.ts'
import type { Part, ProgramDeps } from './run-program.ts'
import { networksOf, openKeyringFrom } from './wiring.ts'
import { repeatedWork } from './worker-loops.ts'

/** The share of the shutdown time that running jobs get to end. */
const PATIENCE = 0.5
/** If workers were down for longer than this, an operator has to confirm before anything is removed. */
const AWAY_MS_MAX = 24 * 3_600_000
/** The share of the slots for jobs that became due in large numbers, and the share for failing jobs. */
const SHARE = 0.5
/** The share of the slots that requests to one supplier may use: a slow one must not take every slot. */
const SUPPLIER_SHARE = 0.125

/** Parts that the emulator replaces. `bin/worker.ts` replaces none, whatever its settings say. */
export interface WorkerParts extends Partial<Pick<DeliverDeps, 'openClient'>> {
  readonly obtain?: ObtainFromSuppliers
  fulfil?(real: JobRunnerOptions['work']): JobRunnerOptions['work']
}

export interface Worker extends Part {
  notReady(): string | undefined
}

/** Fulfils orders and delivers events: everything of a worker except its process. */
export function createWorker(config: Config, deps: ProgramDeps, parts: WorkerParts = {}): Worker {
  const { log, metrics, db, tracing } = deps
  const keyring = openKeyringFrom(config)
  const vault = createLinkVault(db, keyring)
  const clock = createDatabaseTime({
    db,
    log,
    metrics,
    clock: systemClock,
    monotonicMs,
    boot_id: bootId(),
    awayMsMax: config.SHOPWIRE_ENV === 'production' ? AWAY_MS_MAX : Number.POSITIVE_INFINITY,
  })
  const identity = watchDatabaseIdentity(db, log, metrics)
  const clients = keepClients(guardedClients(config.SHOPWIRE_EGRESS_PROXY, networksOf(config)))
  const removals = createRemovalLimit(db, { log, metrics })
  const journal = keepJournal(config, { db, vault, log, metrics, clock, removals })
  const traces = tracing && followTraces(db, tracing)
  const own = { keyring, vault, clock }
  const orders = orderRunner(config, deps, parts, {
    ...own,
    journal: journal.journal,
    trace: traces?.fulfilment,
  })
  const deliveries = deliveryRunner(config, deps, {
    ...own,
    identity,
    openClient: parts.openClient ?? clients.open,
    trace: traces?.delivery,
  })
  const mail = mailRunner(config, { ...deps, keyring, identity })
  const runners: readonly JobRunner[] = [orders, deliveries, ...mail.runners]
  const presence = reportPresence(deps, newId('wrk', clock.nowMs()))
  const repeated = repeatedWork(config, {
    db,
    keyring,
    vault,
    clock,
    log,
    metrics,
    removals,
    isConfirmed: () => identity.problem() === undefined,
    isTimeTrusted: () => clock.problem() === undefined,
    measureTime: clock.measure,
    isLeader: presence.isLeader,
  })
  metrics.workerSlots.from(() => runners.map(({ queue, concurrency }) => [{ queue }, concurrency]))
  metrics.workerSlotsInUse.from(() => runners.map(({ queue, running }) => [{ queue }, running()]))

  return {
    async open(until) {
      await until('database', () => verifyEncryptionKeys(db, keyring))
      await until('database', () => identity.start())
      await until('database', clock.measure)
      await until('database', () => vault.open())
      await journal.open(until)
      await until('database', presence.beat)
      await until('database', async () => void (await deleteOldHeartbeats(db)))
      for (const runner of runners) runner.start()
      repeated.start()
      presence.start()
    },
    notReady: () => identity.problem() ?? journal.problem() ?? clock.problem(),
    warnings: () => [...repeated.warnings(), presence.warning()],
    stops: [
      {
        name: 'finish jobs',
        run: async () => {
          const patienceMs = config.SHOPWIRE_SHUTDOWN_MS * PATIENCE
          await Promise.all(runners.map((runner) => runner.stop(patienceMs)))
        },
      },
      { name: 'report the stop', run: () => presence.reportStop() },
      { name: 'close connections to receivers', run: () => clients.close() },
      { name: 'close connections to the mail server', run: async () => mail.close() },
      { name: 'stop repeated work', run: () => repeated.stop() },
      { name: 'close the journal of sold links', run: () => journal.stop() },
      { name: 'stop watching the identity of the database', run: () => identity.stop() },
      { name: 'stop reading figures', run: () => presence.stopFigures() },
    ],
  }
}

interface RunnerParts extends Pick<DeliverDeps, 'keyring' | 'clock'> {
  readonly vault: LinkVault
}

function orderRunner(
  config: Config,
  { db, log, metrics }: ProgramDeps,
  parts: WorkerParts,
  own: RunnerParts & Pick<JobRunnerOptions, 'trace'> & Pick<FulfilDeps, 'journal'>,
) {
  const { keyring, vault, clock, journal, trace } = own
  const slots = config.SHOPWIRE_WORKER_ORDERS
  const asksMax = shareOf(slots, SUPPLIER_SHARE)
  const fetch = operatorFetch(config.SHOPWIRE_EGRESS_PROXY, networksOf(config))
  const obtain = parts.obtain ?? createObtainer({ db, keyring, clock, asksMax, fetch, log, metrics })
  const batching = config.SHOPWIRE_BATCHING
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain, journal, batching })
  return createJobRunner(db, {
    queue: FULFIL_QUEUE,
    subjectName: 'order_id',
    concurrency: slots,
    backlogMax: shareOf(slots, SHARE),
    log,
    metrics,
    work: parts.fulfil?.(fulfil) ?? fulfil,
    trace,
  })
}

function deliveryRunner(
  config: Config,
  { db, log, metrics }: ProgramDeps,
  own: RunnerParts & Pick<DeliverDeps, 'openClient' | 'trace'> & { readonly identity: IdentityWatch },
) {
  const { keyring, vault, clock, identity, openClient, trace } = own
  const endpointsMax = shareOf(config.SHOPWIRE_WORKER_ENDPOINTS, SHARE)
  return createJobRunner(db, {
    queue: DELIVER_QUEUE,
    subjectName: 'endpoint_id',
    concurrency: config.SHOPWIRE_WORKER_ENDPOINTS,
    backlogMax: endpointsMax,
    failingMax: endpointsMax,
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
          // A running job does not notice that its database was replaced.
          async post(...what) {
            await identity.assertConfirmed()
            return client.post(...what)
          },
        }
      },
      log,
      metrics,
      compose: createComposer(db, vault),
      notify: notifyPeople(keyring, clock),
      random: Math.random,
      trace,
    }),
  })
}

const shareOf = (slots: number, share: number) => Math.max(1, Math.floor(slots * share))

/** Reports to the store that this worker runs. One worker leads: it also reads the figures of the whole store. */
function reportPresence({ db, log, metrics }: ProgramDeps, worker_id: string) {
  let isLeader = false
  const figures = exposeStoreFigures({ db, log, metrics })
  const beat = async () => {
    isLeader = (await recordHeartbeat(db, worker_id)).is_leader
    figures.lead(isLeader)
  }
  const heartbeats = every(HEARTBEAT_EVERY_MS, beat, (error) =>
    log.warn({ err: error }, 'the heartbeat of this worker could not be written'),
  )
  const refreshing = every(
    FIGURES_EVERY_MS,
    () => figures.refresh(),
    (error) => log.warn({ err: error }, 'the figures of the store could not be read'),
  )
  return {
    beat,
    isLeader: () => isLeader,
    warning: () => figures.warning(),
    start() {
      heartbeats.start()
      refreshing.start()
    },
    async reportStop() {
      await heartbeats.stop()
      // Without a database the API processes notice the missing heartbeat instead.
      await recordWorkerStop(db, worker_id).catch((error: unknown) =>
        log.warn({ err: error }, 'the stop of this worker could not be recorded'),
      )
    },
    stopFigures: () => refreshing.stop(),
  }
}
