-- Admits requests of different accounts, or says why not, in one round trip: access version, nonce and both rate limits. Verdicts:
--   admitted   admitted and counted
--   changed    the account or a key changed since the caller's key was read: read it again
--   warming    the nonces were lost a moment ago; nothing can be admitted this second
--   forgotten  signed before the second since which no nonce is missing
--   replayed   the nonce was used
--   limited    a window is full, or the request was signed no later than a refused one whose nonce was not stored; wait_ms says
--              after how long a newly signed one passes (the nonce is used up all the same)
--   busy       somebody else holds the windows of the account, or it has none yet: nothing is done. Only without p_may_wait, so that
--              no account waits for another; such a request is then admitted by itself, with p_may_wait, which is for one request
create or replace function admit_many(
  p_may_wait boolean, p_account_ids text[], p_key_ids text[], p_nonces text[], p_signed_ats bigint[], p_access_versions bigint[],
  p_are_orders boolean[], p_requests_max integer, p_orders_max integer,
  out verdicts text[], out requests_used integer[], out requests_oldest_ms integer[],
  out orders_used integer[], out orders_oldest_ms integer[], out wait_ms integer[]
)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
-- As place_orders.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  c_window_ms constant bigint := 60000;
  c_usable_s constant bigint := 120;
  memory record;
  now_s bigint;
  now_ms bigint;
  v_is_recent_loss boolean;
  v_held text[];
  v_newest bigint;
  v_witnessed text[] := '{}';
  v_refused_to bigint;
