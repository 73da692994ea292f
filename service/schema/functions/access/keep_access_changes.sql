-- An access version never falls, or a revoked key would work again in a process that has it cached; and it rises by one at a time,
-- or one statement could leave no number for the next revocation. Changes that API processes may not have read yet stay in
-- access_changes for an hour, as access/access-changes.ts expects. Applies to every role, the tables' owner included.
create or replace function keep_access_changes()
returns trigger
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  raise exception 'the access version of an account rises by one, and what is known of it is kept for an hour: % on % refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege';
end
$$;

create or replace trigger accounts_access_version_rises
  before update on accounts
  for each row
  when (new.access_version not in (old.access_version, old.access_version + 1))
  execute function keep_access_changes();

create or replace trigger access_changes_rise
  before update on access_changes
  for each row
  when (new.account_id <> old.account_id
        or new.access_version <= old.access_version
        or new.changed_in <> pg_current_xact_id()
        or new.changed_at < old.changed_at)
  execute function keep_access_changes();

create or replace trigger access_changes_stay
  before delete on access_changes
  for each row
  when (old.changed_at > clock_timestamp() - interval '1 hour')
  execute function keep_access_changes();

create or replace trigger access_changes_stay_all
  before truncate on access_changes
  for each statement
  execute function keep_access_changes();
