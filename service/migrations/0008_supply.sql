-- Supply: where links come from, and those that are not sold yet. `supplier_requests`, which refers to orders, is in 0010. See
-- docs/decisions/0011.

create table suppliers (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  url text not null check (char_length(url) <= 2000),
  secret_sealed bytea not null,
  secret_kek_id text not null,
  timeout_ms integer not null check (timeout_ms between 100 and 60000),
  is_paused boolean not null default false,
  created_at timestamptz not null
);

-- Where the links of an item come from. An item without a row is delivered by hand.
create table item_supply (
  item_id text collate "C" primary key,
  source text not null check (source in ('pool', 'supplier', 'hand')),
  supplier text references suppliers (name),
  -- Asked when the first supplier has nothing or does not answer.
  fallback text references suppliers (name),
  -- The suppliers' name for the item; its id when null.
  sku text check (char_length(sku) between 1 and 200),
  -- The worker warns when fewer links than this are left in the pool.
  warn_below integer not null default 0 check (warn_below >= 0),
  -- Links in the pool, counted under the lock of this row, which everyone who adds or takes one holds.
  pool_left integer not null default 0 check (pool_left >= 0),
  check ((source = 'supplier') = (supplier is not null)),
  check (fallback is null or (supplier is not null and fallback <> supplier))
);

grant select, insert, update on suppliers, item_supply to shopwire_app;

-- Every link this store has ever held, as a keyed hash, for ever: none is taken in twice, even after the link itself is gone.
create table link_fingerprints (
  hash bytea primary key,
  seen_at timestamptz not null
);

grant select, insert on link_fingerprints to shopwire_app;

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
);

create index pool_links_kek on pool_links (link_kek_id);

grant select, insert, delete on pool_links to shopwire_app;
grant update (link_sealed, link_kek_id, set_aside_at) on pool_links to shopwire_app;
