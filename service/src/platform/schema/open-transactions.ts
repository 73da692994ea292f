import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { conflictsWith, type LockMode } from './statement-effects.ts'
import type { PlannedStep } from './upgrade-plan.ts'

/** A transaction that was open in both samples and that a pending step would have to wait for. */
export interface OpenTransaction {
  /** Null of a prepared transaction. */
  readonly pid: number | null
  readonly application_name: string | null
  readonly user: string | null
  /** Such as "idle in transaction"; null when this role may not see it. */
  readonly state: string | null
  /** Null when this role may not see it. */
  readonly transaction_s: number | null
  /** Tables on which it holds a conflicting lock; empty when only index builds wait, for its snapshot. */
  readonly tables: readonly string[]
}

interface Row {
  /** Identifies the transaction, not the session. */
  readonly transaction: string
  readonly pid: number | null
  readonly application_name: string | null
  readonly user: string | null
  readonly state: string | null
  readonly transaction_s: number | null
  readonly is_autovacuum: boolean
  /** False for a transaction that is open and idle without a snapshot: no index build waits for it. */
  readonly may_hold_snapshot: boolean
  readonly locks: readonly { table: string; mode: string }[]
}

/**
 * Takes two samples, because sales are made of transactions that last milliseconds: only a transaction that is open in both would
 * make `migrate` wait. An index build waits for every open transaction, a lock only for those that hold a conflicting one on its
 * table.
 */
export async function findOpenTransactions(
  client: pg.Client,
  { steps, buildsIndex }: { steps: readonly PlannedStep[]; buildsIndex: boolean },
  lookMs: number,
): Promise<OpenTransaction[]> {
  if (steps.length === 0 && !buildsIndex) return []
  const before = new Set((await look(client)).map(({ transaction }) => transaction))
  await sleep(lookMs)
  const stillOpen = (await look(client)).filter(({ transaction }) => before.has(transaction))
  return stillOpen.flatMap(({ locks, transaction: _, is_autovacuum, may_hold_snapshot, ...session }) => {
    // PostgreSQL cancels an autovacuum that a migration waits for.
    if (is_autovacuum) return []
    const tables = locks
      .filter((held) => steps.some((step) => isInTheWay(held, step)))
      .map(({ table }) => table)
    if (tables.length === 0 && !(buildsIndex && may_hold_snapshot)) return []
    return [{ ...session, tables: [...new Set(tables)].sort() }]
  })
}

export function describeOpen({
  pid,
  application_name,
  user,
  state,
  transaction_s,
  tables,
}: OpenTransaction): string {
  const what =
    pid === null
      ? 'A prepared transaction'
      : `Session ${pid} (application "${application_name ?? ''}", user ${user ?? 'unknown'}${state === null ? '' : `, ${state}`})`
  const age =
    transaction_s === null ? 'has a transaction open' : `has had a transaction open for ${transaction_s} s`
  const why = tables.length > 0 ? `on ${tables.join(', ')}` : 'which the build of an index would wait for'
  const next =
    pid === null
      ? 'Commit it or roll it back; pg_prepared_xacts lists it.'
      : `Let it end, or end it with "select pg_terminate_backend(${pid})".`
  return `${what} ${age} ${why}. ${next}`
}

function isInTheWay(held: { table: string; mode: string }, { table, lock }: PlannedStep): boolean {
  return held.table === table && conflictsWith(lock).includes(held.mode as LockMode)
}

async function look(client: pg.Client): Promise<Row[]> {
  return (await client.query<Row>(OPEN_TRANSACTIONS)).rows
}

/**
 * Locks are visible to every role, states and ages only to roles with pg_read_all_stats. Each transaction holds a lock on its own
 * virtual id; a prepared one has no session and only its locks. pg_locks writes AccessShareLock where the documentation writes
 * ACCESS SHARE.
 */
const OPEN_TRANSACTIONS = `
  with here as (select oid from pg_database where datname = current_database()),
  held as (
    select l.virtualtransaction as transaction, l.pid,
           coalesce(
             jsonb_agg(distinct jsonb_build_object(
               'table', c.relname,
               'mode', upper(regexp_replace(replace(l.mode, 'Lock', ''), '([a-z])([A-Z])', '\\1 \\2', 'g'))))
             filter (where c.relname is not null),
             '[]') as locks
      from pg_locks l
      left join pg_class c
        on l.locktype = 'relation' and l.database = (select oid from here) and c.oid = l.relation and c.relkind in ('r', 'p')
     where l.granted
       and l.locktype <> 'advisory'
       and (l.pid is not null or l.database = (select oid from here))
     group by l.virtualtransaction, l.pid)
  select h.transaction, h.pid, a.application_name, a.usename as "user", a.state,
         extract(epoch from clock_timestamp() - a.xact_start)::integer as transaction_s,
         h.pid is not null and a.usename is null and coalesce(a.query, '') not like '%to prevent wraparound%' as is_autovacuum,
         a.state is null or a.backend_xid is not null or a.backend_xmin is not null as may_hold_snapshot,
         h.locks
    from held h
    left join pg_stat_activity a on a.pid = h.pid
   where h.pid is null
      or h.pid <> pg_backend_pid() and a.datid = (select oid from here)
   order by a.xact_start, h.pid`
