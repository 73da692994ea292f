import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Log } from '../../platform/observability/log.ts'
import { createReminder } from '../../platform/observability/reminder.ts'
import { Unavailable } from '../../platform/trouble.ts'
import { createApiProbe } from './ask-api.ts'
import { documentOf, type Seen } from './document.ts'
import { statusFeed } from './feed.ts'
import { removeUnfinished, writeWhole } from './files.ts'
import {
  type Condition,
  type History,
  OUTAGE,
  readHistory,
  recordCondition,
  recordMissed,
} from './history.ts'
import { type Place, statusHtml } from './html.ts'
import { LOOK } from './look.generated.ts'
import { conditionOf, createObserver, type Present } from './present.ts'
import { RULES } from './style.ts'

const WRITE_EVERY_MS = 60_000
/** A database that is away for less is being restarted or failed over. */
const OUTAGE_MS_MIN = 30_000

export interface StatusPageDeps {
  readonly db: Db
  /** The database's time. */
  readonly clock: Clock
  readonly log: Log
  readonly folder: string
  readonly place: Place
  readonly fetch: typeof globalThis.fetch
  /** With a wrong clock nothing is recorded. */
  isTimeTrusted(): boolean
}

export interface StatusPage {
  /** Call it every few seconds: it records and writes when something changed, and once a minute. */
  look(): Promise<void>
  /** Why the files are out of date, and what to do; undefined while they are written. */
  problem(): string | undefined
}

/** Records what callers meet, and writes it as files that are served without this service or its database. */
export function createStatusPage(deps: StatusPageDeps): StatusPage {
  const { db, clock, log, folder, place } = deps
  const observe = createObserver(
    db,
    createApiProbe(place.isAsked ? `${place.apiUrl}/status` : undefined, deps.fetch),
  )
  const reminder = createReminder()
  let history: History = { days: [], periods: [] }
  let written = { what: '', atMs: Number.NEGATIVE_INFINITY }
  /** Since when the database has not answered. */
  let silentSinceMs: number | undefined
  /** What could not be recorded, and when. */
  let missed: { condition: Condition; fromMs: number; untilMs?: number } | undefined
  let problem: string | undefined

  function warn(what: string, error: unknown) {
    if (reminder.isDue(what)) log.warn({ err: error }, what)
  }

  /** Undefined: the database does not answer, and not for long yet. */
  async function see(nowMs: number): Promise<Seen | undefined> {
    try {
      const present = await observe()
      if (silentSinceMs !== undefined && nowMs - silentSinceMs >= OUTAGE_MS_MIN)
        missed = { condition: OUTAGE, fromMs: silentSinceMs, untilMs: nowMs }
      silentSinceMs = undefined
      return present
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      warn('the state of the store could not be read for its status page', error)
      silentSinceMs ??= nowMs
      return nowMs - silentSinceMs < OUTAGE_MS_MIN ? undefined : { unavailableSince: new Date(silentSinceMs) }
    }
  }

  /** A disk that is full keeps it from being recorded, not from being shown. */
  async function record(present: Present, nowMs: number) {
    if (!deps.isTimeTrusted()) return
    const condition = conditionOf(present)
    const isByOperator = present.phase === 'closed' || present.phase === 'planned'
    try {
      if (missed) {
        const { condition, fromMs, untilMs = nowMs } = missed
        await recordMissed(db, condition, new Date(fromMs), new Date(untilMs))
      }
      await recordCondition(db, condition, new Date(nowMs), isByOperator ? present.store.since : undefined)
      missed = undefined
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      warn('the state of the store could not be recorded for its status page', error)
      missed ??= { condition, fromMs: nowMs }
    }
  }

  async function write(seen: Seen, nowMs: number) {
    const status = documentOf(seen, history, nowMs)
    try {
      if (problem !== undefined || written.what === '') await removeUnfinished(folder)
      await writeWhole(folder, 'status.css', LOOK + RULES)
      await writeWhole(folder, 'status.json', `${JSON.stringify(status, undefined, 1)}\n`)
      await writeWhole(folder, 'feed.xml', statusFeed(status, place))
      await writeWhole(folder, 'index.html', statusHtml(status, place))
      problem = undefined
      return true
    } catch (error) {
      problem = describeFailure(folder, error as NodeJS.ErrnoException)
      if (reminder.isDue('write')) log.warn({ err: error }, problem)
      return false
    }
  }

  return {
    problem: () => problem,
    async look() {
      const nowMs = clock.nowMs()
      const seen = await see(nowMs)
      if (seen === undefined) return
      const what = summaryOf(seen)
      const isDue = what !== written.what || nowMs - written.atMs >= WRITE_EVERY_MS || nowMs < written.atMs
      if (!isDue) return
      if ('store' in seen) {
        await record(seen, nowMs)
        history = await readHistory(db, nowMs)
      }
      if (await write(seen, nowMs)) written = { what, atMs: nowMs }
    },
  }
}

/** Everything that is shown, without the times that change by themselves. */
function summaryOf(seen: Seen): string {
  if (!('store' in seen)) return 'unavailable'
  const { now: _, ...store } = seen.store
  return JSON.stringify({ ...seen, store })
}

const describeFailure = (folder: string, { code = 'failed' }: NodeJS.ErrnoException) =>
  `the status page could not be written to ${folder} (${code}): SHOPWIRE_STATUS_FOLDER has to be a folder that exists, and that the user ` +
  'of the worker may write to. Orders and webhooks do not depend on it'
