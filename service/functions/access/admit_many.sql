-- admit() for requests of different accounts in one round trip, by the same rules (service/test/access/batches.test.ts compares the
-- two). It decides what is usual and waits for nobody. A verdict of null means that nothing was done and admit() has to decide: the
-- window of the account is new or held by somebody else, the nonce has to be recorded durably, the clock stepped back, or the account
-- keeps sending while it is refused.
create or replace function admit_many(
  p_account_ids text[], p_key_ids text[], p_nonces text[], p_signed_ats bigint[], p_access_versions bigint[],
  p_are_orders boolean[], p_requests_max integer, p_orders_max integer,
  out verdicts text[], out requests_used integer[], out requests_oldest_ms integer[],
  out orders_used integer[], out orders_oldest_ms integer[], out wait_ms integer[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  c_window_ms constant bigint := 60000;
  c_usable_s constant bigint := 120;
  memory record;
  now_s bigint;
  now_ms bigint;
  v_held text[];
begin
  select m.lost_at, m.purged_to into memory from admission_memory_check() m;
  now_s := floor(extract(epoch from clock_timestamp()));
  if now_s <= memory.lost_at + c_usable_s then
    verdicts := array_fill(null::text, array[cardinality(p_account_ids)]);
    return;
  end if;

  select array_agg(w.account_id)
    into v_held
    from (
      select admission_windows.account_id
        from admission_windows
       where admission_windows.account_id = any (p_account_ids)
         for update skip locked
    ) w;
  -- After the locks, as in admit().
  now_ms := floor(extract(epoch from clock_timestamp()) * 1000);

  with asked as materialized (
    select a.place, a.account_id, a.key_id, a.nonce, a.signed_at, a.is_order,
           account.id is not null as is_current,
           a.signed_at <= greatest(memory.lost_at, memory.purged_to) as is_forgotten,
           w.account_id is not null
             and a.signed_at <= now_s + 1
             and a.signed_at > case when a.is_order then w.orders_refused_to else w.requests_refused_to end
             and (w.requests[cardinality(w.requests)] > now_ms + 1) is not true as is_usual,
           -- Times that have left the window are at the front: they are in order.
           w.requests[width_bucket(now_ms - c_window_ms, w.requests) + 1:] as requests,
           w.orders[width_bucket(now_ms - c_window_ms, w.orders) + 1:] as orders,
           w.refused_since <= now_ms - c_window_ms or w.refused_since > now_ms as is_first_refusal,
           w.refused_since, w.refused_count
      from unnest(p_account_ids, p_key_ids, p_nonces, p_signed_ats, p_access_versions, p_are_orders)
             with ordinality as a (account_id, key_id, nonce, signed_at, access_version, is_order, place)
      left join lateral (
        select accounts.id
          from accounts
         where accounts.id = a.account_id
           and accounts.access_version = a.access_version
         limit 1
      ) account on true
      left join lateral (
        select admission_windows.account_id, admission_windows.requests, admission_windows.orders,
               admission_windows.refused_since, admission_windows.refused_count, admission_windows.requests_refused_to,
               admission_windows.orders_refused_to
          from admission_windows
         where admission_windows.account_id = a.account_id
           and a.account_id = any (v_held)
         limit 1
      ) w on true
  ), judged as materialized (
    select a.place, a.account_id, a.key_id, a.nonce, a.signed_at, a.is_order, a.is_current, a.is_forgotten,
           a.requests, a.orders, a.refused_since, a.refused_count, a.is_first_refusal, w.wait_ms,
           a.is_current and not a.is_forgotten and a.is_usual
             and (w.wait_ms <= 0 or a.is_first_refusal or a.refused_count < p_requests_max) as is_decided
      from asked a
     cross join lateral (
       select greatest(
                case when cardinality(a.requests) >= p_requests_max
                     then a.requests[cardinality(a.requests) - p_requests_max + 1] + c_window_ms - now_ms else 0 end,
                case when a.is_order and cardinality(a.orders) >= p_orders_max
                     then a.orders[cardinality(a.orders) - p_orders_max + 1] + c_window_ms - now_ms else 0 end) as wait_ms
     ) w
  ), spent as (
    insert into spent_nonces (account_id, key_id, nonce, signed_at)
    select account_id, key_id, nonce, signed_at
      from judged
     where is_decided
        on conflict do nothing
    returning account_id
  ), decided as materialized (
    select j.place, j.account_id, j.is_order, j.requests, j.orders, j.wait_ms, j.is_first_refusal, j.refused_since, j.refused_count,
           case
             when not j.is_current then 'changed'
             when j.is_forgotten then 'forgotten'
             when not j.is_decided then null
             when s.account_id is null then 'replayed'
             when j.wait_ms > 0 then 'limited'
             else 'admitted'
           end as verdict
      from judged j
      left join spent s on s.account_id = j.account_id
  ), counted as materialized (
    select d.place, d.account_id, d.verdict, d.wait_ms, d.is_first_refusal, d.refused_since, d.refused_count,
           case when d.verdict = 'admitted' then d.requests || now_ms + 1 else d.requests end as requests,
           case when d.verdict = 'admitted' and d.is_order then d.orders || now_ms + 1 else d.orders end as orders
      from decided d
  ), kept as (
    update admission_windows w
       set requests = case when c.verdict = 'admitted' then c.requests else w.requests end,
           orders = case when c.verdict = 'admitted' then c.orders else w.orders end,
           refused_since = case when c.verdict = 'limited' and c.is_first_refusal then now_ms else w.refused_since end,
           refused_count = case when c.verdict <> 'limited' then w.refused_count
                                when c.is_first_refusal then 1
                                else w.refused_count + 1 end
      from counted c
     where w.account_id = c.account_id
       and c.verdict in ('admitted', 'limited')
  )
  select array_agg(c.verdict order by c.place),
         array_agg(cardinality(c.requests) order by c.place),
         array_agg(coalesce(c.requests[1] + c_window_ms - now_ms, 0)::integer order by c.place),
         array_agg(cardinality(c.orders) order by c.place),
         array_agg(coalesce(c.orders[1] + c_window_ms - now_ms, 0)::integer order by c.place),
         array_agg(c.wait_ms::integer order by c.place)
    into verdicts, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
    from counted c;
end
$$;

revoke execute on function admit_many from public;
grant execute on function admit_many to shopwire_app, shopwire_api_rights;
