-- Every order was paid for once, by its own account, with its total.
with paid as (
  select account_id, order_id, count(*) as times, min(-change_cents) as cents
    from transfers
   where kind = 'order'
   group by account_id, order_id
)
select o.id
  from orders o
  left join paid p on p.account_id = o.account_id and p.order_id = o.id
 where p.times is distinct from 1
    or p.cents <> o.total_cents;
