import type { IncomingMessage } from 'node:http'
import { type Queryable, sql } from '../platform/database/db.ts'
import type { Log } from '../platform/observability/log.ts'
import { every } from '../platform/process/every.ts'
import { Unavailable } from '../platform/trouble.ts'

/**
 * How often each key is used, hour by hour, for the owners of the account. Counted in memory and written every few seconds: a
 * killed process loses what it has not written, on which no money depends. A batch whose result was lost with the connection is
 * written again, so a figure may be too high by a few seconds' worth.
 */
export interface KeyUsage {
  /** Counts an admitted request. Never waits and never throws. */
  request(who: KeyName, request: IncomingMessage, nowMs: number): void
  /** An order that this key bought. */
  order(who: KeyName, request: IncomingMessage, nowMs: number): void
  /** A cart that was priced. */
  quote(who: KeyName, request: IncomingMessage, nowMs: number): void
  /** Writes what was counted so far, unless the database is unavailable. */
  flush(): Promise<void>
  start(): void
  /** Writes the remaining counts. */
  stop(): Promise<void>
}

export interface KeyName {
  readonly account_id: string
  readonly key_id: string
}

export interface KeyUsageOptions {
  addressOf(request: IncomingMessage): string
  readonly log: Log
  readonly everyMs?: number
  readonly keysMax?: number
}

const EVERY_MS = 3_000
const HOUR_MS = 3_600_000
const BATCH_MAX = 500
/** Keys that are counted at once, about three megabytes. Further keys are not counted until the next write. */
const KEYS_MAX = 20_000
/** If the number of trusted proxies is set too high, an address is whatever text a proxy sent. */
const ADDRESS_LENGTH_MAX = 64

interface Counted extends KeyName {
  readonly hour: number
  requests: number
  orders: number
  quotedMs: number | undefined
  lastMs: number
  address: string
  /** The input of the address, so that it is formatted again only when it changes. */
  peer: string | undefined
  forwarded: string | string[] | undefined
}

export function createKeyUsage(
  db: Queryable,
  { addressOf, log, everyMs = EVERY_MS, keysMax = KEYS_MAX }: KeyUsageOptions,
): KeyUsage {
  let present = new Map<string, Counted>()
  /** Counts of hours that have ended, and counts that could not be written. */
  let ended: Counted[] = []
  let lost = 0
  let underWay: Promise<void> = Promise.resolve()

  function countedFor(who: KeyName, request: IncomingMessage, nowMs: number): Counted | undefined {
    const hour = Math.floor(nowMs / HOUR_MS)
    let entry = present.get(who.key_id)
    if (entry !== undefined && entry.hour !== hour) {
      ended.push(entry)
      entry = undefined
    }
    const peer = request.socket.remoteAddress
    const forwarded = request.headers['x-forwarded-for']
    if (entry === undefined) {
      if (present.size + ended.length >= keysMax) {
        lost += 1
        return undefined
      }
      const { account_id, key_id } = who
      const counts = { requests: 0, orders: 0, quotedMs: undefined, lastMs: nowMs }
      entry = { account_id, key_id, hour, ...counts, address: '', peer: '', forwarded: undefined }
      present.set(key_id, entry)
    }
    if (entry.address === '' || entry.peer !== peer || entry.forwarded !== forwarded) {
      entry.address = addressOf(request).slice(0, ADDRESS_LENGTH_MAX)
      entry.peer = peer
      entry.forwarded = forwarded
    }
    if (nowMs > entry.lastMs) entry.lastMs = nowMs
    return entry
  }

  async function writeAll(): Promise<void> {
    if (lost > 0) {
      log.warn(
        { requests: lost, keysMax },
        'requests are missing in the usage of keys: too many keys at once',
      )
      lost = 0
    }
    // In the same order in all processes: otherwise two that write the same keys at once could deadlock.
    let rows = [...ended, ...present.values()].sort(byKey)
    ended = []
    present = new Map()
    while (rows.length > 0) {
      const batch = rows.slice(0, BATCH_MAX)
      try {
        await write(db, batch)
      } catch (error) {
        if (error instanceof Unavailable) {
          ended.push(...rows)
          return
        }
        log.error({ keys: batch.length, err: error }, 'the usage of keys could not be written and is lost')
      }
      rows = rows.slice(BATCH_MAX)
    }
  }
  function flush(): Promise<void> {
    underWay = underWay.then(writeAll)
    return underWay
  }
  const repeating = every(everyMs, flush, () => {})

  return {
    request(who, request, nowMs) {
      const entry = countedFor(who, request, nowMs)
      if (entry) entry.requests += 1
    },
    order(who, request, nowMs) {
      const entry = countedFor(who, request, nowMs)
      if (entry) entry.orders += 1
    },
    quote(who, request, nowMs) {
      const entry = countedFor(who, request, nowMs)
      if (entry) entry.quotedMs ??= nowMs
    },
    flush,
    start: repeating.start,
    async stop() {
      await repeating.stop()
      await flush()
      if (ended.length > 0)
        log.warn({ keys: ended.length }, 'the last usage of keys is lost: the database is unavailable')
    },
  }
}

