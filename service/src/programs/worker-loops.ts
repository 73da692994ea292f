import { setTimeout as sleep } from 'node:timers/promises'
import { deleteOldUsage, USAGE_DELETE_CHUNK, USAGE_KEPT_DAYS } from '../access/key-usage.ts'
import { selectRevision } from '../catalogue/queries.ts'
import type { Config } from '../config/config.ts'
import { mustMailBeEncrypted } from '../config/transport.ts'
import { closeAccountDays } from '../ledger/account-days.ts'
import { sealNext } from '../operations/seals/sealer.ts'
import { createBacklogCounter } from '../orders/fulfilment/backlog.ts'
import { createRefundRule } from '../orders/fulfilment/refund-rule.ts'
import { markOverlooked, wakeRestocked } from '../orders/fulfilment/wake-waiting.ts'
import { ERASE_CHUNK, eraseOldLinks } from '../orders/links/link-retention.ts'
import { deleteOldEvidence, EVIDENCE_CHUNK } from '../orders/placing/evidence.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import { createReplicationWatch } from '../platform/database/replication-watch.ts'
import { createSnapshotWatch } from '../platform/database/snapshot-watch.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { RemovalLimit } from '../platform/jobs/removal-limit.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { createMailSender, deleteOldMail, smtpSender } from '../platform/outbound/mail.ts'
import { createPublicAddressWatch } from '../platform/outbound/public-addresses.ts'
import { every, type Repeating } from '../platform/process/every.ts'
import { deleteExpired } from '../sessions/session-store.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from '../webhooks/announce.ts'
import { deleteOldEvents, EVENTS_CHUNK } from '../webhooks/retention.ts'
import { moneyLoops } from './money-wiring.ts'

const CLOCK_EVERY_MS = 3_000
const REFUND_RULE_EVERY_MS = 5_000
const RETENTION_EVERY_MS = 60_000
const RETENTION_PAUSE_MS = 100
const WAKE_EVERY_MS = 100
const OVERLOOKED_EVERY_MS = 10_000
const COUNT_LOOK_EVERY_MS = 250
const SNAPSHOT_EVERY_MS = 10_000
const REPLICATION_EVERY_MS = 5_000
const PUBLIC_ADDRESSES_EVERY_MS = 30_000
const CLOSE_DAYS_EVERY_MS = 60_000
const SEAL_LOOK_EVERY_MS = 60_000
const DAY_MS = 86_400_000
const MAIL_EVERY_MS = 1_000
const MAIL_REMOVAL_EVERY_MS = 3_600_000
const ANNOUNCE_EVERY_MS = 1_000
/** An announcement takes a quarter of the time of one connection: the slower the database answers, the longer the pause after each chunk. */
const ANNOUNCE_PAUSE_FACTOR = 3

export interface RepeatedWorkDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly vault: LinkVault
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly removals: RemovalLimit
  /** False while nobody has confirmed the database: nothing is sent, refunded or removed. */
  mayWork(): boolean
  /** False while a clock is wrong: nothing is removed, refunded by rule, closed or sealed by it. */
  isTimeTrusted(): boolean
  measureTime(): Promise<void>
  /** One worker counts and warns for all. */
  isLeader(): boolean
}

