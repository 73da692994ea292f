import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import { FULFIL_QUEUE } from './fulfil-queue.ts'

export interface Backlog {
  /** Orders that are paid and not delivered. */
  readonly queue: number
  /** Whether a due job has been waiting for a worker for STUCK_S. */
  readonly isStuck: boolean
}

/** How long a due job may wait before /status reports "degraded". */
const STUCK_S = 60
const COUNT_EVERY_MS = 1_000
/** Counting takes at most this share of the time, however large the store: it runs less often when it is slow. */
const SHARE_MAX = 0.05
/** The figures stay valid while the next count takes longer than the last one. */
const GRACE_MS = 5_000

interface Counted {
  readonly waiting: number
  readonly oldest_due_at: Date | null
}

/** Reads every waiting order, and the dead rows that a long-held snapshot keeps. */
const count = (db: Queryable) =>
  db.one<Counted & Backlog>(sql`
    select c.waiting, c.oldest_due_at, c.waiting as queue,
           coalesce(c.oldest_due_at < clock_timestamp() - ${STUCK_S}::integer * interval '1 s', false) as "isStuck"
      from (select (select count(*) from paid_orders) as waiting,
                   (select min(oldest.run_at)
                      from (values (false), (true)) as lane (is_backlog)
                     cross join lateral (select run_at
                                           from jobs
                                          where queue = ${FULFIL_QUEUE}
                                            and is_failing = false
                                            and is_backlog = lane.is_backlog
                                            and run_at <= (select clock_timestamp())
                                            and (leased_until is null or leased_until <= clock_timestamp())
                                          order by run_at
                                          limit 1) oldest) as oldest_due_at) c`)

/** What the leading worker counted last; without one, each process counts for itself. */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const known = await db.maybeOne<Backlog>(sql`
    select waiting as queue,
           coalesce(oldest_due_at < clock_timestamp() - ${STUCK_S}::integer * interval '1 s', false) as "isStuck"
      from order_backlog
     where valid_until > clock_timestamp()`)
  if (known) return known
  const { queue, isStuck } = await count(db)
  return { queue, isStuck }
}

/** For the leading worker; call it often. It counts once a second, or less often when counting takes long. */
export function createBacklogCounter(db: Db, isLeader: () => boolean): () => Promise<void> {
  let nextMs = Number.NEGATIVE_INFINITY
  return async () => {
    const startedMs = performance.now()
    if (!isLeader() || startedMs < nextMs) return
    const { waiting, oldest_due_at } = await count(db)
    const tookMs = performance.now() - startedMs
    const pauseMs = Math.max(COUNT_EVERY_MS, tookMs / SHARE_MAX)
    nextMs = startedMs + pauseMs
    const validMs = Math.round(2 * pauseMs + GRACE_MS)
    await db.run(sql`
      insert into order_backlog (waiting, oldest_due_at, valid_until)
      values (${waiting}, ${oldest_due_at}, clock_timestamp() + ${validMs}::integer * interval '1 ms')
          on conflict (only_row) do update
         set waiting = excluded.waiting,
             oldest_due_at = excluded.oldest_due_at,
             valid_until = excluded.valid_until`)
  }
}
