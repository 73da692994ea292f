-- compatible-with: 29
-- The job queue: a lane for work that comes in large numbers, dead letters, and an index of the lines that wait for links, so that new
-- links wake exactly the orders that they can serve. See docs/decisions/0034. Workers of the release before park orders without a row in
-- `waiting_lines`; those of this release find such orders once a minute.

alter table jobs
  -- One of many that became due together: woken by a restocked item, or a change of the catalogue told to every endpoint. They get only a
  -- part of a worker's slots, so that nothing else waits for them.
  add column is_backlog boolean not null default false,
  -- How often in a row it failed on our side.
  add column failures integer not null default 0,
  -- A dead letter since: it failed too often and is not tried again until an operator, or something new to do, wakes it.
  add column dead_at timestamptz;

-- The first link of the pool that may be left: everything before it was taken. Taking the next link then reads nothing that was taken
-- earlier, which a long-held snapshot keeps in the index. Empty: look from the beginning.
alter table item_supply
  add column pool_from text collate "C" not null default '';

-- Lines of paid orders whose job is parked until the item has links. A row is removed when the job is woken for it, or with the order.
create table waiting_lines (
  account_id text not null references accounts (id),
  -- Made from the time of the order: the oldest comes first.
  order_id text collate "C" not null,
  line integer not null,
  item_id text not null,
  missing integer not null check (missing > 0),
  primary key (account_id, order_id, line)
)
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index waiting_lines_item on waiting_lines (item_id, order_id, account_id, line);

alter table waiting_lines enable row level security;
create policy all_accounts on waiting_lines to shopwire_app using (true) with check (true);
grant select, insert, update, delete on waiting_lines to shopwire_app;

-- Items that got links, or another source, since their waiting orders were last woken.
create table restocked_items (
  item_id text primary key,
  restocked_at timestamptz not null,
  -- All orders that wait for it are woken, not only as many as there are links.
  is_source_changed boolean not null default false
);

grant select, insert, update, delete on restocked_items to shopwire_app;

-- What /status reports of the orders, counted once a second by one worker: counting takes long while many wait, or while a long-held
-- snapshot keeps what is no longer waiting in the index.
create table order_backlog (
  is_single boolean primary key default true check (is_single),
  -- Orders that are paid and not delivered.
  waiting bigint not null,
  -- When the oldest job of an order became due that no worker has taken; null: none is due.
  oldest_due_at timestamptz,
  -- Afterwards nobody counts any more, and the figures are not used.
  valid_until timestamptz not null
);

grant select, insert, update on order_backlog to shopwire_app;
