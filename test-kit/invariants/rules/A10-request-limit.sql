-- No account got more requests through in any 60 seconds than the limit allows.
-- A window begins when a request is sent. In it are those sent in it and answered in it: when the server counted them is not
-- known, but it was then. That number is all answered before the window's end less all sent before its beginning.
-- A tenth of a second is left out, for clocks that count whole milliseconds.
with admitted as (
  select seq, account_id, sent_at, received_at
    from t_calls
   where path <> '/v1/status'
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
   and passed > (select requests_max from t_limits);
