import { type Db, sql } from '../platform/database/db.ts'
import type { Removed } from '../platform/jobs/removal-limit.ts'

/** Rows per transaction: small, so that locks are held briefly. */
export const EVENTS_CHUNK = 1_000

/**
 * Deletes events that are past their retention, with their deliveries, attempts and the links in their bodies. Events with a
 * pending delivery are kept. One chunk per call. Any number of workers may call this; one of them does the work.
 */
export async function deleteOldEvents(db: Db, before: Date): Promise<Removed> {
  const removed = await db.transaction(async (tx) => {
    const lock = await tx.maybeOne(sql`
      select kept_since
        from event_retention
         for update skip locked`)
    if (!lock) return 0
    const old = await tx.many<{ account_id: string; id: string }>(sql`
      select e.account_id, e.id
        from events e
       where e.created_at < ${before}
         and not exists (select
                           from deliveries d
                          where d.account_id = e.account_id
                            and d.event_id = e.id
                            and d.state = 'pending')
       order by e.created_at
       limit ${EVENTS_CHUNK}
         for update skip locked`)
    const accounts = old.map(({ account_id }) => account_id)
    const events = old.map(({ id }) => id)
    // Before the deletion: a check that counts events since kept_since must not expect one that is being deleted. No further than what is
    // deleted: a limit may end the removal here, and time that was wrong must not make it a year.
    await tx.run(sql`
      update event_retention
         set kept_since = greatest(kept_since, (select max(e.created_at) + interval '1 microsecond'
                                                  from events e
                                                 where e.id = any(${events})))`)
    await tx.run(sql`
      delete from delivery_attempts a
       using unnest(${accounts}::text[], ${events}::text[]) as o (account_id, event_id)
       where a.account_id = o.account_id
         and a.event_id = o.event_id`)
    await tx.run(sql`
      delete from deliveries d
       using unnest(${accounts}::text[], ${events}::text[]) as o (account_id, event_id)
       where d.account_id = o.account_id
         and d.event_id = o.event_id
         and d.state <> 'pending'`)
    // An event that an operator sent again since the first query stays until the next call.
    return tx.run(sql`
      delete from events e
       using unnest(${accounts}::text[], ${events}::text[]) as o (account_id, event_id)
       where e.account_id = o.account_id
         and e.id = o.event_id
         and not exists (select
                           from deliveries d
                          where d.account_id = e.account_id
                            and d.event_id = e.id)`)
  })
  return { removed, isMore: removed === EVENTS_CHUNK }
}
