-- Platform: the audit log, keys, the identity of the database, and outgoing mail. `jobs`, most of which belong to accounts, are in 0004.
--
-- The owner of the database runs migrations. Each process works as a member of one role, and has only the rights in
-- service/schema/rights, which are granted after the tables and the functions. Row-level security narrows them: in every table of
-- accounts the dashboard's role sees only the rows of the account that its transaction sets in `shopwire.account_id`, and none
-- without it. The other roles see all accounts.

-- What people did. Rows are kept permanently, and written only by functions/platform/write_audit_row.sql.
create table audit_log (
  id text collate "C" primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  target text collate "C" not null,
  -- Null: for operators only.
  account_id text collate "C",
  -- The client address, for actions of people in the dashboard.
  address text,
  request_id text collate "C",
  details jsonb not null
);

create index audit_log_target on audit_log (target, id);
-- For an account's own audit log, newest first. Most rows of a busy store belong to an account.
create index audit_log_account on audit_log (account_id, id);

alter table audit_log enable row level security;
create policy all_accounts on audit_log
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on audit_log to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- The service's own keys, such as the one for fingerprints of links. They must stay the same through every change of the
-- configuration, so they are stored here, encrypted like every other secret.
create table own_keys (
  name text collate "C" primary key,
  key_sealed bytea not null,
  key_kek_id text not null
);

-- The dashboard has its own key and must not read the others.
alter table own_keys enable row level security;
create policy all_keys on own_keys
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy keys_of_dashboard on own_keys to shopwire_dashboard using (name like 'dashboard%');

-- A known text encrypted under each key-encryption key that this database was ever used with. A process whose key of that id does
-- not decrypt it has another key under the same id, and must not encrypt anything with it. No role may update or delete: the first
-- value is the one that counts.
create table encryption_key_checks (
  kek_id text collate "C" primary key,
  check_sealed bytea not null,
  created_at timestamptz not null default now()
);

-- The database server this store last ran on, as confirmed by an operator. A copy restored elsewhere has another system identifier;
-- one recovered to a point in time, or a promoted standby, has another timeline. Such a copy may lack orders that were already
-- delivered, so it delivers, sends and buys nothing until an operator has confirmed it. One row. See docs/decisions/0022.
create table database_identity (
  only_row boolean primary key default true check (only_row),
  system_identifier text not null,
  timeline bigint not null,
  -- Raised each time an operator opens the store on another database, or on an earlier state of this one.
  generation bigint not null default 1,
  confirmed_at timestamptz not null,
  confirmed_by text not null,
  -- Not null: this database was found behind the journal, at this time, and no operator has opened the store since.
  behind_since timestamptz,
  behind_why text,
  -- The journal of sold links that workers write; null: none.
  journal_id text,
  -- The start of the server (functions/platform/database_start.sql) for which a worker has compared this database with the journal.
  -- Every start needs a comparison: a snapshot that is started without recovery has the identity of the original.
  compared_start text,
  -- Why the last worker that tried could not, such as a file in the journal that it may not read.
  journal_problem text,
  -- The copy of the data (functions/platform/database_copy.sql) that was confirmed. Without a journal only this distinguishes a
  -- dump that was restored into the same server from the original.
  copy text not null,
  -- How often an operator confirmed that the clock is right after it had jumped.
  clock_accepted integer not null default 0,
  -- "synchronous": a worker may open the store on a synchronous standby that was promoted and lacks nothing
  -- (functions/platform/open_after_failover.sql). "ask": an operator always does.
  failover text not null default 'ask' check (failover in ('ask', 'synchronous'))
);

-- The timeline is the first part of the name of a WAL file; see functions/platform/present_timeline.sql.
-- The copy as in functions/platform/database_copy.sql.
insert into database_identity (system_identifier, timeline, confirmed_at, confirmed_by, copy)
select c.system_identifier::text, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint, now(), 'migration',
       d.oid::text || '/' || pg_relation_filenode('database_identity')::text
  from pg_control_system() c
  join pg_database d on d.datname = current_database();

-- The last time that a worker could trust, with the monotonic clock of its machine, which continues until the machine restarts: a
-- process that is started after the clock was changed notices it too.
create table clock_records (
  boot_id text collate "C" primary key,
  at timestamptz not null,
  monotonic_ms double precision not null
)
with (fillfactor = 50);

-- Advanced about once a second by workers, and recorded outside the database after that. Not in database_identity: every order
-- reads that row, and a long-held snapshot keeps all old versions of this one.
create table store_position (
  only_row boolean primary key default true check (only_row),
  position bigint not null,
  at timestamptz not null
);

insert into store_position (position, at) values (0, now());

-- Written only after the database was seen to fail at writing, to find out whether it can take new pages again. Unlogged and never
-- committed: it needs no WAL, which is often on the same full disk, and its space is free again at once. Only
-- functions/platform/probe_writes.sql uses it.
create unlogged table write_probe (
  filler text not null
);
-- Not compressed: a page full of one letter would shrink to a few bytes and prove nothing.
alter table write_probe alter column filler set storage plain;

-- Every worker writes here every few seconds, so that API processes can expose how many are running: the metrics of a killed worker
-- disappear with it.
create table worker_heartbeats (
  id text collate "C" primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- When it was asked to stop. A killed worker has no time here, and an old seen_at.
  stopped_at timestamptz
);

-- Mail waiting to be sent, written with its job in the transaction of what it reports. Bodies are sealed, because some contain a one-time
-- link. The row goes with its job when the mail was handed over or given up.
create table outgoing_mail (
  id text collate "C" primary key,
  -- The account it is about; null for mail about a person.
  account_id text collate "C",
  to_address text not null check (char_length(to_address) between 3 and 254),
  subject text not null check (char_length(subject) between 1 and 200),
  body_sealed bytea not null,
  body_kek_id text not null
);

alter table outgoing_mail enable row level security;
create policy all_accounts on outgoing_mail
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
-- The dashboard queues mail about the account of its transaction, or about a person. It may only insert: no policy lets it see a
-- row.
create policy own_account on outgoing_mail for insert to shopwire_dashboard
  with check (account_id is null or account_id = nullif(current_setting('shopwire.account_id', true), ''));
