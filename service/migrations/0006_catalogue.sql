-- What is for sale. Items are never deleted: old orders and callers' caches still name them.
create table items (
  id text collate "C" primary key check (id ~ '^[0-9]{17,20}$'),
  name text not null check (char_length(name) between 1 and 200),
  type text not null check (type in ('decoration', 'effect', 'nameplate', 'frame', 'bundle')),
  collection text not null check (char_length(collection) between 1 and 200),
  price_cents bigint not null check (price_cents between 0 and 100000000),
  image text check (image ~ '^https?://' and char_length(image) <= 2000),
  is_for_sale boolean not null,
  -- False while there is nothing to deliver it from, such as an empty pool of links.
  has_supply boolean not null default true,
  available_until timestamptz,
  -- The revision that last changed it: how a process catches up.
  revision bigint not null,
  check (type <> 'frame' or image is null)
);

create unique index items_revision on items (revision, id);

-- One row. Every change takes it first, so revisions become visible in their order.
create table catalogue_state (
  only_row boolean primary key default true check (only_row),
  revision bigint not null,
  changed_at timestamptz not null
);

insert into catalogue_state (revision, changed_at) values (1, now());

grant select, insert, update on items to shopwire_app;
grant select, update on catalogue_state to shopwire_app;

-- Prices a cart as it stands now. The one rule for what a line is worth and whether it can be bought: quotes show its
-- rows, orders are placed on them.
create function price_cart(p_ids text[], p_qtys integer[], p_expected bigint[])
returns table (
  n integer, id text, qty integer, expected_price_cents bigint,
  name text, unit_price_cents bigint, status text
)
language sql stable as $$
  select c.n::integer, c.id, c.qty, c.expected, i.name, i.price_cents,
         case
           when i.id is null then 'sold_out'
           when not (i.is_for_sale and i.has_supply) then 'sold_out'
           when i.available_until <= clock_timestamp() then 'sold_out'
           when c.expected is not null and c.expected <> i.price_cents then 'price_changed'
           else 'ok'
         end
    from unnest(p_ids, p_qtys, p_expected) with ordinality as c (id, qty, expected, n)
    -- One look-up per line, whatever the planner believes about the size of a cart.
    left join lateral (select * from items where items.id = c.id limit 1) i on true
   order by c.n
$$;

revoke execute on function price_cart from public;
grant execute on function price_cart to shopwire_app;
