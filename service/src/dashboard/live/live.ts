import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type LiveTopic, liveEvents, type liveRoutes, liveTopics } from '@shopwire/contract/dashboard'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database/db.ts'
import { every } from '../../platform/process/every.ts'
import { Refusal } from '../../platform/trouble.ts'
import type { Sessions } from '../../sessions/index.ts'
import { keyOfPage } from '../../sessions/session-store.ts'
import type { Area } from '../area.ts'
import type { Member } from '../member.ts'
import { type AccountVersions, readVersions } from './live-queries.ts'

export interface LiveDeps {
  readonly db: Db
  readonly clock: Clock
  readonly sessions: Pick<Sessions, 'stillOpen'>
  onError(error: unknown): void
}

export interface Live {
  readonly area: Area<typeof liveRoutes>
  open(): number
  /** Ends the streams of a person who has left, without waiting until the database shows it. */
  endOf(account_id: string, person_id: string): void
  start(): void
  /** Ends all streams; browsers reconnect, to another process. */
  stop(): Promise<void>
}

const POLL_EVERY_MS = 1_000
/**
 * When a poll takes long, because the database is busy or very many pages are open, the pause before the next one is this many
 * times as long.
 */
const PAUSE_PER_POLL_TIME = 50
const POLL_PAUSE_MS_MAX = 5_000
/**
 * A page reads again whenever it gets a hint, so this limits how often the pages of this process read. However many accounts change
 * all the time, that stays a small part of a core; each page then waits longer.
 */
const HINTS_PER_POLL_MAX = 20
/** For a page whose account changes all the time. The first changes after a quiet time are sent at once. */
const HINT_EVERY_MS = 5_000
const HINTS_AT_ONCE = 3
/** A removed person is out within a second, even if another process removed them. */
const MEMBERS_CHECK_EVERY_MS = 400
/** Shorter than the time after which the edge, and most proxies, close an idle connection. */
const HEARTBEAT_EVERY_MS = 15_000
const STREAMS_PER_PERSON_MAX = 20
const STREAMS_MAX = 4_000
const ACCOUNTS_PER_STATEMENT = 500
/** After a lost connection the browser waits this long, so that not all reconnect to a restarted process at once. */
const RETRY_MS = 2_000
const RETRY_SPREAD_MS = 3_000
const HEARTBEAT = `event: ${liveEvents.heartbeat}\ndata: {}\n\n`
const ENDED = `event: ${liveEvents.ended}\ndata: {}\n\n`

interface Stream {
  readonly member: Member
  readonly readable: Readable
  /** The versions that the browser is known to have; undefined for one that reconnects, until its account was polled. */
  seen: AccountVersions | undefined
  readonly last_event_id: string | undefined
  lastWriteMs: number
  /** Each hint moves it on by `HINT_EVERY_MS`, from now at the earliest; when it is too far ahead, the page has to wait. */
  hintsUsedToMs: number
  /** Whether the connection can take more data. Changes meanwhile are found later, because the versions are kept. */
  isReady: boolean
}

/**
 * Tells open pages what has changed, so that they read it again. The process polls all watched accounts with one statement per
 * second, less often when that is slow; no purchase or delivery has to announce anything. It limits how often a page gets a hint,
 * and so how often it reads: changes that were held back are sent later, all together.
 */
