-- A cancelled order was refunded once, with its total; any other order was not refunded.
with refunded as (
  select account_id, order_id, count(*) as times, min(change_cents) as cents
    from transfers
   where kind = 'refund'
   group by account_id, order_id
)
select o.id
  from orders o
  left join refunded r on r.account_id = o.account_id and r.order_id = o.id
 where coalesce(r.times, 0) <> (o.status = 'cancelled')::integer
    or r.cents <> o.total_cents;
