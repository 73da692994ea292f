import { Readable } from 'node:stream'
import type { StreamedEvent } from '@shopwire/contract/dashboard'
import { getAccount } from '../../accounts/account.ts'
import { sentBody } from '../../orders/fulfilment/compose-event.ts'
import type { Clock } from '../../platform/clock.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import { recordAction } from '../../platform/database/audit.ts'
import { type Db, sql, type Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { every } from '../../platform/process/every.ts'
import { firstIdAt, timeInId } from '../../platform/text/ids.ts'
import { Refusal } from '../../platform/trouble.ts'
import { createLinkVault, type LinkVault } from '../../supply/gift-link.ts'
import type { EventToCompose } from '../../webhooks/delivery-deps.ts'
import { readVersions } from '../live/live-queries.ts'
import type { TokenCaller } from './tokens.ts'
import { findTokens } from './tokens-queries.ts'

export interface TokenEventsDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  onError(error: unknown): void
}

export interface TokenEvents {
  /** Resolves once it is known which events came before: all later ones are sent. */
  open(caller: TokenCaller, from: StreamStart): Promise<Readable>
  count(): number
  start(): void
  /** Ends all streams; the command line reconnects, to another process, and continues where it was. */
  stop(): Promise<void>
}

export interface StreamStart {
  /** The last event that the reader has, when it reconnects. */
  readonly last_event_id: string | undefined
  readonly address: string
  readonly request_id: string
}

const POLL_EVERY_MS = 1_000
/** Now and then even without a sign of change: the numbers that show changes only look at the newest events. */
const POLL_ALL_EVERY_MS = 15_000
/** Shorter than the time after which the edge, and most proxies, close an idle connection. */
const HEARTBEAT_MS = 10_000
/** Ids follow the time at which an event was made, not the time of its commit. No transaction lasts this long. */
const LATE_MS_MAX = 60_000
/** How far back a reader that was disconnected can continue. */
const REPLAY_MS_MAX = 86_400_000
const EVENTS_PER_LOOK = 100
const STREAMS_PER_ACCOUNT_MAX = 10
const STREAMS_MAX = 1_000

interface Stream extends StreamStart {
  readonly caller: TokenCaller
  readonly readable: Readable
  /** Events with a smaller id are done. */
  fromId: string
  /** Ids after `fromId` that were sent, or existed before the stream. */
  readonly seen: Set<string>
  /** The earlier events are known; until then nothing is sent. */
  isPrimed: boolean
  version: string | undefined
  polledMs: number
  lastWriteMs: number
  isReady: boolean
}

