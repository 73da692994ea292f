-- An order names the request that bought it, unless an operator bought it; a recorded attempt that bought is such a request.
select o.id
  from orders o
 where o.request_id is null
   and o.key_id <> 'operator'
 union all
select a.request_id
  from order_attempts a
 where a.outcome = 'bought'
   and not exists (select
                     from orders o
                    where o.account_id = a.account_id
                      and o.idempotency_key = a.idempotency_key
                      and o.request_id = a.request_id);
