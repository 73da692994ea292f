-- Counts units that were sold and have no link yet, by item: more of them when an order is placed, fewer when links are assigned to
-- it or it is cancelled. Adds to a row that no other transaction has locked, or to a new one, so it never waits.
create or replace function count_unassigned(p_item_ids text[], p_units integer[]) returns void
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
-- As in place_orders, which calls this.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
  with changes as materialized (
    select c.item_id, sum(c.units)::integer as units
      from unnest(p_item_ids, p_units) as c (item_id, units)
     group by c.item_id
  ), places as materialized (
    select c.item_id, c.units, free.slot
      from changes c
      left join lateral (
        select u.slot
          from unassigned_units u
         where u.item_id = c.item_id
         order by u.slot
         limit 1
           for no key update skip locked
      ) free on true
  ), changed as (
    update unassigned_units u
       set units = u.units + p.units
      from places p
     where u.item_id = p.item_id
       and u.slot = p.slot
  )
  insert into unassigned_units (item_id, slot, units)
  select p.item_id, pg_current_xact_id()::text::bigint, p.units
    from places p
   where p.slot is null;
end
$$;

alter function count_unassigned owner to shopwire_functions;
