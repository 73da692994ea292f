-- The number of orders kept beside an account's balance is the number of its orders.
with counts as (
  select account_id, count(*) as orders
    from orders
   group by account_id
)
select coalesce(b.account_id, c.account_id)
  from balances b
  full join counts c on c.account_id = b.account_id
 where b.order_count is distinct from coalesce(c.orders, 0);