/** What a worker does again and again besides its jobs. Every worker does all of it; each piece tolerates the others. */
export function repeatedWork(
  config: Config,
  deps: RepeatedWorkDeps,
): Repeating & { providerProblem(): string | undefined } {
  const { db, keyring, vault, clock, log, metrics, removals, mayWork, isTimeTrusted, measureTime, isLeader } =
    deps
  const mayJudge = () => mayWork() && isTimeTrusted()
  const applyRefundRule = createRefundRule({ db, vault, log, metrics })
  const refunds = every(
    REFUND_RULE_EVERY_MS,
    async () => {
      if (!mayJudge()) return
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
      if (!mayWork()) return
      const { revision } = await selectRevision(db)
      for (;;) {
        const startedMs = performance.now()
        if ((await announceCatalogue(db, announceable, clock.nowMs())) < ANNOUNCE_CHUNK) break
        await sleep(ANNOUNCE_PAUSE_FACTOR * (performance.now() - startedMs))
      }
      announceable = revision
    },
    (error) => log.warn({ err: error }, 'a catalogue change could not be announced'),
  )
  const clockWatch = every(CLOCK_EVERY_MS, measureTime, (error) =>
    log.warn({ err: error }, 'the clock of the database could not be read'),
  )
  const wakeUps = every(
    WAKE_EVERY_MS,
    async (isStopped) => {
      while (!isStopped() && mayWork() && (await wakeRestocked(db)));
    },
    (error) => log.warn({ err: error }, 'orders that wait for restocked items could not be woken'),
  )
  const overlooked = every(
    OVERLOOKED_EVERY_MS,
    async () => {
      const items = await markOverlooked(db)
      if (items > 0) log.debug({ items }, 'items with links had waiting orders that nobody was about to wake')
    },
    (error) => log.warn({ err: error }, 'items with waiting orders could not be checked'),
  )
  const backlog = every(COUNT_LOOK_EVERY_MS, createBacklogCounter(db, isLeader), (error) =>
    log.warn({ err: error }, 'the waiting orders could not be counted'),
  )
  const snapshots = every(SNAPSHOT_EVERY_MS, createSnapshotWatch({ db, log, metrics, isLeader }), (error) =>
    log.warn({ err: error }, 'the sessions of the database could not be read'),
  )
  const replication = every(
    REPLICATION_EVERY_MS,
    createReplicationWatch({ db, metrics, isLeader }),
    (error) => log.warn({ err: error }, 'the standbys of the database could not be read'),
  )
  const addresses = { api: config.SHOPWIRE_API_URL, dashboard: config.SHOPWIRE_DASHBOARD_ORIGIN }
  const publicAddresses = every(
    PUBLIC_ADDRESSES_EVERY_MS,
    // Behind an egress proxy the worker may connect to nothing directly.
    config.SHOPWIRE_EGRESS_PROXY === undefined
      ? createPublicAddressWatch({ addresses, log, metrics, isLeader })
      : async () => {},
    (error) => log.warn({ err: error }, 'the public addresses could not be looked at'),
  )
  /** Removes one chunk after the other until none is left. What has piled up may take minutes, which a stop does not wait for. */
  const retain = (days: number, removeChunk: (before: Date) => Promise<boolean>, onError: string) =>
    every(
      RETENTION_EVERY_MS,
      async (isStopped) => {
        const before = () => new Date(clock.nowMs() - days * DAY_MS)
        while (!isStopped() && mayJudge() && (await removeChunk(before()))) await sleep(RETENTION_PAUSE_MS)
      },
      (error) => log.warn({ err: error }, onError),
    )
  const eventRetention = retain(
    config.SHOPWIRE_EVENT_RETENTION_DAYS,
    (before) => removals.remove('events', EVENTS_CHUNK, () => deleteOldEvents(db, before)),
    'events past their retention time could not be removed',
  )
  const evidenceRetention = retain(
    config.SHOPWIRE_EVIDENCE_RETENTION_DAYS,
    (before) => removals.remove('evidence', EVIDENCE_CHUNK, () => deleteOldEvidence(db, before)),
    'evidence past its retention time could not be removed',
  )
  const linkDays = config.SHOPWIRE_LINK_RETENTION_DAYS
  const linkRetention = retain(
    linkDays,
    async (before) =>
      linkDays > 0 && removals.remove('links', ERASE_CHUNK, () => eraseOldLinks(db, before, clock.nowMs())),
    'links past their retention time could not be erased',
  )
  const smtp =
    config.SHOPWIRE_SMTP_URL === undefined
      ? undefined
      : smtpSender(config.SHOPWIRE_SMTP_URL, config.SHOPWIRE_MAIL_FROM ?? '', {
          mustEncrypt: mustMailBeEncrypted(config.SHOPWIRE_SMTP_URL, config),
        })
  const sendDueMail = createMailSender({ db, keyring, clock, log, metrics, send: smtp?.send })
  const mail = every(
    MAIL_EVERY_MS,
    async (isStopped) => {
      if (!mayWork()) return
      while (!isStopped() && (await sendDueMail()) > 0);
    },
    (error) => log.warn({ err: error }, 'mail could not be read from the database'),
  )
  const mailRemoval = every(
    MAIL_REMOVAL_EVERY_MS,
    async (isStopped) => {
      if (!mayJudge()) return
      while (!isStopped() && (await deleteOldMail(db, clock.nowMs())) > 0) await sleep(RETENTION_PAUSE_MS)
      await deleteExpired(db, clock.nowMs())
    },
    (error) => log.warn({ err: error }, 'old mail and ended sessions could not be removed'),
  )
  const dayClosing = every(
    CLOSE_DAYS_EVERY_MS,
    async (isStopped) => {
      if (!mayJudge()) return
      while (!isStopped() && (await closeAccountDays(db, clock.nowMs()))) await sleep(RETENTION_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, "the sums of yesterday's transfers could not be written"),
  )
  // What was written in the last hour, and a digest a day.
  const seals = every(
    SEAL_LOOK_EVERY_MS,
    async (isStopped) => {
      while (!isStopped() && mayJudge() && isLeader() && (await sealNext(db, clock.nowMs())))
        await sleep(RETENTION_PAUSE_MS)
    },
    (error) => log.warn({ err: error }, 'transfers and audit rows could not be sealed'),
  )
  const usageRetention = retain(
    USAGE_KEPT_DAYS,
    async (before) => (await deleteOldUsage(db, before)) === USAGE_DELETE_CHUNK,
    'the usage of keys past its retention time could not be removed',
  )
  const money = moneyLoops(config, deps)
  const all = [
    refunds,
    announcements,
    clockWatch,
    wakeUps,
    overlooked,
    backlog,
    snapshots,
    replication,
    publicAddresses,
    eventRetention,
    evidenceRetention,
    linkRetention,
    mail,
    mailRemoval,
    dayClosing,
    usageRetention,
    seals,
    money,
  ]
  return {
    providerProblem: money.problem,
    start() {
      for (const one of all) one.start()
    },
    async stop() {
      await Promise.all(all.map((one) => one.stop()))
      smtp?.close()
    },
  }
}
