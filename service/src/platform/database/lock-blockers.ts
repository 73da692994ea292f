import pg from 'pg'
import { connectClient } from './database-url.ts'

/** A session that holds, or waits earlier for, a lock that another session needs. */
export interface Blocker {
  /** 0 for a prepared transaction, which has no session. */
  readonly pid: number
  readonly application_name: string | null
  readonly user: string | null
  /** Null when this role may not see it; then only the time since it was first observed is known. */
  readonly transaction_s: number | null
  readonly seen_s: number
}

export interface BlockerWatch {
  /** The blockers found last since watching began; empty when none were found. */
  latest(): readonly Blocker[]
  stop(): Promise<void>
}

const POLL_EVERY_MS = 100

/**
 * Finds out, over a separate connection, which sessions block the session with this pid. It has to poll while the session waits:
 * once the lock timeout has ended the wait, PostgreSQL no longer reports the blockers. Without a connection it reports none.
 */
export async function watchBlockers(url: string, pid: number): Promise<BlockerWatch> {
  const client = new pg.Client({ connectionString: url, application_name: 'shopwire-migrate-watch' })
  client.on('error', () => {})
  const isConnected = await connectClient(client).then(
    () => true,
    () => false,
  )
  const firstSeenMs = new Map<number, number>()
  let latest: Blocker[] = []
  let looking: Promise<void> | undefined

  async function look() {
    const rows = await findBlockers(client, pid)
    if (rows.length === 0) return
    const nowMs = performance.now()
    latest = rows.map((row) => {
      const sinceMs = firstSeenMs.get(row.pid) ?? nowMs
      firstSeenMs.set(row.pid, sinceMs)
      return { ...row, seen_s: Math.round((nowMs - sinceMs) / 1_000) }
    })
  }

  const timer = setInterval(() => {
    if (!isConnected || looking) return
    looking = look()
      .catch(() => {})
      .finally(() => {
        looking = undefined
      })
  }, POLL_EVERY_MS)
  return {
    latest: () => latest,
    async stop() {
      clearInterval(timer)
      await looking
      await client.end().catch(() => {})
    },
  }
}

/** Never contains the query text, which may hold values that must not be printed. */
export function describeBlockers(blockers: readonly Blocker[]): string {
  if (blockers.length === 0) return 'sessions that had ended before they could be identified'
  return blockers.map(describe).join('; ')
}

/** The sessions that block the session with this pid at this moment. */
export async function findBlockers(client: pg.Client, pid: number): Promise<Blocker[]> {
  return (await client.query<Blocker>(BLOCKERS, [pid])).rows
}

/** Who holds the advisory lock with this number. */
export async function findHolders(client: pg.Client, lockId: number): Promise<Blocker[]> {
  return (await client.query<Blocker>(HOLDERS, [lockId])).rows
}

const BLOCKERS = `
  select b.pid, a.application_name, a.usename as "user",
         extract(epoch from clock_timestamp() - a.xact_start)::integer as transaction_s, 0 as seen_s
    from unnest(pg_blocking_pids($1)) as b (pid)
    left join pg_stat_activity a on a.pid = b.pid
   group by b.pid, a.application_name, a.usename, a.xact_start
   order by a.xact_start, b.pid
   limit 5`

/** A bigint as pg_locks shows it: its upper half in classid, its lower half in objid. */
const HOLDERS = `
  select a.pid, a.application_name, a.usename as "user",
         extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start))::integer as transaction_s, 0 as seen_s
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
   where l.locktype = 'advisory'
     and l.granted
     and l.database = (select oid from pg_database where datname = current_database())
     and (l.classid::bigint << 32) + l.objid::bigint = $1
     and l.objsubid = 1`

function describe({ pid, application_name, user, transaction_s, seen_s }: Blocker): string {
  if (pid === 0) return 'a prepared transaction (listed in pg_prepared_xacts)'
  const age = transaction_s === null ? `at least ${seen_s} s` : `${transaction_s} s`
  return `pid ${pid} (application "${application_name ?? ''}", user ${user ?? 'unknown'}, transaction open for ${age})`
}
