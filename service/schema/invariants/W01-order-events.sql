-- Every order has one accepted event, one delivered event if it was delivered, one cancelled event if it was cancelled.
-- Those from before the time for which events are kept may be gone.
with announced as (
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
  full join announced t on t.account_id = o.account_id and t.order_id = o.id
 cross join event_retention r
 where o.id is null
    or (coalesce(t.accepted, 0) <> 1 and o.created_at >= r.kept_since)
    or (coalesce(t.delivered, 0) <> (o.status = 'delivered')::integer
        and coalesce(o.delivered_at, 'infinity') >= r.kept_since)
    or (coalesce(t.cancelled, 0) <> (o.status = 'cancelled')::integer
        and coalesce(o.cancelled_at, 'infinity') >= r.kept_since);
