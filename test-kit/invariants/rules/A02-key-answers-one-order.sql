-- An idempotency key was answered with one order, and only one answer said that it was just bought (201).
select min(seq), account_id, idempotency_key
  from t_calls
 where method = 'POST'
   and path = '/v1/orders'
   and status in (200, 201)
 group by account_id, idempotency_key
having count(*) filter (where status = 201) > 1
    or count(*) filter (where not replayed) > 1
    or bool_or((status = 201) = replayed)
    or count(distinct order_id) > 1;
