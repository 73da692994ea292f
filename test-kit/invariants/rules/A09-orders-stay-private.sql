-- No account was shown the order of another.
select c.seq
  from t_calls c
  join orders o on o.id = c.order_id
 where c.status < 400
   and o.account_id <> c.account_id;
