-- An order that was returned to a caller exists, under its account and the key it was bought with.
select c.seq
  from t_calls c
  left join orders o on o.account_id = c.account_id
                    and o.id = c.order_id
                    and o.idempotency_key = c.idempotency_key
 where c.method = 'POST'
   and c.path = '/v1/orders'
   and c.status in (200, 201)
   and o.id is null;
