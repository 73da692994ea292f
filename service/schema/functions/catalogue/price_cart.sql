-- Prices a cart as it is now. The only rule for what a line costs and whether it can be bought: quotes show its rows, and orders
-- are placed on them. It sets no search_path, because PostgreSQL then inlines it into the calling statement instead of planning it
-- again for every order. So its tables are written with their schema; functions are never looked up among temporary objects. An
-- item whose only source is its pool is sold as long as the pool has more links than there are sold units without one. Both numbers
-- are read without a lock: orders that are placed at the same moment do not see each other, so a few may get less than they bought
-- until more links arrive.
create or replace function price_cart(p_ids text[], p_qtys integer[], p_expected bigint[])
returns table (
  n integer, id text, qty integer, expected_price_cents bigint,
  name text, unit_price_cents bigint, status text,
  -- Fewer are left than requested, but some.
  is_short boolean
)
language sql stable as $$
  select c.n::integer, c.id, c.qty, c.expected, i.name, i.price_cents,
         case
           when i.id is null then 'sold_out'
           when not (i.is_for_sale and i.has_supply) then 'sold_out'
           when i.available_until <= clock_timestamp() then 'sold_out'
           when c.qty > s.units_left then 'sold_out'
           when c.expected is not null and c.expected <> i.price_cents then 'price_changed'
           else 'ok'
         end,
         coalesce(s.units_left between 1 and c.qty - 1, false)
    from unnest(p_ids, p_qtys, p_expected) with ordinality as c (id, qty, expected, n)
    -- One look-up per line by the primary key, whatever size of cart the planner assumes.
    left join lateral (
      select items.id, items.name, items.price_cents, items.is_for_sale, items.has_supply, items.available_until
        from shopwire.items
       where items.id = c.id
       limit 1
    ) i on true
    -- An item with another source can be sold whatever its pool has.
    left join lateral (
      select item_supply.pool_left - coalesce((
               select sum(unassigned_units.units)
                 from shopwire.unassigned_units
                where unassigned_units.item_id = item_supply.item_id
             ), 0) as units_left
        from shopwire.item_supply
       where item_supply.item_id = c.id
         and item_supply.source = 'pool'
       limit 1
    ) s on true
   order by c.n
$$;
