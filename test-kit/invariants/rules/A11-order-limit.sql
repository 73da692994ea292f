-- No account got more attempts to order through in any 60 seconds than the limit allows; counted as in A10.
with admitted as (
  select seq, account_id, sent_at, received_at
    from t_calls
   where method = 'POST'
     and path = '/v1/orders'
     and (status < 400 or status in (402, 403, 409))
), moments as (
  select account_id, received_at as at, 1 as answered, null::bigint as seq, 0 as sent_before
    from admitted
   union all
  select account_id, sent_at + interval '59.9 s', 0, seq,
         rank() over (partition by account_id order by sent_at) - 1
    from admitted
)
select seq
  from (select seq, sum(answered) over (partition by account_id order by at, answered desc) - sent_before as passed
          from moments) windows
 where seq is not null
   and passed > (select orders_max from t_limits);
