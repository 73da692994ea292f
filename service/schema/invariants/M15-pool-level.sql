-- The level kept beside an item's pool is the number of links in it that can be sold.
with counts as (
  select item_id, count(*) filter (where set_aside_at is null) as links
    from pool_links
   group by item_id
)
select coalesce(s.item_id, c.item_id)
  from item_supply s
  full join counts c on c.item_id = s.item_id
 where s.pool_left is distinct from coalesce(c.links, 0);
