-- compatible-with: 41
-- Transfers and audit rows are chained by hash, per account, some time after they were written, and all chains go into one digest a day
-- that can be published: whoever changes, removes or inserts a row afterwards is found out (docs/tamper-evidence.md). Placing an order writes
-- nothing more than before. Programs of the release before work on; they seal nothing.

-- Rows that were sealed together, in order. Never changed: functions/platform/refuse_changes.sql.
create table seal_segments (
  -- Without gaps, in the order of sealing.
  id bigint primary key check (id > 0),
  -- The account; `store` for audit rows without one.
  chain text not null,
  kind text not null check (kind in ('transfers', 'audit')),
  -- Without gaps in its chain.
  no bigint not null check (no > 0),
  -- Of transfers.
  first_seq bigint,
  last_seq bigint,
  -- Of audit rows, in the order of the chain. Their ids alone do not give it: a row may be committed after one with a later id was sealed.
  row_ids text[],
  row_count bigint not null check (row_count > 0),
  -- The first eight bytes of each row's hash, to tell which row was altered.
  marks bytea not null,
  -- Of the segment before it in the chain; zeros for the first.
  previous_hash bytea not null,
  -- Over the rows, each with the hash up to the row before it.
  rows_hash bytea not null,
  -- Over all of the above.
  hash bytea not null,
  sealed_at timestamptz not null,
  unique (chain, kind, no),
  check ((kind = 'transfers') = (first_seq is not null and last_seq is not null)),
  check ((kind = 'audit') = (row_ids is not null))
);

-- One a day. Never changed.
create table seal_digests (
  no bigint primary key check (no > 0),
  day date not null unique,
  -- The segments sealed since the digest before it; none when the last is smaller than the first.
  first_segment bigint not null,
  last_segment bigint not null,
  segments_hash bytea not null,
  previous_hash bytea not null,
  hash bytea not null,
  made_at timestamptz not null
);

-- What accounts erase removes from an audit row, as a hash with a salt, so that the chain covers it too. Erasing removes the salt; the rest
-- never changes: functions/platform/keep_commitment.sql.
create table seal_commitments (
  audit_id text primary key,
  commitment bytea not null,
  salt bytea
);

-- Audit rows that are not sealed yet, each written with its row: functions/platform/await_seal.sql.
create table seal_waiting (
  audit_id text primary key
);

insert into seal_waiting (audit_id) select id from audit_log;

-- How far the worker that seals has come. Its lock keeps a second one away, and erasing waits for it.
create table seal_progress (
  only_row boolean primary key default true check (only_row),
  -- The last account of the round under way that is done; null between rounds.
  done_up_to text,
  -- When the last round ended that sealed everything there was.
  finished_at timestamptz not null
);

-- The first round is due at once.
insert into seal_progress (finished_at) values (now() - interval '1 hour');

grant select, insert on seal_segments, seal_digests, seal_commitments to shopwire_app, shopwire_worker_rights;
grant select, delete on seal_waiting to shopwire_app, shopwire_worker_rights;
grant select, update on seal_progress to shopwire_app, shopwire_worker_rights;
grant select on seal_segments, seal_digests, seal_commitments, seal_waiting, seal_progress to shopwire_operator_rights;
grant select on seal_segments, seal_digests, seal_waiting, seal_progress to shopwire_readonly_rights;
