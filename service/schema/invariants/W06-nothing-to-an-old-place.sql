-- Nothing was sent to an endpoint after it had ended. (A second is left for clocks of two processes.)
select a.event_id
  from attempts_made a
  join webhook_endpoints p on p.account_id = a.account_id and p.id = a.endpoint_id
 where a.started_at > p.ended_at + interval '1 s';
