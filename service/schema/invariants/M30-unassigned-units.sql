-- The units counted as sold and not yet assigned, by item, are those of paid orders without a link.
with open_units as (
  select l.item_id, sum(l.qty - assigned.links) as units
    from orders o
    join order_lines l on l.account_id = o.account_id and l.order_id = o.id
   cross join lateral (
     select count(*) as links
       from order_links k
      where k.order_id = l.order_id
        and k.line = l.line
   ) assigned
   where o.status = 'paid'
   group by l.item_id
), counted as (
  select item_id, sum(units) as units
    from unassigned_units
   group by item_id
)
select coalesce(o.item_id, c.item_id)
  from open_units o
  full join counted c on c.item_id = o.item_id
 where coalesce(o.units, 0) <> coalesce(c.units, 0);
