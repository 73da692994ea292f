-- compatible-with: 34
-- What a store needs to notice that its database is an earlier state of itself, and to know afterwards which links it had sold: a generation and
-- a position, both kept outside the database too, and the links that the journal of sold links has and a restored database has not. See
-- docs/decisions/0035. Programs of the release before work on: they deliver as before unless the store keeps a journal, which they do
-- not write; then the database refuses their deliveries and workers of this release make them.

alter table database_identity
  -- Raised each time an operator opens the store on another database, or on an earlier state of this one.
  add column generation bigint not null default 1,
  -- Not null: this database was found behind what the journal has seen, at this time, and nobody has opened the store since.
  add column behind_since timestamptz,
  add column behind_why text,
  -- The journal of sold links that workers write; null: none.
  add column journal_id text,
  -- The start of the server (functions/platform/database_start.sql) for which a worker has compared this database with the journal. After
  -- every start somebody has to: a snapshot that is started without recovery has the identity of the original.
  add column compared_start text;

-- Advanced about once a second by workers, and written outside the database after that. Not in database_identity: every order reads that
-- row, and a long-held snapshot keeps all old versions of this one.
create table store_position (
  only_row boolean primary key default true check (only_row),
  position bigint not null,
  at timestamptz not null
);

insert into store_position (position, at) values (0, now());

grant select, update on store_position to shopwire_app;

-- Links that the journal of sold links has for orders whose delivery this database does not have, by their fingerprints. They belong to that
-- order for ever: no other order gets them, and in a pool they are set aside. Null: the journal names several orders.
create table lost_links (
  hash bytea primary key,
  account_id text,
  order_id text collate "C",
  sold_at timestamptz not null,
  found_at timestamptz not null,
  check ((account_id is null) = (order_id is null))
);

-- Neither update nor delete.
grant select, insert on lost_links to shopwire_app;

-- Comparisons with the journal that were applied. The store is opened only after one in its present generation and on its present server.
create table journal_comparisons (
  id text collate "C" primary key,
  at timestamptz not null,
  actor text not null,
  generation bigint not null,
  -- As an operator sees it: system identifier and timeline.
  identity text not null,
  journal_id text not null,
  -- Read from here on.
  read_from timestamptz not null,
  -- How many links the journal had from there on. More when the store is opened: something still sells.
  links bigint not null,
  -- How far the store had come according to the journal. Further when the store is opened: another database of it is in use.
  outside_generation bigint,
  outside_position bigint,
  -- False: the journal begins later than the time that may be missing.
  is_complete boolean not null
);

grant select, insert on journal_comparisons to shopwire_app;
