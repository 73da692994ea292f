-- An idempotency key of an account has bought at most one order.
select min(id), account_id, idempotency_key
  from orders
 group by account_id, idempotency_key
having count(*) > 1;
