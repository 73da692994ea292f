-- Orders: what was bought, the links that were delivered for it, the lines that wait for links, the rule that refunds, and evidence for
-- disputes. Placed by functions/orders/place_orders.sql; see docs/decisions/0008.

create table orders (
  account_id text collate "C" not null references balances (account_id),
  id text collate "C" not null,
  -- Kept permanently: a key that bought something never buys again.
  idempotency_key text collate "C" not null,
  -- SHA-256 of the canonical cart: the same key with another cart is refused.
  request_hash bytea not null,
  status text not null default 'paid' check (status in ('paid', 'delivered', 'cancelled')),
  total_cents bigint not null check (total_cents between 0 and 500000),
  key_id text collate "C" not null,
  -- The request that bought it and the client address; null when an operator placed the order.
  request_id text collate "C",
  client_address text,
  -- The same time as in the id, so that the primary key sorts orders by age.
  created_at timestamptz not null,
  delivered_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text check (char_length(cancel_reason) between 1 and 200),
  primary key (account_id, id),
  unique (account_id, idempotency_key),
  constraint orders_delivered_at check ((status = 'delivered') = (delivered_at is not null)),
  constraint orders_cancelled_at check ((status = 'cancelled') = (cancelled_at is not null)),
  constraint orders_cancel_reason check ((status = 'cancelled') = (cancel_reason is not null)),
  constraint orders_end_after_start check (delivered_at >= created_at and cancelled_at >= created_at)
)
-- Every order is updated once, when it ends. No index contains its status, and pages have free space, so that update stays out of
-- the indexes (heap-only). Autovacuum not more often than this: each run reads all indexes of the table, and below two percent
-- PostgreSQL skips the indexes.
with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The cancelled orders of one account. Selected by the time and not by the status: a column in an index's condition counts as
-- indexed too.
create index orders_cancelled on orders (account_id, id) where cancelled_at is not null;
-- For an operator who has only the order's id, which begins with the time at which it was made.
create index orders_by_time on orders (created_at);

alter table orders enable row level security;
create policy all_accounts on orders
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on orders to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Orders that are neither delivered nor cancelled. They are found by their jobs: each has one (invariant M18), and there are few
-- however many orders there are. The id is the job's, so that a range of ids and sorting by id use the index of jobs.
create view paid_orders with (security_invoker) as
select j.account_id, j.subject as id, o.created_at, o.total_cents, j.attempts
  from jobs j
  join orders o on o.account_id = j.account_id and o.id = j.subject
 where j.queue = 'fulfil'
   and o.status = 'paid';

-- Name and price as they were bought. No foreign key to items: a receipt does not follow the catalogue.
create table order_lines (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  line smallint not null check (line between 1 and 25),
  item_id text collate "C" not null,
  name text not null,
  qty smallint not null check (qty between 1 and 10),
  unit_price_cents bigint not null check (unit_price_cents >= 0),
  primary key (order_id, line),
  foreign key (account_id, order_id) references orders (account_id, id)
)
-- Never updated, as transfers.
with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

alter table order_lines enable row level security;
create policy all_accounts on order_lines
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on order_lines to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Links of orders. While the order is paid they are the part obtained so far, and no caller sees them. When a link is erased after
-- a time (SHOPWIRE_LINK_RETENTION_DAYS, docs/decisions/0020) the row stays, with the fingerprint: it still shows which link was
-- sold to whom, and keeps the link from being sold twice.
create table order_links (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  line smallint not null,
  unit smallint not null check (unit between 1 and 10),
  link_sealed bytea,
  link_kek_id text,
  -- The unique index is the last protection against selling a link twice.
  link_hash bytea not null unique references link_fingerprints (hash),
  source text not null,
  obtained_at timestamptz not null,
  -- Null: the link was not erased.
  erased_at timestamptz,
  primary key (order_id, line, unit),
  foreign key (order_id, line) references order_lines (order_id, line),
  constraint order_links_erased check ((link_sealed is null) = (erased_at is not null) and (link_kek_id is null) = (erased_at is not null))
)
-- Updated once, when the links are erased, oldest first.
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

alter table order_links enable row level security;
create policy all_accounts on order_links
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on order_links to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Orders up to this time were checked for links to erase. One row, locked by the transaction that erases.
create table link_retention (
  only_row boolean primary key default true check (only_row),
  looked_to timestamptz not null
);

insert into link_retention (looked_to) values ('epoch');

-- Orders that were checked and kept their links: not delivered yet, or too recently.
create table links_kept_longer (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  look_at timestamptz not null,
  primary key (order_id),
  foreign key (account_id, order_id) references orders (account_id, id)
);

create index links_kept_longer_due on links_kept_longer (look_at);

alter table links_kept_longer enable row level security;
create policy all_accounts on links_kept_longer
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);

