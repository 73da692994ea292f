-- A delivery is given up after twelve attempts, or when its 24 hours end before the next one is due; an ended endpoint has
-- nothing on its way.
select d.event_id
  from deliveries d
  join webhook_endpoints p on p.account_id = d.account_id and p.id = d.endpoint_id
 where (d.state = 'failed' and d.attempts < 12 and d.done_at - d.created_at < interval '22 hours 50 minutes')
    or (d.state = 'pending' and p.ended_at is not null);
