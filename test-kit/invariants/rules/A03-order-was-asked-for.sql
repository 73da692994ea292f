-- Every order was asked for: a call with its key and its cart may have made it, or an operator did.
with asked as (
  select distinct account_id, idempotency_key, request_hash
    from t_calls
   where status is null
      or status in (200, 201, 500, 503)
)
select o.id
  from orders o
  left join asked a on a.account_id = o.account_id
                   and a.idempotency_key = o.idempotency_key
                   and a.request_hash = o.request_hash
 where a.account_id is null
   and o.key_id <> 'operator';
