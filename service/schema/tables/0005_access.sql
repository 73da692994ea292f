-- Access: used nonces, rate limits, the changes of access that API processes follow, and how much each key is used. See
-- docs/decisions/0005 and 0006.

-- Nonces of recently signed requests. Unlogged, because it is written on every request and worthless after two minutes. PostgreSQL
-- empties unlogged tables after a crash and on a promoted standby; admission_memory records that this happened.
create unlogged table spent_nonces (
  account_id text collate "C" not null,
  key_id text collate "C" not null,
  nonce text collate "C" not null,
  signed_at bigint not null,
  primary key (account_id, key_id, nonce)
)
-- Every row dies. A vacuum must keep up with the requests of a minute, so it does not pause; the next requests need its pages.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

create index spent_nonces_signed_at on spent_nonces (signed_at);

-- Both rate limits of an account, as sliding windows.
create unlogged table admission_windows (
  account_id text collate "C" primary key,
  -- Times of admitted requests and orders, in milliseconds since 1970, oldest first, never more than the limit.
  requests bigint[] not null default '{}',
  orders bigint[] not null default '{}',
  -- The first refused requests of a minute have their nonces stored, up to the request limit: when that minute began, in
  -- milliseconds, and how many were stored. Without a limit they could fill the disk.
  refused_since bigint not null default 0,
  refused_count integer not null default 0,
  -- Of refused requests whose nonces were not stored only the latest signing time is stored, in seconds; nothing signed at or
  -- before it is admitted. Orders have a separate time: a refused order can only be repeated as an order, and must not block reads.
  requests_refused_to bigint not null default 0,
  orders_refused_to bigint not null default 0
)
-- Updated on every request: the free space keeps the new version on the same page.
with (fillfactor = 40);

-- One row, which exists while no unlogged row has been lost. If it is missing, or from another start of the server, nonces may be
-- missing, and nothing signed at or before that moment is admitted.
create unlogged table admission_memory (
  only_row boolean primary key default true check (only_row),
  server_started_at timestamptz not null,
  lost_at bigint not null,
  -- Nonces signed at or before this second have been deleted. If the clock is set back, requests with them must still be refused.
  purged_to bigint not null
);

-- The tables above are new, so nothing can be missing from them.
insert into admission_memory (server_started_at, lost_at, purged_to) values (pg_postmaster_start_time(), 0, 0);

-- Nonces that must survive a crash: those signed ahead of our clock (refusing everything signed until the crash would not cover
-- them), and those admitted shortly after one.
create table witnessed_nonces (
  account_id text collate "C" not null,
  key_id text collate "C" not null,
  nonce text collate "C" not null,
  signed_at bigint not null,
  primary key (account_id, key_id, nonce)
);

create index witnessed_nonces_signed_at on witnessed_nonces (signed_at);

-- The times of requests_refused_to and orders_refused_to that must survive a crash, for the same requests.
create table witnessed_refusals (
  account_id text collate "C" not null,
  is_order boolean not null,
  refused_to bigint not null,
  primary key (account_id, is_order)
);

create index witnessed_refusals_refused_to on witnessed_refusals (refused_to);

-- Where API processes keep nonces, windows and access versions. A revocation has to reach the store they use, so the command that
-- revokes compares this with its own settings.
create table admission_in_use (
  kind text collate "C" primary key check (kind in ('postgres', 'redis', 'redis-cluster')),
  seen_at timestamptz not null
);

-- Accounts whose access version changed, written in the transaction that changes it by the trigger in
-- functions/access/note_access_change.sql. API processes that cache keys, or access versions in Redis, follow this table: the
-- command that made the change may end before it has announced it there.
create table access_changes (
  account_id text collate "C" primary key references accounts (id),
  access_version bigint not null,
  -- The transaction that wrote it. All transactions that a reader's snapshot did not show have this number or a higher one, so a
  -- change that began early and was committed late is not missed.
  changed_in xid8 not null,
  changed_at timestamptz not null
);

create index access_changes_changed_in on access_changes (changed_in);
create index access_changes_changed_at on access_changes (changed_at);

alter table access_changes enable row level security;
create policy all_accounts on access_changes
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);

-- The use of each key in each hour. Written in batches by API processes, after the answers (access/key-usage.ts); a killed process
-- loses its last seconds. No foreign key, which would cost more than the row.
create table key_usage (
  account_id text collate "C" not null,
  key_id text collate "C" not null,
  hour timestamptz not null,
  -- Admitted: signed correctly, fresh, and within the limits.
  requests bigint not null,
  -- Orders that were bought.
  orders bigint not null,
  last_used_at timestamptz not null,
  last_address text not null,
  primary key (account_id, key_id, hour)
);

-- For the worker, which deletes old hours.
create index key_usage_hour on key_usage (hour);

alter table key_usage enable row level security;
create policy all_accounts on key_usage
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on key_usage to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- The last use of each key, for as long as the key exists: the hours are kept only for some weeks.
create table key_last_uses (
  account_id text collate "C" not null,
  key_id text collate "C" not null,
  last_used_at timestamptz not null,
  -- Null once the account was erased.
  last_address text,
  -- For the first steps on the home page.
  first_quote_at timestamptz,
  primary key (account_id, key_id)
);

alter table key_last_uses enable row level security;
create policy all_accounts on key_last_uses
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on key_last_uses to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
