-- Catalogue: what is for sale, and whether the store is open.

-- Items are never deleted: old orders and callers' caches still refer to them.
create table items (
  id text collate "C" primary key check (id ~ '^[0-9]{17,20}$'),
  name text not null check (char_length(name) between 1 and 200),
  type text not null check (type in ('decoration', 'effect', 'nameplate', 'frame', 'bundle')),
  collection text not null check (char_length(collection) between 1 and 200),
  price_cents bigint not null check (price_cents between 0 and 100000000),
  image text check (image ~ '^https?://' and char_length(image) <= 2000),
  is_for_sale boolean not null,
  -- False while it cannot be delivered, such as with an empty pool of links.
  has_supply boolean not null default true,
  available_until timestamptz,
  -- The catalogue revision that last changed it. A process that is behind reads the items above its own revision.
  revision bigint not null,
  constraint items_frame_without_image check (type <> 'frame' or image is null)
);

create unique index items_revision on items (revision, id);

-- One row. Every change locks it first, so revisions become visible in their order.
create table catalogue_state (
  only_row boolean primary key default true check (only_row),
  revision bigint not null,
  changed_at timestamptz not null
);

insert into catalogue_state (revision, changed_at) values (1, now());

-- Whether an operator has opened the store. One row. functions/catalogue/store_is_open.sql decides what callers are told.
create table store_state (
  only_row boolean primary key default true check (only_row),
  is_open boolean not null,
  reason text check (char_length(reason) <= 200),
  changed_at timestamptz not null
);

insert into store_state (is_open, changed_at) values (true, now());

-- Planned closings. Nothing has to run for one to begin or end: every request compares them with the time.
create table store_windows (
  id text collate "C" primary key,
  closes_at timestamptz not null,
  opens_at timestamptz not null,
  reason text not null check (char_length(reason) between 1 and 200),
  created_at timestamptz not null,
  -- A cancelled window no longer closes the store, and stays on record.
  cancelled_at timestamptz,
  constraint store_windows_times check (closes_at < opens_at)
);

create index store_windows_ahead on store_windows (opens_at) where cancelled_at is null;