-- Lines of paid orders whose job is parked until the item has links. A row is removed when the job is woken for it, or with the order.
create table waiting_lines (
  account_id text collate "C" not null,
  -- Made from the time of the order: the oldest comes first.
  order_id text collate "C" not null,
  line smallint not null,
  item_id text collate "C" not null,
  missing integer not null check (missing > 0),
  primary key (order_id, line),
  foreign key (order_id, line) references order_lines (order_id, line)
)
-- As jobs.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

create index waiting_lines_item on waiting_lines (item_id, order_id, account_id, line);

alter table waiting_lines enable row level security;
create policy all_accounts on waiting_lines
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);

-- What /status reports about the orders, counted once a second by one worker: counting takes long while many wait, or while a
-- long-held snapshot keeps the dead rows of earlier ones in the index.
create table order_backlog (
  only_row boolean primary key default true check (only_row),
  -- Orders that are paid and not delivered.
  waiting bigint not null,
  -- The time of the oldest of them.
  oldest_at timestamptz,
  -- When the oldest unclaimed job of an order became due; null: none is due.
  oldest_due_at timestamptz,
  -- After this time the leader is gone, and the figures are not used.
  valid_until timestamptz not null
);

-- When an order that cannot be delivered is cancelled and refunded without an operator. One row.
create table refund_rule (
  only_row boolean primary key default true check (only_row),
  -- Null: never.
  cancel_after interval check (cancel_after > interval '0'),
  changed_at timestamptz not null,
  -- The limit. A clock that jumped makes every waiting order look overdue; the rule then stops at this number until an operator
  -- releases it.
  per_hour_max integer not null default 50 check (per_hour_max > 0),
  -- Refunds by the rule since the window began, counted in the transaction of each.
  window_started_at timestamptz not null default now(),
  window_count integer not null default 0 check (window_count >= 0),
  -- Not null: the limit was reached then, and the rule is stopped.
  held_at timestamptz,
  -- How often an operator released it. Processes with their own count start again at each release.
  releases integer not null default 0,
  -- Since when workers have run without a break, and when one last reported: time without workers does not count.
  working_since timestamptz not null default now(),
  worked_at timestamptz not null default now()
);

-- A new store refunds after a day. `shopwire-migrate` prints this when it creates one.
insert into refund_rule (cancel_after, changed_at) values ('24 hours', now());

-- Evidence for disputes (docs/decisions/0021). These tables are written in batches by API processes, after the answers. They have no
-- foreign keys, which would cost more than the rows. Rows can be added and read; only old ones are deleted, by
-- functions/orders/delete_old_evidence.sql, and those of an account that is erased.

-- The answers to the attempts that bought: 201, at the time of the order. Everything else about such an attempt is in the order.
create table order_answers (
  order_id text collate "C" primary key,
  account_id text collate "C" not null,
  -- False when the caller had closed the connection before the whole answer was handed to the network.
  is_sent boolean not null
)
-- Rows are added, and deleted after a time.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

alter table order_answers enable row level security;
create policy all_accounts on order_answers
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on order_answers to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Orders that were answered with 201 and are missing in this database, because a restore or a failover lost them. An API process
-- that finds out adds them (functions/orders/report_missing_orders.sql), and so does a comparison with the journal. Permanent.
create table lost_orders (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  found_at timestamptz not null,
  primary key (account_id, order_id)
);

-- The other attempts to buy whose body was valid. Their order, if there is one, has the same account and key.
create table order_attempts (
  account_id text collate "C" not null,
  idempotency_key text collate "C" not null,
  request_id text collate "C" not null,
  at timestamptz not null,
  key_id text collate "C" not null,
  client_address text not null,
  -- Hash of the cart, as in orders.request_hash.
  request_hash bytea not null,
  -- Of the answer.
  status smallint not null,
  -- "replayed", or the type of the error.
  outcome text not null,
  -- As order_answers.is_sent.
  is_sent boolean not null,
  primary key (account_id, idempotency_key, request_id)
)
-- Rows are added, and deleted after a time.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

create index order_attempts_at on order_attempts (at);

alter table order_attempts enable row level security;
create policy all_accounts on order_attempts
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on order_attempts to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Answers that contained links. Never the links.
create table link_reads (
  account_id text collate "C" not null,
  order_id text collate "C" not null,
  request_id text collate "C" not null,
  at timestamptz not null,
  key_id text collate "C" not null,
  client_address text not null,
  links smallint not null,
  is_sent boolean not null,
  primary key (order_id, request_id)
)
-- Rows are added, and deleted after a time.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

create index link_reads_at on link_reads (at);

alter table link_reads enable row level security;
create policy all_accounts on link_reads
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on link_reads to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Requests before this time were not recorded, or have been deleted.
create table evidence_retention (
  only_row boolean primary key default true check (only_row),
  kept_since timestamptz not null
);

insert into evidence_retention (kept_since) values (clock_timestamp());