export function createLive({ db, clock, sessions, onError }: LiveDeps): Live {
  const streams = new Set<Stream>()
  const perPerson = new Map<string, number>()

  /** Changes from here on lead to a hint, however long it takes until the next poll: the page reads at the same time. */
  async function openNow(member: Member, last_event_id: string | undefined): Promise<Readable> {
    if (last_event_id !== undefined) return open(member, last_event_id)
    const [versions] = await readVersions(db, [member.account_id])
    return open(member, undefined, versions)
  }

  function open(member: Member, last_event_id: string | undefined, seen?: AccountVersions): Readable {
    const open = perPerson.get(member.person_id) ?? 0
    if (open >= STREAMS_PER_PERSON_MAX || streams.size >= STREAMS_MAX) throw tooMany()
    const stream: Stream = {
      member,
      last_event_id,
      seen,
      lastWriteMs: clock.nowMs(),
      hintsUsedToMs: 0,
      isReady: true,
      readable: new Readable({
        read() {
          stream.isReady = true
        },
        destroy(error, done) {
          if (streams.delete(stream)) countDown(member.person_id)
          done(error)
        },
      }),
    }
    perPerson.set(member.person_id, open + 1)
    streams.add(stream)
    write(stream, `retry: ${RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS)}\n\n`)
    if (seen) write(stream, bareId(seen))
    return stream.readable
  }

  function countDown(person_id: string) {
    const left = (perPerson.get(person_id) ?? 1) - 1
    if (left === 0) perPerson.delete(person_id)
    else perPerson.set(person_id, left)
  }

  function write(stream: Stream, text: string) {
    stream.lastWriteMs = clock.nowMs()
    stream.isReady = stream.readable.push(text)
  }

  function end(stream: Stream, lastWords?: string) {
    if (!streams.delete(stream)) return
    countDown(stream.member.person_id)
    if (lastWords !== undefined) stream.readable.push(lastWords)
    stream.readable.push(null)
  }

  async function endClosedSessions() {
    const nowMs = clock.nowMs()
    const distinct = new Map([...streams].map(({ member }) => [keyOfPage(member), member]))
    const stillOpen = await sessions.stillOpen([...distinct.values()], nowMs)
    for (const stream of streams) {
      const asked = distinct.get(keyOfPage(stream.member))
      if (!asked || stillOpen.has(asked)) continue
      end(stream, ENDED)
    }
  }

  async function tellChanges() {
    const watched = [...new Set([...streams].map(({ member }) => member.account_id))]
    const byAccount = new Map<string, AccountVersions>()
    for (let n = 0; n < watched.length; n += ACCOUNTS_PER_STATEMENT) {
      const rows = await readVersions(db, watched.slice(n, n + ACCOUNTS_PER_STATEMENT))
      for (const row of rows) byAccount.set(row.account_id, row)
    }
    const nowMs = clock.nowMs()
    // The page whose last hint is the oldest comes first: a page of a quiet account does not wait for those of busy ones.
    const all = [...streams].sort((a, b) => a.hintsUsedToMs - b.hintsUsedToMs)
    let left = HINTS_PER_POLL_MAX
    for (const stream of all) {
      const versions = byAccount.get(stream.member.account_id)
      if (!versions || !stream.isReady) continue
      const topics = stream.seen ? changed(stream.seen, versions) : sinceBefore(stream, versions)
      if (topics.length > 0 && left > 0 && mayHint(stream, nowMs)) {
        left -= 1
        stream.hintsUsedToMs = Math.max(stream.hintsUsedToMs, nowMs) + HINT_EVERY_MS
        stream.seen = versions
        write(stream, eventOf(versions, topics))
      } else if (!stream.seen && topics.length === 0) {
        stream.seen = versions
        write(stream, bareId(versions))
      } else if (nowMs - stream.lastWriteMs >= HEARTBEAT_EVERY_MS) {
        write(stream, HEARTBEAT)
      }
    }
  }

  const polling = every(
    (tookMs) => Math.max(POLL_EVERY_MS, Math.min(PAUSE_PER_POLL_TIME * tookMs, POLL_PAUSE_MS_MAX)),
    async () => {
      if (streams.size > 0) await tellChanges()
    },
    onError,
  )
  const checkingMembers = every(
    MEMBERS_CHECK_EVERY_MS,
    async () => {
      if (streams.size > 0) await endClosedSessions()
    },
    onError,
  )
  return {
    area: { live: ({ member, last_event_id }) => openNow(member, last_event_id) },
    open: () => streams.size,
    endOf(account_id, person_id) {
      for (const stream of streams) {
        const { member } = stream
        if (member.account_id === account_id && member.person_id === person_id) end(stream, ENDED)
      }
    },
    start() {
      polling.start()
      checkingMembers.start()
    },
    async stop() {
      await Promise.all([polling.stop(), checkingMembers.stop()])
      for (const stream of streams) end(stream)
    },
  }
}

function mayHint({ hintsUsedToMs }: Stream, nowMs: number): boolean {
  return hintsUsedToMs - nowMs <= (HINTS_AT_ONCE - 1) * HINT_EVERY_MS
}

function changed(before: AccountVersions, now: AccountVersions): LiveTopic[] {
  return liveTopics.filter((topic) => before[topic] !== now[topic])
}

/** What a disconnected browser has missed is unknown: it reads everything again, unless nothing has changed. */
function sinceBefore({ last_event_id }: Stream, versions: AccountVersions): readonly LiveTopic[] {
  return last_event_id === undefined || last_event_id === idOf(versions) ? [] : liveTopics
}

/** The id without a hint: a browser that reconnects later can send it. */
function bareId(versions: AccountVersions): string {
  return `id: ${idOf(versions)}\ndata\n\n`
}

function eventOf(versions: AccountVersions, topics: readonly LiveTopic[]): string {
  return `id: ${idOf(versions)}\nevent: ${liveEvents.hint}\ndata: ${JSON.stringify({ topics })}\n\n`
}

function idOf(versions: AccountVersions): string {
  const text = liveTopics.map((topic) => versions[topic]).join(' ')
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

function tooMany() {
  return new Refusal(
    'rate_limited',
    'Too many pages are open. Close some of them. This one works, but has to be reloaded to show changes.',
    {},
    { 'retry-after': '60' },
  )
}
