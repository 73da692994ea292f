-- Operations: operator tokens, checks of the data, comparisons with the journal, and the hash chains that make changes evident.

-- Who acts when shopwire-admin changes something. Without a reference to people: it has to work even when those tables are damaged.
-- A token is never renewed or given to another person, and a revoked one stays revoked: the rights allow only revocation.
create table operator_tokens (
  id text collate "C" primary key,
  email text not null check (email = lower(email) and char_length(email) between 3 and 254),
  -- SHA-256 of the token. It has 256 random bits, so a slow hash would add nothing.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  -- The actor of the audit log who added it.
  added_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  constraint operator_tokens_expires check (expires_at > created_at and expires_at <= created_at + interval '8784 hours')
);

create unique index operator_tokens_hash on operator_tokens (token_hash);

-- The results of `shopwire-admin verify`, run by run: workers expose the age and the result of the last one as metrics. Only runs
-- over all rules are recorded.
create table verify_runs (
  id text collate "C" primary key,
  finished_at timestamptz not null,
  rules integer not null check (rules > 0),
  violated integer not null,
  constraint verify_runs_violated check (violated between 0 and rules)
);

-- Comparisons with the journal that were applied. The store can be opened only after one in its present generation and on its
-- present server.
create table journal_comparisons (
  id text collate "C" primary key,
  at timestamptz not null,
  actor text not null,
  generation bigint not null,
  -- In the form that operators see: system identifier and timeline.
  identity text not null,
  journal_id text not null,
  -- The start of the compared period.
  read_from timestamptz not null,
  -- How many links the journal had since then. If there are more when the store is opened, something still sells.
  links bigint not null,
  -- The store's position according to the journal. If it is further when the store is opened, another database of it is in use.
  outside_generation bigint,
  outside_position bigint,
  -- False: the journal begins after the start of the time that may be missing.
  is_complete boolean not null
);

-- How much old data was removed permanently: links, events and evidence by rows, the journal by days of its files. A wrong clock
-- that is not noticed makes everything look old, so an hour has a limit, beyond which removal stops until an operator releases it.
create table removals (
  kind text collate "C" primary key check (kind in ('links', 'events', 'evidence', 'journal')),
  window_started_at timestamptz not null default now(),
  -- Within the hour from then on. Reserved before the removal, and corrected after it.
  window_count bigint not null default 0,
  -- Not null: the limit was reached then, and nothing of this kind is removed.
  held_at timestamptz,
  -- An operator lets it continue without a limit until nothing is left to remove.
  is_released boolean not null default false,
  constraint removals_held_or_released check (held_at is null or not is_released)
);

insert into removals (kind) values ('links'), ('events'), ('evidence'), ('journal');

-- Each kind with its limit: 10,000, or three times the average number of rows made in an hour, by the planner's estimate of the
-- table and the age of its oldest row. A clock that is ahead makes that row look older, and the limit lower. For the journal, three
-- days.
create view removal_limits with (security_invoker) as
select r.kind, r.held_at, r.is_released,
       case when r.window_started_at <= clock_timestamp() - interval '1 hour' then 0 else r.window_count end as removed,
       case
         when r.kind = 'journal' then 3
         else greatest(10000, (3 * made.rows / greatest(1, extract(epoch from clock_timestamp() - made.since) / 3600))::bigint)
       end as per_hour_max
  from removals r
 cross join lateral (
   select case r.kind
            when 'links' then (select o.created_at from orders o order by o.created_at limit 1)
            when 'events' then (select e.created_at from events e order by e.created_at limit 1)
            when 'evidence' then (select a.at from order_attempts a order by a.at limit 1)
          end as since,
          (select c.reltuples
             from pg_class c
            where c.oid = case r.kind
                            when 'links' then 'orders'::regclass
                            when 'events' then 'events'::regclass
                            when 'evidence' then 'order_attempts'::regclass
                          end) as rows
 ) made;

-- Transfers and audit rows are chained by hash, per account, some time after they were written, and all chains go into a daily
-- digest that can be published: any later change, removal or insertion of a row is then detected (docs/invariants.md). Placing an
-- order writes none of this.

-- Rows that were sealed together, in order. Never changed: functions/platform/refuse_changes.sql.
create table seal_segments (
  -- Without gaps, in the order of sealing.
  id bigint primary key check (id > 0),
  -- The account; `store` for audit rows without one.
  chain text collate "C" not null,
  kind text collate "C" not null check (kind in ('transfers', 'audit')),
  -- Without gaps in its chain.
  no bigint not null check (no > 0),
  -- Of transfers.
  first_seq bigint,
  last_seq bigint,
  -- Of audit rows, in the order of the chain. The ids alone do not give that order: a row may be committed after one with a later
  -- id was sealed.
  row_ids text[],
  row_count bigint not null check (row_count > 0),
  -- The first eight bytes of each row's hash, to show which row was altered.
  marks bytea not null,
  -- Hash of the previous segment in the chain; zeros for the first.
  previous_hash bytea not null,
  -- Over the rows, each with the hash up to the previous row.
  rows_hash bytea not null,
  -- Over all of the above.
  hash bytea not null,
  sealed_at timestamptz not null,
  unique (chain, kind, no),
  constraint seal_segments_of_transfers check ((kind = 'transfers') = (first_seq is not null and last_seq is not null)),
  constraint seal_segments_of_audit check ((kind = 'audit') = (row_ids is not null))
);

-- One a day. Never changed.
create table seal_digests (
  no bigint primary key check (no > 0),
  day date not null unique,
  -- The segments sealed since the previous digest; none when the last is smaller than the first.
  first_segment bigint not null,
  last_segment bigint not null,
  segments_hash bytea not null,
  previous_hash bytea not null,
  hash bytea not null,
  made_at timestamptz not null
);

-- What accounts erase removes from an audit row, as a hash with a salt, so that the chain covers it too. Erasing removes the salt;
-- the rest never changes: functions/platform/keep_commitment.sql.
create table seal_commitments (
  audit_id text collate "C" primary key,
  commitment bytea not null,
  salt bytea
);

-- Audit rows that are not sealed yet, each written with its row: functions/platform/await_seal.sql.
create table seal_waiting (
  audit_id text collate "C" primary key
);

-- How far the sealing worker has come. Its lock keeps a second worker away, and erasing waits for it.
create table seal_progress (
  only_row boolean primary key default true check (only_row),
  -- The last finished account of the present pass; null between passes.
  done_up_to text collate "C",
  -- When a pass last ended with everything sealed.
  finished_at timestamptz not null
);

-- The first pass is due at once.
insert into seal_progress (finished_at) values (now() - interval '1 hour');

-- What callers met over time, for the public status page. A row is a time in which nothing changed; a time that is in no row was seen
-- by no worker, so nothing is known about it.
create table status_periods (
  started_at timestamptz primary key,
  -- When a worker last saw it so; for a past period, when the next one began.
  seen_until timestamptz not null,
  -- planned: closed by a planned closing; unconfirmed: on a database that no operator has confirmed; unavailable: the database did
  -- not answer.
  store text not null check (store in ('open', 'closed', 'planned', 'unconfirmed', 'unavailable')),
  -- The operator's, of a closed store.
  reason text check (char_length(reason) <= 200),
  -- What did not work, or not as usual, although the store was open.
  impaired text[] not null check (impaired <@ array['buying', 'reading', 'delivery', 'webhooks']),
  constraint status_periods_times check (seen_until >= started_at)
);
