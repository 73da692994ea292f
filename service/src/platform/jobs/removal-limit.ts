import { type Db, type Queryable, sql, type Tx } from '../database/db.ts'
import type { Log } from '../observability/log.ts'
import { createReminder } from '../observability/reminder.ts'
import type { WorkerMetrics } from './job-metrics.ts'

/** What is removed permanently once it is old enough. The journal by daily files, links by the orders looked at, everything else by rows. */
export const REMOVALS = ['links', 'events', 'evidence', 'journal'] as const
export type Removal = (typeof REMOVALS)[number]

export interface RemovalState {
  readonly kind: Removal
  /** Since when it has been stopped; null while it continues. */
  readonly held_at: Date | null
  /** An operator allowed it to continue until nothing is left. */
  readonly is_released: boolean
  /** Within the hour that began with the first of them. */
  readonly removed: number
  readonly per_hour_max: number
}

export interface Removed {
  readonly removed: number
  /** Whether there may be more. */
  readonly isMore: boolean
}

export interface RemovalLimit {
  /** Removes one chunk of at most so many, if the limit allows it; resolves to whether to continue. */
  remove(kind: Removal, chunk: number, work: () => Promise<Removed>): Promise<boolean>
}

/**
 * A wrong clock that is not noticed makes everything look old. So removals per hour are limited, to more than any ordinary hour
 * needs; beyond the limit removal stops until an operator releases it.
 */
export function createRemovalLimit(
  db: Db,
  { log, metrics }: { log: Log; metrics: Pick<WorkerMetrics, 'removalsHeld'> },
): RemovalLimit {
  const reminder = createReminder()
  const held = new Set<Removal>()
  metrics.removalsHeld.from(() => REMOVALS.map((kind) => [{ kind }, held.has(kind) ? 1 : 0]))

  return {
    async remove(kind, chunk, work) {
      let isMore = false
      let state = await reserve(db, kind, chunk)
      if (state.is_granted) {
        // Rows that were reserved and then not removed, because the process ended, count as removed.
        const done = await work()
        isMore = done.isMore
        state = { ...state, ...(await settle(db, kind, chunk, done)) }
      }
      if (state.held_at === null) held.delete(kind)
      else {
        held.add(kind)
        if (reminder.isDue(kind)) log.error({ held_at: state.held_at }, heldText(kind))
      }
      return isMore && state.held_at === null
    },
  }
}

const heldText = (kind: Removal) =>
  `removing ${kind} has stopped, because too much of it expired within an hour. Check the clocks and the retention settings, then ` +
  `"shopwire-admin removals release ${kind}"`

export const readRemovals = (db: Queryable) =>
  db.many<RemovalState>(sql`
    select kind, held_at, is_released, removed, per_hour_max
      from removal_limits
     order by kind`)

const readRemoval = (db: Queryable, kind: Removal) =>
  db.one<Pick<RemovalState, 'held_at'>>(sql`select held_at from removals where kind = ${kind}`)

/** Counts a chunk in advance, so that workers that remove at the same time stay below the limit together. */
async function reserve(db: Queryable, kind: Removal, chunk: number) {
  const granted = await db.run(sql`
    update removals r
       set window_started_at = case
             when r.window_started_at <= clock_timestamp() - interval '1 hour' then clock_timestamp()
             else r.window_started_at
           end,
           window_count = ${chunk}::bigint + case
             when r.window_started_at <= clock_timestamp() - interval '1 hour' then 0
             else r.window_count
           end
      from removal_limits l
     where r.kind = ${kind}
       and l.kind = r.kind
       and r.held_at is null
       and (r.is_released
            or r.window_started_at <= clock_timestamp() - interval '1 hour'
            or r.window_count + ${chunk}::bigint <= l.per_hour_max)`)
  return { is_granted: granted > 0, held_at: granted > 0 ? null : (await readRemoval(db, kind)).held_at }
}

/** Corrects what was counted in advance. Stops when another chunk would exceed the limit; a release ends when nothing is left. */
const settle = (db: Queryable, kind: Removal, chunk: number, { removed, isMore }: Removed) =>
  db.one<Pick<RemovalState, 'held_at'>>(sql`
    update removals r
       set window_count = r.window_count + ${removed - chunk}::bigint,
           held_at = case
             when ${isMore} and not r.is_released and r.window_count + ${removed}::bigint > l.per_hour_max then clock_timestamp()
             else r.held_at
           end,
           is_released = r.is_released and ${isMore}
      from removal_limits l
     where r.kind = ${kind}
       and l.kind = r.kind
    returning r.held_at`)

/** Lets a stopped removal continue without a limit until nothing is left. Returns its state before. */
export async function releaseRemoval(tx: Tx, kind: Removal): Promise<Pick<RemovalState, 'held_at'>> {
  const before = await readRemoval(tx, kind)
  await tx.run(sql`
    update removals
       set held_at = null,
           is_released = true,
           window_started_at = clock_timestamp(),
           window_count = 0
     where kind = ${kind}`)
  return before
}
