-- Every event that came to be while an account had an endpoint has its delivery there.
-- Some seconds at both ends of an endpoint's life are left out: its times and the event's may be by the clocks of two processes.
select e.id
  from webhook_endpoints p
  join events e
    on e.account_id = p.account_id
   and e.created_at > p.created_at + interval '5 s'
   and e.created_at < coalesce(p.ended_at, 'infinity') - interval '5 s'
  left join deliveries d on d.account_id = p.account_id and d.endpoint_id = p.id and d.event_id = e.id
 where d.event_id is null;
