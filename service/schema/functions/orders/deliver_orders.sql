-- The second half of delivering paid orders, after take_for_orders and in the same transaction: stores the links, makes the orders
-- delivered, writes their events as record_event does, and ends their jobs. All or nothing: for anything unexpected the call fails.
-- p_places says for each link which order it is of, counted from 1. p_is_journalled: the links are in the journal of sold links
-- (refuse_unless_journalled.sql). Without p_may_wait it fails where another transaction changes the endpoint of one of the accounts.
create or replace function deliver_orders(
  p_may_wait boolean, p_is_journalled boolean, p_account_ids text[], p_order_ids text[], p_event_ids text[], p_attempts integer[],
  p_at timestamptz, p_places integer[], p_lines smallint[], p_units smallint[], p_links_sealed bytea[], p_link_kek_ids text[],
  p_link_hashes bytea[]
)
returns void
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
-- As in place_orders.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_done integer;
  v_live_accounts text[];
  v_live_ids text[];
begin
  if p_is_journalled then
    perform set_config('shopwire.journalled', array_to_string(p_order_ids, ','), true);
  end if;

  insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
  select p_account_ids[l.place], p_order_ids[l.place], l.line, l.unit, l.link_sealed, l.link_kek_id, l.link_hash, 'pool', p_at
    from unnest(p_places, p_lines, p_units, p_links_sealed, p_link_kek_ids, p_link_hashes)
           as l (place, line, unit, link_sealed, link_kek_id, link_hash);

  update orders o
     set status = 'delivered',
         delivered_at = greatest(p_at, o.created_at)
    from unnest(p_account_ids, p_order_ids) as w (account_id, order_id)
   where o.account_id = w.account_id
     and o.id = w.order_id
     and o.status = 'paid';
  get diagnostics v_done = row_count;
  if v_done <> cardinality(p_order_ids) then
    raise exception '% of % orders were paid when they were delivered', v_done, cardinality(p_order_ids)
      using errcode = 'object_not_in_prerequisite_state';
  end if;

  -- Held until the commit, as in record_event, in the order that all transactions use.
  if p_may_wait then
    perform
       from webhook_endpoints e
      where e.account_id = any(p_account_ids)
        and e.ended_at is null
      order by e.account_id, e.id
        for key share;
  end if;
  with held as materialized (
    select e.account_id, e.id
      from webhook_endpoints e
     where e.account_id = any(p_account_ids)
       and e.ended_at is null
     order by e.account_id, e.id
       for key share skip locked
  )
  select array_agg(h.account_id order by h.account_id), array_agg(h.id order by h.account_id)
    into v_live_accounts, v_live_ids
    from held h;
  if (select count(*) from webhook_endpoints e where e.account_id = any(p_account_ids) and e.ended_at is null)
       <> coalesce(cardinality(v_live_ids), 0) then
    raise exception 'the endpoint of an account is being changed' using errcode = 'lock_not_available';
  end if;

  insert into events (account_id, id, type, order_id, created_at)
  select w.account_id, w.event_id, 'order.delivered', w.order_id, p_at
    from unnest(p_account_ids, p_event_ids, p_order_ids) as w (account_id, event_id, order_id);
  insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
  select l.account_id, l.id, w.event_id, p_at, p_at
    from unnest(p_account_ids, p_event_ids) as w (account_id, event_id)
    join unnest(v_live_accounts, v_live_ids) as l (account_id, id) on l.account_id = w.account_id;

  -- A job in its first run has not waited for anything. Oldest first, and before jobs, as everywhere.
  if 1 < any (p_attempts) then
    with held as materialized (
      select l.order_id, l.line
        from waiting_lines l
        join unnest(p_account_ids, p_order_ids) as w (account_id, order_id) on l.order_id = w.order_id and l.account_id = w.account_id
       order by l.order_id, l.account_id, l.line
         for update of l
    )
    delete from waiting_lines l
     using held h
     where l.order_id = h.order_id
       and l.line = h.line;
  end if;

  -- Jobs last, those that deliver before those that fulfil.
  insert into jobs as j (account_id, queue, subject, run_at, created_at)
  select l.account_id, 'deliver', l.id, clock_timestamp(), p_at
    from unnest(v_live_accounts, v_live_ids) as l (account_id, id)
   order by l.account_id, l.id
      on conflict (queue, subject) do update
     set run_at = least(j.run_at, excluded.run_at),
         is_woken = true,
         is_backlog = false;
  with held as materialized (
    select j.subject
      from jobs j
      join unnest(p_account_ids, p_order_ids, p_attempts) as w (account_id, order_id, attempts)
        on j.subject = w.order_id and j.account_id = w.account_id and j.attempts = w.attempts
     where j.queue = 'fulfil'
     order by j.account_id, j.subject
       for update of j
  )
  delete from jobs j
   using held h
   where j.queue = 'fulfil'
     and j.subject = h.subject;
  get diagnostics v_done = row_count;
  if v_done <> cardinality(p_order_ids) then
    raise exception '% of % jobs were still held by this worker', v_done, cardinality(p_order_ids)
      using errcode = 'object_not_in_prerequisite_state';
  end if;

  perform count_unassigned(array_agg(l.item_id), array_agg(-l.qty::integer))
     from unnest(p_account_ids, p_order_ids) as w (account_id, order_id)
     join order_lines l on l.order_id = w.order_id and l.account_id = w.account_id;
end
$$;
