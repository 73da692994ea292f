-- Links are erased only after the delivery, and all of an order at once.
select o.id
  from (select account_id, order_id, min(erased_at) as erased_at, count(*) <> count(erased_at) as is_part
          from order_links
         group by account_id, order_id
        having count(erased_at) > 0) k
  join orders o on o.account_id = k.account_id and o.id = k.order_id
 where k.is_part
    or o.delivered_at is null
    or k.erased_at < o.delivered_at;
