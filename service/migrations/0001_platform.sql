-- Platform: the role the application works as, the audit log, keys and the identity of the database. No table here belongs to an
-- account; `jobs`, which does, is in 0003.

-- The owner of the database runs migrations. The application works as a member of shopwire_app and may do only what a grant in
-- these files or beside a function allows. Login users are made by whoever runs the database, and are granted this role.
do $$
begin
  create role shopwire_app nologin;
exception
  -- Roles belong to the whole server: another database may have made it, or is making it at this moment.
  when duplicate_object or unique_violation then null;
end
$$;

grant usage on schema public to shopwire_app;
-- Made by the migration runner. Every program compares them with its own files when it starts.
grant select on schema_migrations, schema_functions to shopwire_app;

-- What people did. Kept for ever: the application can add and read rows, not change them.
create table audit_log (
  id text primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  target text not null,
  details jsonb not null
);

create index audit_log_target on audit_log (target, id);

grant select, insert on audit_log to shopwire_app;

-- The service's own keys, such as the one that fingerprints links. They must stay the same through every change of the
-- configuration, so they are stored here, encrypted like every other secret.
create table own_keys (
  name text primary key,
  key_sealed bytea not null,
  key_kek_id text not null
);

grant select, insert, update on own_keys to shopwire_app;

-- A known text encrypted under each key-encryption key that this database was ever used with. A process whose key of that id does
-- not decrypt it has another key under the same id, and must not encrypt anything with it.
create table encryption_key_checks (
  kek_id text collate "C" primary key,
  check_sealed bytea not null,
  created_at timestamptz not null default now()
);

-- Neither update nor delete: the first value is the one that counts.
grant select, insert on encryption_key_checks to shopwire_app;

-- Which database server this store last ran on, as confirmed by an operator. A copy restored elsewhere has another system
-- identifier; one recovered to a point in time, or a promoted standby, has another timeline. Such a copy may lack orders that were
-- already delivered, so it delivers, sends and buys nothing until an operator has confirmed it. One row. See docs/decisions/0020.
create table database_identity (
  only_row boolean primary key default true check (only_row),
  system_identifier text not null,
  timeline bigint not null,
  confirmed_at timestamptz not null,
  confirmed_by text not null
);

-- The timeline is the first part of the name of a WAL file; see functions/platform/present_timeline.sql.
insert into database_identity (system_identifier, timeline, confirmed_at, confirmed_by)
select system_identifier::text, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint, now(), 'migration'
  from pg_control_system();

grant select, update on database_identity to shopwire_app;

-- Written to only after the database was seen to fail at writing, to find out whether it can take new pages again. Unlogged and
-- never committed: it needs no WAL, which is often on the same full disk, and its space is free again at once. No grant: only
-- functions/platform/probe_writes.sql touches it, with the rights of the owner.
create unlogged table write_probe (
  filler text not null
);
-- Not compressed: a page full of one letter would shrink to a few bytes and prove nothing.
alter table write_probe alter column filler set storage plain;

-- What `shopwire-admin verify` found, run by run: workers expose the age and the result of the last one as metrics. Only runs over all
-- rules are recorded.
create table verify_runs (
  id text collate "C" primary key,
  finished_at timestamptz not null,
  rules integer not null check (rules > 0),
  violated integer not null check (violated between 0 and rules)
);

grant select, insert on verify_runs to shopwire_app;

-- Every worker writes here every few seconds, so that API processes can expose how many are alive: the metrics of a worker that was
-- killed are gone with it.
create table worker_heartbeats (
  id text collate "C" primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- It was asked to stop. One that was killed has no time here, and an old seen_at.
  stopped_at timestamptz
);

grant select, insert, update, delete on worker_heartbeats to shopwire_app;
