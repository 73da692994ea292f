-- A delivery is given up only after its last attempt, and an ended endpoint has nothing on its way.
-- The last attempt is the twelfth, or the one after which the next would be due past the 24 hours.
select d.event_id
  from deliveries d
  join webhook_endpoints p on p.account_id = d.account_id and p.id = d.endpoint_id
 where (d.state = 'failed' and d.attempts < 12 and d.done_at - d.created_at < interval '22 hours 50 minutes')
    or (d.state = 'pending' and p.ended_at is not null);
