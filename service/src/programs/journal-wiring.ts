import type { Config } from '../config/config.ts'
import { createPositionKeeper, journalProblemOf } from '../orders/journal/keep-position.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { DatabaseTime } from '../platform/jobs/clock-watch.ts'
import type { RemovalLimit } from '../platform/jobs/removal-limit.ts'
import type { Log } from '../platform/observability/log.ts'
import { createReminder } from '../platform/observability/reminder.ts'
import { every } from '../platform/process/every.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import type { Journal } from '../supply/journal.ts'
import { openJournalFolder } from '../supply/journal-files.ts'
import type { Metrics } from './metrics.ts'
import type { UntilAnswered } from './wiring.ts'

const POSITION_EVERY_MS = 1_000
const REMOVAL_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000

const NO_JOURNAL =
  'this store keeps no journal of sold links: after a restore of its database it is unknown which links it had sold. ' +
  'Set SHOPWIRE_JOURNAL ("Restores and failover" in the documentation)'

/** Undefined when the store keeps none. */
export function openJournalFrom(
  { SHOPWIRE_JOURNAL: dir }: Pick<Config, 'SHOPWIRE_JOURNAL'>,
  onError: (error: unknown) => void,
  { nowMs }: Clock = systemClock,
): Journal | undefined {
  return dir === undefined ? undefined : openJournalFolder(dir, { nowMs, onError })
}

/** A worker's work on the journal and the store's position, apart from recording the links it sells. */
export interface JournalKeeping {
  readonly journal: Journal | undefined
  /** Compares the database with the journal for the first time. */
  open(until: UntilAnswered): Promise<void>
  /** Why nothing can be delivered; undefined when it can. */
  problem(): string | undefined
  stop(): Promise<void>
}

export interface JournalDeps {
  readonly db: Db
  readonly vault: LinkVault
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: DatabaseTime
  readonly removals: RemovalLimit
}

export function keepJournal(
  config: Config,
  { db, vault, log, metrics, clock, removals }: JournalDeps,
): JournalKeeping {
  const real = openJournalFrom(
    config,
    (error) =>
      log.warn({ err: error }, 'the journal of sold links could not be written; deliveries wait for it'),
    clock,
  )
  const journal = real && counted(real, metrics)
  const keep = createPositionKeeper({ db, vault, journal, log, metrics, nowMs: clock.nowMs })
  let problem: string | undefined
  const reminder = createReminder()
  metrics.journalFailing.from(() => (journal === undefined ? undefined : Number(problem !== undefined)))

  const keepAndNote = () =>
    keep().then(
      () => {
        problem = undefined
      },
      (error: unknown) => {
        problem = journalProblemOf(error) ?? problem
        throw error
      },
    )
  const keeping = every(POSITION_EVERY_MS, keepAndNote, (error) => {
    // Not keyed by the text, which may contain a changing number.
    if (!reminder.isDue('position')) return
    log.error({ err: error }, journalProblemOf(error) ?? "the store's position could not be recorded")
  })
  const removal = every(
    REMOVAL_EVERY_MS,
    async (isStopped) => {
      if (journal === undefined) return
      const removeDay = async () => {
        const isMore = await removeOneDay(journal, clock.nowMs() - config.SHOPWIRE_JOURNAL_DAYS * DAY_MS)
        return { removed: isMore ? 1 : 0, isMore }
      }
      while (
        !isStopped() &&
        clock.problem() === undefined &&
        (await removals.remove('journal', 1, removeDay))
      );
    },
    (error) => log.warn({ err: error }, 'old files of the journal of sold links could not be removed'),
  )
  return {
    journal,
    async open(until) {
      if (journal === undefined && config.SHOPWIRE_ENV === 'production') log.warn(NO_JOURNAL)
      await until('database or the journal of sold links', keepAndNote)
      keeping.start()
      removal.start()
    },
    problem: () => problem,
    async stop() {
      await Promise.all([keeping.stop(), removal.stop()])
      await journal?.close()
    },
  }
}

/** Up to a time, at most a day further than before; resolves to whether more is left. */
async function removeOneDay(journal: Journal, toMs: number): Promise<boolean> {
  const keptSinceMs = (await journal.readMark())?.kept_since.getTime() ?? toMs
  const nextMs = Math.min(toMs, keptSinceMs + DAY_MS)
  await journal.removeBefore(new Date(nextMs))
  return nextMs < toMs
}

function counted(journal: Journal, metrics: Metrics): Journal {
  return {
    ...journal,
    async append(links) {
      const startedMs = performance.now()
      try {
        await journal.append(links)
      } catch (error) {
        metrics.journalFailures.inc()
        throw error
      }
      metrics.journalWrites.observe((performance.now() - startedMs) / 1000)
    },
  }
}
