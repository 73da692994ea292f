-- Writes an event and, when the account has an endpoint, its delivery and the job that sends it, in the transaction that makes the
-- event true. The endpoint cannot end until the commit: a change of URL waits for it, and then cancels this delivery too. Workers that
-- record attempts do not wait, and are not waited for.
create or replace function record_event(
  p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamptz
)
returns void
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_endpoint_id text;
begin
  insert into events (account_id, id, type, order_id, revision, created_at)
  values (p_account_id, p_event_id, p_type, p_order_id, p_revision, p_created_at);
  select e.id
    into v_endpoint_id
    from webhook_endpoints e
   where e.account_id = p_account_id
     and e.ended_at is null
     for key share;
  if found then
    insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
    -- Due by the clocks of the processes, like every later attempt, because workers compare it with their own clock.
    values (p_account_id, v_endpoint_id, p_event_id, p_created_at, p_created_at);
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    values (p_account_id, 'deliver', v_endpoint_id, clock_timestamp(), p_created_at)
        on conflict (queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true,
           -- The job may be in the backlog because of a change of the catalogue; a single event takes it out.
           is_backlog = false;
  end if;
end
$$;
