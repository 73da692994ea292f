-- A nonce of a key was admitted at most once.
-- A request that was refused with 429 may get 429 again, but is never admitted.
-- Counted are the answers that only an admitted request can get; a 503 may have come before the nonce was spent.
select min(seq), key_id, nonce
  from t_calls
 where status < 400
    or status in (402, 403, 409, 429)
 group by key_id, nonce
having count(*) > 1
   and bool_or(status <> 429);
