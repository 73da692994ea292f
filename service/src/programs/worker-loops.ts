import { setTimeout as sleep } from 'node:timers/promises'
import { deleteOldUsage, USAGE_DELETE_CHUNK, USAGE_KEPT_DAYS } from '../access/key-usage.ts'
import { selectRevision } from '../catalogue/queries.ts'
import type { Config } from '../config/config.ts'
import { closeAccountDays } from '../ledger/account-days.ts'
import { sealNext } from '../operations/seals/sealer.ts'
import {
  deleteOldPeriods,
  HISTORY_KEPT_DAYS,
  PERIODS_DELETE_CHUNK,
} from '../operations/status-page/history.ts'
import { createBacklogCounter } from '../orders/fulfilment/backlog.ts'
import { createRefundRule } from '../orders/fulfilment/refund-rule.ts'
import { markOverlooked, wakeRestocked } from '../orders/fulfilment/wake-waiting.ts'
import { ERASE_CHUNK, eraseOldLinks } from '../orders/links/link-retention.ts'
import { deleteOldEvidence, EVIDENCE_CHUNK } from '../orders/placing/evidence.ts'
import { createReplicationWatch } from '../platform/database/replication-watch.ts'
import { createSnapshotWatch } from '../platform/database/snapshot-watch.ts'
import { createPublicAddressWatch } from '../platform/outbound/public-addresses.ts'
import { every, type Repeating } from '../platform/process/every.ts'
import { deleteExpired } from '../sessions/session-store.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from '../webhooks/announce.ts'
import { deleteOldEvents, EVENTS_CHUNK } from '../webhooks/retention.ts'
import type { Loop, LoopDeps, Need } from './loop.ts'
import { moneyLoops } from './money-wiring.ts'
import { statusLoops } from './status-wiring.ts'

const DAY_MS = 86_400_000
const RETENTION_PAUSE_MS = 100
/**
 * Announcing may take a quarter of the time of one connection: the slower the database answers, the longer the pause after each
 * chunk.
 */
const ANNOUNCE_PAUSE_FACTOR = 3

export interface RepeatedWorkDeps extends LoopDeps {
  isConfirmed(): boolean
  isTimeTrusted(): boolean
}

/** A worker's repeated work, besides its jobs. */
export function repeatedWork(
  config: Config,
  deps: RepeatedWorkDeps,
): Repeating & { warnings(): (string | undefined)[] } {
  const { log, isConfirmed, isTimeTrusted } = deps
  const meets: Readonly<Record<Need, () => boolean>> = {
    nothing: () => true,
    'confirmed database': isConfirmed,
    'trusted time': () => isConfirmed() && isTimeTrusted(),
  }
  const money = moneyLoops(config, deps)
  const status = statusLoops(config, deps)
  const loops = [
    ...orderLoops(deps),
    ...watchLoops(config, deps),
    ...retentionLoops(config, deps),
    ...ledgerLoops(deps),
    ...money.loops,
    ...status.loops,
  ]
  const running = loops.map(({ name, everyMs, needs, work, failure }) =>
    every(
      everyMs,
      async (isStopped) => {
        if (meets[needs]()) await work(() => !isStopped() && meets[needs]())
      },
      (error) => log.warn({ err: error, loop: name }, failure),
    ),
  )
  return {
    warnings: () => [money.problem(), status.problem()],
    start() {
      for (const one of running) one.start()
    },
    async stop() {
      await Promise.all(running.map((one) => one.stop()))
    },
  }
}

function orderLoops({ db, vault, clock, log, metrics, isLeader }: LoopDeps): Loop[] {
  const applyRefundRule = createRefundRule({ db, vault, log, metrics })
  // The revision of the previous run: receivers read the catalogue at once, so every API process must have caught up with it.
  let announceable = 0
  return [
    {
      name: 'refund rule',
      everyMs: 5_000,
      needs: 'trusted time',
      async work() {
        const cancelled = await applyRefundRule()
        if (cancelled > 0)
          log.warn(
            { cancelled },
            'orders could not be delivered in time and were refunded by the refund rule',
          )
      },
      failure: 'the refund rule could not be applied',
    },
    {
      name: 'announcements',
      everyMs: 1_000,
      needs: 'confirmed database',
      async work() {
        const { revision } = await selectRevision(db)
        for (;;) {
          const startedMs = performance.now()
          if ((await announceCatalogue(db, announceable, clock.nowMs())) < ANNOUNCE_CHUNK) break
          await sleep(ANNOUNCE_PAUSE_FACTOR * (performance.now() - startedMs))
        }
        announceable = revision
      },
      failure: 'a catalogue change could not be announced',
    },
    {
      name: 'wake-ups',
      everyMs: 100,
      needs: 'confirmed database',
      async work(mayGoOn) {
        while (mayGoOn() && (await wakeRestocked(db)));
      },
      failure: 'orders that wait for restocked items could not be woken',
    },
    {
      name: 'overlooked items',
      everyMs: 10_000,
      needs: 'nothing',
      async work() {
        const items = await markOverlooked(db)
        if (items > 0)
          log.debug(
            { items },
            'items had links in stock and orders that wait for them, but no job was going to use them',
          )
      },
      failure: 'items with waiting orders could not be checked',
    },
    {
      name: 'backlog',
      everyMs: 250,
      needs: 'nothing',
      work: createBacklogCounter(db, isLeader),
      failure: 'the waiting orders could not be counted',
    },
  ]
}

