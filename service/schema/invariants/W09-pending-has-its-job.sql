-- What is on its way to a live endpoint has the job that brings it there.
select distinct d.endpoint_id
  from deliveries d
  join webhook_endpoints p on p.account_id = d.account_id and p.id = d.endpoint_id and p.ended_at is null
  left join jobs j on j.account_id = d.account_id and j.queue = 'deliver' and j.subject = d.endpoint_id
 where d.state = 'pending'
   and j.subject is null;