function byKey(a: Counted, b: Counted): number {
  if (a.account_id !== b.account_id) return a.account_id < b.account_id ? -1 : 1
  if (a.key_id !== b.key_id) return a.key_id < b.key_id ? -1 : 1
  return a.hour - b.hour
}

/** Two statements, so that no transaction holds rows of both tables. */
async function write(db: Queryable, counted: readonly Counted[]): Promise<void> {
  const rows = JSON.stringify(merged(counted).map(columnsOf))
  await db.run(sql`
    insert into key_usage as u (account_id, key_id, hour, requests, orders, last_used_at, last_address)
    select account_id, key_id, hour, requests, orders, last_used_at, last_address
      from json_to_recordset(${rows})
           as g (account_id text, key_id text, hour timestamptz, requests bigint, orders bigint, last_used_at timestamptz,
                 last_address text)
        on conflict (account_id, key_id, hour) do update
       set requests = u.requests + excluded.requests,
           orders = u.orders + excluded.orders,
           last_used_at = greatest(u.last_used_at, excluded.last_used_at),
           last_address = case when excluded.last_used_at >= u.last_used_at then excluded.last_address else u.last_address end`)
  await db.run(sql`
    insert into key_last_uses as u (account_id, key_id, last_used_at, last_address, first_quote_at)
    select distinct on (account_id, key_id) account_id, key_id, last_used_at, last_address,
           min(quoted_at) over (partition by account_id, key_id)
      from json_to_recordset(${rows})
           as g (account_id text, key_id text, last_used_at timestamptz, last_address text, quoted_at timestamptz)
     order by account_id, key_id, last_used_at desc
        on conflict (account_id, key_id) do update
       set last_used_at = greatest(u.last_used_at, excluded.last_used_at),
           last_address = case when excluded.last_used_at > u.last_used_at then excluded.last_address else u.last_address end,
           first_quote_at = coalesce(u.first_quote_at, excluded.first_quote_at)
     where excluded.last_used_at > u.last_used_at
        or (u.first_quote_at is null and excluded.first_quote_at is not null)`)
}

/** One row for each key and hour: a statement may not change a row twice. */
function merged(counted: readonly Counted[]): Counted[] {
  const rows: Counted[] = []
  for (const one of counted) {
    const before = rows.at(-1)
    if (before && byKey(before, one) === 0) {
      before.requests += one.requests
      before.orders += one.orders
      before.quotedMs ??= one.quotedMs
      if (one.lastMs >= before.lastMs) before.address = one.address
      before.lastMs = Math.max(before.lastMs, one.lastMs)
    } else rows.push({ ...one })
  }
  return rows
}

function columnsOf({ account_id, key_id, hour, requests, orders, quotedMs, lastMs, address }: Counted) {
  return {
    account_id,
    key_id,
    hour: new Date(hour * HOUR_MS),
    requests,
    orders,
    quoted_at: quotedMs === undefined ? null : new Date(quotedMs),
    last_used_at: new Date(lastMs),
    last_address: address,
  }
}

export const USAGE_KEPT_DAYS = 40
export const USAGE_DELETE_CHUNK = 1_000

/** Deletes hours past their retention, one chunk per call; fewer rows than a chunk means that none is left. */
export const deleteOldUsage = (db: Queryable, before: Date) =>
  db.run(sql`
    delete from key_usage u
     using (select account_id, key_id, hour
              from key_usage
             where hour < ${before}
             order by hour
             limit ${USAGE_DELETE_CHUNK}
               for update skip locked) old
     where u.account_id = old.account_id
       and u.key_id = old.key_id
       and u.hour = old.hour`)
