-- Accounts whose access version changed, written in the transaction that changes it. API processes that remember keys, and keep what is
-- compared with them outside this database, follow it: whoever made the change may end before it has told them. See
-- docs/decisions/0023.
create table access_changes (
  account_id text primary key references accounts (id),
  access_version bigint not null,
  -- Which transaction wrote it. Those that a reader's snapshot did not show all have this number or a higher one, so that
  -- nobody misses a change that was begun early and committed late.
  changed_in xid8 not null,
  changed_at timestamptz not null
);

create index access_changes_changed_in on access_changes (changed_in);
create index access_changes_changed_at on access_changes (changed_at);

-- A trigger, so that no statement that changes a access version can leave it out.
create function note_access_change() returns trigger
language plpgsql as $$
begin
  insert into access_changes as c (account_id, access_version, changed_in, changed_at)
  values (new.id, new.access_version, pg_current_xact_id(), clock_timestamp())
      on conflict (account_id) do update
     set access_version = greatest(c.access_version, excluded.access_version),
         changed_in = excluded.changed_in,
         changed_at = excluded.changed_at;
  return null;
end
$$;

create trigger accounts_access_version_changed
  after update of access_version on accounts
  for each row when (new.access_version <> old.access_version)
  execute function note_access_change();

grant select, insert, update, delete on access_changes to shopwire_app;
revoke execute on function note_access_change from public;
grant execute on function note_access_change to shopwire_app;
