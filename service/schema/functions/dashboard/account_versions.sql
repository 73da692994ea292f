-- For open pages of the dashboard: one number per account and topic, which differs once something in the topic has changed. It
-- reads several accounts in one statement, which row-level security would refuse, so it runs with its owner's rights and returns
-- nothing but these numbers. The newest few rows are combined, because one committed late may have an earlier id.
create or replace function account_versions(p_account_ids text[])
returns table (account_id text, orders bigint, balance bigint, deliveries bigint, webhook bigint, keys bigint, team bigint)
language plpgsql stable security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  return query
    select a.id,
           hashtextextended(concat_ws(' ', b.order_count, event.newest), 0),
           b.transfer_count,
           hashtextextended(concat_ws(' ', event.newest, attempt.newest), 0),
           hashtextextended(
             concat_ws(' ', endpoint.id, endpoint.url, endpoint.last_failure_at, endpoint.last_error, endpoint.alerted_percent,
                       secret.newest, action.newest), 0),
           hashtextextended(concat_ws(' ', a.access_version, api_key.newest, action.newest), 0),
           hashtextextended(concat_ws(' ', member.all_of_them, action.newest), 0)
      from accounts a
      left join balances b on b.account_id = a.id
      left join webhook_endpoints endpoint on endpoint.account_id = a.id and endpoint.ended_at is null
      cross join lateral (
        select coalesce(string_agg(e.id, ' '), '') as newest
          from (select events.id from events where events.account_id = a.id order by events.id desc limit 16) e
      ) event
      cross join lateral (
        select concat(string_agg(t.finished_at::text, ' '), (
                 select string_agg(concat_ws('/', r.state, r.round, r.attempts), ' ')
                   from (
                     select v.state, v.round, v.attempts
                       from deliveries v
                      where v.account_id = a.id
                      order by v.event_id desc
                      limit 16
                   ) r
               )) as newest
          from (
            select d.finished_at
              from delivery_attempts d
             where d.account_id = a.id
               and d.endpoint_id = endpoint.id
             order by d.finished_at desc
             limit 16
          ) t
      ) attempt
      cross join lateral (
        select coalesce(string_agg(concat_ws(' ', s.id, s.ends_at), ' '), '') as newest
          from (
            select webhook_secrets.id, webhook_secrets.ends_at
              from webhook_secrets
             where webhook_secrets.account_id = a.id
             order by webhook_secrets.id desc
             limit 4
          ) s
      ) secret
      cross join lateral (
        select coalesce(string_agg(concat_ws(' ', k.id, k.name, k.revoked_at), ' '), '') as newest
          from (
            select api_keys.id, api_keys.name, api_keys.revoked_at
              from api_keys
             where api_keys.account_id = a.id
             order by api_keys.id desc
             limit 32
          ) k
      ) api_key
      cross join lateral (
        select coalesce(string_agg(l.id, ' '), '') as newest
          from (select audit_log.id from audit_log where audit_log.account_id = a.id order by audit_log.id desc limit 16) l
      ) action
      cross join lateral (
        select coalesce(string_agg(concat_ws(' ', m.person_id, m.role), ' ' order by m.person_id), '') as all_of_them
          from memberships m
         where m.account_id = a.id
      ) member
     where a.id = any (p_account_ids);
end
$$;

alter function account_versions owner to shopwire_functions;
