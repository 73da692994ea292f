-- Webhooks: events, the endpoints they are sent to, deliveries and their attempts. See docs/decisions/0012.

-- Where an account wants its events. At most one at a time. A new URL is a new row, so that events queued for the old destination
-- cannot reach the new one, or the other way round.
create table webhook_endpoints (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  url text not null check (char_length(url) <= 2048),
  -- The key or person that set it, for the account's owner to see, and the name that it had then.
  set_by text not null,
  set_by_name text,
  created_at timestamptz not null,
  ended_at timestamptz,
  last_delivered_at timestamptz,
  last_failure_at timestamptz,
  last_error text check (char_length(last_error) <= 50),
  -- The share of failed attempts at which a notice was last written; zero again with the next success.
  alerted_percent smallint not null default 0,
  primary key (account_id, id)
)
-- Updated by deliveries.
with (fillfactor = 80);

create unique index webhook_endpoints_live on webhook_endpoints (account_id) where ended_at is null;
-- Its delivery job refers to it by its id alone.
create unique index webhook_endpoints_id on webhook_endpoints (id);

alter table webhook_endpoints enable row level security;
create policy all_accounts on webhook_endpoints
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on webhook_endpoints to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- The secrets that sign events. The newest signs; the previous one signs too, in a separate header, until it has ended.
create table webhook_secrets (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  secret_sealed bytea not null,
  secret_kek_id text not null,
  created_at timestamptz not null,
  ends_at timestamptz,
  primary key (account_id, id)
);

create unique index webhook_secrets_current on webhook_secrets (account_id) where ends_at is null;

alter table webhook_secrets enable row level security;
create policy all_accounts on webhook_secrets
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on webhook_secrets to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- What callers are informed of. Written in the transaction that makes it true, by functions/webhooks/record_event.sql.
create table events (
  account_id text collate "C" not null references balances (account_id),
  id text collate "C" not null,
  type text collate "C" not null check (type in ('order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test')),
  order_id text collate "C",
  -- Of catalogue.changed.
  revision bigint,
  created_at timestamptz not null,
  -- The bytes that are sent, the same every time. Composed when they are first needed, which makes an order cheaper. Nothing is
  -- lost by that: an order's event contains only what can no longer change.
  body_sealed bytea,
  body_kek_id text,
  primary key (account_id, id),
  foreign key (account_id, order_id) references orders (account_id, id),
  constraint events_of_orders check ((type like 'order.%') = (order_id is not null)),
  constraint events_of_catalogue check ((type = 'catalogue.changed') = (revision is not null))
)
-- Each row is updated once and deleted once, never heap-only (encryption key and state are indexed), so there are as many dead rows
-- as events in a retention period. The table holds only one retention period, so a vacuum costs less than one of orders.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create unique index events_order_once on events (order_id, type) where order_id is not null;
create index events_created on events (created_at);
-- For the latest events of a type. The two types that every order has are found among the latest events of the account.
create index events_by_rare_type on events (account_id, type, id) where type not in ('order.accepted', 'order.delivered');

alter table events enable row level security;
create policy all_accounts on events
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on events to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
-- The API queues tests of an endpoint. It must not write any other event.
create policy tests_only on events as restrictive for insert to shopwire_api_rights with check (type = 'test');

create table deliveries (
  account_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  state text collate "C" not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
  -- Grows when an operator resends the event; attempts and the 24 hours start again.
  round smallint not null default 1,
  attempts smallint not null default 0 check (attempts between 0 and 12),
  -- The error of the last attempt, so that a list can be filtered by it without reading attempts. Null when it was accepted.
  last_error text check (char_length(last_error) <= 50),
  created_at timestamptz not null,
  next_at timestamptz not null,
  done_at timestamptz,
  -- The first attempt, if the event was accepted at once, as nearly all are: this row is written then anyway. All other attempts are in
  -- delivery_attempts; the views below show both.
  first_started_at timestamptz,
  first_finished_at timestamptz,
  first_status smallint,
  first_address inet,
  first_signed_s bigint,
  first_signatures bytea check (octet_length(first_signatures) in (32, 64)),
  first_connect_ms integer,
  first_send_ms integer,
  first_wait_ms integer,
  primary key (account_id, event_id, endpoint_id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id),
  foreign key (account_id, event_id) references events (account_id, id),
  constraint deliveries_done check ((state = 'pending') = (done_at is null))
)
-- As events.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create index deliveries_due on deliveries (account_id, endpoint_id, next_at, event_id) where state = 'pending';
-- For the deliveries of an account that were given up or cancelled, newest first. Accepted ones have no entry, so the index costs
-- them nothing.
create index deliveries_not_accepted on deliveries (account_id, state, event_id) where state in ('failed', 'cancelled');

