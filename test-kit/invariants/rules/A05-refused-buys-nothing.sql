-- A key that was only ever refused bought nothing.
select o.id
  from t_calls c
  join orders o on o.account_id = c.account_id and o.idempotency_key = c.idempotency_key
 group by o.account_id, o.id
having bool_and(coalesce(c.status in (400, 401, 402, 403, 404, 408, 409, 413, 429), false));