begin
  select m.lost_at, m.purged_to into memory from admission_memory_check() m;
  now_s := floor(extract(epoch from clock_timestamp()));
  v_is_recent_loss := now_s <= memory.lost_at + c_usable_s;

  if cardinality(p_account_ids) = 1 and p_may_wait then
    select array[w.account_id], w.requests[cardinality(w.requests)] into v_held, v_newest
      from admission_windows w where w.account_id = p_account_ids[1] for update;
    if not found then
      insert into admission_windows (account_id)
      select id from accounts where id = p_account_ids[1]
          on conflict do nothing;
      select array[w.account_id], w.requests[cardinality(w.requests)] into v_held, v_newest
        from admission_windows w where w.account_id = p_account_ids[1] for update;
    end if;
  -- Two requests of one account would both be checked against the same windows, and one of them would not be counted.
  elsif p_may_wait or cardinality(p_account_ids) <> (select count(distinct a) from unnest(p_account_ids) a) then
    raise 'the arguments of admit_many do not fit together' using errcode = 'invalid_parameter_value';
  else
    select array_agg(w.account_id), max(w.requests[cardinality(w.requests)]) into v_held, v_newest
      from (select account_id, requests from admission_windows where account_id = any (p_account_ids) for update skip locked) w;
  end if;

  -- Read after the locks are held: a request that waited must not be counted at the time it arrived. Admissions are recorded one
  -- millisecond late and compared with the time rounded down, so no window of 60 s ever holds one too many.
  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);

  if v_newest > now_ms + 1 then
    -- A clock that stepped back leaves times in the future; they count as now.
    update admission_windows
       set requests = array(select least(t, now_ms) from unnest(requests) t),
           orders = array(select least(t, now_ms) from unnest(orders) t)
     where account_id = any (v_held)
       and requests[cardinality(requests)] > now_ms + 1;
  end if;
  if v_is_recent_loss then
    -- Refusals from before the nonces were lost.
    update admission_windows w
       set requests_refused_to = greatest(w.requests_refused_to, r.requests_refused_to),
           orders_refused_to = greatest(w.orders_refused_to, r.orders_refused_to)
      from (
        select account_id, max(refused_to) filter (where not is_order) as requests_refused_to,
               max(refused_to) filter (where is_order) as orders_refused_to
          from witnessed_refusals
         where account_id = any (v_held)
         group by account_id
      ) r
     where w.account_id = r.account_id;
  end if;
  -- Nonces that must survive a crash: those signed ahead of our clock, or admitted soon after a loss.
  if v_is_recent_loss or now_s + 1 < any (p_signed_ats) then
    select coalesce(array_agg(n.account_id), '{}') into v_witnessed
      from unnest(p_account_ids, p_key_ids, p_nonces, p_signed_ats) as a (account_id, key_id, nonce, signed_at)
      join witnessed_nonces n on n.account_id = a.account_id and n.key_id = a.key_id and n.nonce = a.nonce
     where v_is_recent_loss or a.signed_at > now_s + 1;
  end if;

  with judged as materialized (
    select a.place, p_account_ids[a.place] as account_id, p_are_orders[a.place] as is_order, window_now.requests, window_now.orders, full_for.wait_ms,
           w.refused_since <= now_ms - c_window_ms or w.refused_since > now_ms as is_first_refusal,
           -- Null when only the nonce and the windows are left to decide.
           case
             when account.id is null then 'changed'
             when now_s <= memory.lost_at then 'warming'
             when p_signed_ats[a.place] <= greatest(memory.lost_at, memory.purged_to) then 'forgotten'
             when w.account_id is null then 'busy'
             when p_account_ids[a.place] = any (v_witnessed) then 'replayed'
             -- As many refused requests as may be admitted have their nonce stored; for all others only the latest time is stored.
             when p_signed_ats[a.place] <= case when p_are_orders[a.place] then w.orders_refused_to else w.requests_refused_to end
               or full_for.wait_ms > 0 and w.refused_count >= p_requests_max
                  and not (w.refused_since <= now_ms - c_window_ms or w.refused_since > now_ms) then 'over'
           end as verdict
      from generate_series(1, cardinality(p_account_ids)) as a (place)
      left join lateral (
        select accounts.id
          from accounts
         where accounts.id = p_account_ids[a.place]
           and accounts.access_version = p_access_versions[a.place]
         limit 1
      ) account on true
      left join lateral (
        select admission_windows.account_id, admission_windows.requests, admission_windows.orders,
               admission_windows.refused_since, admission_windows.refused_count, admission_windows.requests_refused_to,
               admission_windows.orders_refused_to
          from admission_windows
         where admission_windows.account_id = p_account_ids[a.place]
           and p_account_ids[a.place] = any (v_held)
         limit 1
      ) w on true
      -- Times that have left the window are at the front, because they are sorted.
     cross join lateral (
       select w.requests[width_bucket(now_ms - c_window_ms, w.requests) + 1:] as requests,
              w.orders[width_bucket(now_ms - c_window_ms, w.orders) + 1:] as orders
       -- Otherwise it would be computed again wherever it is used.
       offset 0
     ) window_now
     cross join lateral (
       select greatest(
                case when cardinality(window_now.requests) >= p_requests_max
                     then window_now.requests[cardinality(window_now.requests) - p_requests_max + 1] + c_window_ms - now_ms else 0 end,
                case when p_are_orders[a.place] and cardinality(window_now.orders) >= p_orders_max
                     then window_now.orders[cardinality(window_now.orders) - p_orders_max + 1] + c_window_ms - now_ms else 0 end)
                as wait_ms
       offset 0
     ) full_for
     order by a.place
  ), spent as (
    insert into spent_nonces (account_id, key_id, nonce, signed_at)
    select account_id, p_key_ids[place], p_nonces[place], p_signed_ats[place]
      from judged
     where verdict is null
        on conflict do nothing
    returning account_id
  ), decided as materialized (
    select d.account_id, d.verdict, d.wait_ms, d.is_first_refusal,
           case when d.verdict = 'admitted' then d.requests || now_ms + 1 else d.requests end as requests,
           case when d.verdict = 'admitted' and d.is_order then d.orders || now_ms + 1 else d.orders end as orders
      from (
        select j.place, j.account_id, j.is_order, j.requests, j.orders, j.wait_ms, j.is_first_refusal,
               case
                 when j.verdict is not null then j.verdict
                 when s.account_id is null then 'replayed'
                 when j.wait_ms > 0 then 'limited'
                 else 'admitted'
               end as verdict
          from judged j
          left join spent s on s.account_id = j.account_id
      ) d
     order by d.place
  ), kept as (
    update admission_windows w
       set requests = case when d.verdict = 'admitted' then d.requests else w.requests end,
           orders = case when d.verdict = 'admitted' then d.orders else w.orders end,
           refused_since = case when d.verdict = 'limited' and d.is_first_refusal then now_ms else w.refused_since end,
           refused_count = case when d.verdict = 'admitted' then w.refused_count
                                when d.is_first_refusal then 1
                                else w.refused_count + 1 end
      from decided d
     where w.account_id = d.account_id
       and d.verdict in ('admitted', 'limited')
  )
  select array_agg(d.verdict),
         array_agg(cardinality(d.requests)), array_agg(coalesce(d.requests[1] + c_window_ms - now_ms, 0)::integer),
         array_agg(cardinality(d.orders)), array_agg(coalesce(d.orders[1] + c_window_ms - now_ms, 0)::integer),
         array_agg(d.wait_ms::integer)
    into verdicts, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
    from decided d;

  if v_is_recent_loss or now_s + 1 < any (p_signed_ats) then
    insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
    select a.account_id, a.key_id, a.nonce, a.signed_at
      from unnest(p_account_ids, p_key_ids, p_nonces, p_signed_ats, verdicts) as a (account_id, key_id, nonce, signed_at, verdict)
     where a.verdict in ('admitted', 'limited')
       and (v_is_recent_loss or a.signed_at > now_s + 1);
  end if;

  for v_place in 1 .. cardinality(verdicts) loop
    continue when verdicts[v_place] <> 'over';
    perform from spent_nonces n
      where n.account_id = p_account_ids[v_place] and n.key_id = p_key_ids[v_place] and n.nonce = p_nonces[v_place];
    if found then
      verdicts[v_place] := 'replayed';
      continue;
    end if;
    verdicts[v_place] := 'limited';
    update admission_windows w
       set requests_refused_to = case when p_are_orders[v_place] then w.requests_refused_to else p_signed_ats[v_place] end,
           orders_refused_to = case when p_are_orders[v_place] then p_signed_ats[v_place] else w.orders_refused_to end
     where w.account_id = p_account_ids[v_place]
       and case when p_are_orders[v_place] then w.orders_refused_to else w.requests_refused_to end < p_signed_ats[v_place];
    if found and (v_is_recent_loss or p_signed_ats[v_place] > now_s + 1) then
      perform witness_refusal(p_account_ids[v_place], p_are_orders[v_place], p_signed_ats[v_place]);
    end if;
    select case when p_are_orders[v_place] then w.orders_refused_to else w.requests_refused_to end into v_refused_to
      from admission_windows w where w.account_id = p_account_ids[v_place];
    -- By the clock that signed this one: a second after the latest refused one.
    wait_ms[v_place] := greatest(wait_ms[v_place], (v_refused_to - p_signed_ats[v_place] + 1) * 1000);
  end loop;
end
$$;
