-- Webhooks: events, the endpoints they are sent to, deliveries and their attempts. See docs/decisions/0012.

-- Where an account wants its events. At most one at a time. Another URL is another row, so that nothing queued for the old
-- destination can reach the new one, or the other way round.
create table webhook_endpoints (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  url text not null check (char_length(url) <= 2048),
  -- The key that set it, for the account's owner to see.
  set_by text not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  last_delivered_at timestamptz,
  last_failure_at timestamptz,
  last_error text check (char_length(last_error) <= 50),
  -- The share of failed attempts at which a notice was last written; zero again with the next success.
  alerted_percent smallint not null default 0,
  primary key (account_id, id)
);

create unique index webhook_endpoints_live on webhook_endpoints (account_id) where ended_at is null;

-- What events are signed with. The newest signs; the one before it signs too, in a header of its own, until it has ended.
create table webhook_secrets (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  secret_sealed bytea not null,
  secret_kek_id text not null,
  created_at timestamptz not null,
  ends_at timestamptz,
  primary key (account_id, id)
);

create unique index webhook_secrets_current on webhook_secrets (account_id) where ends_at is null;

grant select, insert, update on webhook_endpoints, webhook_secrets to shopwire_app;

-- What callers are informed of. Written in the transaction that makes it true, by functions/webhooks/record_event.sql.
create table events (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  type text not null check (type in ('order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test')),
  -- No foreign key: events are deleted after a while, orders never.
  order_id text collate "C",
  -- Of catalogue.changed.
  revision bigint,
  created_at timestamptz not null,
  -- The bytes that are sent, the same every time. Made when they are first needed, which makes an order cheaper. Nothing is lost
  -- by that: an order's event contains only what can no longer change.
  body_sealed bytea,
  body_kek_id text,
  primary key (account_id, id),
  check ((type like 'order.%') = (order_id is not null)),
  check ((type = 'catalogue.changed') = (revision is not null))
);

create unique index events_order_once on events (account_id, order_id, type) where order_id is not null;
create index events_kek on events (body_kek_id) where body_kek_id is not null;
create index events_created on events (created_at);

grant select, insert, delete on events to shopwire_app;
grant update (body_sealed, body_kek_id) on events to shopwire_app;

create table deliveries (
  account_id text not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
  -- Grows when an operator resends the event; attempts and the 24 hours start again.
  round smallint not null default 1,
  attempts smallint not null default 0 check (attempts between 0 and 12),
  created_at timestamptz not null,
  next_at timestamptz not null,
  done_at timestamptz,
  primary key (account_id, event_id, endpoint_id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id),
  foreign key (account_id, event_id) references events (account_id, id),
  check ((state = 'pending') = (done_at is null))
);

create index deliveries_due on deliveries (account_id, endpoint_id, next_at, event_id) where state = 'pending';
create index deliveries_failed on deliveries (account_id, endpoint_id) where state = 'failed';

grant select, insert, update, delete on deliveries to shopwire_app;

-- Every attempt, for the account's owner and for operators. Never the body of a request or of a response.
create table delivery_attempts (
  account_id text not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  round smallint not null,
  n smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  status smallint,
  error text check (char_length(error) <= 50),
  remote_address inet,
  primary key (account_id, event_id, endpoint_id, round, n),
  foreign key (account_id, event_id, endpoint_id) references deliveries (account_id, event_id, endpoint_id)
);

create index delivery_attempts_recent on delivery_attempts (account_id, endpoint_id, finished_at);

grant select, insert, delete on delivery_attempts to shopwire_app;

-- How far the current round of catalogue.changed has come. One row. Rounds start at least a minute apart, so no account gets the
-- event more than once a minute.
create table catalogue_announcement (
  only_row boolean primary key default true check (only_row),
  -- The revision of the latest round.
  revision bigint not null,
  begun_at timestamptz not null,
  -- Accounts up to this one have the event of this round; null between two rounds.
  told_up_to text
);

-- The revision the catalogue starts with: nobody has to be informed of it.
insert into catalogue_announcement (revision, begun_at) select revision, 'epoch' from catalogue_state;

grant select, update on catalogue_announcement to shopwire_app;

-- Events are kept for a limited time. Of those older than kept_since some or all are deleted, with their deliveries. One row.
create table event_retention (
  only_row boolean primary key default true check (only_row),
  kept_since timestamptz not null
);

insert into event_retention (kept_since) values ('epoch');

grant select, update on event_retention to shopwire_app;

-- What an account's owner should be informed of. Read by people and by whatever writes to them.
create table notices (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  kind text not null check (kind in ('webhook.failing', 'webhook.given_up')),
  details jsonb not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);

grant select, insert on notices to shopwire_app;
