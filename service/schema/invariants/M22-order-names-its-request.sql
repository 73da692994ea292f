-- An order names the request that bought it, unless an operator bought it, and an answer that bought is that of such an order,
-- unless a failover has lost the order and that is recorded.
select o.id
  from orders o
 where o.request_id is null
   and o.key_id <> 'operator'
 union all
select a.order_id
  from order_answers a
 where not exists (select
                     from orders o
                    where o.account_id = a.account_id
                      and o.id = a.order_id
                      and o.request_id is not null)
   and not exists (select
                     from lost_orders l
                    where l.account_id = a.account_id
                      and l.order_id = a.order_id);
