-- Records that an account's access version changed, for API processes that follow access_changes. A trigger, so that no statement
-- that changes an access version can omit it. With the owner's rights, so that no other role needs to write there.
create or replace function note_access_change()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  insert into access_changes as c (account_id, access_version, changed_in, changed_at)
  values (new.id, new.access_version, pg_current_xact_id(), clock_timestamp())
      on conflict (account_id) do update
     set access_version = excluded.access_version,
         changed_in = excluded.changed_in,
         -- In case the server's clock was set back.
         changed_at = greatest(c.changed_at, excluded.changed_at);
  return null;
end
$$;

alter function note_access_change owner to shopwire_functions;

create or replace trigger accounts_access_version_changed
  after update of access_version on accounts
  for each row
  when (new.access_version <> old.access_version)
  execute function note_access_change();
