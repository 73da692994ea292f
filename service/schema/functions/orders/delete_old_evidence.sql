-- Deletes evidence older than p_before, one chunk of each table per call, and returns the number of rows. The last 30 days are
-- always kept. One worker at a time does the work.
create or replace function delete_old_evidence(p_before timestamptz, p_chunk integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_before timestamptz := least(p_before, clock_timestamp() - interval '30 days');
  v_attempts integer;
  v_reads integer;
  v_answers integer;
  v_to timestamptz;
  v_reads_to timestamptz;
begin
  perform from evidence_retention for update skip locked;
  if not found then
    return 0;
  end if;
  with deleted as (
    delete from order_attempts a
     using (select o.account_id, o.idempotency_key, o.request_id
              from order_attempts o
             where o.at < v_before
             order by o.at
             limit p_chunk) old
     where a.account_id = old.account_id
       and a.idempotency_key = old.idempotency_key
       and a.request_id = old.request_id
    returning a.at
  )
  select count(*), max(d.at) into v_attempts, v_to from deleted d;
  with deleted as (
    delete from link_reads r
     using (select o.order_id, o.request_id
              from link_reads o
             where o.at < v_before
             order by o.at
             limit p_chunk) old
     where r.order_id = old.order_id
       and r.request_id = old.request_id
    returning r.at
  )
  select count(*), max(d.at) into v_reads, v_reads_to from deleted d;
  -- Their ids begin with the time, so the first ones are the oldest.
  delete from order_answers a
   using (select o.order_id, o.account_id from order_answers o order by o.order_id limit p_chunk) oldest,
         orders
   where a.order_id = oldest.order_id
     and orders.account_id = oldest.account_id
     and orders.id = oldest.order_id
     and orders.created_at < v_before;
  get diagnostics v_answers = row_count;
  -- No further than what was deleted: a wrong time must not turn it into a year.
  update evidence_retention
     set kept_since = greatest(kept_since, greatest(v_to, v_reads_to) + interval '1 microsecond');
  return v_attempts + v_reads + v_answers;
end
$$;

alter function delete_old_evidence owner to shopwire_maintenance;
