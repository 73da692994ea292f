-- Every order has one accepted event, one delivered event if it was delivered, one cancelled event if it was cancelled.
with told as (
  select account_id, order_id,
         count(*) filter (where type = 'order.accepted') as accepted,
         count(*) filter (where type = 'order.delivered') as delivered,
         count(*) filter (where type = 'order.cancelled') as cancelled
    from events
   where order_id is not null
   group by account_id, order_id
)
select coalesce(o.id, t.order_id)
  from orders o
  full join told t on t.account_id = o.account_id and t.order_id = o.id
 where o.id is null
    or t.accepted is distinct from 1
    or t.delivered <> (o.status = 'delivered')::integer
    or t.cancelled <> (o.status = 'cancelled')::integer;
