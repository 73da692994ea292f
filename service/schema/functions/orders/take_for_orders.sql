-- The first half of delivering paid orders: takes links from pools for several of them in one transaction. deliver_orders, in the same
-- transaction, gives them to the orders once the program has sealed them for their new rows. Only the plain case is done here: a paid order
-- without links whose items all come out of well-filled pools. Nothing of any other order is touched. Verdicts:
--   taken   one row for each unit, with its link
--   busy    the supply of one of its items is locked by another transaction; only without p_may_wait
--   alone   src/orders/fulfilment/fulfil.ts does it: the order has ended or is locked, has links or requests to suppliers, or an item that
--           does not simply come out of a pool: one that runs low or empty, say, which has to be reported
--   lost    another worker has the job now
-- Locks orders, then item_supply, each in the order of their keys; the links of an item are protected by its supply row.
create or replace function take_for_orders(p_may_wait boolean, p_account_ids text[], p_order_ids text[], p_attempts integer[])
returns table (
  place integer, verdict text, created_at timestamptz, line smallint, unit smallint, item_id text, id text, link_sealed bytea,
  link_kek_id text
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
-- As in place_orders.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_statuses text[];
  v_created_ats timestamptz[];
  v_verdicts text[];
  v_places integer[];
  v_lines smallint[];
  v_items text[];
  v_qtys integer[];
  v_held_ids text[];
  v_held_froms text[];
  v_held_is_plain boolean[];
  v_wanted bigint;
  v_taken bigint;
begin
  select array_agg(o.status order by w.place), array_agg(o.created_at order by w.place)
    into v_statuses, v_created_ats
    from unnest(p_account_ids, p_order_ids) with ordinality as w (account_id, order_id, place)
    left join lateral (
      select orders.status, orders.created_at
        from orders
       where orders.account_id = w.account_id
         and orders.id = w.order_id
         for update skip locked
    ) o on true;

  -- Separate statements below the locks: they see what was committed before. A worker that had the job earlier has finished or done nothing.
  select array_agg(
           case
             when w.status is null then 'alone'
             when job.attempts is null then 'alone'
             when job.attempts <> w.attempts then 'lost'
             when w.status <> 'paid' then 'alone'
             when exists (select from order_links k where k.account_id = w.account_id and k.order_id = w.order_id) then 'alone'
             when exists (select from supplier_requests r where r.account_id = w.account_id and r.order_id = w.order_id) then 'alone'
             else 'taken'
           end order by w.place)
    into v_verdicts
    from unnest(p_account_ids, p_order_ids, p_attempts, v_statuses)
           with ordinality as w (account_id, order_id, attempts, status, place)
    left join lateral (
      select jobs.attempts
        from jobs
       where jobs.queue = 'fulfil'
         and jobs.subject = w.order_id
         and jobs.account_id = w.account_id
       limit 1
    ) job on true;

  select array_agg(w.place order by w.place, l.line), array_agg(l.line order by w.place, l.line),
         array_agg(l.item_id order by w.place, l.line), array_agg(l.qty order by w.place, l.line)
    into v_places, v_lines, v_items, v_qtys
    from unnest(p_account_ids, p_order_ids, v_verdicts) with ordinality as w (account_id, order_id, verdict, place)
    join order_lines l on l.account_id = w.account_id and l.order_id = w.order_id
   where w.verdict = 'taken';

  if p_may_wait then
    perform
       from item_supply s
      where s.item_id = any(v_items)
      order by s.item_id
        for no key update;
  end if;
  -- All items at once, by id; read after the wait.
  with held as materialized (
    select s.item_id, s.source, s.pool_left, s.pool_from, s.warn_below
      from item_supply s
     where s.item_id = any(v_items)
     order by s.item_id
       for no key update skip locked
  )
  select array_agg(h.item_id), array_agg(h.pool_from),
         array_agg(h.source <> 'hand'
                   and h.pool_left > n.wanted
                   and not (h.pool_left >= h.warn_below and h.pool_left - n.wanted < h.warn_below))
    into v_held_ids, v_held_froms, v_held_is_plain
    from held h
    join (select u.item_id, sum(u.qty) as wanted
            from unnest(v_items, v_qtys) as u (item_id, qty)
           group by u.item_id) n on n.item_id = h.item_id;

  -- An order is taken whole or not at all.
  select array_agg(coalesce(unfit.verdict, w.verdict) order by w.place)
    into v_verdicts
    from unnest(v_verdicts) with ordinality as w (verdict, place)
    left join (
      select l.place,
             case
               when bool_or(s.item_id is null and exists (select from item_supply i where i.item_id = l.item_id)) then 'busy'
               else 'alone'
             end as verdict
        from unnest(v_places, v_items) as l (place, item_id)
        left join unnest(v_held_ids, v_held_is_plain) as s (item_id, is_plain) on s.item_id = l.item_id
       where s.is_plain is not true
       group by l.place
    ) unfit on unfit.place = w.place;

  select coalesce(sum(l.qty), 0)
    into v_wanted
    from unnest(v_places, v_qtys) as l (place, qty)
   where v_verdicts[l.place] = 'taken';

  return query
    with units as materialized (
      select l.place, l.line, u.unit, l.item_id,
             row_number() over (partition by l.item_id order by l.place, l.line, u.unit) as turn
        from unnest(v_places, v_lines, v_items, v_qtys) as l (place, line, item_id, qty)
       cross join lateral generate_series(1, l.qty) as u (unit)
       where v_verdicts[l.place] = 'taken'
    ), wanted as materialized (
      select s.item_id, s.pool_from, n.links
        from unnest(v_held_ids, v_held_froms) as s (item_id, pool_from)
        join (select units.item_id, count(*) as links from units group by units.item_id) n on n.item_id = s.item_id
    ), oldest as materialized (
      select l.item_id, l.id, row_number() over (partition by l.item_id order by l.id) as turn
        from wanted w
       cross join lateral (
         select p.item_id, p.id
           from pool_links p
          where p.item_id = w.item_id
            and p.id > w.pool_from
            and p.set_aside_at is null
          order by p.item_id, p.id
          limit w.links
            for update
       ) l
    ), taken as (
      delete from pool_links p
       using oldest o
       where p.item_id = o.item_id
         and p.id = o.id
      returning p.item_id, p.id, p.link_sealed, p.link_kek_id, o.turn
    ), reduced as (
      update item_supply s
         set pool_left = s.pool_left - t.links,
             pool_from = t.last_id
        from (select taken.item_id, count(*)::integer as links, max(taken.id) as last_id from taken group by taken.item_id) t
       where s.item_id = t.item_id
    )
    select u.place, 'taken', v_created_ats[u.place], u.line, u.unit::smallint, u.item_id, t.id, t.link_sealed, t.link_kek_id
      from units u
      join taken t on t.item_id = u.item_id and t.turn = u.turn;
  get diagnostics v_taken = row_count;
  if v_taken <> v_wanted then
    raise exception 'the pools have % of % links where they were expected', v_taken, v_wanted
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return query
    select w.place::integer, w.verdict, null::timestamptz, null::smallint, null::smallint, null::text, null::text, null::bytea, null::text
      from unnest(v_verdicts) with ordinality as w (verdict, place)
     where w.verdict <> 'taken';
end
$$;
