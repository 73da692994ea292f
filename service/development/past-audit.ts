import { type Db, sql, statement } from '../src/platform/database/db.ts'

/**
 * Audit rows of the past, for a history that is made up. The real function takes the time from the database and asks for people who are signed in now, for
 * every login. So the owner of the schema puts one of the same name in front of it, in a schema of its own, while the history is made.
 */
export async function openPastAudit(owner: Db, nowMs: () => number) {
  await owner.run(
    statement(
      `do $do$
       begin
         drop schema if exists past cascade;
         create schema past;
         grant usage on schema past to public;
         create function past.write_audit_row(
           p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb
         ) returns void
         language sql security definer set search_path = pg_catalog, shopwire, pg_temp as $$
           insert into audit_log (id, at, actor, action, target, account_id, address, request_id, details)
           select new_id('aud', at), at, p_actor, p_action, p_target, p_account_id, p_address, p_request_id, p_details
             from (select current_setting('past.now')::timestamptz + (clock_timestamp() - now()) as at) t
         $$;
       end
       $do$`,
      [],
    ),
  )
  return {
    /** The same database, whose transactions write audit rows of the time that is now in the past. */
    of: (db: Db): Db => ({
      ...db,
      transaction: (work) =>
        db.transaction(async (tx) => {
          await tx.run(sql`
            select set_config('search_path', 'past, shopwire', true),
                   set_config('past.now', ${new Date(nowMs()).toISOString()}, true)`)
          return work(tx)
        }),
    }),
    close: () => owner.run(sql`drop schema past cascade`),
  }
}
