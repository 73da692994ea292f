-- Where the links of an item come from. An item without a row is delivered by hand.
create table item_supply (
  item_id text collate "C" primary key,
  source text not null check (source in ('pool', 'supplier', 'hand')),
  supplier text,
  -- Asked when the first one has nothing or does not answer.
  fallback text,
  -- What the suppliers call the item; its id when null.
  sku text check (char_length(sku) between 1 and 200),
  -- An operator is warned when fewer links than this are left in the pool.
  warn_below integer not null default 0 check (warn_below >= 0),
  -- Links in the pool, counted under the lock of this row, which everyone who adds or takes one holds.
  pool_left integer not null default 0 check (pool_left >= 0),
  check ((source = 'supplier') = (supplier is not null)),
  check (fallback is null or (supplier is not null and fallback <> supplier))
);

create table suppliers (
  name text collate "C" primary key check (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  url text not null check (char_length(url) <= 2000),
  secret_sealed bytea not null,
  secret_kek_id text not null,
  timeout_ms integer not null check (timeout_ms between 100 and 60000),
  is_paused boolean not null default false,
  created_at timestamptz not null
);

alter table item_supply add foreign key (supplier) references suppliers (name);
alter table item_supply add foreign key (fallback) references suppliers (name);

-- Every link this store has ever held, as a keyed hash, for ever: none is taken in twice, even after the link itself is gone.
create table link_fingerprints (
  hash bytea primary key,
  seen_at timestamptz not null
);

-- Links that nobody has bought yet. Taking one moves it to the order, in one transaction.
create table pool_links (
  item_id text collate "C" not null,
  id text collate "C" not null,
  link_sealed bytea not null,
  link_kek_id text not null,
  link_hash bytea not null unique references link_fingerprints (hash),
  loaded_at timestamptz not null,
  primary key (item_id, id)
);

create index pool_links_kek on pool_links (link_kek_id);

-- Links of orders. While the order is paid they are the part obtained so far, and nobody is shown them.
create table order_links (
  account_id text not null,
  order_id text collate "C" not null,
  line smallint not null,
  unit smallint not null check (unit between 1 and 10),
  link_sealed bytea not null,
  link_kek_id text not null,
  -- The last line of defence against selling a link twice.
  link_hash bytea not null unique references link_fingerprints (hash),
  source text not null,
  obtained_at timestamptz not null,
  primary key (account_id, order_id, line, unit),
  foreign key (account_id, order_id, line) references order_lines (account_id, order_id, n)
);

create index order_links_kek on order_links (link_kek_id);

-- What suppliers were asked for, and how it ended. `given` only once the links are in our rows; `asked` without an end is
-- money we may owe, and an operator can look it up.
create table supplier_requests (
  account_id text not null,
  order_id text collate "C" not null,
  line smallint not null,
  supplier text not null,
  -- Part of the request's id. Grows when the supplier has refused: what comes then is another request.
  round smallint not null default 1,
  -- Asked for once and for all: a repeated request must be the same request.
  sku text not null,
  qty smallint not null check (qty between 1 and 10),
  state text not null check (state in ('asked', 'given', 'refused')),
  attempts integer not null,
  -- Askings that were left without an answer.
  failures integer not null default 0,
  error text check (char_length(error) <= 200),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (account_id, order_id, line, supplier),
  foreign key (account_id, order_id, line) references order_lines (account_id, order_id, n)
);

create index supplier_requests_open on supplier_requests (last_at) where state = 'asked';

-- Keys of our own that must outlive every configuration, sealed like everything else.
create table own_keys (
  name text primary key,
  key_sealed bytea not null,
  key_kek_id text not null
);

-- When an order that cannot be delivered is given up and refunded by itself. One row; null: never.
create table refund_rule (
  only_row boolean primary key default true check (only_row),
  cancel_after interval check (cancel_after > interval '0'),
  changed_at timestamptz not null
);

insert into refund_rule (changed_at) values (now());

grant select, insert, delete on pool_links, order_links to shopwire_app;
grant update (link_sealed, link_kek_id) on pool_links, order_links to shopwire_app;
grant select, insert, update on item_supply, suppliers, supplier_requests, own_keys to shopwire_app;
grant select, insert on link_fingerprints to shopwire_app;
grant select, update on refund_rule to shopwire_app;