alter table deliveries enable row level security;
create policy all_accounts on deliveries
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on deliveries to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- The attempts that are not in the row of their delivery. Never the body of a request.
create table delivery_attempts (
  account_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  round smallint not null,
  n smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  status smallint,
  error text check (char_length(error) <= 50),
  remote_address inet,
  -- X-Webhook-Timestamp, and X-Webhook-Signature followed by X-Webhook-Signature-Previous where that was sent: 32 bytes each.
  signed_s bigint,
  signatures bytea check (octet_length(signatures) in (32, 64)),
  connect_ms integer,
  send_ms integer,
  wait_ms integer,
  -- The start of the answer with links removed; only when the event was not accepted, or was a test.
  answer_sealed bytea,
  answer_kek_id text,
  primary key (event_id, endpoint_id, round, n),
  foreign key (account_id, event_id, endpoint_id) references deliveries (account_id, event_id, endpoint_id)
)
-- Rows are added, and deleted after a time.
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

create index delivery_attempts_recent on delivery_attempts (account_id, endpoint_id, finished_at);

alter table delivery_attempts enable row level security;
create policy all_accounts on delivery_attempts
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on delivery_attempts to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));

-- Every attempt, for operators. Meant for the attempts of one event: no index gives both halves together in the order of time.
create view attempts_made with (security_invoker) as
select account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address, signed_s, signatures,
       connect_ms, send_ms, wait_ms, answer_sealed
  from delivery_attempts
 union all
select account_id, endpoint_id, event_id, 1::smallint, 1::smallint, first_started_at, first_finished_at, first_status, null, first_address,
       first_signed_s, first_signatures, first_connect_ms, first_send_ms, first_wait_ms, null
  from deliveries
 where first_started_at is not null;

-- The same for the people of an account: without the address, which the dashboard's role cannot read.
create view attempts_shown with (security_invoker) as
select account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, signed_s, signatures, connect_ms, send_ms,
       wait_ms, answer_sealed
  from delivery_attempts
 union all
select account_id, endpoint_id, event_id, 1::smallint, 1::smallint, first_started_at, first_finished_at, first_status, null,
       first_signed_s, first_signatures, first_connect_ms, first_send_ms, first_wait_ms, null
  from deliveries
 where first_started_at is not null;

-- How far the current announcement of catalogue.changed has come. One row. Announcements start at least a minute apart, so no
-- account gets the event more than once a minute.
create table catalogue_announcement (
  only_row boolean primary key default true check (only_row),
  -- The revision of the latest announcement.
  revision bigint not null,
  begun_at timestamptz not null,
  -- Accounts up to this one have the event; null when no announcement is in progress.
  told_up_to text collate "C"
);

-- The revision the catalogue starts with, which needs no announcement.
insert into catalogue_announcement (revision, begun_at) select revision, 'epoch' from catalogue_state;

-- Events are kept for a limited time. Some or all of those older than kept_since are deleted, with their deliveries. One row.
create table event_retention (
  only_row boolean primary key default true check (only_row),
  kept_since timestamptz not null
);

insert into event_retention (kept_since) values ('epoch');

-- What an account's people should know.
create table notices (
  account_id text collate "C" not null references accounts (id),
  id text collate "C" not null,
  kind text not null check (kind in ('webhook.failing', 'webhook.given_up')),
  details jsonb not null,
  created_at timestamptz not null,
  -- False: there had been many mails that day.
  is_mailed boolean not null,
  primary key (account_id, id)
);

alter table notices enable row level security;
create policy all_accounts on notices
  to shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions,
     shopwire_maintenance
  using (true);
create policy own_account on notices to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
