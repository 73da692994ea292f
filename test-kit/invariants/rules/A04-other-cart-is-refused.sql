-- A key that bought one cart was never answered with success for another.
select c.seq
  from t_calls c
  join orders o on o.account_id = c.account_id and o.idempotency_key = c.idempotency_key
 where c.status in (200, 201)
   and c.request_hash <> o.request_hash;
