-- Orders: what was bought, the links that were delivered for it, the rule that refunds, and evidence for disputes. Placed by
-- functions/orders/place_order.sql; see docs/decisions/0009.

create table orders (
  account_id text not null references accounts (id),
  id text collate "C" not null,
  -- Kept for ever: a key that bought something never buys again.
  idempotency_key text collate "C" not null,
  -- SHA-256 of the canonical cart: the same key with another cart is refused.
  request_hash bytea not null,
  status text not null default 'paid' check (status in ('paid', 'delivered', 'cancelled')),
  total_cents bigint not null check (total_cents between 0 and 500000),
  key_id text not null,
  -- The request that bought it and where it came from; null when an operator placed the order.
  request_id text collate "C",
  client_address text,
  -- The same time as in the id, so that newest first is the order of the primary key.
  created_at timestamptz not null,
  delivered_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text check (char_length(cancel_reason) between 1 and 200),
  primary key (account_id, id),
  unique (account_id, idempotency_key),
  check ((status = 'delivered') = (delivered_at is not null)),
  check ((status = 'cancelled') = (cancelled_at is not null)),
  check ((status = 'cancelled') = (cancel_reason is not null)),
  check (delivered_at >= created_at and cancelled_at >= created_at)
);

-- Orders that are not delivered yet, oldest first; small however many orders there are.
create index orders_awaiting on orders (created_at, account_id, id) where status = 'paid';

-- For an operator who knows the order but not the account: the time is in the id. Costs almost nothing to keep.
create index orders_created on orders using brin (created_at) with (autosummarize = on);

grant select, insert, update (status, delivered_at, cancelled_at, cancel_reason) on orders to shopwire_app;

-- Name and price as they were bought. No foreign key to items: a receipt does not follow the catalogue.
create table order_lines (
  account_id text not null,
  order_id text collate "C" not null,
  n smallint not null check (n between 1 and 25),
  item_id text collate "C" not null,
  name text not null,
  qty smallint not null check (qty between 1 and 10),
  unit_price_cents bigint not null check (unit_price_cents >= 0),
  primary key (account_id, order_id, n),
  foreign key (account_id, order_id) references orders (account_id, id)
);

grant select, insert on order_lines to shopwire_app;

-- Links of orders. While the order is paid they are the part obtained so far, and no caller sees them.
create table order_links (
  account_id text not null,
  order_id text collate "C" not null,
  line smallint not null,
  unit smallint not null check (unit between 1 and 10),
  link_sealed bytea not null,
  link_kek_id text not null,
  -- The unique index is the last protection against selling a link twice.
  link_hash bytea not null unique references link_fingerprints (hash),
  source text not null,
  obtained_at timestamptz not null,
  primary key (account_id, order_id, line, unit),
  foreign key (account_id, order_id, line) references order_lines (account_id, order_id, n)
);

create index order_links_kek on order_links (link_kek_id);

grant select, insert, delete on order_links to shopwire_app;
grant update (link_sealed, link_kek_id) on order_links to shopwire_app;

-- When an order that cannot be delivered is cancelled and refunded without an operator. One row.
create table refund_rule (
  only_row boolean primary key default true check (only_row),
  -- Null: never.
  cancel_after interval check (cancel_after > interval '0'),
  changed_at timestamptz not null,
  -- The limit. A clock that jumped makes every waiting order look overdue; the rule then stops at this number until an operator
  -- has released it.
  per_hour_max integer not null default 100 check (per_hour_max > 0),
  -- Refunds by the rule since the window began, counted in the transaction of each.
  window_started_at timestamptz not null default now(),
  window_count integer not null default 0 check (window_count >= 0),
  -- Not null: the limit was reached then, and the rule is stopped.
  held_at timestamptz,
  -- How often an operator released it. Processes that count for themselves start again at each release.
  releases integer not null default 0
);

insert into refund_rule (changed_at) values (now());

grant select, update on refund_rule to shopwire_app;

-- Evidence for disputes (docs/decisions/0028). Both tables are written in batches by API processes, after the answers. They have no
-- foreign keys, which would cost more than the rows.

-- Attempts to buy, whose body was valid: also the one that bought. The order is the one with the same account and key.
create table order_attempts (
  account_id text not null,
  idempotency_key text collate "C" not null,
  request_id text collate "C" not null,
  at timestamptz not null,
  key_id text not null,
  client_address text not null,
  -- Of the cart, as orders.request_hash.
  request_hash bytea not null,
  -- Of the answer.
  status smallint not null,
  -- "bought", "replayed", or the type of the error.
  outcome text not null,
  -- False when the caller had closed the connection before the whole answer was handed to the network.
  is_sent boolean not null,
  primary key (account_id, idempotency_key, request_id)
);

create index order_attempts_at on order_attempts (at);

-- Answers that carried links. Never the links.
create table link_reads (
  account_id text not null,
  order_id text collate "C" not null,
  request_id text collate "C" not null,
  at timestamptz not null,
  key_id text not null,
  client_address text not null,
  links smallint not null,
  is_sent boolean not null,
  primary key (account_id, order_id, request_id)
);

create index link_reads_at on link_reads (at);

-- Requests before this time were not recorded, or are no longer kept.
create table evidence_retention (
  only_row boolean primary key default true check (only_row),
  kept_since timestamptz not null
);

insert into evidence_retention (kept_since) values (clock_timestamp());

-- The application can add and read evidence. It can neither change nor delete any, except old rows through
-- functions/orders/delete_old_evidence.sql.
grant select, insert on order_attempts, link_reads to shopwire_app;
grant select on evidence_retention to shopwire_app;
