-- A balance that was read is one that the account had at some moment between asking and answer.
-- The time at which a transfer was committed is not recorded. It was not before any transfer up to it was begun, and not
-- after its order or a later one was returned to a caller; where none was, a minute after its beginning is late enough.
with answered as (
  select account_id, order_id, min(received_at) as at
    from t_calls
   where status in (200, 201)
     and order_id is not null
   group by account_id, order_id
), states as (
  select t.account_id, t.seq, t.balance_after_cents as cents,
         max(t.created_at) over (partition by t.account_id order by t.seq) as earliest,
         min(coalesce(answered.at, t.created_at + interval '60 s'))
           over (partition by t.account_id order by t.seq desc) as latest
    from transfers t
    left join answered on answered.account_id = t.account_id and answered.order_id = t.order_id and t.kind = 'order'
   union all
  select id, 0, 0, '-infinity', '-infinity'
    from accounts
), spans as (
  select account_id, cents, earliest, lead(latest, 1, 'infinity') over (partition by account_id order by seq) as until
    from states
), reads as (
  select seq, account_id, balance_cents, sent_at, received_at
    from t_calls
   where method = 'GET'
     and path = '/v1/balance'
     and status = 200
)
select r.seq
  from reads r
  left join spans s on s.account_id = r.account_id
                   and s.cents = r.balance_cents
                   and s.earliest <= r.received_at
                   and s.until >= r.sent_at
 group by r.seq
having count(s.account_id) = 0;
