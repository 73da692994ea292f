-- Supply: where links come from, those that are not sold yet, and what suppliers are owed. `supplier_requests`, which refers to orders, is
-- in 0009. See docs/decisions/0010 and 0011.

create table suppliers (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  url text not null check (char_length(url) <= 2000),
  secret_sealed bytea not null,
  secret_kek_id text not null,
  timeout_ms integer not null check (timeout_ms between 100 and 60000),
  is_paused boolean not null default false,
  -- What requests of any hour may cost together; null: no limit.
  hourly_limit_cents bigint,
  created_at timestamptz not null
);

-- Where the links of an item come from. An item without a row is delivered by hand.
create table item_supply (
  item_id text collate "C" primary key,
  source text not null check (source in ('pool', 'supplier', 'hand')),
  supplier text collate "C" references suppliers (name),
  -- Called when the first supplier has nothing or does not answer.
  fallback text collate "C" references suppliers (name),
  -- The suppliers' name for the item; its id when null.
  sku text check (char_length(sku) between 1 and 200),
  -- What one link of the item costs, at the supplier and at the fallback; null: not known.
  cost_cents bigint,
  fallback_cost_cents bigint,
  -- The worker warns when fewer links than this are left in the pool.
  warn_below integer not null default 0 check (warn_below >= 0),
  -- Links in the pool, counted under the lock of this row, which everyone who adds or takes one holds.
  pool_left integer not null default 0 check (pool_left >= 0),
  -- The first link of the pool that may be left: all links before it were taken. Taking the next link then skips the index entries
  -- of taken links, which a long-held snapshot keeps. Empty: start at the beginning.
  pool_from text collate "C" not null default '',
  constraint item_supply_supplier check ((source = 'supplier') = (supplier is not null)),
  constraint item_supply_fallback check (fallback is null or (supplier is not null and fallback <> supplier))
);

-- Units that were sold and have no link yet, by item: the sum over its rows. There are as many rows as there were simultaneous
-- transactions, because each changes a row that no other has locked. Written by count_unassigned alone.
create table unassigned_units (
  item_id text collate "C" not null,
  -- The transaction that made the row.
  slot bigint not null,
  units integer not null,
  primary key (item_id, slot)
)
-- Updated by every order, so pages have room to stay out of the index.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);

-- Every link this store has ever had, as a keyed hash, permanently: none can be loaded twice, even after the link itself was
-- deleted.
create table link_fingerprints (
  hash bytea primary key,
  seen_at timestamptz not null,
  -- Supplier and request id, with a slash between, of the request that brought the link; null for any other source.
  made_by text
)
-- Never updated, as transfers.
with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Links that are not sold yet. Selling one moves it to the order, in one transaction.
create table pool_links (
  item_id text collate "C" not null,
  id text collate "C" not null,
  link_sealed bytea not null,
  link_kek_id text not null,
  link_hash bytea not null unique references link_fingerprints (hash),
  loaded_at timestamptz not null,
  -- Not null: it could not be decrypted when it was to be sold. Such a link is not sold and not counted in pool_left, and is kept
  -- so that the cause can be found.
  set_aside_at timestamptz,
  primary key (item_id, id)
)
-- Every link that is loaded is deleted when it is sold: after 200,000 sales of a pool of 200,000 all its rows are dead. The
-- threshold is a number of rows, because the table may be empty and large at once.
with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000, vacuum_truncate = off);

-- Items that got links, or another source, since their waiting orders were last woken.
create table restocked_items (
  item_id text collate "C" primary key,
  restocked_at timestamptz not null,
  -- Wakes all orders that wait for it, not only as many as there are links.
  is_source_changed boolean not null default false
);

-- Expected cost of the requests made in each minute, for suppliers with a limit. Changed only under the lock of the supplier's row,
-- except that a refusal is subtracted without it.
create table supplier_spending (
  supplier text collate "C" not null references suppliers (name),
  minute timestamptz not null,
  cents bigint not null check (cents >= 0),
  primary key (supplier, minute)
);

-- What suppliers are owed: double entry like `transfers`, without a row that orders would have to lock. A cost is goods that the
-- store received from the supplier, a payment its cash that the supplier received. The reference of a cost is the id of its
-- request, that of a payment is given by the operator, so neither can be booked twice. Append only.
create table supplier_transfers (
  supplier text collate "C" not null references suppliers (name),
  kind text collate "C" not null check (kind in ('cost', 'payment')),
  reference text collate "C" not null check (char_length(reference) between 1 and 200),
  amount_cents bigint not null check (amount_cents > 0),
  note text check (char_length(note) <= 500),
  booked_at timestamptz not null,
  primary key (supplier, kind, reference)
);

create index supplier_transfers_booked on supplier_transfers (supplier, booked_at);

-- Links that the journal of sold links has for orders whose delivery is missing in this database, by their fingerprints. They
-- belong to that order permanently: no other order gets them, and in a pool they are set aside. Null: the journal names several
-- orders. No role may update or delete. See docs/decisions/0022.
create table lost_links (
  hash bytea primary key,
  account_id text collate "C",
  order_id text collate "C",
  sold_at timestamptz not null,
  found_at timestamptz not null,
  constraint lost_links_of_order check ((account_id is null) = (order_id is null))
);

create index lost_links_order on lost_links (order_id) where order_id is not null;

alter table lost_links enable row level security;
create policy all_accounts on lost_links
  to shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights, shopwire_functions, shopwire_maintenance
  using (true);
create policy own_account on lost_links to shopwire_dashboard using (account_id = nullif(current_setting('shopwire.account_id', true), ''));
