import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type LiveTopic, liveEvents, type liveRoutes, liveTopics } from '@shopwire/contract/dashboard'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { every } from '../platform/every.ts'
import { Refusal } from '../platform/trouble.ts'
import type { Sessions } from '../sessions/index.ts'
import { keyOfPage } from '../sessions/session-store.ts'
import type { Area } from './area.ts'
import { type AccountVersions, readVersions } from './live-queries.ts'
import type { Member } from './member.ts'

export interface LiveDeps {
  readonly db: Db
  readonly clock: Clock
  readonly sessions: Pick<Sessions, 'stillOpen'>
  onError(error: unknown): void
}

export interface Live {
  readonly area: Area<typeof liveRoutes>
  open(): number
  /** Ends the streams that somebody who has left has here, without waiting until that is seen in the database. */
  endOf(account_id: string, person_id: string): void
  start(): void
  /** Ends all streams; browsers connect again, to another process. */
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 1_000
/** Whoever was removed is out within a second, also where another process has removed them. */
const LOOK_WHO_IS_IN_EVERY_MS = 400
/** Shorter than the time after which the edge, and most proxies, close a connection on which nothing moves. */
const HEARTBEAT_EVERY_MS = 15_000
const STREAMS_PER_PERSON_MAX = 20
const STREAMS_MAX = 4_000
const ACCOUNTS_PER_STATEMENT = 500
/** After a lost connection the browser waits this long, so that a restarted process is not asked by all at once. */
const RETRY_MS = 2_000
const RETRY_SPREAD_MS = 3_000
const ENDED = `event: ${liveEvents.ended}\ndata: {}\n\n`

interface Stream {
  readonly member: Member
  readonly readable: Readable
  /** What the browser is known to have seen; undefined until the account was looked at once. */
  seen: AccountVersions | undefined
  readonly last_event_id: string | undefined
  lastWriteMs: number
  /** Whether the connection takes more. Changes meanwhile are found later: the versions that were seen stay. */
  isReady: boolean
}

/**
 * Tells open pages what has changed, so that they read it again. The process looks at all watched accounts with one statement per
 * second; nothing that sells is asked to announce anything.
 */
export function createLive({ db, clock, sessions, onError }: LiveDeps): Live {
  const streams = new Set<Stream>()
  const perPerson = new Map<string, number>()

  function open(member: Member, last_event_id: string | undefined): Readable {
    const open = perPerson.get(member.person_id) ?? 0
    if (open >= STREAMS_PER_PERSON_MAX || streams.size >= STREAMS_MAX) throw tooMany()
    const stream: Stream = {
      member,
      last_event_id,
      seen: undefined,
      lastWriteMs: clock.nowMs(),
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
    for (let n = 0; n < watched.length; n += ACCOUNTS_PER_STATEMENT) {
      const rows = await readVersions(db, watched.slice(n, n + ACCOUNTS_PER_STATEMENT))
      const byAccount = new Map(rows.map((row) => [row.account_id, row]))
      for (const stream of streams) {
        const versions = byAccount.get(stream.member.account_id)
        if (versions && stream.isReady) tell(stream, versions)
      }
    }
  }

  function tell(stream: Stream, versions: AccountVersions) {
    const { seen } = stream
    stream.seen = versions
    const topics = seen ? changed(seen, versions) : sinceBefore(stream, versions)
    if (topics.length > 0) return write(stream, eventOf(versions, topics))
    // The id without a hint: a browser that connects again later can say where it was.
    if (!seen) return write(stream, `id: ${idOf(versions)}\ndata\n\n`)
    if (clock.nowMs() - stream.lastWriteMs >= HEARTBEAT_EVERY_MS) write(stream, ': open\n\n')
  }

  const looking = every(
    LOOK_EVERY_MS,
    async () => {
      if (streams.size > 0) await tellChanges()
    },
    onError,
  )
  const lookingWhoIsIn = every(
    LOOK_WHO_IS_IN_EVERY_MS,
    async () => {
      if (streams.size > 0) await endClosedSessions()
    },
    onError,
  )
  return {
    area: { live: async ({ member, last_event_id }) => open(member, last_event_id) },
    open: () => streams.size,
    endOf(account_id, person_id) {
      for (const stream of streams) {
        const { member } = stream
        if (member.account_id === account_id && member.person_id === person_id) end(stream, ENDED)
      }
    },
    start() {
      looking.start()
      lookingWhoIsIn.start()
    },
    async stop() {
      await Promise.all([looking.stop(), lookingWhoIsIn.stop()])
      for (const stream of streams) end(stream)
    },
  }
}

function changed(before: AccountVersions, now: AccountVersions): LiveTopic[] {
  return liveTopics.filter((topic) => before[topic] !== now[topic])
}

/** What a browser that was away has missed is unknown: it reads everything again, unless nothing has changed. */
function sinceBefore({ last_event_id }: Stream, versions: AccountVersions): readonly LiveTopic[] {
  return last_event_id === undefined || last_event_id === idOf(versions) ? [] : liveTopics
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
    'Too many pages are open. Close some of them; this one works, but has to be reloaded to show changes.',
    {},
    { 'retry-after': '60' },
  )
}