/** An account's webhook events as they happen, for `shopwire listen`. They are only read: deliveries continue as usual. */
export function createTokenEvents({ db, keyring, clock, onError }: TokenEventsDeps): TokenEvents {
  const streams = new Set<Stream>()
  // Opening links needs only the keyring; the vault's own key is for storing new ones.
  const vault = createLinkVault(db, keyring)

  async function open(caller: TokenCaller, start: StreamStart): Promise<Readable> {
    const ofAccount = [...streams].filter((one) => one.caller.account_id === caller.account_id).length
    if (ofAccount >= STREAMS_PER_ACCOUNT_MAX || streams.size >= STREAMS_MAX) throw tooMany()
    const nowMs = clock.nowMs()
    const sinceMs = start.last_event_id === undefined ? undefined : timeInId(start.last_event_id)
    const fromMs = Math.max(nowMs - REPLAY_MS_MAX, (sinceMs ?? nowMs) - LATE_MS_MAX)
    const stream: Stream = {
      ...start,
      caller,
      fromId: firstIdAt('evt', fromMs),
      seen: new Set(start.last_event_id === undefined ? [] : [start.last_event_id]),
      isPrimed: false,
      version: undefined,
      polledMs: 0,
      lastWriteMs: nowMs,
      isReady: true,
      readable: new Readable({
        read() {
          stream.isReady = true
        },
        destroy(error, done) {
          streams.delete(stream)
          done(error)
        },
      }),
    }
    streams.add(stream)
    // A reader that continues gets the events it missed; a new one gets events from now on.
    if (sinceMs === undefined) {
      const before = await inAccount(db, caller.account_id, (tx) =>
        selectEventIds(tx, caller.account_id, stream.fromId),
      ).catch((error: unknown) => {
        end(stream)
        throw error
      })
      for (const { id } of before) stream.seen.add(id)
    }
    const { account_id, account_name, endpoint_url, with_links } = caller
    write(stream, 'ready', { account: { id: account_id, name: account_name }, endpoint_url, with_links })
    stream.isPrimed = true
    return stream.readable
  }

  function write(stream: Stream, event: string, data: object, id?: string) {
    stream.lastWriteMs = clock.nowMs()
    const head = id === undefined ? '' : `id: ${id}\n`
    stream.isReady = stream.readable.push(`${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  function end(stream: Stream) {
    if (!streams.delete(stream)) return
    stream.readable.push(null)
  }

  async function endUnusable() {
    // Those that are opened during the query were not asked for.
    const asked = [...streams]
    const hashes = asked.map(({ caller }) => caller.token_hash)
    const usable = new Set((await findTokens(db, hashes)).map(({ id }) => id))
    for (const stream of asked) {
      if (usable.has(stream.caller.token_id) || !streams.has(stream)) continue
      const message = 'The token was revoked, has expired, or its owner may no longer use it.'
      write(stream, 'ended', { message })
      end(stream)
    }
  }

  async function pollChanged() {
    const accounts = [...new Set([...streams].map(({ caller }) => caller.account_id))]
    const versions = await readVersions(db, accounts)
    const byAccount = new Map(versions.map((one) => [one.account_id, `${one.orders} ${one.deliveries}`]))
    const nowMs = clock.nowMs()
    for (const stream of streams) {
      const version = byAccount.get(stream.caller.account_id)
      const isDue = version !== stream.version || nowMs - stream.polledMs >= POLL_ALL_EVERY_MS
      if (!stream.isPrimed) continue
      // An event that cannot be read must not hold up other streams.
      const isDone = stream.isReady && isDue && (await poll(stream).catch(reported))
      if (isDone) stream.version = version
      if (nowMs - stream.lastWriteMs >= HEARTBEAT_MS) {
        stream.lastWriteMs = nowMs
        stream.isReady = stream.readable.push(': open\n\n')
      }
    }
  }

  const reported = (error: unknown) => {
    onError(error)
    return false
  }

  /** Returns whether there is nothing left to send for now. */
  async function poll(stream: Stream): Promise<boolean> {
    const { caller, seen } = stream
    const startedMs = clock.nowMs()
    const rows = await inAccount(db, caller.account_id, async (tx) => {
      // As with webhooks, events of a suspended account are sent when it is resumed.
      if ((await getAccount(tx, caller.account_id)).status !== 'active') return undefined
      const events = await selectEvents(tx, caller.account_id, stream.fromId, [...seen])
      const made: { event: EventRow; streamed: StreamedEvent }[] = []
      for (const event of events) {
        const streamed = await present(tx, vault, keyring, caller, event)
        if (streamed.links === 'included') await recordLinks(tx, stream, event)
        made.push({ event, streamed })
      }
      return made
    })
    if (!rows) return false
    for (const { event, streamed } of rows) {
      if (seen.has(event.event_id)) continue
      seen.add(event.event_id)
      write(stream, 'event', streamed, event.event_id)
    }
    const isDone = rows.length < EVENTS_PER_LOOK
    if (isDone) {
      stream.polledMs = startedMs
      moveOn(stream, firstIdAt('evt', startedMs - LATE_MS_MAX))
    }
    return isDone
  }

  const polling = every(
    POLL_EVERY_MS,
    async () => {
      if (streams.size === 0) return
      await endUnusable()
      await pollChanged()
    },
    onError,
  )
  return {
    open,
    count: () => streams.size,
    start: () => polling.start(),
    async stop() {
      await polling.stop()
      for (const stream of streams) end(stream)
    },
  }
}

function moveOn(stream: Stream, fromId: string) {
  if (fromId <= stream.fromId) return
  stream.fromId = fromId
  for (const id of stream.seen) if (id < fromId) stream.seen.delete(id)
}

type EventRow = Omit<EventToCompose, 'account_id'> & { readonly body_sealed: Buffer | null }

const selectEventIds = (tx: Tx, account_id: string, fromId: string) =>
  tx.many<{ id: string }>(sql`
    select id
      from events
     where account_id = ${account_id}
       and id > ${fromId}`)

const selectEvents = (tx: Tx, account_id: string, fromId: string, but: readonly string[]) =>
  tx.many<EventRow>(sql`
    select e.id as event_id, e.type, e.order_id, e.revision, e.created_at as event_created_at, e.body_sealed
      from events e
     where e.account_id = ${account_id}
       and e.id > ${fromId}
       and e.id <> all(${but})
     order by e.id
     limit ${EVENTS_PER_LOOK}`)

async function present(
  tx: Tx,
  vault: LinkVault,
  keyring: Keyring,
  { account_id, with_links }: TokenCaller,
  event: EventRow,
): Promise<StreamedEvent> {
  const { event_id: id, type, order_id, event_created_at } = event
  const whole = await sentBody(tx, { keyring, vault }, { ...event, account_id })
  const masked = with_links ? undefined : withMaskedLinks(whole)
  const hasLinks = masked !== undefined || (with_links && withMaskedLinks(whole) !== undefined)
  return {
    id,
    type,
    order_id,
    created_at: event_created_at.toISOString(),
    body: masked ?? whole,
    links: !hasLinks ? 'none' : with_links ? 'included' : 'masked',
  }
}

/** The same body with a placeholder for each link; undefined when it has none. The placeholder's host name never resolves (RFC 6761). */
function withMaskedLinks(body: string): string | undefined {
  const event = JSON.parse(body) as { data: { order?: { links?: string[] } } }
  const { order } = event.data
  if (!order?.links || order.links.length === 0) return undefined
  order.links = order.links.map((_, n) => `https://link-masked.invalid/${n + 1}`)
  return JSON.stringify(event)
}

const recordLinks = (tx: Tx, { caller, address, request_id }: Stream, event: EventRow) =>
  recordAction(tx, {
    actor: `person:${caller.person_id}`,
    action: 'links.stream',
    target: event.order_id ?? event.event_id,
    account_id: caller.account_id,
    address,
    request_id,
    details: { name: caller.person_name, token_id: caller.token_id, event_id: event.event_id },
  })

function tooMany() {
  return new Refusal(
    'rate_limited',
    `At most ${STREAMS_PER_ACCOUNT_MAX} command lines may listen to one account at a time. Stop one of them.`,
    {},
    { 'retry-after': '60' },
  )
}