function watchLoops(config: Config, { db, log, metrics, isLeader, measureTime }: LoopDeps): Loop[] {
  const addresses = { api: config.SHOPWIRE_API_URL, dashboard: config.SHOPWIRE_DASHBOARD_ORIGIN }
  return [
    {
      name: 'clock',
      everyMs: 3_000,
      needs: 'nothing',
      work: measureTime,
      failure: 'the clock of the database could not be read',
    },
    {
      name: 'snapshots',
      everyMs: 10_000,
      needs: 'nothing',
      work: createSnapshotWatch({ db, log, metrics, isLeader }),
      failure: 'the sessions of the database could not be read',
    },
    {
      name: 'replication',
      everyMs: 5_000,
      needs: 'nothing',
      work: createReplicationWatch({ db, metrics, isLeader }),
      failure: 'the standbys of the database could not be read',
    },
    {
      name: 'public addresses',
      everyMs: 30_000,
      needs: 'nothing',
      // Behind an egress proxy the worker cannot connect to anything directly.
      work:
        config.SHOPWIRE_EGRESS_PROXY === undefined
          ? createPublicAddressWatch({ addresses, log, metrics, isLeader })
          : async () => {},
      failure: 'the public addresses could not be checked',
    },
  ]
}

function retentionLoops(config: Config, { db, clock, removals }: LoopDeps): Loop[] {
  /** Removes one chunk after the other until none is left. */
  const retain = (
    name: string,
    days: number,
    removeChunk: (before: Date) => Promise<boolean>,
    failure: string,
  ): Loop => ({
    name,
    everyMs: 60_000,
    needs: 'trusted time',
    async work(mayGoOn) {
      const before = () => new Date(clock.nowMs() - days * DAY_MS)
      while (mayGoOn() && (await removeChunk(before()))) await sleep(RETENTION_PAUSE_MS)
    },
    failure,
  })
  const linkDays = config.SHOPWIRE_LINK_RETENTION_DAYS
  return [
    retain(
      'event retention',
      config.SHOPWIRE_EVENT_RETENTION_DAYS,
      (before) => removals.remove('events', EVENTS_CHUNK, () => deleteOldEvents(db, before)),
      'events past their retention time could not be removed',
    ),
    retain(
      'evidence retention',
      config.SHOPWIRE_EVIDENCE_RETENTION_DAYS,
      (before) => removals.remove('evidence', EVIDENCE_CHUNK, () => deleteOldEvidence(db, before)),
      'evidence past its retention time could not be removed',
    ),
    retain(
      'link retention',
      linkDays,
      async (before) =>
        linkDays > 0 && removals.remove('links', ERASE_CHUNK, () => eraseOldLinks(db, before, clock.nowMs())),
      'links past their retention time could not be erased',
    ),
    retain(
      'key usage retention',
      USAGE_KEPT_DAYS,
      async (before) => (await deleteOldUsage(db, before)) === USAGE_DELETE_CHUNK,
      'the usage of keys past its retention time could not be removed',
    ),
    retain(
      'status history retention',
      HISTORY_KEPT_DAYS,
      async (before) => (await deleteOldPeriods(db, before)) === PERIODS_DELETE_CHUNK,
      'old periods of the status page could not be removed',
    ),
    {
      name: 'session retention',
      everyMs: 3_600_000,
      needs: 'trusted time',
      work: () => deleteExpired(db, clock.nowMs()),
      failure: 'ended sessions could not be removed',
    },
  ]
}

function ledgerLoops({ db, clock, isLeader }: LoopDeps): Loop[] {
  return [
    {
      name: 'day closing',
      everyMs: 60_000,
      needs: 'trusted time',
      async work(mayGoOn) {
        while (mayGoOn() && (await closeAccountDays(db, clock.nowMs()))) await sleep(RETENTION_PAUSE_MS)
      },
      failure: "the sums of yesterday's transfers could not be written",
    },
    {
      // Covers the rows written in the last hour; a digest is made once a day.
      name: 'seals',
      everyMs: 60_000,
      needs: 'trusted time',
      async work(mayGoOn) {
        while (mayGoOn() && isLeader() && (await sealNext(db, clock.nowMs()))) await sleep(RETENTION_PAUSE_MS)
      },
      failure: 'transfers and audit rows could not be sealed',
    },
  ]
}
