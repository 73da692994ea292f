import { type Db, sql } from '../platform/db.ts'

/** At a time, so that nobody waits for it. */
export const FORGET_CHUNK = 1_000

/**
 * Removes events that are older than they are kept for, with their deliveries and attempts; links among what they said go
 * with them. One chunk per call; fewer than that many removed means none is left. What is still on its way stays. Any number
 * of workers may call this; one of them does the work.
 */
export function forgetEvents(db: Db, before: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const turn = await tx.maybeOne(sql`
      select kept_since
        from event_retention
         for update skip locked`)
    if (!turn) return 0
    // Written first: whoever counts events must not miss one that it believes is kept.
    await tx.run(sql`
      update event_retention
         set kept_since = greatest(kept_since, ${before})`)
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
       limit ${FORGET_CHUNK}
         for update skip locked`)
    const accounts = old.map(({ account_id }) => account_id)
    const events = old.map(({ id }) => id)
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
    // One that an operator sent again since it was looked at stays for the next time.
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
}
