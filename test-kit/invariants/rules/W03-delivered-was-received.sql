-- What is recorded as delivered arrived at its endpoint's URL, genuine, and was answered with a 2xx.
select d.event_id
  from deliveries d
  join webhook_endpoints p on p.account_id = d.account_id and p.id = d.endpoint_id
 where d.state = 'delivered'
   and not exists (select
                     from t_got g
                    where g.event_id = d.event_id
                      and g.url = p.url
                      and g.is_genuine
                      and g.status between 200 and 299);
