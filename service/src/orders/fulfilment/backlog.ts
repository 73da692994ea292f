import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import { OVERDUE_S, readOldestDue } from '../../platform/jobs/jobs.ts'
import { FULFIL_QUEUE } from './fulfil-queue.ts'

export interface Backlog {
  /** Orders that are paid and not delivered. */
  readonly queue: number
  /** The time of the oldest of them. */
  readonly oldest_at: Date | null
  /** Whether a due job has been waiting for a worker for OVERDUE_S. */
  readonly isStuck: boolean
}

const COUNT_EVERY_MS = 1_000
/** Counting takes at most this share of the time, however large the store: it runs less often when it is slow. */
const SHARE_MAX = 0.05
/** The figures stay valid while the next count takes longer than the last one. */
const GRACE_MS = 5_000

interface Counted {
  readonly waiting: number
  readonly oldest_at: Date | null
}

/** Reads every waiting order, and the dead rows that a long-held snapshot keeps. */
const count = (db: Queryable) =>
  db.one<Counted>(sql`
    select count(*) as waiting, min(created_at) as oldest_at
      from paid_orders`)

/** What the leading worker counted last; without one, each process counts for itself. */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const known = await db.maybeOne<Backlog>(sql`
    select waiting as queue, oldest_at,
           coalesce(oldest_due_at < clock_timestamp() - ${OVERDUE_S}::integer * interval '1 s', false) as "isStuck"
      from order_backlog
     where valid_until > clock_timestamp()`)
  if (known) return known
  const { waiting, oldest_at } = await count(db)
  const { isOverdue } = await readOldestDue(db, FULFIL_QUEUE)
  return { queue: waiting, oldest_at, isStuck: isOverdue }
}

/** For the leading worker; call it often. It counts once a second, or less often when counting takes long. */
export function createBacklogCounter(db: Db, isLeader: () => boolean): () => Promise<void> {
  let nextMs = Number.NEGATIVE_INFINITY
  return async () => {
    const startedMs = performance.now()
    if (!isLeader() || startedMs < nextMs) return
    const { waiting, oldest_at } = await count(db)
    const { due_at } = await readOldestDue(db, FULFIL_QUEUE)
    const tookMs = performance.now() - startedMs
    const pauseMs = Math.max(COUNT_EVERY_MS, tookMs / SHARE_MAX)
    nextMs = startedMs + pauseMs
    const validMs = Math.round(2 * pauseMs + GRACE_MS)
    await db.run(sql`
      insert into order_backlog (waiting, oldest_at, oldest_due_at, valid_until)
      values (${waiting}, ${oldest_at}, ${due_at}, clock_timestamp() + ${validMs}::integer * interval '1 ms')
          on conflict (only_row) do update
         set waiting = excluded.waiting,
             oldest_at = excluded.oldest_at,
             oldest_due_at = excluded.oldest_due_at,
             valid_until = excluded.valid_until`)
  }
}
