-- The schema after all migrations, for reading. Made by "npm run generate"; do not edit.

CREATE SCHEMA shopwire;

CREATE FUNCTION shopwire.account_versions(p_account_ids text[]) RETURNS TABLE(account_id text, orders bigint, balance bigint, deliveries bigint, webhook bigint, keys bigint, team bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
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

CREATE FUNCTION shopwire.accounts_of_person(p_person_id text) RETURNS TABLE(id text, name text, role text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select a.id, a.name, m.role
    from shopwire.memberships m
    join shopwire.accounts a on a.id = m.account_id
   where m.person_id = p_person_id
   order by a.id
$$;

CREATE FUNCTION shopwire.adjust_account(p_account_id text, p_change_cents bigint, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if p_reference is null or p_note is null then
    raise exception 'a correction of a balance needs a reference and a reason' using errcode = 'check_violation';
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'adjustment', p_change_cents, null, p_reference, p_note, p_created_at) m;
end
$$;

CREATE FUNCTION shopwire.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  select m.lost_at, m.purged_to, false into lost_at, purged_to, was_lost
    from admission_memory m
   where m.server_started_at = pg_postmaster_start_time();
  if found then
    return;
  end if;
  -- One second more than now: a nonce signed up to a second ahead of our clock is not in witnessed_nonces.
  insert into admission_memory as m (server_started_at, lost_at, purged_to)
  values (pg_postmaster_start_time(), floor(extract(epoch from clock_timestamp()))::bigint + 1, 0)
      on conflict (only_row) do update
     set server_started_at = excluded.server_started_at, lost_at = excluded.lost_at
   where m.server_started_at <> excluded.server_started_at;
  select m.lost_at, m.purged_to, true into lost_at, purged_to, was_lost from admission_memory m;
end
$$;

CREATE FUNCTION shopwire.admit_many(p_may_wait boolean, p_account_ids text[], p_key_ids text[], p_nonces text[], p_signed_ats bigint[], p_access_versions bigint[], p_are_orders boolean[], p_requests_max integer, p_orders_max integer, OUT verdicts text[], OUT requests_used integer[], OUT requests_oldest_ms integer[], OUT orders_used integer[], OUT orders_oldest_ms integer[], OUT wait_ms integer[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION shopwire.advance_supplier_request() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if tg_op = 'INSERT' then
    if new.stage <> 'requested' then
      raise exception 'a request to a supplier begins as "requested", not as "%"', new.stage
        using errcode = 'check_violation';
    end if;
    new.ended_at := null;
    return new;
  end if;
  if new.stage <> old.stage and (old.stage, new.stage) not in (
    ('requested', 'accepted'), ('requested', 'unknown'), ('requested', 'fulfilled'), ('requested', 'collected'),
    ('requested', 'refused'), ('requested', 'unsent'), ('requested', 'written_off'),
    ('accepted', 'fulfilled'), ('accepted', 'collected'), ('accepted', 'refused'), ('accepted', 'written_off'),
    ('unknown', 'accepted'), ('unknown', 'fulfilled'), ('unknown', 'collected'), ('unknown', 'refused'),
    ('unknown', 'written_off'),
    ('unsent', 'requested'),
    ('written_off', 'collected'), ('written_off', 'refused')
  ) then
    raise exception 'a request to a supplier that is "%" cannot become "%"', old.stage, new.stage
      using errcode = 'check_violation';
  end if;
  -- A repeated request has to be the same request; what was booked stays as it was booked.
  if (old.stage <> 'unsent'
      and (new.sku, new.qty, new.unit_cost_cents) is distinct from (old.sku, old.qty, old.unit_cost_cents))
     or (old.stage in ('fulfilled', 'collected')
         and (new.links, new.said_cents, new.cost_cents) is distinct from (old.links, old.said_cents, old.cost_cents))
  then
    raise exception 'what a supplier was asked for and what was booked for it cannot be changed'
      using errcode = 'check_violation';
  end if;
  -- A request is open as long as it has no end.
  new.ended_at := case when new.stage in ('requested', 'accepted', 'unknown') then null else coalesce(new.ended_at, clock_timestamp()) end;
  if new.stage = 'written_off' and old.stage <> 'written_off' then
    new.written_off_at := new.ended_at;
  end if;
  return new;
end
$$;

CREATE FUNCTION shopwire.audit_details_kept(p_details jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select case jsonb_typeof(p_details)
           when 'object' then
             coalesce((select jsonb_object_agg(d.key, d.value)
                         from jsonb_each(p_details) d
                        where d.key in ('account_id', 'alsoBookedAs', 'amount_cents', 'change_cents', 'event_id', 'events', 'is_new', 'isNew', 'kind',
                                        'link', 'links', 'order_id', 'people', 'person_id', 'role', 'scopes', 'sessions_ended', 'transfer_id',
                                        'with_links')), '{}')
             || case when p_details -> 'after' ? 'link'
                     then jsonb_build_object('after', jsonb_build_object('link', p_details -> 'after' -> 'link'))
                     else '{}' end
           else '{}'
         end
$$;

CREATE FUNCTION shopwire.await_seal() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  insert into seal_waiting (audit_id) values (new.id);
  return null;
end
$$;

CREATE FUNCTION shopwire.book_supplier_cost() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  insert into supplier_transfers (supplier, kind, reference, amount_cents, booked_at)
  values (new.supplier, 'cost', new.order_id || '-' || new.line || case when new.round > 1 then '-' || new.round else '' end,
          new.cost_cents, new.ended_at);
  return null;
end
$$;

CREATE FUNCTION shopwire.book_top_up(p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_payment text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_amount bigint;
begin
  perform lock_balance(p_account_id);
  select t.seq, t.change_cents
    into seq, v_amount
    from transfers t
   where t.account_id = p_account_id
     and t.kind = 'funding'
     and t.reference = p_reference;
  if found then
    if v_amount <> p_amount_cents then
      raise exception 'the payment % was booked with % cents before, not %', p_reference, v_amount, p_amount_cents
        using errcode = 'check_violation';
    end if;
    verdict := 'booked_before';
  else
    select f.verdict, f.seq, f.balance_after_cents
      into verdict, seq, balance_after_cents
      from fund_account(p_account_id, p_amount_cents, p_reference, p_note, false, p_at) f;
    if verdict = 'used_elsewhere' then
      return;
    end if;
  end if;
  update top_ups t
     set state = 'credited',
         decided_at = p_at,
         provider_payment = coalesce(p_payment, t.provider_payment),
         credited_cents = p_amount_cents,
         credited_seq = seq,
         note = null,
         -- On an operator's word: the provider may still have a page that can be paid, or may have taken something back already.
         look_at = case when p_payment is null then now() end
   where t.account_id = p_account_id
     and t.id = p_top_up_id;
end
$$;

CREATE FUNCTION shopwire.book_transfer(p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  update balances b
     set balance_cents = b.balance_cents + p_change_cents,
         transfer_count = b.transfer_count + 1
   where b.account_id = p_account_id
     and b.balance_cents + p_change_cents >= 0
  returning b.transfer_count, b.balance_cents
       into seq, balance_after_cents;
  if not found then
    perform from balances b where b.account_id = p_account_id;
    if not found then
      raise 'account % has no balance', p_account_id using errcode = 'no_data_found';
    end if;
    return;
  end if;
  insert into transfers (account_id, seq, change_cents, balance_after_cents, created_at, kind, order_id, reference, note)
  values (p_account_id, seq, p_change_cents, balance_after_cents, p_created_at, p_kind, p_order_id, p_reference, p_note);
end
$$;

CREATE FUNCTION shopwire.collect_owed(p_account_id text, p_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_balance bigint := lock_balance(p_account_id);
  v_reversal record;
  v_collected bigint;
begin
  for v_reversal in
    select r.id, r.kind, r.owed_cents
      from top_up_reversals r
     where r.account_id = p_account_id
       and r.owed_cents > 0
     order by r.id
  loop
    exit when v_balance = 0;
    v_collected := least(v_reversal.owed_cents, v_balance);
    v_balance := v_balance - v_collected;
    perform book_transfer(p_account_id, 'adjustment', -v_collected, null, v_reversal.id || ':owed:' || v_reversal.owed_cents,
                          'Owed for a ' || v_reversal.kind || ' of a card payment, ' || v_reversal.id, p_at);
    update top_up_reversals r
       set taken_cents = r.taken_cents + v_collected,
           owed_cents = r.owed_cents - v_collected
     where r.account_id = p_account_id
       and r.id = v_reversal.id;
  end loop;
end
$$;

CREATE FUNCTION shopwire.commits_wait_for_standby() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply')
$$;

CREATE FUNCTION shopwire.confirm_top_up(p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  perform
     from top_ups t
    where t.account_id = p_account_id
      and t.id = p_top_up_id
      and t.state in ('pending', 'review', 'expired', 'failed')
      for update;
  if not found then
    raise exception 'account % has no open top-up %', p_account_id, p_top_up_id using errcode = 'check_violation';
  end if;
  select b.verdict, b.seq, b.balance_after_cents
    into verdict, seq, balance_after_cents
    from book_top_up(p_account_id, p_top_up_id, p_amount_cents, p_reference, p_note, null, p_at) b;
end
$$;

CREATE FUNCTION shopwire.count_unassigned(p_item_ids text[], p_units integer[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
  with changes as materialized (
    select c.item_id, sum(c.units)::integer as units
      from unnest(p_item_ids, p_units) as c (item_id, units)
     group by c.item_id
  ), places as materialized (
    select c.item_id, c.units, free.slot
      from changes c
      left join lateral (
        select u.slot
          from unassigned_units u
         where u.item_id = c.item_id
         order by u.slot
         limit 1
           for no key update skip locked
      ) free on true
  ), changed as (
    update unassigned_units u
       set units = u.units + p.units
      from places p
     where u.item_id = p.item_id
       and u.slot = p.slot
  )
  insert into unassigned_units (item_id, slot, units)
  select p.item_id, pg_current_xact_id()::text::bigint, p.units
    from places p
   where p.slot is null;
end
$$;

CREATE FUNCTION shopwire.credit_paid_top_up(p_account_id text, p_top_up_id text, p_payment text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_provider text;
  v_amount bigint;
begin
  select t.provider, t.amount_cents
    into v_provider, v_amount
    from top_ups t
   where t.account_id = p_account_id
     and t.id = p_top_up_id
     and t.provider <> 'bank'
     and t.state in ('pending', 'expired', 'failed')
     for update;
  if not found or p_payment is null then
    raise exception 'account % has no top-up % that waits for its provider', p_account_id, p_top_up_id
      using errcode = 'check_violation';
  end if;
  select b.verdict, b.seq, b.balance_after_cents
    into verdict, seq, balance_after_cents
    from book_top_up(p_account_id, p_top_up_id, v_amount, v_provider || ':' || p_payment, p_note, p_payment, p_at) b;
end
$$;

CREATE FUNCTION shopwire.database_copy() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_database text := current_setting('shopwire.database_oid', true);
begin
  if coalesce(v_database, '') = '' then
    -- A session never moves to another database, but its tables may be replaced.
    select d.oid::text into v_database from pg_database d where d.datname = current_database();
    perform set_config('shopwire.database_oid', v_database, false);
  end if;
  return v_database || '/' || pg_relation_filenode('database_identity')::text;
end
$$;

CREATE FUNCTION shopwire.database_is_confirmed() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_system text := current_setting('shopwire.system_identifier', true);
begin
  if coalesce(v_system, '') = '' then
    -- Reads a file. A session never moves to another server, so once per session is enough.
    select system_identifier::text into v_system from pg_control_system();
    perform set_config('shopwire.system_identifier', v_system, false);
  end if;
  return exists (
    select from database_identity i
     where i.system_identifier = v_system
       and i.timeline = present_timeline()
       and i.behind_since is null
       and case when i.journal_id is null then i.copy = database_copy() else i.compared_start = database_start() end
  );
end
$$;

CREATE FUNCTION shopwire.database_start() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  return extract(epoch from pg_postmaster_start_time())::text || '/' || database_copy();
end
$$;

CREATE FUNCTION shopwire.delete_old_evidence(p_before timestamp with time zone, p_chunk integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
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

CREATE FUNCTION shopwire.deliver_orders(p_may_wait boolean, p_is_journalled boolean, p_account_ids text[], p_order_ids text[], p_event_ids text[], p_attempts integer[], p_at timestamp with time zone, p_places integer[], p_lines smallint[], p_units smallint[], p_links_sealed bytea[], p_link_kek_ids text[], p_link_hashes bytea[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION shopwire.erase_account(p_account_id text, p_at timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  c_erased constant text := 'erased';
  v_people text[];
  v_emails text[];
  v_audit_ids text[];
begin
  perform from accounts where id = p_account_id and closed_at is not null;
  if not found then
    raise exception 'account % is not closed', p_account_id using errcode = 'check_violation';
  end if;
  select coalesce(array_agg(p.id order by p.id), '{}'), coalesce(array_agg(p.email), '{}')
    into v_people, v_emails
    from people p
   where p.kind = 'customer'
     and (p.id = any (select unnest(a.closed_people) from accounts a where a.id = p_account_id)
          or exists (select from audit_log l where l.account_id = p_account_id and l.actor = 'person:' || p.id))
     and not exists (select from memberships m where m.person_id = p.id)
     and not exists (select
                       from invitations i
                      where i.email = p.email
                        and i.account_id <> p_account_id
                        and i.accepted_at is null
                        and i.withdrawn_at is null
                        and i.expires_at > p_at);

  update top_ups
     set created_by_name = c_erased, note = case when note is not null then c_erased end
   where account_id = p_account_id;
  update api_keys
     set name = c_erased, created_by_name = case when created_by_name is not null then c_erased end
   where account_id = p_account_id;
  delete from personal_tokens where account_id = p_account_id;
  update balance_alerts
     set threshold_cents = null
   where account_id = p_account_id;
  delete from alert_addresses where account_id = p_account_id;
  update accounts
     set name = 'Erased account', closed_people = null, erased_at = coalesce(erased_at, p_at),
         erased_people = coalesce(erased_people, '{}') || v_people
   where id = p_account_id;
  update webhook_endpoints
     set url = 'https://erased.invalid/', set_by_name = case when set_by_name is not null then c_erased end
   where account_id = p_account_id;
  update key_last_uses set last_address = null where account_id = p_account_id;
  delete from jobs
   where queue = 'mail'
     and subject in (select m.id from outgoing_mail m where m.account_id = p_account_id or m.to_address = any (v_emails));
  delete from people where id = any (v_people);
  delete from invitations where account_id = p_account_id;
  delete from invitations where email = any (v_emails) and (accepted_at is not null or withdrawn_at is not null or expires_at <= p_at);
  update sessions set account_id = null where account_id = p_account_id;
  delete from outgoing_mail where account_id = p_account_id or to_address = any (v_emails);
  -- Reads all audit rows, which can take long, so it runs before sealing is blocked.
  v_audit_ids := array(select l.id
                         from audit_log l
                        where l.account_id = p_account_id
                           or l.target = p_account_id
                           or l.details ->> 'account_id' = p_account_id
                           or l.target = any (v_people)
                           or (l.account_id is null and l.actor = any (select 'person:' || p from unnest(v_people) p)));
  -- Rows are sealed before or after this, never at the same time: a row that is committed to with a salt here must lose it here.
  perform from seal_progress for update;
  update audit_log l
     set address = null,
         details = jsonb_build_object('erased', true) || audit_details_kept(l.details)
   where l.id = any (v_audit_ids);
  update seal_commitments c
     set salt = null
   where c.audit_id = any (v_audit_ids)
     and c.salt is not null;
  return cardinality(v_people);
end
$$;

CREATE FUNCTION shopwire.erase_account_rows(p_account_id text, p_after text, p_after_event text, p_chunk integer, OUT last_id text, OUT last_event_id text, OUT rows integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_ids text[];
  v_event_ids text[];
  v_count integer;
begin
  perform from accounts where id = p_account_id and closed_at is not null;
  if not found then
    raise exception 'account % is not closed', p_account_id using errcode = 'check_violation';
  end if;
  v_ids := array(select o.id
                   from orders o
                  where o.account_id = p_account_id
                    and o.id > p_after
                  order by o.id
                  limit p_chunk);
  last_id := coalesce(v_ids[cardinality(v_ids)], p_after);
  rows := cardinality(v_ids);
  update orders
     set client_address = null
   where account_id = p_account_id
     and id = any (v_ids)
     and client_address is not null;
  v_event_ids := array(select e.id
                         from events e
                        where e.account_id = p_account_id
                          and e.id > p_after_event
                        order by e.id
                        limit p_chunk);
  last_event_id := coalesce(v_event_ids[cardinality(v_event_ids)], p_after_event);
  rows := rows + cardinality(v_event_ids);
  update delivery_attempts
     set remote_address = null, answer_sealed = null, answer_kek_id = null
   where account_id = p_account_id
     and event_id = any (v_event_ids)
     and (remote_address is not null or answer_sealed is not null);
  update deliveries
     set first_address = null
   where account_id = p_account_id
     and event_id = any (v_event_ids)
     and first_address is not null;
  delete from order_attempts
   where ctid = any (array(select a.ctid from order_attempts a where a.account_id = p_account_id limit p_chunk));
  get diagnostics v_count = row_count;
  rows := rows + v_count;
  delete from link_reads
   where account_id = p_account_id
     and order_id = any (v_ids);
  delete from order_answers
   where account_id = p_account_id
     and order_id = any (v_ids);
  delete from key_usage
   where ctid = any (array(select u.ctid from key_usage u where u.account_id = p_account_id limit p_chunk));
  get diagnostics v_count = row_count;
  rows := rows + v_count;
end
$$;

CREATE FUNCTION shopwire.find_personal_tokens(p_hashes bytea[]) RETURNS TABLE(token_hash bytea, account_id text, id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select t.token_hash, t.account_id, t.id
    from shopwire.personal_tokens t
    join shopwire.memberships m on m.account_id = t.account_id and m.person_id = t.person_id
   where t.token_hash = any (p_hashes)
     and t.revoked_at is null
     and t.expires_at > clock_timestamp()
     and m.role in ('owner', 'developer')
$$;

CREATE FUNCTION shopwire.forget_old_refusals(p_account_id text, p_order_id text, p_line integer, p_kept integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_newest integer;
  v_deleted integer;
begin
  select max(r.round)
    into v_newest
    from supplier_requests r
   where r.account_id = p_account_id
     and r.order_id = p_order_id
     and r.line = p_line;
  delete from supplier_requests r
   where r.account_id = p_account_id
     and r.order_id = p_order_id
     and r.line = p_line
     and r.stage = 'refused'
     and r.written_off_at is null
     and r.round <= v_newest - greatest(p_kept, 20);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;

CREATE FUNCTION shopwire.fund_account(p_account_id text, p_amount_cents bigint, p_reference text, p_note text, p_is_another_payment boolean, p_created_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  perform lock_balance(p_account_id);
  -- Two transactions with the same reference meet here, and the second waits.
  insert into funding_references (reference, account_id)
  values (p_reference, p_account_id)
      on conflict (reference) do nothing;
  verdict := case when found then 'booked' when p_is_another_payment then 'booked_again' else 'used_elsewhere' end;
  if verdict = 'used_elsewhere' then
    return;
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'funding', p_amount_cents, null, p_reference, p_note, p_created_at) m;
end
$$;

CREATE FUNCTION shopwire.keep_access_changes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception 'the access version of an account rises by one, and what is known of it is kept for an hour: % on % refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege';
end
$$;

CREATE FUNCTION shopwire.keep_commitment() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if new.audit_id <> old.audit_id or new.commitment <> old.commitment or new.salt is not null then
    raise exception 'of a row of seal_commitments only the salt can be removed' using errcode = 'check_violation';
  end if;
  return new;
end
$$;

CREATE FUNCTION shopwire.keep_key_as_made() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception 'key % cannot be given other scopes, another account or another end', old.id
    using errcode = 'insufficient_privilege',
          hint = 'Make a new key with "shopwire-admin keys create".';
end
$$;

CREATE FUNCTION shopwire.keep_order_ended() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception 'order % is "%", which is final, and its total stays what was paid', old.id, old.status
    using errcode = 'check_violation';
end
$$;

CREATE FUNCTION shopwire.keep_top_up_decided() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception 'top-up % is "%" and cannot be changed to "%" or given another amount', old.id, old.state, new.state
    using errcode = 'check_violation';
end
$$;

CREATE FUNCTION shopwire.lock_balance(p_account_id text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_balance bigint;
begin
  select b.balance_cents
    into v_balance
    from balances b
   where b.account_id = p_account_id
     for no key update;
  return v_balance;
end
$$;

CREATE FUNCTION shopwire.move_balance(p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  select b.seq, b.balance_after_cents
    into seq, balance_after_cents
    from book_transfer(p_account_id, p_kind, p_change_cents, p_order_id, p_reference, p_note, p_created_at) b;
  if p_change_cents > 0 then
    perform collect_owed(p_account_id, p_created_at);
  end if;
end
$$;

CREATE FUNCTION shopwire.new_id(p_prefix text, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  with parts as materialized (
    select floor(extract(epoch from p_at) * 1000000)::bigint as us, replace(gen_random_uuid()::text, '-', '') as random
  ), id as (
    select B'00' || (us / 1000)::bit(48) || B'0111' || (us % 1000)::integer::bit(10) || ('x' || substr(random, 1, 1))::bit(2)
             || B'10' || ('x' || substr(random, 2, 11))::bit(44) || ('x' || substr(random, 21, 5))::bit(18) as bits
      from parts
  )
  select p_prefix || '_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits from 5 * n + 1 for 5)::bit(5)::integer + 1, 1), ''
                                       order by n)
    from id, generate_series(0, 25) n
$$;

CREATE FUNCTION shopwire.note_access_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  insert into access_changes as c (account_id, access_version, changed_in, changed_at)
  values (new.id, new.access_version, pg_current_xact_id(), clock_timestamp())
      on conflict (account_id) do update
     set access_version = excluded.access_version,
         changed_in = excluded.changed_in,
         -- In case the server's clock was set back.
         changed_at = greatest(c.changed_at, excluded.changed_at);
  return null;
end
$$;

CREATE FUNCTION shopwire.oldest_snapshot() RETURNS TABLE(kind text, name text, application_name text, role text, state text, horizon text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select h.kind, h.name, h.application_name, h.role, h.state, h.horizon::text
    from (select 'session' as kind, pid::text as name, application_name, usename::text as role, state, backend_xmin as horizon
            from pg_stat_activity
           where backend_xmin is not null
             -- Sessions in other databases do not matter; a standby that reports its snapshot has no database.
             and coalesce(datname, current_database()) = current_database()
             and pid <> pg_backend_pid()
             and backend_type <> 'autovacuum worker'
           union all
          select 'prepared transaction', gid, null, owner::text, 'prepared', transaction
            from pg_prepared_xacts
           where database = current_database()
           union all
          select 'replication slot', slot_name::text, null, null, case when active then 'active' else 'inactive' end, xmin
            from pg_replication_slots
           where xmin is not null) h
   order by age(h.horizon) desc, h.kind, h.name
   limit 1
$$;

CREATE FUNCTION shopwire.open_after_failover(p_generation bigint, p_position bigint, p_at timestamp with time zone, p_synchronous boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_timeline constant bigint := present_timeline();
  v_system constant text := (select c.system_identifier::text from pg_control_system() c);
  v_identity record;
  v_position bigint;
begin
  if v_timeline is null then
    return 'this server is still a standby';
  end if;
  select i.failover, i.behind_since, i.system_identifier, i.timeline, i.generation into strict v_identity
    from database_identity i
     for update;
  select p.position into strict v_position from store_position p;
  -- Another worker was faster.
  if database_is_confirmed() then
    return null;
  end if;
  if v_identity.failover <> 'synchronous' then
    return 'no operator has allowed it: "shopwire-admin recover policy --failover synchronous" does, for a store whose commits wait for a standby';
  elsif v_identity.behind_since is not null then
    return 'it lacks what was sold';
  elsif v_identity.system_identifier <> v_system then
    return 'it is another server: a dump was restored, or pg_upgrade was run';
  elsif v_timeline <= v_identity.timeline then
    return format('its timeline %s does not follow the last one, %s', v_timeline, v_identity.timeline);
  elsif p_position is null then
    return 'the journal has no position of the store';
  elsif (v_identity.generation, v_position) < (p_generation, p_position) then
    return 'it is behind the journal';
  elsif p_synchronous is not true then
    return 'commits did not wait for a standby when the store last wrote its position, so the last orders may be missing';
  elsif exists (select from orders o where o.created_at > p_at + interval '10 seconds') then
    return format('orders were taken more than 10 seconds after the last position of the journal (%s), and whether commits '
                  'waited for a standby then is unknown', p_at);
  elsif pg_postmaster_start_time() >= p_at - interval '5 seconds' then
    return format('this server was started (%s) after the store last wrote its position (%s), as a restored backup would be',
                  pg_postmaster_start_time(), p_at);
  end if;
  update database_identity
     set timeline = v_timeline,
         confirmed_at = clock_timestamp(),
         confirmed_by = 'failover',
         generation = v_identity.generation + 1,
         journal_problem = null,
         compared_start = database_start(),
         copy = database_copy();
  perform write_audit_row(
    'worker:failover', 'recover.failover', 'database', null, null, null,
    jsonb_build_object(
      'before', v_system || '/' || v_identity.timeline,
      'after', v_system || '/' || v_timeline,
      'generation', v_identity.generation + 1)
  );
  return null;
end
$$;

CREATE FUNCTION shopwire.open_invitations_for(p_email text, p_now timestamp with time zone) RETURNS TABLE(account_id text, id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select i.account_id, i.id
    from shopwire.invitations i
   where i.email = p_email
     and i.accepted_at is null
     and i.withdrawn_at is null
     and i.expires_at > p_now
   order by i.account_id, i.id
$$;

CREATE FUNCTION shopwire.pay_supplier(p_supplier text, p_reference text, p_amount_cents bigint, p_note text, p_booked_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  insert into supplier_transfers (supplier, kind, reference, amount_cents, note, booked_at)
  values (p_supplier, 'payment', p_reference, p_amount_cents, p_note, p_booked_at)
      on conflict (supplier, kind, reference) do nothing;
  return found;
end
$$;

CREATE FUNCTION shopwire.person_is_here(p_person_id text, p_account_id text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select (p_account_id is null
          or exists (select from memberships m where m.account_id = p_account_id and m.person_id = p_person_id))
     and (exists (select from sessions s where s.person_id = p_person_id and s.expires_at > clock_timestamp())
          or exists (select
                       from personal_tokens t
                      where t.account_id = p_account_id
                        and t.person_id = p_person_id
                        and t.revoked_at is null
                        and t.expires_at > clock_timestamp())
          or exists (select
                       from invitations i
                       join people p on p.email = i.email
                      where i.account_id = p_account_id
                        and p.id = p_person_id
                        and i.accepted_at is not null
                        -- Changed in this transaction.
                        and i.xmin = pg_current_xact_id()::xid)
          or exists (select
                       from one_time_values o
                      where o.person_id = p_person_id
                        and o.used_at is not null
                        and o.xmin = pg_current_xact_id()::xid))
$$;

CREATE FUNCTION shopwire.place_orders(p_may_wait boolean, p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[], p_event_ids text[], p_created_ats timestamp with time zone[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[], p_client_addresses text[], p_line_counts integer[], p_item_ids text[], p_qtys integer[], p_expected bigint[], OUT verdicts text[], OUT order_ids text[], OUT totals_cents bigint[], OUT names text[], OUT unit_prices_cents bigint[], OUT details text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  c_total_max constant bigint := 500000;
  -- The cart of each line, and how many lines come before those of each cart.
  v_places integer[] := '{}';
  v_lines_before integer[] := '{}';
  v_is_open boolean;
  v_balances bigint[];
  v_transfers bigint[];
  v_have_sold_out boolean[];
  v_sold_out text[];
  v_have_repriced boolean[];
  v_repriced text[];
  v_endpoint_ids text[];
begin
  if not coalesce(
    1 <= all (p_line_counts)
    and cardinality(p_item_ids) = all (array[cardinality(p_qtys), cardinality(p_expected)])
    and cardinality(p_account_ids) = all (array[
      cardinality(p_access_versions), cardinality(p_key_ids), cardinality(p_order_ids),
      cardinality(p_event_ids), cardinality(p_created_ats), cardinality(p_idempotency_keys), cardinality(p_request_hashes),
      cardinality(p_request_ids), cardinality(p_client_addresses), cardinality(p_line_counts)])
    and (cardinality(p_account_ids) = 1 or not p_may_wait),
    false)
  then
    raise 'the arguments of place_orders do not fit together' using errcode = 'invalid_parameter_value';
  end if;
  -- Counted here, never taken from the caller: a line that belonged to no cart would be delivered without being paid.
  for v_place in 1 .. cardinality(p_line_counts) loop
    v_lines_before := v_lines_before || cardinality(v_places);
    v_places := v_places || array_fill(v_place, array[p_line_counts[v_place]]);
  end loop;
  if cardinality(v_places) <> cardinality(p_item_ids) then
    raise 'the carts have % lines, and % were given', cardinality(v_places), cardinality(p_item_ids)
      using errcode = 'invalid_parameter_value';
  end if;

  if p_may_wait then
    select array[b.balance_cents], array[b.transfer_count]
      into v_balances, v_transfers
      from balances b
     where b.account_id = p_account_ids[1]
       for no key update;
  else
    select array_agg(o.balance_cents), array_agg(o.transfer_count)
      into v_balances, v_transfers
      from (
        select b.balance_cents, b.transfer_count
          from generate_series(1, cardinality(p_account_ids)) as o (place)
          left join lateral (
            select balances.balance_cents, balances.transfer_count
              from balances
             where balances.account_id = p_account_ids[o.place]
               for no key update skip locked
          ) b on true
         order by o.place
      ) o;
  end if;

  -- Separate statements from here on: they see what was committed before the locks were taken. The catalogue is read once: what is
  -- checked here is what is written below.
  v_is_open := store_is_open();
  with priced as materialized (
    select v_places[l.n] as place, l.n, l.id, l.qty, l.expected_price_cents, l.name, l.unit_price_cents, l.status, l.is_short
      from price_cart(p_item_ids, p_qtys, p_expected) l
     order by l.n
  )
  select array_agg(c.total_cents), array_agg(c.has_sold_out), array_agg(c.sold_out), array_agg(c.has_repriced), array_agg(c.repriced),
         (select array_agg(p.name) from priced p),
         (select array_agg(p.unit_price_cents) from priced p)
    into totals_cents, v_have_sold_out, v_sold_out, v_have_repriced, v_repriced, names, unit_prices_cents
    from (
      select p.place,
             (sum(p.qty * p.unit_price_cents) filter (where p.status <> 'sold_out'))::bigint as total_cents,
             bool_or(p.status = 'sold_out') as has_sold_out,
             string_agg(p.id || case when p.is_short then ' (fewer than ' || p.qty || ' left)' else '' end, ', ')
               filter (where p.status = 'sold_out') as sold_out,
             bool_or(p.status = 'price_changed') as has_repriced,
             string_agg(p.id || ' costs ' || p.unit_price_cents || ' cents now, ' || p.expected_price_cents || ' were expected',
                        '; ') filter (where p.status = 'price_changed') as repriced
        from priced p
       group by p.place
       order by p.place
    ) c;

  select array_agg(v.verdict), array_agg(v.order_id),
         array_agg(case v.verdict when 'item_unavailable' then v_sold_out[v.place] when 'price_changed' then v_repriced[v.place] end)
    into verdicts, order_ids, details
    from (
      select o.place, coalesce(earlier.id, p_order_ids[o.place]) as order_id,
             case
               when account.id is null then 'changed'
               when v_balances[o.place] is null then 'busy'
               when earlier.request_hash = p_request_hashes[o.place] then 'earlier'
               when earlier.id is not null then 'conflict'
               when not v_is_open then 'store_closed'
               when v_have_sold_out[o.place] then 'item_unavailable'
               when v_have_repriced[o.place] then 'price_changed'
               when totals_cents[o.place] > c_total_max then 'order_total_exceeded'
               when totals_cents[o.place] > v_balances[o.place] then 'insufficient_funds'
               else 'bought'
             end as verdict
        from generate_series(1, cardinality(p_account_ids)) as o (place)
        left join lateral (
          select accounts.id
            from accounts
           where accounts.id = p_account_ids[o.place]
             and accounts.access_version = p_access_versions[o.place]
           limit 1
        ) account on true
        left join lateral (
          select orders.id, orders.request_hash
            from orders
           where orders.account_id = p_account_ids[o.place]
             and orders.idempotency_key = p_idempotency_keys[o.place]
           limit 1
        ) earlier on true
       order by o.place
    ) v;
  if p_may_wait and 'busy' = any (verdicts) then
    raise 'an account that buys has no balance';
  end if;

  -- As in record_event: the endpoint stays locked until the commit, so that a change of URL cancels this delivery too.
  if p_may_wait then
    select array[e.id]
      into v_endpoint_ids
      from webhook_endpoints e
     where verdicts[1] = 'bought'
       and e.account_id = p_account_ids[1]
       and e.ended_at is null
       for key share;
  else
    select array_agg(o.endpoint_id), array_agg(case when o.is_busy then 'busy' else verdicts[o.place] end)
      into v_endpoint_ids, verdicts
      from (
        select o.place, endpoint.id as endpoint_id,
               endpoint.id is not null and held_endpoint.is_held is null
                 or job.is_there is not null and held_job.is_held is null as is_busy
          from generate_series(1, cardinality(p_account_ids)) as o (place)
          left join lateral (
            select webhook_endpoints.id
              from webhook_endpoints
             where verdicts[o.place] = 'bought'
               and webhook_endpoints.account_id = p_account_ids[o.place]
               and webhook_endpoints.ended_at is null
             limit 1
          ) endpoint on true
          left join lateral (
            select true as is_held
              from webhook_endpoints
             where webhook_endpoints.account_id = p_account_ids[o.place]
               and webhook_endpoints.id = endpoint.id
               and webhook_endpoints.ended_at is null
               for key share skip locked
          ) held_endpoint on true
          left join lateral (
            select true as is_there
              from jobs
             where jobs.account_id = p_account_ids[o.place]
               and jobs.queue = 'deliver'
               and jobs.subject = endpoint.id
             limit 1
          ) job on true
          left join lateral (
            select true as is_held
              from jobs
             where jobs.account_id = p_account_ids[o.place]
               and jobs.queue = 'deliver'
               and jobs.subject = endpoint.id
               for update skip locked
          ) held_job on true
         order by o.place
      ) o;
  end if;

  with bought as materialized (
    select p_account_ids[o.place] as account_id, p_key_ids[o.place] as key_id, p_order_ids[o.place] as order_id,
           p_event_ids[o.place] as event_id, p_created_ats[o.place] as created_at,
           p_idempotency_keys[o.place] as idempotency_key, p_request_hashes[o.place] as request_hash,
           p_request_ids[o.place] as request_id, p_client_addresses[o.place] as client_address,
           totals_cents[o.place] as total_cents, v_balances[o.place] as balance, v_transfers[o.place] as transfers,
           v_endpoint_ids[o.place] as endpoint_id
      from generate_series(1, cardinality(p_account_ids)) as o (place)
     where verdicts[o.place] = 'bought'
  ), new_orders as (
    insert into orders (account_id, id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at)
    select account_id, order_id, idempotency_key, request_hash, total_cents, key_id, request_id, client_address, created_at
      from bought
  ), new_lines as (
    insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
    select p_account_ids[v_places[l.n]], p_order_ids[v_places[l.n]], l.n - v_lines_before[v_places[l.n]], p_item_ids[l.n], names[l.n],
           p_qtys[l.n], unit_prices_cents[l.n]
      from generate_series(1, cardinality(p_item_ids)) as l (n)
     where verdicts[v_places[l.n]] = 'bought'
  ), debits as (
    update balances b
       set balance_cents = o.balance - o.total_cents,
           transfer_count = o.transfers + 1,
           order_count = b.order_count + 1
      from bought o
     where b.account_id = o.account_id
  ), new_transfers as (
    insert into transfers (account_id, seq, change_cents, balance_after_cents, created_at, kind, order_id)
    select account_id, transfers + 1, -total_cents, balance - total_cents, created_at, 'order', order_id
      from bought
  ), new_events as (
    insert into events (account_id, id, type, order_id, created_at)
    select account_id, event_id, 'order.accepted', order_id, created_at
      from bought
  ), new_deliveries as (
    insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
    select account_id, endpoint_id, event_id, created_at, created_at
      from bought
     where endpoint_id is not null
  ), woken as (
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    select account_id, 'deliver', endpoint_id, clock_timestamp(), created_at
      from bought
     where endpoint_id is not null
     order by account_id
        on conflict (queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true,
           is_backlog = false
  )
  insert into jobs (account_id, queue, subject, run_at, created_at)
  select account_id, 'fulfil', order_id, clock_timestamp(), created_at
    from bought;

  if 'bought' = any (verdicts) then
    perform count_unassigned(array_agg(p_item_ids[l.n]), array_agg(p_qtys[l.n]))
       from generate_series(1, cardinality(p_item_ids)) as l (n)
      where verdicts[v_places[l.n]] = 'bought';
  end if;
end
$$;

CREATE FUNCTION shopwire.present_timeline() RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if pg_is_in_recovery() then
    return null;
  end if;
  return ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
end
$$;

CREATE FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) RETURNS TABLE(n integer, id text, qty integer, expected_price_cents bigint, name text, unit_price_cents bigint, status text, is_short boolean)
    LANGUAGE sql STABLE
    AS $$
  select c.n::integer, c.id, c.qty, c.expected, i.name, i.price_cents,
         case
           when i.id is null then 'sold_out'
           when not (i.is_for_sale and i.has_supply) then 'sold_out'
           when i.available_until <= clock_timestamp() then 'sold_out'
           when c.qty > s.units_left then 'sold_out'
           when c.expected is not null and c.expected <> i.price_cents then 'price_changed'
           else 'ok'
         end,
         coalesce(s.units_left between 1 and c.qty - 1, false)
    from unnest(p_ids, p_qtys, p_expected) with ordinality as c (id, qty, expected, n)
    -- One look-up per line by the primary key, whatever size of cart the planner assumes.
    left join lateral (
      select items.id, items.name, items.price_cents, items.is_for_sale, items.has_supply, items.available_until
        from shopwire.items
       where items.id = c.id
       limit 1
    ) i on true
    -- An item with another source can be sold whatever its pool has.
    left join lateral (
      select item_supply.pool_left - coalesce((
               select sum(unassigned_units.units)
                 from shopwire.unassigned_units
                where unassigned_units.item_id = item_supply.item_id
             ), 0) as units_left
        from shopwire.item_supply
       where item_supply.item_id = c.id
         and item_supply.source = 'pool'
       limit 1
    ) s on true
   order by c.n
$$;

CREATE FUNCTION shopwire.probe_writes() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  -- A new file each time: pages that exist already would prove nothing.
  truncate shopwire.write_probe;
  insert into shopwire.write_probe select repeat('x', 8000) from generate_series(1, 128);
  raise exception 'written' using errcode = 'SW001';
exception
  when sqlstate 'SW001' then null;
end
$$;

CREATE FUNCTION shopwire.purge_nonces(p_signed_to bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  purged bigint;
begin
  -- One purge at a time; the others have nothing to do.
  if not pg_try_advisory_xact_lock(5348094773) then
    return 0;
  end if;
  update admission_memory set purged_to = p_signed_to where purged_to < p_signed_to;
  delete from spent_nonces where signed_at <= p_signed_to;
  get diagnostics purged = row_count;
  delete from witnessed_nonces where signed_at <= p_signed_to;
  delete from witnessed_refusals where refused_to <= p_signed_to;
  return purged;
end
$$;

CREATE FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
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

CREATE FUNCTION shopwire.refund_order(p_account_id text, p_order_id text, p_created_at timestamp with time zone, OUT seq bigint, OUT amount_cents bigint, OUT balance_after_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  select o.total_cents
    into amount_cents
    from orders o
   where o.account_id = p_account_id
     and o.id = p_order_id
     and o.status = 'cancelled';
  if not found then
    raise exception 'account % has no cancelled order %, so nothing is refunded', p_account_id, p_order_id
      using errcode = 'check_violation';
  end if;
  select m.seq, m.balance_after_cents
    into seq, balance_after_cents
    from move_balance(p_account_id, 'refund', amount_cents, p_order_id, null, null, p_created_at) m;
end
$$;

CREATE FUNCTION shopwire.refuse_changes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception 'rows of % are never changed or removed: later evidence is built on them', tg_table_name using errcode = 'check_violation';
end
$$;

CREATE FUNCTION shopwire.refuse_if_closed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  perform from accounts where id = new.account_id and closed_at is null for key share;
  if not found then
    raise exception 'account % is closed, or does not exist', new.account_id using errcode = 'check_violation';
  end if;
  return new;
end
$$;

CREATE FUNCTION shopwire.refuse_if_unconfirmed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  raise exception 'this database was restored or failed over, and no operator has opened the store on it'
    using errcode = 'operator_intervention',
          hint = 'See "shopwire-admin recover status".';
end
$$;

CREATE FUNCTION shopwire.refuse_unless_journalled() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if new.id = any (string_to_array(current_setting('shopwire.journalled', true), ','))
     or not exists (select from database_identity i where i.journal_id is not null) then
    return new;
  end if;
  raise exception 'this store keeps a journal of sold links, and this program does not write it'
    using errcode = '57S01',
          hint = 'Set SHOPWIRE_JOURNAL to the folder of the journal, as for the workers.';
end
$$;

CREATE FUNCTION shopwire.replication_standbys() RETURNS TABLE(standby text, is_connected boolean, replayed double precision, written double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select coalesce(s.slot_name::text, r.application_name),
         r.pid is not null,
         (r.replay_lsn - '0/0'::pg_lsn)::double precision,
         (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0'::pg_lsn)::double precision
    -- A base backup streams too, and ends on its own.
    from (select pid, application_name, replay_lsn from pg_stat_replication
           where coalesce(state, 'streaming') in ('streaming', 'catchup') and application_name <> 'pg_basebackup') r
    full join (select slot_name, active_pid from pg_replication_slots where slot_type = 'physical' and not temporary) s
      on s.active_pid = r.pid
$$;

CREATE FUNCTION shopwire.report_missing_orders(p_account_ids text[], p_order_ids text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_new integer;
begin
  with added as (
    insert into lost_orders (account_id, order_id, found_at)
    select g.account_id, g.order_id, clock_timestamp()
      from unnest(p_account_ids, p_order_ids) as g (account_id, order_id)
     where not exists (select from orders o where o.account_id = g.account_id and o.id = g.order_id)
     order by g.account_id, g.order_id
        on conflict do nothing
    returning order_id
  )
  select count(*) into v_new from added;
  if v_new > 0 then
    update database_identity
       set behind_since = clock_timestamp(),
           behind_why = format('%s orders that an API process had answered with 201 are missing in it', v_new)
     where behind_since is null;
  end if;
  return v_new;
end
$$;

CREATE FUNCTION shopwire.return_reversal(p_account_id text, p_reversal_id text, p_provider_status text, p_at timestamp with time zone, OUT returned_cents bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_kind text;
  v_reference text;
  v_returned_at timestamptz;
begin
  perform lock_balance(p_account_id);
  select r.kind, r.provider_reference, r.taken_cents, r.returned_at
    into strict v_kind, v_reference, returned_cents, v_returned_at
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  if v_returned_at is not null then
    returned_cents := null;
    return;
  end if;
  -- Before the money: a credit collects what is owed.
  update top_up_reversals r
     set provider_status = p_provider_status,
         is_settled = true,
         owed_cents = 0,
         written_off_cents = r.amount_cents - r.taken_cents,
         returned_at = p_at
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  if returned_cents > 0 then
    perform move_balance(p_account_id, 'adjustment', returned_cents, null, v_reference || ':returned',
                         case v_kind when 'refund' then 'Refund to the card failed, ' else 'Dispute won, ' end || p_reversal_id,
                         p_at);
  end if;
end
$$;

CREATE FUNCTION shopwire.skip_if_unconfirmed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if database_is_confirmed() then
    return new;
  end if;
  return null;
end
$$;

CREATE FUNCTION shopwire.stay_closed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  if new.closed_at is distinct from old.closed_at or new.status <> 'suspended' then
    raise exception 'account % was closed on %, which is final', old.id, old.closed_at using errcode = 'check_violation';
  end if;
  return new;
end
$$;

CREATE FUNCTION shopwire.stay_revoked() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  raise exception '% was revoked on %, which is final', old.id, old.revoked_at
    using errcode = 'insufficient_privilege',
          hint = 'Make a new one.';
end
$$;

CREATE FUNCTION shopwire.still_members(p_person_ids text[], p_account_ids text[]) RETURNS TABLE(person_id text, account_id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  select distinct m.person_id, m.account_id
    from unnest(p_person_ids, p_account_ids) as asked (person_id, account_id)
    join shopwire.memberships m on m.account_id = asked.account_id and m.person_id = asked.person_id
$$;

CREATE FUNCTION shopwire.store_is_open() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  return (
    select s.is_open
           and not exists (
             select from store_windows w
              where w.cancelled_at is null
                and w.closes_at <= clock_timestamp()
                and w.opens_at > clock_timestamp()
           )
           and database_is_confirmed()
      from store_state s
  );
end
$$;

CREATE FUNCTION shopwire.take_back_top_up(p_account_id text, p_top_up_id text, p_reversal_id text, p_kind text, p_provider_reference text, p_provider_status text, p_is_settled boolean, p_provider_cents bigint, p_at timestamp with time zone, OUT amount_cents bigint, OUT taken_cents bigint, OUT owed_cents bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  -- Every change of a reversal happens under the lock of the balance.
  v_balance constant bigint := lock_balance(p_account_id);
begin
  perform from top_up_reversals r where r.provider_reference = p_provider_reference;
  if found then
    return;
  end if;
  select least(p_provider_cents, coalesce(t.credited_cents, 0) - coalesce(sum(r.amount_cents) filter (where r.returned_at is null), 0))
    into strict amount_cents
    from top_ups t
    left join top_up_reversals r on r.account_id = t.account_id and r.top_up_id = t.id
   where t.account_id = p_account_id
     and t.id = p_top_up_id
   group by t.credited_cents;
  taken_cents := least(amount_cents, v_balance);
  owed_cents := amount_cents - taken_cents;
  if taken_cents > 0 then
    perform move_balance(p_account_id, 'adjustment', -taken_cents, null, p_provider_reference,
                         case p_kind when 'refund' then 'Refunded to the card' else 'Disputed card payment' end || ', ' || p_reversal_id,
                         p_at);
  end if;
  insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                amount_cents, taken_cents, owed_cents, created_at)
  values (p_account_id, p_reversal_id, p_top_up_id, p_kind, p_provider_reference, p_provider_status, p_is_settled, p_provider_cents,
          amount_cents, taken_cents, owed_cents, p_at);
end
$$;

CREATE FUNCTION shopwire.take_for_orders(p_may_wait boolean, p_account_ids text[], p_order_ids text[], p_attempts integer[]) RETURNS TABLE(place integer, verdict text, created_at timestamp with time zone, line smallint, unit smallint, item_id text, id text, link_sealed bytea, link_kek_id text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION shopwire.witness_nonce(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_is_order boolean, OUT is_new boolean, OUT refused_to bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
begin
  select r.refused_to into refused_to
    from witnessed_refusals r
   where r.account_id = p_account_id
     and r.is_order = p_is_order
     and r.refused_to >= p_signed_at;
  if found then
    perform from witnessed_nonces where account_id = p_account_id and key_id = p_key_id and nonce = p_nonce;
    is_new := not found;
    return;
  end if;
  insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
  values (p_account_id, p_key_id, p_nonce, p_signed_at)
      on conflict do nothing;
  is_new := found;
end
$$;

CREATE FUNCTION shopwire.witness_refusal(p_account_id text, p_is_order boolean, p_signed_at bigint) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
  insert into witnessed_refusals as r (account_id, is_order, refused_to)
  values (p_account_id, p_is_order, p_signed_at)
      on conflict (account_id, is_order) do update
     set refused_to = greatest(r.refused_to, excluded.refused_to)
  returning refused_to
$$;

CREATE FUNCTION shopwire.write_audit_row(p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_at constant timestamptz := clock_timestamp();
begin
  if not (case
            when p_actor like 'worker:%' then pg_has_role(session_user, 'shopwire_worker_rights', 'member')
            when p_actor like 'person:%' then pg_has_role(session_user, 'shopwire_dashboard', 'member')
            else pg_has_role(session_user, 'shopwire_operator_rights', 'member')
          end) then
    raise exception 'the role of % does not write audit rows of "%"', session_user, p_actor
      using errcode = 'insufficient_privilege';
  end if;
  if pg_has_role(session_user, 'shopwire_dashboard', 'member') and not person_is_here(substr(p_actor, 8), p_account_id) then
    raise exception '"%" is not signed in to account %', p_actor, p_account_id
      using errcode = 'insufficient_privilege',
            constraint = 'person_is_here';
  end if;
  insert into audit_log (id, at, actor, action, target, account_id, address, request_id, details)
  values (new_id('aud', v_at), v_at, p_actor, p_action, p_target, p_account_id, p_address, p_request_id, p_details);
end
$$;

CREATE FUNCTION shopwire.write_off_owed(p_account_id text, p_reversal_id text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'shopwire', 'pg_temp'
    AS $$
declare
  v_owed bigint;
begin
  perform lock_balance(p_account_id);
  select r.owed_cents
    into strict v_owed
    from top_up_reversals r
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  update top_up_reversals r
     set owed_cents = 0,
         written_off_cents = r.written_off_cents + r.owed_cents
   where r.account_id = p_account_id
     and r.id = p_reversal_id;
  return v_owed;
end
$$;

CREATE TABLE shopwire.access_changes (
    account_id text NOT NULL COLLATE pg_catalog."C",
    access_version bigint NOT NULL,
    changed_in xid8 NOT NULL,
    changed_at timestamp with time zone NOT NULL
);

CREATE TABLE shopwire.account_days (
    account_id text NOT NULL COLLATE pg_catalog."C",
    day date NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    orders bigint NOT NULL,
    order_cents bigint NOT NULL,
    refunds bigint NOT NULL,
    refund_cents bigint NOT NULL,
    topups bigint NOT NULL,
    topup_cents bigint NOT NULL,
    adjustments bigint NOT NULL,
    adjustment_cents bigint NOT NULL,
    closing_balance_cents bigint NOT NULL,
    CONSTRAINT account_days_adjustments_check CHECK ((adjustments >= 0)),
    CONSTRAINT account_days_closing_balance_cents_check CHECK ((closing_balance_cents >= 0)),
    CONSTRAINT account_days_first_seq_check CHECK ((first_seq > 0)),
    CONSTRAINT account_days_order_cents_check CHECK ((order_cents >= 0)),
    CONSTRAINT account_days_orders_check CHECK ((orders >= 0)),
    CONSTRAINT account_days_range CHECK ((last_seq >= first_seq)),
    CONSTRAINT account_days_refund_cents_check CHECK ((refund_cents >= 0)),
    CONSTRAINT account_days_refunds_check CHECK ((refunds >= 0)),
    CONSTRAINT account_days_topup_cents_check CHECK ((topup_cents >= 0)),
    CONSTRAINT account_days_topups_check CHECK ((topups >= 0))
);

CREATE TABLE shopwire.account_days_progress (
    only_row boolean DEFAULT true NOT NULL,
    day date NOT NULL,
    done_up_to text COLLATE pg_catalog."C",
    CONSTRAINT account_days_progress_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    access_version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    closed_people text[],
    erased_at timestamp with time zone,
    erased_people text[],
    CONSTRAINT accounts_closed_is_suspended CHECK (((closed_at IS NULL) OR (status = 'suspended'::text))),
    CONSTRAINT accounts_erased_is_closed CHECK (((erased_at IS NULL) OR (closed_at IS NOT NULL))),
    CONSTRAINT accounts_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT accounts_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);

CREATE TABLE shopwire.admission_in_use (
    kind text NOT NULL COLLATE pg_catalog."C",
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT admission_in_use_kind_check CHECK ((kind = ANY (ARRAY['postgres'::text, 'redis'::text, 'redis-cluster'::text])))
);

CREATE UNLOGGED TABLE shopwire.admission_memory (
    only_row boolean DEFAULT true NOT NULL,
    server_started_at timestamp with time zone NOT NULL,
    lost_at bigint NOT NULL,
    purged_to bigint NOT NULL,
    CONSTRAINT admission_memory_only_row_check CHECK (only_row)
);

CREATE UNLOGGED TABLE shopwire.admission_windows (
    account_id text NOT NULL COLLATE pg_catalog."C",
    requests bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    orders bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    refused_since bigint DEFAULT 0 NOT NULL,
    refused_count integer DEFAULT 0 NOT NULL,
    requests_refused_to bigint DEFAULT 0 NOT NULL,
    orders_refused_to bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='40');

CREATE TABLE shopwire.alert_addresses (
    account_id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    token_hash bytea,
    asked_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone,
    CONSTRAINT alert_addresses_confirmed CHECK (((confirmed_at IS NULL) = (token_hash IS NOT NULL))),
    CONSTRAINT alert_addresses_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
    CONSTRAINT alert_addresses_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE shopwire.api_keys (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    scopes text[] NOT NULL,
    secret_sealed bytea NOT NULL,
    secret_kek_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text,
    created_by_name text,
    rotated_from text,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT api_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['account:read'::text, 'catalogue:read'::text, 'orders:read'::text, 'orders:write'::text, 'webhooks:read'::text, 'webhooks:write'::text])))
);

CREATE TABLE shopwire.deliveries (
    account_id text NOT NULL COLLATE pg_catalog."C",
    endpoint_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    round smallint DEFAULT 1 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    done_at timestamp with time zone,
    first_started_at timestamp with time zone,
    first_finished_at timestamp with time zone,
    first_status smallint,
    first_address inet,
    first_signed_s bigint,
    first_signatures bytea,
    first_connect_ms integer,
    first_send_ms integer,
    first_wait_ms integer,
    CONSTRAINT deliveries_attempts_check CHECK (((attempts >= 0) AND (attempts <= 12))),
    CONSTRAINT deliveries_done CHECK (((state = 'pending'::text) = (done_at IS NULL))),
    CONSTRAINT deliveries_first_signatures_check CHECK ((octet_length(first_signatures) = ANY (ARRAY[32, 64]))),
    CONSTRAINT deliveries_last_error_check CHECK ((char_length(last_error) <= 50)),
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');

CREATE TABLE shopwire.delivery_attempts (
    account_id text NOT NULL COLLATE pg_catalog."C",
    endpoint_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    round smallint NOT NULL,
    n smallint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    status smallint,
    error text,
    remote_address inet,
    signed_s bigint,
    signatures bytea,
    connect_ms integer,
    send_ms integer,
    wait_ms integer,
    answer_sealed bytea,
    answer_kek_id text,
    CONSTRAINT delivery_attempts_error_check CHECK ((char_length(error) <= 50)),
    CONSTRAINT delivery_attempts_signatures_check CHECK ((octet_length(signatures) = ANY (ARRAY[32, 64])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05');

CREATE VIEW shopwire.attempts_made WITH (security_invoker='true') AS
 SELECT delivery_attempts.account_id,
    delivery_attempts.endpoint_id,
    delivery_attempts.event_id,
    delivery_attempts.round,
    delivery_attempts.n,
    delivery_attempts.started_at,
    delivery_attempts.finished_at,
    delivery_attempts.status,
    delivery_attempts.error,
    delivery_attempts.remote_address,
    delivery_attempts.signed_s,
    delivery_attempts.signatures,
    delivery_attempts.connect_ms,
    delivery_attempts.send_ms,
    delivery_attempts.wait_ms,
    delivery_attempts.answer_sealed
   FROM shopwire.delivery_attempts
UNION ALL
 SELECT deliveries.account_id,
    deliveries.endpoint_id,
    deliveries.event_id,
    (1)::smallint AS round,
    (1)::smallint AS n,
    deliveries.first_started_at AS started_at,
    deliveries.first_finished_at AS finished_at,
    deliveries.first_status AS status,
    NULL::text AS error,
    deliveries.first_address AS remote_address,
    deliveries.first_signed_s AS signed_s,
    deliveries.first_signatures AS signatures,
    deliveries.first_connect_ms AS connect_ms,
    deliveries.first_send_ms AS send_ms,
    deliveries.first_wait_ms AS wait_ms,
    NULL::bytea AS answer_sealed
   FROM shopwire.deliveries
  WHERE (deliveries.first_started_at IS NOT NULL);

CREATE VIEW shopwire.attempts_shown WITH (security_invoker='true') AS
 SELECT delivery_attempts.account_id,
    delivery_attempts.endpoint_id,
    delivery_attempts.event_id,
    delivery_attempts.round,
    delivery_attempts.n,
    delivery_attempts.started_at,
    delivery_attempts.finished_at,
    delivery_attempts.status,
    delivery_attempts.error,
    delivery_attempts.signed_s,
    delivery_attempts.signatures,
    delivery_attempts.connect_ms,
    delivery_attempts.send_ms,
    delivery_attempts.wait_ms,
    delivery_attempts.answer_sealed
   FROM shopwire.delivery_attempts
UNION ALL
 SELECT deliveries.account_id,
    deliveries.endpoint_id,
    deliveries.event_id,
    (1)::smallint AS round,
    (1)::smallint AS n,
    deliveries.first_started_at AS started_at,
    deliveries.first_finished_at AS finished_at,
    deliveries.first_status AS status,
    NULL::text AS error,
    deliveries.first_signed_s AS signed_s,
    deliveries.first_signatures AS signatures,
    deliveries.first_connect_ms AS connect_ms,
    deliveries.first_send_ms AS send_ms,
    deliveries.first_wait_ms AS wait_ms,
    NULL::bytea AS answer_sealed
   FROM shopwire.deliveries
  WHERE (deliveries.first_started_at IS NOT NULL);

CREATE TABLE shopwire.audit_log (
    id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    address text,
    request_id text COLLATE pg_catalog."C",
    details jsonb NOT NULL
);

CREATE TABLE shopwire.authenticator_apps (
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    secret_sealed bytea NOT NULL,
    secret_kek_id text NOT NULL,
    recovery_codes_sealed bytea,
    recovery_codes_kek_id text,
    is_confirmed boolean DEFAULT false NOT NULL,
    last_used_step bigint DEFAULT 0 NOT NULL,
    CONSTRAINT authenticator_apps_codes_once_confirmed CHECK (((is_confirmed = (recovery_codes_sealed IS NOT NULL)) AND (is_confirmed = (recovery_codes_kek_id IS NOT NULL))))
);

CREATE TABLE shopwire.balance_alerts (
    account_id text NOT NULL COLLATE pg_catalog."C",
    threshold_cents bigint,
    updated_at timestamp with time zone NOT NULL,
    state text DEFAULT 'ok'::text NOT NULL,
    state_threshold_cents bigint,
    state_since timestamp with time zone,
    mails_since timestamp with time zone,
    mails_count integer DEFAULT 0 NOT NULL,
    CONSTRAINT balance_alerts_mails CHECK (((mails_since IS NULL) = (mails_count = 0))),
    CONSTRAINT balance_alerts_state_check CHECK ((state = ANY (ARRAY['ok'::text, 'approaching'::text, 'below'::text]))),
    CONSTRAINT balance_alerts_threshold_cents_check CHECK ((threshold_cents > 0))
);

CREATE TABLE shopwire.balances (
    account_id text NOT NULL COLLATE pg_catalog."C",
    balance_cents bigint DEFAULT 0 NOT NULL,
    transfer_count bigint DEFAULT 0 NOT NULL,
    order_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT balances_balance_cents_check CHECK ((balance_cents >= 0)),
    CONSTRAINT balances_order_count_check CHECK ((order_count >= 0)),
    CONSTRAINT balances_transfer_count_check CHECK ((transfer_count >= 0))
)
WITH (fillfactor='80');

CREATE TABLE shopwire.catalogue_announcement (
    only_row boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    told_up_to text COLLATE pg_catalog."C",
    CONSTRAINT catalogue_announcement_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.catalogue_state (
    only_row boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT catalogue_state_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.clock_records (
    boot_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    monotonic_ms double precision NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE shopwire.credentials (
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    password_hash text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

CREATE TABLE shopwire.database_identity (
    only_row boolean DEFAULT true NOT NULL,
    system_identifier text NOT NULL,
    timeline bigint NOT NULL,
    generation bigint DEFAULT 1 NOT NULL,
    confirmed_at timestamp with time zone NOT NULL,
    confirmed_by text NOT NULL,
    behind_since timestamp with time zone,
    behind_why text,
    journal_id text,
    compared_start text,
    journal_problem text,
    copy text NOT NULL,
    clock_accepted integer DEFAULT 0 NOT NULL,
    failover text DEFAULT 'ask'::text NOT NULL,
    CONSTRAINT database_identity_failover_check CHECK ((failover = ANY (ARRAY['ask'::text, 'synchronous'::text]))),
    CONSTRAINT database_identity_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.encryption_key_checks (
    kek_id text NOT NULL COLLATE pg_catalog."C",
    check_sealed bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE shopwire.event_retention (
    only_row boolean DEFAULT true NOT NULL,
    kept_since timestamp with time zone NOT NULL,
    CONSTRAINT event_retention_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.events (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    order_id text COLLATE pg_catalog."C",
    revision bigint,
    created_at timestamp with time zone NOT NULL,
    body_sealed bytea,
    body_kek_id text,
    CONSTRAINT events_of_catalogue CHECK (((type = 'catalogue.changed'::text) = (revision IS NOT NULL))),
    CONSTRAINT events_of_orders CHECK (((type ~~ 'order.%'::text) = (order_id IS NOT NULL))),
    CONSTRAINT events_type_check CHECK ((type = ANY (ARRAY['order.accepted'::text, 'order.delivered'::text, 'order.cancelled'::text, 'catalogue.changed'::text, 'test'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');

CREATE TABLE shopwire.evidence_retention (
    only_row boolean DEFAULT true NOT NULL,
    kept_since timestamp with time zone NOT NULL,
    CONSTRAINT evidence_retention_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.funding_references (
    reference text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT funding_references_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 200)))
);

CREATE TABLE shopwire.invitations (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    token_hash bytea NOT NULL,
    inviter_id text COLLATE pg_catalog."C",
    is_mailed_only boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    withdrawn_at timestamp with time zone,
    CONSTRAINT invitations_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text])))
);

CREATE TABLE shopwire.item_supply (
    item_id text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL,
    supplier text COLLATE pg_catalog."C",
    fallback text COLLATE pg_catalog."C",
    sku text,
    cost_cents bigint,
    fallback_cost_cents bigint,
    warn_below integer DEFAULT 0 NOT NULL,
    pool_left integer DEFAULT 0 NOT NULL,
    pool_from text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT item_supply_fallback CHECK (((fallback IS NULL) OR ((supplier IS NOT NULL) AND (fallback <> supplier)))),
    CONSTRAINT item_supply_pool_left_check CHECK ((pool_left >= 0)),
    CONSTRAINT item_supply_sku_check CHECK (((char_length(sku) >= 1) AND (char_length(sku) <= 200))),
    CONSTRAINT item_supply_source_check CHECK ((source = ANY (ARRAY['pool'::text, 'supplier'::text, 'hand'::text]))),
    CONSTRAINT item_supply_supplier CHECK (((source = 'supplier'::text) = (supplier IS NOT NULL))),
    CONSTRAINT item_supply_warn_below_check CHECK ((warn_below >= 0))
);

CREATE TABLE shopwire.items (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    type text NOT NULL,
    collection text NOT NULL,
    price_cents bigint NOT NULL,
    image text,
    is_for_sale boolean NOT NULL,
    has_supply boolean DEFAULT true NOT NULL,
    available_until timestamp with time zone,
    revision bigint NOT NULL,
    CONSTRAINT items_collection_check CHECK (((char_length(collection) >= 1) AND (char_length(collection) <= 200))),
    CONSTRAINT items_frame_without_image CHECK (((type <> 'frame'::text) OR (image IS NULL))),
    CONSTRAINT items_id_check CHECK ((id ~ '^[0-9]{17,20}$'::text)),
    CONSTRAINT items_image_check CHECK (((image ~ '^https?://'::text) AND (char_length(image) <= 2000))),
    CONSTRAINT items_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 200))),
    CONSTRAINT items_price_cents_check CHECK (((price_cents >= 0) AND (price_cents <= 100000000))),
    CONSTRAINT items_type_check CHECK ((type = ANY (ARRAY['decoration'::text, 'effect'::text, 'nameplate'::text, 'frame'::text, 'bundle'::text])))
);

CREATE TABLE shopwire.jobs (
    account_id text COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    run_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    is_woken boolean DEFAULT false NOT NULL,
    is_failing boolean DEFAULT false NOT NULL,
    is_backlog boolean DEFAULT false NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    dead_at timestamp with time zone,
    note text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT jobs_note_check CHECK ((char_length(note) <= 500))
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE shopwire.journal_comparisons (
    id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    generation bigint NOT NULL,
    identity text NOT NULL,
    journal_id text NOT NULL,
    read_from timestamp with time zone NOT NULL,
    links bigint NOT NULL,
    outside_generation bigint,
    outside_position bigint,
    is_complete boolean NOT NULL
);

CREATE TABLE shopwire.key_last_uses (
    account_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    last_used_at timestamp with time zone NOT NULL,
    last_address text,
    first_quote_at timestamp with time zone
);

CREATE TABLE shopwire.key_usage (
    account_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    hour timestamp with time zone NOT NULL,
    requests bigint NOT NULL,
    orders bigint NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    last_address text NOT NULL
);

CREATE TABLE shopwire.link_fingerprints (
    hash bytea NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    made_by text
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE shopwire.link_reads (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    client_address text NOT NULL,
    links smallint NOT NULL,
    is_sent boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05');

CREATE TABLE shopwire.link_retention (
    only_row boolean DEFAULT true NOT NULL,
    looked_to timestamp with time zone NOT NULL,
    CONSTRAINT link_retention_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.links_kept_longer (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    look_at timestamp with time zone NOT NULL
);

CREATE TABLE shopwire.lost_links (
    hash bytea NOT NULL,
    account_id text COLLATE pg_catalog."C",
    order_id text COLLATE pg_catalog."C",
    sold_at timestamp with time zone NOT NULL,
    found_at timestamp with time zone NOT NULL,
    CONSTRAINT lost_links_of_order CHECK (((account_id IS NULL) = (order_id IS NULL)))
);

CREATE TABLE shopwire.lost_orders (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    found_at timestamp with time zone NOT NULL
);

CREATE TABLE shopwire.mail_choices (
    account_id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    is_wanted boolean NOT NULL,
    CONSTRAINT mail_choices_kind_check CHECK ((kind = ANY (ARRAY['balance_alert'::text, 'top_up'::text, 'reversal'::text, 'webhook_trouble'::text])))
);

CREATE TABLE shopwire.memberships (
    account_id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text])))
);

CREATE TABLE shopwire.notices (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    details jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    is_mailed boolean NOT NULL,
    CONSTRAINT notices_kind_check CHECK ((kind = ANY (ARRAY['webhook.failing'::text, 'webhook.given_up'::text])))
);

CREATE TABLE shopwire.one_time_values (
    token_hash bytea NOT NULL,
    kind text NOT NULL,
    person_id text COLLATE pg_catalog."C",
    value text,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT one_time_values_kind_check CHECK ((kind = ANY (ARRAY['second-factor'::text, 'passkey-sign-in'::text, 'passkey-step-up'::text, 'new-passkey'::text, 'company-sign-in'::text, 'reset-password'::text, 'verify-email'::text]))),
    CONSTRAINT one_time_values_person_is_known CHECK (((person_id IS NULL) = (kind = ANY (ARRAY['passkey-sign-in'::text, 'company-sign-in'::text])))),
    CONSTRAINT one_time_values_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE shopwire.operator_invitations (
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    CONSTRAINT operator_invitations_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
    CONSTRAINT operator_invitations_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)))
);

CREATE TABLE shopwire.operator_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL,
    token_hash bytea NOT NULL,
    added_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT operator_tokens_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
    CONSTRAINT operator_tokens_expires CHECK (((expires_at > created_at) AND (expires_at <= (created_at + '8784:00:00'::interval)))),
    CONSTRAINT operator_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE shopwire.order_answers (
    order_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    is_sent boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05');

CREATE TABLE shopwire.order_attempts (
    account_id text NOT NULL COLLATE pg_catalog."C",
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    client_address text NOT NULL,
    request_hash bytea NOT NULL,
    status smallint NOT NULL,
    outcome text NOT NULL,
    is_sent boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05');

CREATE TABLE shopwire.order_backlog (
    only_row boolean DEFAULT true NOT NULL,
    waiting bigint NOT NULL,
    oldest_at timestamp with time zone,
    oldest_due_at timestamp with time zone,
    valid_until timestamp with time zone NOT NULL,
    CONSTRAINT order_backlog_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.order_lines (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    line smallint NOT NULL,
    item_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    qty smallint NOT NULL,
    unit_price_cents bigint NOT NULL,
    CONSTRAINT order_lines_line_check CHECK (((line >= 1) AND (line <= 25))),
    CONSTRAINT order_lines_qty_check CHECK (((qty >= 1) AND (qty <= 10))),
    CONSTRAINT order_lines_unit_price_cents_check CHECK ((unit_price_cents >= 0))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE shopwire.order_links (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    line smallint NOT NULL,
    unit smallint NOT NULL,
    link_sealed bytea,
    link_kek_id text,
    link_hash bytea NOT NULL,
    source text NOT NULL,
    obtained_at timestamp with time zone NOT NULL,
    erased_at timestamp with time zone,
    CONSTRAINT order_links_erased CHECK ((((link_sealed IS NULL) = (erased_at IS NOT NULL)) AND ((link_kek_id IS NULL) = (erased_at IS NOT NULL)))),
    CONSTRAINT order_links_unit_check CHECK (((unit >= 1) AND (unit <= 10)))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE shopwire.orders (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    request_hash bytea NOT NULL,
    status text DEFAULT 'paid'::text NOT NULL,
    total_cents bigint NOT NULL,
    key_id text NOT NULL COLLATE pg_catalog."C",
    request_id text COLLATE pg_catalog."C",
    client_address text,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    cancel_reason text,
    CONSTRAINT orders_cancel_reason CHECK (((status = 'cancelled'::text) = (cancel_reason IS NOT NULL))),
    CONSTRAINT orders_cancel_reason_check CHECK (((char_length(cancel_reason) >= 1) AND (char_length(cancel_reason) <= 200))),
    CONSTRAINT orders_cancelled_at CHECK (((status = 'cancelled'::text) = (cancelled_at IS NOT NULL))),
    CONSTRAINT orders_delivered_at CHECK (((status = 'delivered'::text) = (delivered_at IS NOT NULL))),
    CONSTRAINT orders_end_after_start CHECK (((delivered_at >= created_at) AND (cancelled_at >= created_at))),
    CONSTRAINT orders_status_check CHECK ((status = ANY (ARRAY['paid'::text, 'delivered'::text, 'cancelled'::text]))),
    CONSTRAINT orders_total_cents_check CHECK (((total_cents >= 0) AND (total_cents <= 500000)))
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE shopwire.outgoing_mail (
    id text NOT NULL COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    to_address text NOT NULL,
    subject text NOT NULL,
    body_sealed bytea NOT NULL,
    body_kek_id text NOT NULL,
    CONSTRAINT outgoing_mail_subject_check CHECK (((char_length(subject) >= 1) AND (char_length(subject) <= 200))),
    CONSTRAINT outgoing_mail_to_address_check CHECK (((char_length(to_address) >= 3) AND (char_length(to_address) <= 254)))
);

CREATE TABLE shopwire.own_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    key_sealed bytea NOT NULL,
    key_kek_id text NOT NULL
);

CREATE VIEW shopwire.paid_orders WITH (security_invoker='true') AS
 SELECT j.account_id,
    j.subject AS id,
    o.created_at,
    o.total_cents,
    j.attempts
   FROM (shopwire.jobs j
     JOIN shopwire.orders o ON (((o.account_id = j.account_id) AND (o.id = j.subject))))
  WHERE ((j.queue = 'fulfil'::text) AND (o.status = 'paid'::text));

CREATE TABLE shopwire.passkeys (
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    name text,
    credential_id text NOT NULL COLLATE pg_catalog."C",
    public_key bytea NOT NULL,
    counter bigint NOT NULL,
    device_type text NOT NULL,
    is_synced boolean NOT NULL,
    transports text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone
);

CREATE TABLE shopwire.payment_events (
    provider text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    facts jsonb NOT NULL,
    received_at timestamp with time zone NOT NULL,
    state text DEFAULT 'received'::text NOT NULL,
    next_at timestamp with time zone DEFAULT now() NOT NULL,
    decided_at timestamp with time zone,
    note text,
    CONSTRAINT payment_events_event_id_check CHECK (((char_length(event_id) >= 1) AND (char_length(event_id) <= 255))),
    CONSTRAINT payment_events_note_check CHECK ((char_length(note) <= 500)),
    CONSTRAINT payment_events_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payment_events_state_check CHECK ((state = ANY (ARRAY['received'::text, 'applied'::text, 'ignored'::text]))),
    CONSTRAINT payment_events_subject_check CHECK (((char_length(subject) >= 1) AND (char_length(subject) <= 255)))
);

CREATE TABLE shopwire.payment_reconciliations (
    provider text NOT NULL COLLATE pg_catalog."C",
    compared_until timestamp with time zone NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    stage text,
    started_at timestamp with time zone,
    read_until timestamp with time zone,
    after_id text,
    compared bigint DEFAULT 0 NOT NULL,
    asked bigint DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone,
    CONSTRAINT payment_reconciliations_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payment_reconciliations_run CHECK ((num_nulls(stage, started_at, read_until) = ANY (ARRAY[0, 3]))),
    CONSTRAINT payment_reconciliations_stage_check CHECK ((stage = ANY (ARRAY['payments'::text, 'refunds'::text, 'disputes'::text, 'ledger'::text])))
);

CREATE TABLE shopwire.payment_reviews (
    id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    note text NOT NULL COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    top_up_id text COLLATE pg_catalog."C",
    found_at timestamp with time zone DEFAULT now() NOT NULL,
    gone_at timestamp with time zone,
    decided_at timestamp with time zone,
    CONSTRAINT payment_reviews_note_check CHECK (((char_length(note) >= 1) AND (char_length(note) <= 500))),
    CONSTRAINT payment_reviews_provider_check CHECK ((provider = 'stripe'::text)),
    CONSTRAINT payment_reviews_subject_check CHECK (((char_length(subject) >= 1) AND (char_length(subject) <= 255)))
);

CREATE TABLE shopwire.people (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text DEFAULT 'customer'::text NOT NULL,
    name text NOT NULL,
    email text NOT NULL COLLATE pg_catalog."C",
    email_verified boolean DEFAULT false NOT NULL,
    has_totp boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT people_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
    CONSTRAINT people_kind_check CHECK ((kind = ANY (ARRAY['customer'::text, 'operator'::text]))),
    CONSTRAINT people_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)))
);

CREATE TABLE shopwire.personal_tokens (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    token_hash bytea NOT NULL,
    rights text[] NOT NULL,
    with_links boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT personal_tokens_expires CHECK (((expires_at > created_at) AND (expires_at <= (created_at + '2160:00:00'::interval)))),
    CONSTRAINT personal_tokens_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT personal_tokens_rights_check CHECK (((cardinality(rights) > 0) AND (rights <@ ARRAY['events:listen'::text, 'orders:prove'::text]))),
    CONSTRAINT personal_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE shopwire.pool_links (
    item_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    link_sealed bytea NOT NULL,
    link_kek_id text NOT NULL,
    link_hash bytea NOT NULL,
    loaded_at timestamp with time zone NOT NULL,
    set_aside_at timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='10000', vacuum_truncate=off);

CREATE TABLE shopwire.refund_rule (
    only_row boolean DEFAULT true NOT NULL,
    cancel_after interval,
    changed_at timestamp with time zone NOT NULL,
    per_hour_max integer DEFAULT 50 NOT NULL,
    window_started_at timestamp with time zone DEFAULT now() NOT NULL,
    window_count integer DEFAULT 0 NOT NULL,
    held_at timestamp with time zone,
    releases integer DEFAULT 0 NOT NULL,
    working_since timestamp with time zone DEFAULT now() NOT NULL,
    worked_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT refund_rule_cancel_after_check CHECK ((cancel_after > '00:00:00'::interval)),
    CONSTRAINT refund_rule_only_row_check CHECK (only_row),
    CONSTRAINT refund_rule_per_hour_max_check CHECK ((per_hour_max > 0)),
    CONSTRAINT refund_rule_window_count_check CHECK ((window_count >= 0))
);

CREATE TABLE shopwire.removals (
    kind text NOT NULL COLLATE pg_catalog."C",
    window_started_at timestamp with time zone DEFAULT now() NOT NULL,
    window_count bigint DEFAULT 0 NOT NULL,
    held_at timestamp with time zone,
    is_released boolean DEFAULT false NOT NULL,
    CONSTRAINT removals_held_or_released CHECK (((held_at IS NULL) OR (NOT is_released))),
    CONSTRAINT removals_kind_check CHECK ((kind = ANY (ARRAY['links'::text, 'events'::text, 'evidence'::text, 'journal'::text])))
);

CREATE VIEW shopwire.removal_limits WITH (security_invoker='true') AS
 SELECT r.kind,
    r.held_at,
    r.is_released,
        CASE
            WHEN (r.window_started_at <= (clock_timestamp() - '01:00:00'::interval)) THEN (0)::bigint
            ELSE r.window_count
        END AS removed,
        CASE
            WHEN (r.kind = 'journal'::text) THEN (3)::bigint
            ELSE GREATEST((10000)::bigint, ((((3)::double precision * made.rows) / (GREATEST((1)::numeric, (EXTRACT(epoch FROM (clock_timestamp() - made.since)) / (3600)::numeric)))::double precision))::bigint)
        END AS per_hour_max
   FROM (shopwire.removals r
     CROSS JOIN LATERAL ( SELECT
                CASE r.kind
                    WHEN 'links'::text THEN ( SELECT o.created_at
                       FROM shopwire.orders o
                      ORDER BY o.created_at
                     LIMIT 1)
                    WHEN 'events'::text THEN ( SELECT e.created_at
                       FROM shopwire.events e
                      ORDER BY e.created_at
                     LIMIT 1)
                    WHEN 'evidence'::text THEN ( SELECT a.at
                       FROM shopwire.order_attempts a
                      ORDER BY a.at
                     LIMIT 1)
                    ELSE NULL::timestamp with time zone
                END AS since,
            ( SELECT c.reltuples
                   FROM pg_class c
                  WHERE (c.oid = (
                        CASE r.kind
                            WHEN 'links'::text THEN 'shopwire.orders'::regclass
                            WHEN 'events'::text THEN 'shopwire.events'::regclass
                            WHEN 'evidence'::text THEN 'shopwire.order_attempts'::regclass
                            ELSE NULL::regclass
                        END)::oid)) AS rows) made);

CREATE TABLE shopwire.restocked_items (
    item_id text NOT NULL COLLATE pg_catalog."C",
    restocked_at timestamp with time zone NOT NULL,
    is_source_changed boolean DEFAULT false NOT NULL
);

CREATE TABLE shopwire.saved_views (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    list text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    folded_name text NOT NULL COLLATE pg_catalog."C",
    query text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT saved_views_list_check CHECK ((list = ANY (ARRAY['orders'::text, 'deliveries'::text, 'statement'::text, 'audit'::text]))),
    CONSTRAINT saved_views_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 40))),
    CONSTRAINT saved_views_query_check CHECK (((char_length(query) >= 1) AND (char_length(query) <= 1000)))
);

CREATE TABLE shopwire.schema_functions (
    path text NOT NULL COLLATE pg_catalog."C",
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE shopwire.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    compatible_with integer NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE shopwire.seal_commitments (
    audit_id text NOT NULL COLLATE pg_catalog."C",
    commitment bytea NOT NULL,
    salt bytea
);

CREATE TABLE shopwire.seal_digests (
    no bigint NOT NULL,
    day date NOT NULL,
    first_segment bigint NOT NULL,
    last_segment bigint NOT NULL,
    segments_hash bytea NOT NULL,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    made_at timestamp with time zone NOT NULL,
    CONSTRAINT seal_digests_no_check CHECK ((no > 0))
);

CREATE TABLE shopwire.seal_progress (
    only_row boolean DEFAULT true NOT NULL,
    done_up_to text COLLATE pg_catalog."C",
    finished_at timestamp with time zone NOT NULL,
    CONSTRAINT seal_progress_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.seal_segments (
    id bigint NOT NULL,
    chain text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    no bigint NOT NULL,
    first_seq bigint,
    last_seq bigint,
    row_ids text[],
    row_count bigint NOT NULL,
    marks bytea NOT NULL,
    previous_hash bytea NOT NULL,
    rows_hash bytea NOT NULL,
    hash bytea NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    CONSTRAINT seal_segments_id_check CHECK ((id > 0)),
    CONSTRAINT seal_segments_kind_check CHECK ((kind = ANY (ARRAY['transfers'::text, 'audit'::text]))),
    CONSTRAINT seal_segments_no_check CHECK ((no > 0)),
    CONSTRAINT seal_segments_of_audit CHECK (((kind = 'audit'::text) = (row_ids IS NOT NULL))),
    CONSTRAINT seal_segments_of_transfers CHECK (((kind = 'transfers'::text) = ((first_seq IS NOT NULL) AND (last_seq IS NOT NULL)))),
    CONSTRAINT seal_segments_row_count_check CHECK ((row_count > 0))
);

CREATE TABLE shopwire.seal_waiting (
    audit_id text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE shopwire.sessions (
    token_hash bytea NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    person_id text NOT NULL COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    stepped_up_at timestamp with time zone,
    address text NOT NULL,
    user_agent text NOT NULL,
    CONSTRAINT sessions_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE shopwire.sign_in_attempts (
    name_hash bytea NOT NULL,
    window_started_at timestamp with time zone NOT NULL,
    hits integer NOT NULL
);

CREATE UNLOGGED TABLE shopwire.spent_nonces (
    account_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    nonce text NOT NULL COLLATE pg_catalog."C",
    signed_at bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='10000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE shopwire.status_periods (
    started_at timestamp with time zone NOT NULL,
    seen_until timestamp with time zone NOT NULL,
    store text NOT NULL,
    reason text,
    impaired text[] NOT NULL,
    CONSTRAINT status_periods_impaired_check CHECK ((impaired <@ ARRAY['buying'::text, 'reading'::text, 'delivery'::text, 'webhooks'::text])),
    CONSTRAINT status_periods_reason_check CHECK ((char_length(reason) <= 200)),
    CONSTRAINT status_periods_store_check CHECK ((store = ANY (ARRAY['open'::text, 'closed'::text, 'planned'::text, 'unconfirmed'::text, 'unavailable'::text]))),
    CONSTRAINT status_periods_times CHECK ((seen_until >= started_at))
);

CREATE TABLE shopwire.store_position (
    only_row boolean DEFAULT true NOT NULL,
    "position" bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT store_position_only_row_check CHECK (only_row)
);

CREATE TABLE shopwire.store_state (
    only_row boolean DEFAULT true NOT NULL,
    is_open boolean NOT NULL,
    reason text,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT store_state_only_row_check CHECK (only_row),
    CONSTRAINT store_state_reason_check CHECK ((char_length(reason) <= 200))
);

CREATE TABLE shopwire.store_windows (
    id text NOT NULL COLLATE pg_catalog."C",
    closes_at timestamp with time zone NOT NULL,
    opens_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    cancelled_at timestamp with time zone,
    CONSTRAINT store_windows_reason_check CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 200))),
    CONSTRAINT store_windows_times CHECK ((closes_at < opens_at))
);

CREATE TABLE shopwire.supplier_requests (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    line smallint NOT NULL,
    supplier text NOT NULL COLLATE pg_catalog."C",
    round integer DEFAULT 1 NOT NULL,
    sku text NOT NULL,
    qty smallint NOT NULL,
    stage text DEFAULT 'requested'::text NOT NULL,
    attempts integer NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    error text,
    unit_cost_cents bigint,
    said_cents bigint,
    cost_cents bigint,
    links smallint,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    written_off_at timestamp with time zone,
    fencing_token integer DEFAULT 0 NOT NULL,
    CONSTRAINT supplier_requests_error_check CHECK ((char_length(error) <= 200)),
    CONSTRAINT supplier_requests_qty_check CHECK (((qty >= 1) AND (qty <= 10)))
);

CREATE TABLE shopwire.supplier_spending (
    supplier text NOT NULL COLLATE pg_catalog."C",
    minute timestamp with time zone NOT NULL,
    cents bigint NOT NULL,
    CONSTRAINT supplier_spending_cents_check CHECK ((cents >= 0))
);

CREATE TABLE shopwire.supplier_transfers (
    supplier text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    amount_cents bigint NOT NULL,
    note text,
    booked_at timestamp with time zone NOT NULL,
    CONSTRAINT supplier_transfers_amount_cents_check CHECK ((amount_cents > 0)),
    CONSTRAINT supplier_transfers_kind_check CHECK ((kind = ANY (ARRAY['cost'::text, 'payment'::text]))),
    CONSTRAINT supplier_transfers_note_check CHECK ((char_length(note) <= 500)),
    CONSTRAINT supplier_transfers_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 200)))
);

CREATE TABLE shopwire.suppliers (
    name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    secret_sealed bytea NOT NULL,
    secret_kek_id text NOT NULL,
    timeout_ms integer NOT NULL,
    is_paused boolean DEFAULT false NOT NULL,
    hourly_limit_cents bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT suppliers_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,39}$'::text)),
    CONSTRAINT suppliers_timeout_ms_check CHECK (((timeout_ms >= 100) AND (timeout_ms <= 60000))),
    CONSTRAINT suppliers_url_check CHECK ((char_length(url) <= 2000))
);

CREATE TABLE shopwire.top_up_reversals (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    top_up_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    provider_reference text NOT NULL COLLATE pg_catalog."C",
    provider_status text NOT NULL,
    is_settled boolean NOT NULL,
    provider_cents bigint NOT NULL,
    amount_cents bigint NOT NULL,
    taken_cents bigint NOT NULL,
    owed_cents bigint NOT NULL,
    written_off_cents bigint DEFAULT 0 NOT NULL,
    returned_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT top_up_reversals_amount_cents_check CHECK ((amount_cents >= 0)),
    CONSTRAINT top_up_reversals_at_most CHECK ((amount_cents <= provider_cents)),
    CONSTRAINT top_up_reversals_kind_check CHECK ((kind = ANY (ARRAY['refund'::text, 'dispute'::text]))),
    CONSTRAINT top_up_reversals_owed_cents_check CHECK ((owed_cents >= 0)),
    CONSTRAINT top_up_reversals_provider_cents_check CHECK ((provider_cents > 0)),
    CONSTRAINT top_up_reversals_returned CHECK (((returned_at IS NULL) OR (owed_cents = 0))),
    CONSTRAINT top_up_reversals_sum CHECK ((((taken_cents + owed_cents) + written_off_cents) = amount_cents)),
    CONSTRAINT top_up_reversals_taken_cents_check CHECK ((taken_cents >= 0)),
    CONSTRAINT top_up_reversals_written_off_cents_check CHECK ((written_off_cents >= 0))
);

CREATE TABLE shopwire.top_ups (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL,
    amount_cents bigint NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    provider_session text,
    provider_payment text COLLATE pg_catalog."C",
    created_by text NOT NULL,
    created_by_name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    credited_cents bigint,
    credited_seq bigint,
    note text,
    look_at timestamp with time zone DEFAULT (now() + '00:05:00'::interval),
    answers integer DEFAULT 0 NOT NULL,
    compared_at timestamp with time zone,
    attempt text COLLATE pg_catalog."C",
    CONSTRAINT top_ups_amount_cents_check CHECK ((amount_cents > 0)),
    CONSTRAINT top_ups_credited CHECK (((state = 'credited'::text) = (credited_seq IS NOT NULL))),
    CONSTRAINT top_ups_credited_cents CHECK (((credited_cents IS NULL) = (credited_seq IS NULL))),
    CONSTRAINT top_ups_credited_cents_check CHECK ((credited_cents > 0)),
    CONSTRAINT top_ups_note_check CHECK ((char_length(note) <= 500)),
    CONSTRAINT top_ups_provider_check CHECK ((provider = ANY (ARRAY['bank'::text, 'stripe'::text]))),
    CONSTRAINT top_ups_reference_check CHECK ((reference ~ '^RF[0-9]{2}[0-9A-Z]{1,21}$'::text)),
    CONSTRAINT top_ups_session CHECK (((provider = 'stripe'::text) = (provider_session IS NOT NULL))),
    CONSTRAINT top_ups_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'credited'::text, 'review'::text, 'failed'::text, 'expired'::text, 'rejected'::text])))
);

CREATE TABLE shopwire.transfers (
    account_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    change_cents bigint NOT NULL,
    balance_after_cents bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    order_id text COLLATE pg_catalog."C",
    reference text COLLATE pg_catalog."C",
    note text,
    CONSTRAINT transfers_balance_after_cents_check CHECK ((balance_after_cents >= 0)),
    CONSTRAINT transfers_direction CHECK (
CASE kind
    WHEN 'funding'::text THEN (change_cents > 0)
    WHEN 'adjustment'::text THEN (change_cents <> 0)
    WHEN 'order'::text THEN (change_cents <= 0)
    WHEN 'refund'::text THEN (change_cents >= 0)
    ELSE NULL::boolean
END),
    CONSTRAINT transfers_kind_check CHECK ((kind = ANY (ARRAY['funding'::text, 'adjustment'::text, 'order'::text, 'refund'::text]))),
    CONSTRAINT transfers_note_check CHECK ((char_length(note) <= 500)),
    CONSTRAINT transfers_of_orders CHECK (((kind = ANY (ARRAY['order'::text, 'refund'::text])) = (order_id IS NOT NULL))),
    CONSTRAINT transfers_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 200))),
    CONSTRAINT transfers_seq_check CHECK ((seq > 0))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE shopwire.unassigned_units (
    item_id text NOT NULL COLLATE pg_catalog."C",
    slot bigint NOT NULL,
    units integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE shopwire.verify_runs (
    id text NOT NULL COLLATE pg_catalog."C",
    finished_at timestamp with time zone NOT NULL,
    rules integer NOT NULL,
    violated integer NOT NULL,
    CONSTRAINT verify_runs_rules_check CHECK ((rules > 0)),
    CONSTRAINT verify_runs_violated CHECK (((violated >= 0) AND (violated <= rules)))
);

CREATE TABLE shopwire.waiting_lines (
    account_id text NOT NULL COLLATE pg_catalog."C",
    order_id text NOT NULL COLLATE pg_catalog."C",
    line smallint NOT NULL,
    item_id text NOT NULL COLLATE pg_catalog."C",
    missing integer NOT NULL,
    CONSTRAINT waiting_lines_missing_check CHECK ((missing > 0))
)
WITH (autovacuum_vacuum_scale_factor='0.0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0', vacuum_truncate=off);

CREATE TABLE shopwire.webhook_endpoints (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    set_by text NOT NULL,
    set_by_name text,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    last_delivered_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    last_error text,
    alerted_percent smallint DEFAULT 0 NOT NULL,
    CONSTRAINT webhook_endpoints_last_error_check CHECK ((char_length(last_error) <= 50)),
    CONSTRAINT webhook_endpoints_url_check CHECK ((char_length(url) <= 2048))
)
WITH (fillfactor='80');

CREATE TABLE shopwire.webhook_secrets (
    account_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    secret_sealed bytea NOT NULL,
    secret_kek_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone
);

CREATE TABLE shopwire.witnessed_nonces (
    account_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    nonce text NOT NULL COLLATE pg_catalog."C",
    signed_at bigint NOT NULL
);

CREATE TABLE shopwire.witnessed_refusals (
    account_id text NOT NULL COLLATE pg_catalog."C",
    is_order boolean NOT NULL,
    refused_to bigint NOT NULL
);

CREATE TABLE shopwire.worker_heartbeats (
    id text NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone
);

CREATE UNLOGGED TABLE shopwire.write_probe (
    filler text NOT NULL
);
ALTER TABLE ONLY shopwire.write_probe ALTER COLUMN filler SET STORAGE PLAIN;

ALTER TABLE ONLY shopwire.access_changes
    ADD CONSTRAINT access_changes_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY shopwire.account_days
    ADD CONSTRAINT account_days_pkey PRIMARY KEY (account_id, day);

ALTER TABLE ONLY shopwire.account_days_progress
    ADD CONSTRAINT account_days_progress_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.admission_in_use
    ADD CONSTRAINT admission_in_use_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY shopwire.admission_memory
    ADD CONSTRAINT admission_memory_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.admission_windows
    ADD CONSTRAINT admission_windows_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY shopwire.alert_addresses
    ADD CONSTRAINT alert_addresses_pkey PRIMARY KEY (account_id, email);

ALTER TABLE ONLY shopwire.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.authenticator_apps
    ADD CONSTRAINT authenticator_apps_person_id_key UNIQUE (person_id);

ALTER TABLE ONLY shopwire.authenticator_apps
    ADD CONSTRAINT authenticator_apps_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.balance_alerts
    ADD CONSTRAINT balance_alerts_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY shopwire.balances
    ADD CONSTRAINT balances_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY shopwire.catalogue_announcement
    ADD CONSTRAINT catalogue_announcement_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.catalogue_state
    ADD CONSTRAINT catalogue_state_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.clock_records
    ADD CONSTRAINT clock_records_pkey PRIMARY KEY (boot_id);

ALTER TABLE ONLY shopwire.credentials
    ADD CONSTRAINT credentials_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.credentials
    ADD CONSTRAINT credentials_provider_subject_key UNIQUE (provider, subject);

ALTER TABLE ONLY shopwire.database_identity
    ADD CONSTRAINT database_identity_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (account_id, event_id, endpoint_id);

ALTER TABLE ONLY shopwire.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (event_id, endpoint_id, round, n);

ALTER TABLE ONLY shopwire.encryption_key_checks
    ADD CONSTRAINT encryption_key_checks_pkey PRIMARY KEY (kek_id);

ALTER TABLE ONLY shopwire.event_retention
    ADD CONSTRAINT event_retention_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.evidence_retention
    ADD CONSTRAINT evidence_retention_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.funding_references
    ADD CONSTRAINT funding_references_pkey PRIMARY KEY (reference);

ALTER TABLE ONLY shopwire.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.item_supply
    ADD CONSTRAINT item_supply_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY shopwire.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (queue, subject);

ALTER TABLE ONLY shopwire.journal_comparisons
    ADD CONSTRAINT journal_comparisons_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.key_last_uses
    ADD CONSTRAINT key_last_uses_pkey PRIMARY KEY (account_id, key_id);

ALTER TABLE ONLY shopwire.key_usage
    ADD CONSTRAINT key_usage_pkey PRIMARY KEY (account_id, key_id, hour);

ALTER TABLE ONLY shopwire.link_fingerprints
    ADD CONSTRAINT link_fingerprints_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY shopwire.link_reads
    ADD CONSTRAINT link_reads_pkey PRIMARY KEY (order_id, request_id);

ALTER TABLE ONLY shopwire.link_retention
    ADD CONSTRAINT link_retention_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.links_kept_longer
    ADD CONSTRAINT links_kept_longer_pkey PRIMARY KEY (order_id);

ALTER TABLE ONLY shopwire.lost_links
    ADD CONSTRAINT lost_links_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY shopwire.lost_orders
    ADD CONSTRAINT lost_orders_pkey PRIMARY KEY (account_id, order_id);

ALTER TABLE ONLY shopwire.mail_choices
    ADD CONSTRAINT mail_choices_pkey PRIMARY KEY (account_id, person_id, kind);

ALTER TABLE ONLY shopwire.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (account_id, person_id);

ALTER TABLE ONLY shopwire.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.one_time_values
    ADD CONSTRAINT one_time_values_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY shopwire.operator_invitations
    ADD CONSTRAINT operator_invitations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.operator_invitations
    ADD CONSTRAINT operator_invitations_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY shopwire.operator_tokens
    ADD CONSTRAINT operator_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.order_answers
    ADD CONSTRAINT order_answers_pkey PRIMARY KEY (order_id);

ALTER TABLE ONLY shopwire.order_attempts
    ADD CONSTRAINT order_attempts_pkey PRIMARY KEY (account_id, idempotency_key, request_id);

ALTER TABLE ONLY shopwire.order_backlog
    ADD CONSTRAINT order_backlog_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.order_lines
    ADD CONSTRAINT order_lines_pkey PRIMARY KEY (order_id, line);

ALTER TABLE ONLY shopwire.order_links
    ADD CONSTRAINT order_links_link_hash_key UNIQUE (link_hash);

ALTER TABLE ONLY shopwire.order_links
    ADD CONSTRAINT order_links_pkey PRIMARY KEY (order_id, line, unit);

ALTER TABLE ONLY shopwire.orders
    ADD CONSTRAINT orders_account_id_idempotency_key_key UNIQUE (account_id, idempotency_key);

ALTER TABLE ONLY shopwire.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.outgoing_mail
    ADD CONSTRAINT outgoing_mail_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.own_keys
    ADD CONSTRAINT own_keys_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shopwire.passkeys
    ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);

ALTER TABLE ONLY shopwire.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.payment_events
    ADD CONSTRAINT payment_events_pkey PRIMARY KEY (provider, event_id);

ALTER TABLE ONLY shopwire.payment_reconciliations
    ADD CONSTRAINT payment_reconciliations_pkey PRIMARY KEY (provider);

ALTER TABLE ONLY shopwire.payment_reviews
    ADD CONSTRAINT payment_reviews_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.people
    ADD CONSTRAINT people_email_key UNIQUE (email);

ALTER TABLE ONLY shopwire.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.personal_tokens
    ADD CONSTRAINT personal_tokens_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.pool_links
    ADD CONSTRAINT pool_links_link_hash_key UNIQUE (link_hash);

ALTER TABLE ONLY shopwire.pool_links
    ADD CONSTRAINT pool_links_pkey PRIMARY KEY (item_id, id);

ALTER TABLE ONLY shopwire.refund_rule
    ADD CONSTRAINT refund_rule_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.removals
    ADD CONSTRAINT removals_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY shopwire.restocked_items
    ADD CONSTRAINT restocked_items_pkey PRIMARY KEY (item_id);

ALTER TABLE ONLY shopwire.saved_views
    ADD CONSTRAINT saved_views_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.schema_functions
    ADD CONSTRAINT schema_functions_pkey PRIMARY KEY (path);

ALTER TABLE ONLY shopwire.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY shopwire.seal_commitments
    ADD CONSTRAINT seal_commitments_pkey PRIMARY KEY (audit_id);

ALTER TABLE ONLY shopwire.seal_digests
    ADD CONSTRAINT seal_digests_day_key UNIQUE (day);

ALTER TABLE ONLY shopwire.seal_digests
    ADD CONSTRAINT seal_digests_pkey PRIMARY KEY (no);

ALTER TABLE ONLY shopwire.seal_progress
    ADD CONSTRAINT seal_progress_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.seal_segments
    ADD CONSTRAINT seal_segments_chain_kind_no_key UNIQUE (chain, kind, no);

ALTER TABLE ONLY shopwire.seal_segments
    ADD CONSTRAINT seal_segments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.seal_waiting
    ADD CONSTRAINT seal_waiting_pkey PRIMARY KEY (audit_id);

ALTER TABLE ONLY shopwire.sessions
    ADD CONSTRAINT sessions_id_key UNIQUE (id);

ALTER TABLE ONLY shopwire.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY shopwire.sign_in_attempts
    ADD CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (name_hash);

ALTER TABLE ONLY shopwire.spent_nonces
    ADD CONSTRAINT spent_nonces_pkey PRIMARY KEY (account_id, key_id, nonce);

ALTER TABLE ONLY shopwire.status_periods
    ADD CONSTRAINT status_periods_pkey PRIMARY KEY (started_at);

ALTER TABLE ONLY shopwire.store_position
    ADD CONSTRAINT store_position_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.store_state
    ADD CONSTRAINT store_state_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY shopwire.store_windows
    ADD CONSTRAINT store_windows_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.supplier_requests
    ADD CONSTRAINT supplier_requests_pkey PRIMARY KEY (order_id, line, supplier, round);

ALTER TABLE ONLY shopwire.supplier_spending
    ADD CONSTRAINT supplier_spending_pkey PRIMARY KEY (supplier, minute);

ALTER TABLE ONLY shopwire.supplier_transfers
    ADD CONSTRAINT supplier_transfers_pkey PRIMARY KEY (supplier, kind, reference);

ALTER TABLE ONLY shopwire.suppliers
    ADD CONSTRAINT suppliers_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shopwire.top_up_reversals
    ADD CONSTRAINT top_up_reversals_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.top_ups
    ADD CONSTRAINT top_ups_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (account_id, seq);

ALTER TABLE ONLY shopwire.unassigned_units
    ADD CONSTRAINT unassigned_units_pkey PRIMARY KEY (item_id, slot);

ALTER TABLE ONLY shopwire.verify_runs
    ADD CONSTRAINT verify_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shopwire.waiting_lines
    ADD CONSTRAINT waiting_lines_pkey PRIMARY KEY (order_id, line);

ALTER TABLE ONLY shopwire.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.webhook_secrets
    ADD CONSTRAINT webhook_secrets_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY shopwire.witnessed_nonces
    ADD CONSTRAINT witnessed_nonces_pkey PRIMARY KEY (account_id, key_id, nonce);

ALTER TABLE ONLY shopwire.witnessed_refusals
    ADD CONSTRAINT witnessed_refusals_pkey PRIMARY KEY (account_id, is_order);

ALTER TABLE ONLY shopwire.worker_heartbeats
    ADD CONSTRAINT worker_heartbeats_pkey PRIMARY KEY (id);

CREATE INDEX access_changes_changed_at ON shopwire.access_changes USING btree (changed_at);

CREATE INDEX access_changes_changed_in ON shopwire.access_changes USING btree (changed_in);

CREATE INDEX accounts_erased ON shopwire.accounts USING btree (id) WHERE (erased_at IS NOT NULL);

CREATE UNIQUE INDEX api_keys_id ON shopwire.api_keys USING btree (id);

CREATE INDEX audit_log_account ON shopwire.audit_log USING btree (account_id, id);

CREATE INDEX audit_log_target ON shopwire.audit_log USING btree (target, id);

CREATE INDEX credentials_person ON shopwire.credentials USING btree (person_id);

CREATE INDEX deliveries_due ON shopwire.deliveries USING btree (account_id, endpoint_id, next_at, event_id) WHERE (state = 'pending'::text);

CREATE INDEX deliveries_not_accepted ON shopwire.deliveries USING btree (account_id, state, event_id) WHERE (state = ANY (ARRAY['failed'::text, 'cancelled'::text]));

CREATE INDEX delivery_attempts_recent ON shopwire.delivery_attempts USING btree (account_id, endpoint_id, finished_at);

CREATE INDEX events_by_rare_type ON shopwire.events USING btree (account_id, type, id) WHERE (type <> ALL (ARRAY['order.accepted'::text, 'order.delivered'::text]));

CREATE INDEX events_created ON shopwire.events USING btree (created_at);

CREATE UNIQUE INDEX events_order_once ON shopwire.events USING btree (order_id, type) WHERE (order_id IS NOT NULL);

CREATE INDEX invitations_email ON shopwire.invitations USING btree (email) WHERE ((accepted_at IS NULL) AND (withdrawn_at IS NULL));

CREATE UNIQUE INDEX invitations_open ON shopwire.invitations USING btree (account_id, email) WHERE ((accepted_at IS NULL) AND (withdrawn_at IS NULL));

CREATE UNIQUE INDEX items_revision ON shopwire.items USING btree (revision, id);

CREATE INDEX jobs_due_by_lane ON shopwire.jobs USING btree (queue, is_failing, is_backlog, run_at);

CREATE INDEX key_usage_hour ON shopwire.key_usage USING btree (hour);

CREATE INDEX link_reads_at ON shopwire.link_reads USING btree (at);

CREATE INDEX links_kept_longer_due ON shopwire.links_kept_longer USING btree (look_at);

CREATE INDEX lost_links_order ON shopwire.lost_links USING btree (order_id) WHERE (order_id IS NOT NULL);

CREATE INDEX memberships_person ON shopwire.memberships USING btree (person_id);

CREATE INDEX one_time_values_expires ON shopwire.one_time_values USING btree (expires_at);

CREATE INDEX one_time_values_person ON shopwire.one_time_values USING btree (person_id);

CREATE UNIQUE INDEX operator_tokens_hash ON shopwire.operator_tokens USING btree (token_hash);

CREATE INDEX order_attempts_at ON shopwire.order_attempts USING btree (at);

CREATE INDEX orders_by_time ON shopwire.orders USING btree (created_at);

CREATE INDEX orders_cancelled ON shopwire.orders USING btree (account_id, id) WHERE (cancelled_at IS NOT NULL);

CREATE INDEX passkeys_person ON shopwire.passkeys USING btree (person_id);

CREATE INDEX payment_events_due ON shopwire.payment_events USING btree (next_at) WHERE (state = 'received'::text);

CREATE INDEX payment_events_subject ON shopwire.payment_events USING btree (subject);

CREATE UNIQUE INDEX payment_reviews_once ON shopwire.payment_reviews USING btree (provider, subject, note);

CREATE INDEX payment_reviews_open ON shopwire.payment_reviews USING btree (found_at) WHERE ((decided_at IS NULL) AND (gone_at IS NULL));

CREATE UNIQUE INDEX personal_tokens_hash ON shopwire.personal_tokens USING btree (token_hash);

CREATE UNIQUE INDEX saved_views_name ON shopwire.saved_views USING btree (account_id, person_id, list, folded_name);

CREATE INDEX sessions_expires ON shopwire.sessions USING btree (expires_at);

CREATE INDEX sessions_person ON shopwire.sessions USING btree (person_id);

CREATE INDEX sign_in_attempts_started ON shopwire.sign_in_attempts USING btree (window_started_at);

CREATE INDEX spent_nonces_signed_at ON shopwire.spent_nonces USING btree (signed_at);

CREATE INDEX store_windows_ahead ON shopwire.store_windows USING btree (opens_at) WHERE (cancelled_at IS NULL);

CREATE INDEX supplier_requests_by_supplier ON shopwire.supplier_requests USING btree (supplier, COALESCE(ended_at, first_at));

CREATE INDEX supplier_requests_open ON shopwire.supplier_requests USING btree (last_at) WHERE (ended_at IS NULL);

CREATE INDEX supplier_transfers_booked ON shopwire.supplier_transfers USING btree (supplier, booked_at);

CREATE UNIQUE INDEX top_up_reversals_once ON shopwire.top_up_reversals USING btree (provider_reference);

CREATE INDEX top_up_reversals_owed ON shopwire.top_up_reversals USING btree (account_id) WHERE (owed_cents > 0);

CREATE INDEX top_up_reversals_top_up ON shopwire.top_up_reversals USING btree (account_id, top_up_id);

CREATE INDEX top_up_reversals_unsettled ON shopwire.top_up_reversals USING btree (id) WHERE (NOT is_settled);

CREATE UNIQUE INDEX top_ups_attempt ON shopwire.top_ups USING btree (account_id, attempt) WHERE (attempt IS NOT NULL);

CREATE INDEX top_ups_by_card ON shopwire.top_ups USING btree (decided_at) WHERE ((state = 'credited'::text) AND (provider_payment IS NOT NULL));

CREATE INDEX top_ups_look ON shopwire.top_ups USING btree (look_at) WHERE ((look_at IS NOT NULL) AND (provider <> 'bank'::text));

CREATE INDEX top_ups_open ON shopwire.top_ups USING btree (created_at) WHERE (state = ANY (ARRAY['pending'::text, 'review'::text]));

CREATE INDEX top_ups_payment ON shopwire.top_ups USING btree (provider_payment) WHERE (provider_payment IS NOT NULL);

CREATE UNIQUE INDEX top_ups_reference ON shopwire.top_ups USING btree (reference);

CREATE UNIQUE INDEX top_ups_transfer_once ON shopwire.top_ups USING btree (account_id, credited_seq) WHERE (credited_seq IS NOT NULL);

CREATE UNIQUE INDEX transfers_order_once ON shopwire.transfers USING btree (order_id, kind) WHERE (order_id IS NOT NULL);

CREATE UNIQUE INDEX transfers_reference_once ON shopwire.transfers USING btree (account_id, kind, reference) WHERE (reference IS NOT NULL);

CREATE INDEX transfers_without_orders ON shopwire.transfers USING btree (account_id, kind, seq) WHERE (kind <> 'order'::text);

CREATE INDEX waiting_lines_item ON shopwire.waiting_lines USING btree (item_id, order_id, account_id, line);

CREATE UNIQUE INDEX webhook_endpoints_id ON shopwire.webhook_endpoints USING btree (id);

CREATE UNIQUE INDEX webhook_endpoints_live ON shopwire.webhook_endpoints USING btree (account_id) WHERE (ended_at IS NULL);

CREATE UNIQUE INDEX webhook_secrets_current ON shopwire.webhook_secrets USING btree (account_id) WHERE (ends_at IS NULL);

CREATE INDEX witnessed_nonces_signed_at ON shopwire.witnessed_nonces USING btree (signed_at);

CREATE INDEX witnessed_refusals_refused_to ON shopwire.witnessed_refusals USING btree (refused_to);

CREATE TRIGGER access_changes_rise BEFORE UPDATE ON shopwire.access_changes FOR EACH ROW WHEN (((new.account_id <> old.account_id) OR (new.access_version <= old.access_version) OR (new.changed_in <> pg_current_xact_id()) OR (new.changed_at < old.changed_at))) EXECUTE FUNCTION shopwire.keep_access_changes();

CREATE TRIGGER access_changes_stay BEFORE DELETE ON shopwire.access_changes FOR EACH ROW WHEN ((old.changed_at > (clock_timestamp() - '01:00:00'::interval))) EXECUTE FUNCTION shopwire.keep_access_changes();

CREATE TRIGGER access_changes_stay_all BEFORE TRUNCATE ON shopwire.access_changes FOR EACH STATEMENT EXECUTE FUNCTION shopwire.keep_access_changes();

CREATE TRIGGER accounts_access_version_changed AFTER UPDATE OF access_version ON shopwire.accounts FOR EACH ROW WHEN ((new.access_version <> old.access_version)) EXECUTE FUNCTION shopwire.note_access_change();

CREATE TRIGGER accounts_access_version_rises BEFORE UPDATE ON shopwire.accounts FOR EACH ROW WHEN (((new.access_version <> old.access_version) AND (new.access_version <> (old.access_version + 1)))) EXECUTE FUNCTION shopwire.keep_access_changes();

CREATE TRIGGER accounts_stay_closed BEFORE UPDATE ON shopwire.accounts FOR EACH ROW WHEN ((old.closed_at IS NOT NULL)) EXECUTE FUNCTION shopwire.stay_closed();

CREATE TRIGGER api_keys_of_open_accounts BEFORE INSERT ON shopwire.api_keys FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

CREATE TRIGGER api_keys_stay_as_made BEFORE UPDATE ON shopwire.api_keys FOR EACH ROW WHEN (((new.scopes IS DISTINCT FROM old.scopes) OR (new.account_id <> old.account_id) OR (new.id <> old.id) OR ((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at)))) EXECUTE FUNCTION shopwire.keep_key_as_made();

CREATE TRIGGER audit_log_await_seal AFTER INSERT ON shopwire.audit_log FOR EACH ROW EXECUTE FUNCTION shopwire.await_seal();

CREATE TRIGGER invitations_of_open_accounts BEFORE INSERT ON shopwire.invitations FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

CREATE TRIGGER jobs_taken_only_if_confirmed BEFORE UPDATE ON shopwire.jobs FOR EACH ROW WHEN ((new.attempts > old.attempts)) EXECUTE FUNCTION shopwire.skip_if_unconfirmed();

CREATE TRIGGER memberships_of_open_accounts BEFORE INSERT ON shopwire.memberships FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

CREATE TRIGGER operator_tokens_stay_revoked BEFORE UPDATE ON shopwire.operator_tokens FOR EACH ROW WHEN (((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at))) EXECUTE FUNCTION shopwire.stay_revoked();

CREATE TRIGGER orders_delivered_only_if_journalled BEFORE UPDATE ON shopwire.orders FOR EACH ROW WHEN (((old.status = 'paid'::text) AND (new.status = 'delivered'::text))) EXECUTE FUNCTION shopwire.refuse_unless_journalled();

CREATE TRIGGER orders_end_only_if_confirmed BEFORE UPDATE ON shopwire.orders FOR EACH ROW WHEN (((old.status = 'paid'::text) AND (new.status <> 'paid'::text))) EXECUTE FUNCTION shopwire.refuse_if_unconfirmed();

CREATE TRIGGER orders_stay_ended BEFORE UPDATE ON shopwire.orders FOR EACH ROW WHEN (((new.total_cents <> old.total_cents) OR (new.account_id <> old.account_id) OR (new.id <> old.id) OR ((old.status <> 'paid'::text) AND ((((new.status IS DISTINCT FROM old.status) OR (new.delivered_at IS DISTINCT FROM old.delivered_at)) OR (new.cancelled_at IS DISTINCT FROM old.cancelled_at)) OR (new.cancel_reason IS DISTINCT FROM old.cancel_reason))))) EXECUTE FUNCTION shopwire.keep_order_ended();

CREATE TRIGGER personal_tokens_of_open_accounts BEFORE INSERT ON shopwire.personal_tokens FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

CREATE TRIGGER personal_tokens_stay_revoked BEFORE UPDATE ON shopwire.personal_tokens FOR EACH ROW WHEN (((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at))) EXECUTE FUNCTION shopwire.stay_revoked();

CREATE TRIGGER seal_commitments_keep BEFORE UPDATE ON shopwire.seal_commitments FOR EACH ROW EXECUTE FUNCTION shopwire.keep_commitment();

CREATE TRIGGER seal_commitments_stay BEFORE DELETE OR TRUNCATE ON shopwire.seal_commitments FOR EACH STATEMENT EXECUTE FUNCTION shopwire.refuse_changes();

CREATE TRIGGER seal_digests_stay BEFORE DELETE OR UPDATE OR TRUNCATE ON shopwire.seal_digests FOR EACH STATEMENT EXECUTE FUNCTION shopwire.refuse_changes();

CREATE TRIGGER seal_segments_stay BEFORE DELETE OR UPDATE OR TRUNCATE ON shopwire.seal_segments FOR EACH STATEMENT EXECUTE FUNCTION shopwire.refuse_changes();

CREATE TRIGGER supplier_requests_advance BEFORE INSERT OR UPDATE ON shopwire.supplier_requests FOR EACH ROW EXECUTE FUNCTION shopwire.advance_supplier_request();

CREATE TRIGGER supplier_requests_after_advance_only_if_confirmed BEFORE INSERT OR UPDATE ON shopwire.supplier_requests FOR EACH ROW WHEN ((new.stage = ANY (ARRAY['requested'::text, 'accepted'::text, 'unknown'::text]))) EXECUTE FUNCTION shopwire.refuse_if_unconfirmed();

CREATE TRIGGER supplier_requests_book_cost AFTER UPDATE ON shopwire.supplier_requests FOR EACH ROW WHEN (((old.stage <> new.stage) AND (new.stage = ANY (ARRAY['fulfilled'::text, 'collected'::text])) AND (new.cost_cents > 0))) EXECUTE FUNCTION shopwire.book_supplier_cost();

CREATE TRIGGER top_ups_of_open_accounts BEFORE INSERT ON shopwire.top_ups FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

CREATE TRIGGER top_ups_stay_decided BEFORE UPDATE ON shopwire.top_ups FOR EACH ROW WHEN ((((((((new.account_id IS DISTINCT FROM old.account_id) OR (new.id IS DISTINCT FROM old.id)) OR (new.provider IS DISTINCT FROM old.provider)) OR (new.amount_cents IS DISTINCT FROM old.amount_cents)) OR (new.reference IS DISTINCT FROM old.reference)) OR (new.provider_session IS DISTINCT FROM old.provider_session)) OR ((old.state = ANY (ARRAY['credited'::text, 'rejected'::text])) AND (((((new.state IS DISTINCT FROM old.state) OR (new.decided_at IS DISTINCT FROM old.decided_at)) OR (new.provider_payment IS DISTINCT FROM old.provider_payment)) OR (new.credited_cents IS DISTINCT FROM old.credited_cents)) OR (new.credited_seq IS DISTINCT FROM old.credited_seq))) OR ((new.state <> old.state) AND ((((((((((((old.state <> 'pending'::text) OR (new.state <> 'credited'::text)) AND ((old.state <> 'pending'::text) OR (new.state <> 'review'::text))) AND ((old.state <> 'pending'::text) OR (new.state <> 'failed'::text))) AND ((old.state <> 'pending'::text) OR (new.state <> 'expired'::text))) AND ((old.state <> 'pending'::text) OR (new.state <> 'rejected'::text))) AND ((old.state <> 'failed'::text) OR (new.state <> 'credited'::text))) AND ((old.state <> 'failed'::text) OR (new.state <> 'review'::text))) AND ((old.state <> 'expired'::text) OR (new.state <> 'credited'::text))) AND ((old.state <> 'expired'::text) OR (new.state <> 'review'::text))) AND ((old.state <> 'review'::text) OR (new.state <> 'credited'::text))) AND ((old.state <> 'review'::text) OR (new.state <> 'rejected'::text)))))) EXECUTE FUNCTION shopwire.keep_top_up_decided();

CREATE TRIGGER webhook_endpoints_of_open_accounts BEFORE INSERT ON shopwire.webhook_endpoints FOR EACH ROW EXECUTE FUNCTION shopwire.refuse_if_closed();

ALTER TABLE ONLY shopwire.access_changes
    ADD CONSTRAINT access_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.account_days
    ADD CONSTRAINT account_days_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.alert_addresses
    ADD CONSTRAINT alert_addresses_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.api_keys
    ADD CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.authenticator_apps
    ADD CONSTRAINT authenticator_apps_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.balance_alerts
    ADD CONSTRAINT balance_alerts_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.balances
    ADD CONSTRAINT balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.credentials
    ADD CONSTRAINT credentials_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.deliveries
    ADD CONSTRAINT deliveries_account_id_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id) REFERENCES shopwire.webhook_endpoints(account_id, id);

ALTER TABLE ONLY shopwire.deliveries
    ADD CONSTRAINT deliveries_account_id_event_id_fkey FOREIGN KEY (account_id, event_id) REFERENCES shopwire.events(account_id, id);

ALTER TABLE ONLY shopwire.delivery_attempts
    ADD CONSTRAINT delivery_attempts_account_id_event_id_endpoint_id_fkey FOREIGN KEY (account_id, event_id, endpoint_id) REFERENCES shopwire.deliveries(account_id, event_id, endpoint_id);

ALTER TABLE ONLY shopwire.events
    ADD CONSTRAINT events_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.balances(account_id);

ALTER TABLE ONLY shopwire.events
    ADD CONSTRAINT events_account_id_order_id_fkey FOREIGN KEY (account_id, order_id) REFERENCES shopwire.orders(account_id, id);

ALTER TABLE ONLY shopwire.funding_references
    ADD CONSTRAINT funding_references_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.invitations
    ADD CONSTRAINT invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.invitations
    ADD CONSTRAINT invitations_inviter_id_fkey FOREIGN KEY (inviter_id) REFERENCES shopwire.people(id) ON DELETE SET NULL;

ALTER TABLE ONLY shopwire.item_supply
    ADD CONSTRAINT item_supply_fallback_fkey FOREIGN KEY (fallback) REFERENCES shopwire.suppliers(name);

ALTER TABLE ONLY shopwire.item_supply
    ADD CONSTRAINT item_supply_supplier_fkey FOREIGN KEY (supplier) REFERENCES shopwire.suppliers(name);

ALTER TABLE ONLY shopwire.jobs
    ADD CONSTRAINT jobs_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.balances(account_id);

ALTER TABLE ONLY shopwire.links_kept_longer
    ADD CONSTRAINT links_kept_longer_account_id_order_id_fkey FOREIGN KEY (account_id, order_id) REFERENCES shopwire.orders(account_id, id);

ALTER TABLE ONLY shopwire.mail_choices
    ADD CONSTRAINT mail_choices_account_id_person_id_fkey FOREIGN KEY (account_id, person_id) REFERENCES shopwire.memberships(account_id, person_id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.memberships
    ADD CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.memberships
    ADD CONSTRAINT memberships_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.notices
    ADD CONSTRAINT notices_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.one_time_values
    ADD CONSTRAINT one_time_values_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.order_lines
    ADD CONSTRAINT order_lines_account_id_order_id_fkey FOREIGN KEY (account_id, order_id) REFERENCES shopwire.orders(account_id, id);

ALTER TABLE ONLY shopwire.order_links
    ADD CONSTRAINT order_links_link_hash_fkey FOREIGN KEY (link_hash) REFERENCES shopwire.link_fingerprints(hash);

ALTER TABLE ONLY shopwire.order_links
    ADD CONSTRAINT order_links_order_id_line_fkey FOREIGN KEY (order_id, line) REFERENCES shopwire.order_lines(order_id, line);

ALTER TABLE ONLY shopwire.orders
    ADD CONSTRAINT orders_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.balances(account_id);

ALTER TABLE ONLY shopwire.passkeys
    ADD CONSTRAINT passkeys_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.payment_reviews
    ADD CONSTRAINT payment_reviews_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.personal_tokens
    ADD CONSTRAINT personal_tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.personal_tokens
    ADD CONSTRAINT personal_tokens_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.pool_links
    ADD CONSTRAINT pool_links_link_hash_fkey FOREIGN KEY (link_hash) REFERENCES shopwire.link_fingerprints(hash);

ALTER TABLE ONLY shopwire.saved_views
    ADD CONSTRAINT saved_views_account_id_person_id_fkey FOREIGN KEY (account_id, person_id) REFERENCES shopwire.memberships(account_id, person_id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.sessions
    ADD CONSTRAINT sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES shopwire.people(id) ON DELETE CASCADE;

ALTER TABLE ONLY shopwire.supplier_requests
    ADD CONSTRAINT supplier_requests_order_id_line_fkey FOREIGN KEY (order_id, line) REFERENCES shopwire.order_lines(order_id, line);

ALTER TABLE ONLY shopwire.supplier_requests
    ADD CONSTRAINT supplier_requests_supplier_fkey FOREIGN KEY (supplier) REFERENCES shopwire.suppliers(name);

ALTER TABLE ONLY shopwire.supplier_spending
    ADD CONSTRAINT supplier_spending_supplier_fkey FOREIGN KEY (supplier) REFERENCES shopwire.suppliers(name);

ALTER TABLE ONLY shopwire.supplier_transfers
    ADD CONSTRAINT supplier_transfers_supplier_fkey FOREIGN KEY (supplier) REFERENCES shopwire.suppliers(name);

ALTER TABLE ONLY shopwire.top_up_reversals
    ADD CONSTRAINT top_up_reversals_account_id_top_up_id_fkey FOREIGN KEY (account_id, top_up_id) REFERENCES shopwire.top_ups(account_id, id);

ALTER TABLE ONLY shopwire.top_ups
    ADD CONSTRAINT top_ups_account_id_credited_seq_fkey FOREIGN KEY (account_id, credited_seq) REFERENCES shopwire.transfers(account_id, seq);

ALTER TABLE ONLY shopwire.top_ups
    ADD CONSTRAINT top_ups_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.transfers
    ADD CONSTRAINT transfers_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.balances(account_id);

ALTER TABLE ONLY shopwire.waiting_lines
    ADD CONSTRAINT waiting_lines_order_id_line_fkey FOREIGN KEY (order_id, line) REFERENCES shopwire.order_lines(order_id, line);

ALTER TABLE ONLY shopwire.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE ONLY shopwire.webhook_secrets
    ADD CONSTRAINT webhook_secrets_account_id_fkey FOREIGN KEY (account_id) REFERENCES shopwire.accounts(id);

ALTER TABLE shopwire.access_changes ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.account_days ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.accounts ENABLE ROW LEVEL SECURITY;

CREATE POLICY adds_deliveries_and_mail_only ON shopwire.jobs AS RESTRICTIVE FOR INSERT TO shopwire_dashboard WITH CHECK ((queue = ANY (ARRAY['deliver'::text, 'mail'::text])));

CREATE POLICY adds_deliveries_only ON shopwire.jobs AS RESTRICTIVE FOR INSERT TO shopwire_api_rights WITH CHECK ((queue = 'deliver'::text));

ALTER TABLE shopwire.alert_addresses ENABLE ROW LEVEL SECURITY;

CREATE POLICY all_accounts ON shopwire.access_changes TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.account_days TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.accounts TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.alert_addresses TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.api_keys TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.audit_log TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.balance_alerts TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.balances TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.deliveries TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.delivery_attempts TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.events TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.invitations TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.jobs TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.key_last_uses TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.key_usage TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.link_reads TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.links_kept_longer TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.lost_links TO shopwire_functions, shopwire_maintenance, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.mail_choices TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.memberships TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.notices TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.order_answers TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.order_attempts TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.order_lines TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.order_links TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.orders TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.outgoing_mail TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.personal_tokens TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.saved_views TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.top_up_reversals TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.top_ups TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.transfers TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.waiting_lines TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.webhook_endpoints TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_accounts ON shopwire.webhook_secrets TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

CREATE POLICY all_keys ON shopwire.own_keys TO shopwire_functions, shopwire_maintenance, shopwire_api_rights, shopwire_worker_rights, shopwire_operator_rights, shopwire_readonly_rights USING (true);

ALTER TABLE shopwire.api_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.audit_log ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.balance_alerts ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.balances ENABLE ROW LEVEL SECURITY;

CREATE POLICY changes_deliveries_only ON shopwire.jobs AS RESTRICTIVE FOR UPDATE TO shopwire_api_rights, shopwire_dashboard USING ((queue = 'deliver'::text));

ALTER TABLE shopwire.deliveries ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.delivery_attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.invitations ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.jobs ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.key_last_uses ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.key_usage ENABLE ROW LEVEL SECURITY;

CREATE POLICY keys_of_dashboard ON shopwire.own_keys TO shopwire_dashboard USING ((name ~~ 'dashboard%'::text));

ALTER TABLE shopwire.link_reads ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.links_kept_longer ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.lost_links ENABLE ROW LEVEL SECURITY;

CREATE POLICY mail ON shopwire.jobs FOR INSERT TO shopwire_dashboard WITH CHECK (((queue = 'mail'::text) AND (account_id IS NULL)));

ALTER TABLE shopwire.mail_choices ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.memberships ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.notices ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.order_answers ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.order_attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.order_lines ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.order_links ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.orders ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.outgoing_mail ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_account ON shopwire.account_days TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.accounts TO shopwire_dashboard USING ((id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.alert_addresses TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.api_keys TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.audit_log TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.balance_alerts TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.balances TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.deliveries TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.delivery_attempts TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.events TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.invitations TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.jobs TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.key_last_uses TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.key_usage TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.link_reads TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.lost_links TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.mail_choices TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.memberships TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.notices TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.order_answers TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.order_attempts TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.order_lines TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.order_links TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.orders TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.outgoing_mail FOR INSERT TO shopwire_dashboard WITH CHECK (((account_id IS NULL) OR (account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text))));

CREATE POLICY own_account ON shopwire.personal_tokens TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.saved_views TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.top_up_reversals TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.top_ups TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.transfers TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.webhook_endpoints TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

CREATE POLICY own_account ON shopwire.webhook_secrets TO shopwire_dashboard USING ((account_id = NULLIF(current_setting('shopwire.account_id'::text, true), ''::text)));

ALTER TABLE shopwire.own_keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.personal_tokens ENABLE ROW LEVEL SECURITY;

CREATE POLICY removes_deliveries_only ON shopwire.jobs AS RESTRICTIVE FOR DELETE TO shopwire_api_rights, shopwire_dashboard USING ((queue = 'deliver'::text));

ALTER TABLE shopwire.saved_views ENABLE ROW LEVEL SECURITY;

CREATE POLICY tests_only ON shopwire.events AS RESTRICTIVE FOR INSERT TO shopwire_api_rights WITH CHECK ((type = 'test'::text));

ALTER TABLE shopwire.top_up_reversals ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.top_ups ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.transfers ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.waiting_lines ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.webhook_endpoints ENABLE ROW LEVEL SECURITY;

ALTER TABLE shopwire.webhook_secrets ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA shopwire TO shopwire_maintenance;
GRANT USAGE ON SCHEMA shopwire TO shopwire_functions;
GRANT USAGE ON SCHEMA shopwire TO shopwire_api_rights;
GRANT USAGE ON SCHEMA shopwire TO shopwire_dashboard;
GRANT USAGE ON SCHEMA shopwire TO shopwire_operator_rights;
GRANT USAGE ON SCHEMA shopwire TO shopwire_readonly_rights;
GRANT USAGE ON SCHEMA shopwire TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.account_versions(p_account_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.account_versions(p_account_ids text[]) TO shopwire_dashboard;

REVOKE ALL ON FUNCTION shopwire.accounts_of_person(p_person_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.accounts_of_person(p_person_id text) TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.accounts_of_person(p_person_id text) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.adjust_account(p_account_id text, p_change_cents bigint, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.adjust_account(p_account_id text, p_change_cents bigint, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.admit_many(p_may_wait boolean, p_account_ids text[], p_key_ids text[], p_nonces text[], p_signed_ats bigint[], p_access_versions bigint[], p_are_orders boolean[], p_requests_max integer, p_orders_max integer, OUT verdicts text[], OUT requests_used integer[], OUT requests_oldest_ms integer[], OUT orders_used integer[], OUT orders_oldest_ms integer[], OUT wait_ms integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.admit_many(p_may_wait boolean, p_account_ids text[], p_key_ids text[], p_nonces text[], p_signed_ats bigint[], p_access_versions bigint[], p_are_orders boolean[], p_requests_max integer, p_orders_max integer, OUT verdicts text[], OUT requests_used integer[], OUT requests_oldest_ms integer[], OUT orders_used integer[], OUT orders_oldest_ms integer[], OUT wait_ms integer[]) TO shopwire_api_rights;

REVOKE ALL ON FUNCTION shopwire.advance_supplier_request() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.audit_details_kept(p_details jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.audit_details_kept(p_details jsonb) TO shopwire_maintenance;
GRANT ALL ON FUNCTION shopwire.audit_details_kept(p_details jsonb) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.audit_details_kept(p_details jsonb) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.await_seal() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.book_supplier_cost() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.book_top_up(p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_payment text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.book_transfer(p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.collect_owed(p_account_id text, p_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.commits_wait_for_standby() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.commits_wait_for_standby() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.confirm_top_up(p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.confirm_top_up(p_account_id text, p_top_up_id text, p_amount_cents bigint, p_reference text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.count_unassigned(p_item_ids text[], p_units integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.count_unassigned(p_item_ids text[], p_units integer[]) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.count_unassigned(p_item_ids text[], p_units integer[]) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.credit_paid_top_up(p_account_id text, p_top_up_id text, p_payment text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.credit_paid_top_up(p_account_id text, p_top_up_id text, p_payment text, p_note text, p_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.database_copy() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.database_copy() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.database_copy() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.database_copy() TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.database_copy() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.database_copy() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.database_is_confirmed() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.database_is_confirmed() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.database_is_confirmed() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.database_is_confirmed() TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.database_is_confirmed() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.database_is_confirmed() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.database_start() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.database_start() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.database_start() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.database_start() TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.database_start() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.database_start() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.delete_old_evidence(p_before timestamp with time zone, p_chunk integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.delete_old_evidence(p_before timestamp with time zone, p_chunk integer) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.deliver_orders(p_may_wait boolean, p_is_journalled boolean, p_account_ids text[], p_order_ids text[], p_event_ids text[], p_attempts integer[], p_at timestamp with time zone, p_places integer[], p_lines smallint[], p_units smallint[], p_links_sealed bytea[], p_link_kek_ids text[], p_link_hashes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.deliver_orders(p_may_wait boolean, p_is_journalled boolean, p_account_ids text[], p_order_ids text[], p_event_ids text[], p_attempts integer[], p_at timestamp with time zone, p_places integer[], p_lines smallint[], p_units smallint[], p_links_sealed bytea[], p_link_kek_ids text[], p_link_hashes bytea[]) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.erase_account(p_account_id text, p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.erase_account(p_account_id text, p_at timestamp with time zone) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.erase_account_rows(p_account_id text, p_after text, p_after_event text, p_chunk integer, OUT last_id text, OUT last_event_id text, OUT rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.erase_account_rows(p_account_id text, p_after text, p_after_event text, p_chunk integer, OUT last_id text, OUT last_event_id text, OUT rows integer) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.find_personal_tokens(p_hashes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.find_personal_tokens(p_hashes bytea[]) TO shopwire_dashboard;

REVOKE ALL ON FUNCTION shopwire.forget_old_refusals(p_account_id text, p_order_id text, p_line integer, p_kept integer) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.forget_old_refusals(p_account_id text, p_order_id text, p_line integer, p_kept integer) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.fund_account(p_account_id text, p_amount_cents bigint, p_reference text, p_note text, p_is_another_payment boolean, p_created_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.fund_account(p_account_id text, p_amount_cents bigint, p_reference text, p_note text, p_is_another_payment boolean, p_created_at timestamp with time zone, OUT verdict text, OUT seq bigint, OUT balance_after_cents bigint) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.keep_access_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.keep_commitment() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.keep_key_as_made() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.keep_order_ended() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.keep_top_up_decided() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.lock_balance(p_account_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.lock_balance(p_account_id text) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.lock_balance(p_account_id text) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.move_balance(p_account_id text, p_kind text, p_change_cents bigint, p_order_id text, p_reference text, p_note text, p_created_at timestamp with time zone, OUT seq bigint, OUT balance_after_cents bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.new_id(p_prefix text, p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.new_id(p_prefix text, p_at timestamp with time zone) TO shopwire_functions;

REVOKE ALL ON FUNCTION shopwire.note_access_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.oldest_snapshot() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.oldest_snapshot() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.oldest_snapshot() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.open_after_failover(p_generation bigint, p_position bigint, p_at timestamp with time zone, p_synchronous boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.open_after_failover(p_generation bigint, p_position bigint, p_at timestamp with time zone, p_synchronous boolean) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.open_invitations_for(p_email text, p_now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.open_invitations_for(p_email text, p_now timestamp with time zone) TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.open_invitations_for(p_email text, p_now timestamp with time zone) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.pay_supplier(p_supplier text, p_reference text, p_amount_cents bigint, p_note text, p_booked_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.pay_supplier(p_supplier text, p_reference text, p_amount_cents bigint, p_note text, p_booked_at timestamp with time zone) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.person_is_here(p_person_id text, p_account_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.person_is_here(p_person_id text, p_account_id text) TO shopwire_functions;

REVOKE ALL ON FUNCTION shopwire.place_orders(p_may_wait boolean, p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[], p_event_ids text[], p_created_ats timestamp with time zone[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[], p_client_addresses text[], p_line_counts integer[], p_item_ids text[], p_qtys integer[], p_expected bigint[], OUT verdicts text[], OUT order_ids text[], OUT totals_cents bigint[], OUT names text[], OUT unit_prices_cents bigint[], OUT details text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.place_orders(p_may_wait boolean, p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[], p_event_ids text[], p_created_ats timestamp with time zone[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[], p_client_addresses text[], p_line_counts integer[], p_item_ids text[], p_qtys integer[], p_expected bigint[], OUT verdicts text[], OUT order_ids text[], OUT totals_cents bigint[], OUT names text[], OUT unit_prices_cents bigint[], OUT details text[]) TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.place_orders(p_may_wait boolean, p_account_ids text[], p_access_versions bigint[], p_key_ids text[], p_order_ids text[], p_event_ids text[], p_created_ats timestamp with time zone[], p_idempotency_keys text[], p_request_hashes bytea[], p_request_ids text[], p_client_addresses text[], p_line_counts integer[], p_item_ids text[], p_qtys integer[], p_expected bigint[], OUT verdicts text[], OUT order_ids text[], OUT totals_cents bigint[], OUT names text[], OUT unit_prices_cents bigint[], OUT details text[]) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.present_timeline() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.present_timeline() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.present_timeline() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.present_timeline() TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.present_timeline() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.present_timeline() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.price_cart(p_ids text[], p_qtys integer[], p_expected bigint[]) TO shopwire_operator_rights;

REVOKE ALL ON FUNCTION shopwire.probe_writes() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.probe_writes() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.probe_writes() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.probe_writes() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.probe_writes() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.purge_nonces(p_signed_to bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.purge_nonces(p_signed_to bigint) TO shopwire_api_rights;

REVOKE ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.record_event(p_account_id text, p_event_id text, p_type text, p_order_id text, p_revision bigint, p_created_at timestamp with time zone) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.refund_order(p_account_id text, p_order_id text, p_created_at timestamp with time zone, OUT seq bigint, OUT amount_cents bigint, OUT balance_after_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.refund_order(p_account_id text, p_order_id text, p_created_at timestamp with time zone, OUT seq bigint, OUT amount_cents bigint, OUT balance_after_cents bigint) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.refund_order(p_account_id text, p_order_id text, p_created_at timestamp with time zone, OUT seq bigint, OUT amount_cents bigint, OUT balance_after_cents bigint) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.refuse_changes() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.refuse_if_closed() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.refuse_if_unconfirmed() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.refuse_unless_journalled() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.replication_standbys() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.replication_standbys() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.replication_standbys() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.report_missing_orders(p_account_ids text[], p_order_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.report_missing_orders(p_account_ids text[], p_order_ids text[]) TO shopwire_api_rights;

REVOKE ALL ON FUNCTION shopwire.return_reversal(p_account_id text, p_reversal_id text, p_provider_status text, p_at timestamp with time zone, OUT returned_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.return_reversal(p_account_id text, p_reversal_id text, p_provider_status text, p_at timestamp with time zone, OUT returned_cents bigint) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.skip_if_unconfirmed() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.stay_closed() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.stay_revoked() FROM PUBLIC;

REVOKE ALL ON FUNCTION shopwire.still_members(p_person_ids text[], p_account_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.still_members(p_person_ids text[], p_account_ids text[]) TO shopwire_dashboard;

REVOKE ALL ON FUNCTION shopwire.store_is_open() FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.store_is_open() TO shopwire_api_rights;
GRANT ALL ON FUNCTION shopwire.store_is_open() TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.store_is_open() TO shopwire_functions;
GRANT ALL ON FUNCTION shopwire.store_is_open() TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.store_is_open() TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.take_back_top_up(p_account_id text, p_top_up_id text, p_reversal_id text, p_kind text, p_provider_reference text, p_provider_status text, p_is_settled boolean, p_provider_cents bigint, p_at timestamp with time zone, OUT amount_cents bigint, OUT taken_cents bigint, OUT owed_cents bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.take_back_top_up(p_account_id text, p_top_up_id text, p_reversal_id text, p_kind text, p_provider_reference text, p_provider_status text, p_is_settled boolean, p_provider_cents bigint, p_at timestamp with time zone, OUT amount_cents bigint, OUT taken_cents bigint, OUT owed_cents bigint) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.take_for_orders(p_may_wait boolean, p_account_ids text[], p_order_ids text[], p_attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.take_for_orders(p_may_wait boolean, p_account_ids text[], p_order_ids text[], p_attempts integer[]) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.witness_nonce(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_is_order boolean, OUT is_new boolean, OUT refused_to bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.witness_nonce(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_is_order boolean, OUT is_new boolean, OUT refused_to bigint) TO shopwire_api_rights;

REVOKE ALL ON FUNCTION shopwire.witness_refusal(p_account_id text, p_is_order boolean, p_signed_at bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.witness_refusal(p_account_id text, p_is_order boolean, p_signed_at bigint) TO shopwire_api_rights;

REVOKE ALL ON FUNCTION shopwire.write_audit_row(p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.write_audit_row(p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb) TO shopwire_dashboard;
GRANT ALL ON FUNCTION shopwire.write_audit_row(p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb) TO shopwire_operator_rights;
GRANT ALL ON FUNCTION shopwire.write_audit_row(p_actor text, p_action text, p_target text, p_account_id text, p_address text, p_request_id text, p_details jsonb) TO shopwire_worker_rights;

REVOKE ALL ON FUNCTION shopwire.write_off_owed(p_account_id text, p_reversal_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION shopwire.write_off_owed(p_account_id text, p_reversal_id text) TO shopwire_operator_rights;

GRANT SELECT,DELETE ON TABLE shopwire.access_changes TO shopwire_api_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.access_changes TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.access_changes TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.account_days TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.account_days TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.account_days TO shopwire_readonly_rights;
GRANT SELECT,INSERT ON TABLE shopwire.account_days TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.account_days_progress TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.account_days_progress TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.account_days_progress TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.accounts TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.accounts TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.accounts TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.accounts TO shopwire_worker_rights;

GRANT SELECT(id),UPDATE(id) ON TABLE shopwire.accounts TO shopwire_api_rights;
GRANT SELECT(id),UPDATE(id) ON TABLE shopwire.accounts TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT(name) ON TABLE shopwire.accounts TO shopwire_api_rights;
GRANT UPDATE(name) ON TABLE shopwire.accounts TO shopwire_dashboard;
GRANT SELECT(name) ON TABLE shopwire.accounts TO shopwire_functions;
GRANT UPDATE(name) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT(status) ON TABLE shopwire.accounts TO shopwire_api_rights;
GRANT UPDATE(status) ON TABLE shopwire.accounts TO shopwire_worker_rights;

GRANT SELECT(access_version) ON TABLE shopwire.accounts TO shopwire_api_rights;
GRANT UPDATE(access_version) ON TABLE shopwire.accounts TO shopwire_dashboard;
GRANT SELECT(access_version) ON TABLE shopwire.accounts TO shopwire_functions;
GRANT UPDATE(access_version) ON TABLE shopwire.accounts TO shopwire_worker_rights;

GRANT SELECT(closed_at) ON TABLE shopwire.accounts TO shopwire_functions;
GRANT SELECT(closed_at) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT(closed_people),UPDATE(closed_people) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT(erased_at),UPDATE(erased_at) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT(erased_people),UPDATE(erased_people) ON TABLE shopwire.accounts TO shopwire_maintenance;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.admission_in_use TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.admission_in_use TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.admission_in_use TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.admission_in_use TO shopwire_readonly_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.admission_memory TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.admission_memory TO shopwire_readonly_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.admission_windows TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.admission_windows TO shopwire_readonly_rights;

GRANT SELECT,DELETE ON TABLE shopwire.alert_addresses TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.alert_addresses TO shopwire_maintenance;

GRANT INSERT(account_id) ON TABLE shopwire.alert_addresses TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.alert_addresses TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.alert_addresses TO shopwire_readonly_rights;
GRANT SELECT(account_id) ON TABLE shopwire.alert_addresses TO shopwire_worker_rights;

GRANT INSERT(email) ON TABLE shopwire.alert_addresses TO shopwire_dashboard;
GRANT SELECT(email) ON TABLE shopwire.alert_addresses TO shopwire_readonly_rights;
GRANT SELECT(email) ON TABLE shopwire.alert_addresses TO shopwire_worker_rights;

GRANT INSERT(token_hash),UPDATE(token_hash) ON TABLE shopwire.alert_addresses TO shopwire_dashboard;

GRANT INSERT(asked_at),UPDATE(asked_at) ON TABLE shopwire.alert_addresses TO shopwire_dashboard;
GRANT SELECT(asked_at) ON TABLE shopwire.alert_addresses TO shopwire_readonly_rights;

GRANT UPDATE(confirmed_at) ON TABLE shopwire.alert_addresses TO shopwire_dashboard;
GRANT SELECT(confirmed_at) ON TABLE shopwire.alert_addresses TO shopwire_readonly_rights;
GRANT SELECT(confirmed_at) ON TABLE shopwire.alert_addresses TO shopwire_worker_rights;

GRANT INSERT ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.api_keys TO shopwire_operator_rights;

GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_api_rights;
GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;
GRANT SELECT(account_id) ON TABLE shopwire.api_keys TO shopwire_worker_rights;

GRANT SELECT(id) ON TABLE shopwire.api_keys TO shopwire_api_rights;
GRANT SELECT(id) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(id) ON TABLE shopwire.api_keys TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;
GRANT SELECT(id) ON TABLE shopwire.api_keys TO shopwire_worker_rights;

GRANT SELECT(name),UPDATE(name) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(name) ON TABLE shopwire.api_keys TO shopwire_functions;
GRANT UPDATE(name) ON TABLE shopwire.api_keys TO shopwire_maintenance;
GRANT SELECT(name) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(scopes) ON TABLE shopwire.api_keys TO shopwire_api_rights;
GRANT SELECT(scopes) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(scopes) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(secret_sealed) ON TABLE shopwire.api_keys TO shopwire_api_rights;

GRANT SELECT(secret_kek_id) ON TABLE shopwire.api_keys TO shopwire_api_rights;
GRANT SELECT(secret_kek_id) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;
GRANT SELECT(secret_kek_id) ON TABLE shopwire.api_keys TO shopwire_worker_rights;

GRANT SELECT(created_at) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(created_at) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(created_by) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(created_by) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(created_by_name) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(created_by_name),UPDATE(created_by_name) ON TABLE shopwire.api_keys TO shopwire_maintenance;
GRANT SELECT(created_by_name) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(rotated_from) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(rotated_from) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT(revoked_at) ON TABLE shopwire.api_keys TO shopwire_api_rights;
GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE shopwire.api_keys TO shopwire_dashboard;
GRANT SELECT(revoked_at) ON TABLE shopwire.api_keys TO shopwire_functions;
GRANT SELECT(revoked_at) ON TABLE shopwire.api_keys TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.deliveries TO shopwire_maintenance;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.deliveries TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.deliveries TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.deliveries TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(account_id),INSERT(account_id) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT SELECT(account_id),INSERT(account_id) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT INSERT(endpoint_id) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(endpoint_id),INSERT(endpoint_id) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT INSERT(endpoint_id) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT INSERT(event_id) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(event_id),INSERT(event_id) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT SELECT(event_id),INSERT(event_id) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT UPDATE(state) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(state),UPDATE(state) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT SELECT(state) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT SELECT(round),UPDATE(round) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT SELECT(round) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT SELECT(attempts),UPDATE(attempts) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT SELECT(attempts) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT SELECT(last_error),UPDATE(last_error) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT INSERT(created_at) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(created_at),INSERT(created_at),UPDATE(created_at) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT INSERT(created_at) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT INSERT(next_at) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(next_at),INSERT(next_at),UPDATE(next_at) ON TABLE shopwire.deliveries TO shopwire_dashboard;
GRANT INSERT(next_at) ON TABLE shopwire.deliveries TO shopwire_functions;

GRANT UPDATE(done_at) ON TABLE shopwire.deliveries TO shopwire_api_rights;
GRANT SELECT(done_at),UPDATE(done_at) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_started_at) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_finished_at) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_status) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT UPDATE(first_address) ON TABLE shopwire.deliveries TO shopwire_maintenance;

GRANT SELECT(first_signed_s) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_signatures) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_connect_ms) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_send_ms) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT(first_wait_ms) ON TABLE shopwire.deliveries TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.delivery_attempts TO shopwire_maintenance;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.delivery_attempts TO shopwire_operator_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.delivery_attempts TO shopwire_worker_rights;

GRANT SELECT(account_id) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.delivery_attempts TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(endpoint_id) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(endpoint_id) ON TABLE shopwire.delivery_attempts TO shopwire_functions;
GRANT SELECT(endpoint_id) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(event_id) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(event_id) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(round) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(round) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(n) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(n) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(started_at) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(started_at) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(finished_at) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(finished_at) ON TABLE shopwire.delivery_attempts TO shopwire_functions;
GRANT SELECT(finished_at) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(status) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(status) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(error) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(error) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT UPDATE(remote_address) ON TABLE shopwire.delivery_attempts TO shopwire_maintenance;
GRANT SELECT(remote_address) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(signed_s) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(signed_s) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(signatures) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(signatures) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(connect_ms) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(connect_ms) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(send_ms) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(send_ms) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(wait_ms) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT SELECT(wait_ms) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT(answer_sealed) ON TABLE shopwire.delivery_attempts TO shopwire_dashboard;
GRANT UPDATE(answer_sealed) ON TABLE shopwire.delivery_attempts TO shopwire_maintenance;
GRANT UPDATE(answer_sealed) ON TABLE shopwire.delivery_attempts TO shopwire_operator_rights;

GRANT SELECT(answer_kek_id) ON TABLE shopwire.delivery_attempts TO shopwire_api_rights;
GRANT UPDATE(answer_kek_id) ON TABLE shopwire.delivery_attempts TO shopwire_maintenance;
GRANT UPDATE(answer_kek_id) ON TABLE shopwire.delivery_attempts TO shopwire_operator_rights;
GRANT SELECT(answer_kek_id) ON TABLE shopwire.delivery_attempts TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.attempts_made TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.attempts_made TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.attempts_shown TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.audit_log TO shopwire_dashboard;
GRANT INSERT ON TABLE shopwire.audit_log TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.audit_log TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.audit_log TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.audit_log TO shopwire_worker_rights;

GRANT SELECT(id) ON TABLE shopwire.audit_log TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT SELECT(actor) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT SELECT(target) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT SELECT(account_id) ON TABLE shopwire.audit_log TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT UPDATE(address) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT SELECT(details),UPDATE(details) ON TABLE shopwire.audit_log TO shopwire_maintenance;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.authenticator_apps TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(id) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(person_id) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(secret_sealed),UPDATE(secret_sealed) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(secret_kek_id),UPDATE(secret_kek_id) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(recovery_codes_sealed),UPDATE(recovery_codes_sealed) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT(recovery_codes_kek_id),UPDATE(recovery_codes_kek_id) ON TABLE shopwire.authenticator_apps TO shopwire_operator_rights;

GRANT SELECT ON TABLE shopwire.balance_alerts TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.balance_alerts TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.balance_alerts TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.balance_alerts TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.balance_alerts TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.balance_alerts TO shopwire_maintenance;

GRANT INSERT(threshold_cents),UPDATE(threshold_cents) ON TABLE shopwire.balance_alerts TO shopwire_dashboard;
GRANT UPDATE(threshold_cents) ON TABLE shopwire.balance_alerts TO shopwire_maintenance;

GRANT INSERT(updated_at),UPDATE(updated_at) ON TABLE shopwire.balance_alerts TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.balances TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.balances TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.balances TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.balances TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.balances TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.balances TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.balances TO shopwire_operator_rights;

GRANT UPDATE(balance_cents) ON TABLE shopwire.balances TO shopwire_functions;

GRANT UPDATE(transfer_count) ON TABLE shopwire.balances TO shopwire_functions;

GRANT UPDATE(order_count) ON TABLE shopwire.balances TO shopwire_functions;

GRANT SELECT ON TABLE shopwire.catalogue_announcement TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.catalogue_announcement TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.catalogue_announcement TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.catalogue_state TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.catalogue_state TO shopwire_dashboard;
GRANT SELECT,UPDATE ON TABLE shopwire.catalogue_state TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.catalogue_state TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.catalogue_state TO shopwire_worker_rights;

GRANT SELECT,DELETE ON TABLE shopwire.clock_records TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.clock_records TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.clock_records TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.credentials TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.database_identity TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.database_identity TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.database_identity TO shopwire_functions;
GRANT SELECT,UPDATE ON TABLE shopwire.database_identity TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.database_identity TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(timeline) ON TABLE shopwire.database_identity TO shopwire_functions;

GRANT UPDATE(generation) ON TABLE shopwire.database_identity TO shopwire_functions;

GRANT UPDATE(confirmed_at) ON TABLE shopwire.database_identity TO shopwire_functions;

GRANT UPDATE(confirmed_by) ON TABLE shopwire.database_identity TO shopwire_functions;

GRANT UPDATE(behind_since) ON TABLE shopwire.database_identity TO shopwire_functions;
GRANT UPDATE(behind_since) ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(behind_why) ON TABLE shopwire.database_identity TO shopwire_functions;
GRANT UPDATE(behind_why) ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(journal_id) ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(compared_start) ON TABLE shopwire.database_identity TO shopwire_functions;
GRANT UPDATE(compared_start) ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(journal_problem) ON TABLE shopwire.database_identity TO shopwire_functions;
GRANT UPDATE(journal_problem) ON TABLE shopwire.database_identity TO shopwire_worker_rights;

GRANT UPDATE(copy) ON TABLE shopwire.database_identity TO shopwire_functions;

GRANT SELECT,INSERT ON TABLE shopwire.encryption_key_checks TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.encryption_key_checks TO shopwire_dashboard;
GRANT SELECT,INSERT ON TABLE shopwire.encryption_key_checks TO shopwire_operator_rights;
GRANT SELECT,INSERT ON TABLE shopwire.encryption_key_checks TO shopwire_worker_rights;

GRANT SELECT(kek_id) ON TABLE shopwire.encryption_key_checks TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.encryption_key_checks TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.event_retention TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.event_retention TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.event_retention TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.event_retention TO shopwire_worker_rights;

GRANT SELECT,INSERT ON TABLE shopwire.events TO shopwire_dashboard;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.events TO shopwire_operator_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.events TO shopwire_worker_rights;

GRANT SELECT(account_id),INSERT(account_id) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT UPDATE(account_id) ON TABLE shopwire.events TO shopwire_dashboard;
GRANT SELECT(account_id),INSERT(account_id) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.events TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT SELECT(id),INSERT(id) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT SELECT(id),INSERT(id) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.events TO shopwire_maintenance;
GRANT SELECT(id) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT SELECT(type),INSERT(type) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT INSERT(type) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(type) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT INSERT(order_id) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT INSERT(order_id) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(order_id) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT INSERT(revision) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT INSERT(revision) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(revision) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT INSERT(created_at) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT INSERT(created_at) ON TABLE shopwire.events TO shopwire_functions;
GRANT SELECT(created_at) ON TABLE shopwire.events TO shopwire_readonly_rights;

GRANT UPDATE(body_sealed) ON TABLE shopwire.events TO shopwire_operator_rights;
GRANT UPDATE(body_sealed) ON TABLE shopwire.events TO shopwire_worker_rights;

GRANT SELECT(body_kek_id) ON TABLE shopwire.events TO shopwire_api_rights;
GRANT UPDATE(body_kek_id) ON TABLE shopwire.events TO shopwire_operator_rights;
GRANT SELECT(body_kek_id) ON TABLE shopwire.events TO shopwire_readonly_rights;
GRANT UPDATE(body_kek_id) ON TABLE shopwire.events TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.evidence_retention TO shopwire_dashboard;
GRANT SELECT,UPDATE ON TABLE shopwire.evidence_retention TO shopwire_maintenance;
GRANT SELECT ON TABLE shopwire.evidence_retention TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.evidence_retention TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.evidence_retention TO shopwire_worker_rights;

GRANT SELECT,INSERT ON TABLE shopwire.funding_references TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.funding_references TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.funding_references TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.funding_references TO shopwire_worker_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.invitations TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT INSERT ON TABLE shopwire.invitations TO shopwire_operator_rights;

GRANT SELECT(xmin) ON TABLE shopwire.invitations TO shopwire_functions;

GRANT SELECT(account_id) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(account_id) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(id) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(id) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(email) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(email) ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT SELECT(email) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(email) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(role) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(role) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(inviter_id) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(inviter_id) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(is_mailed_only) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(is_mailed_only) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(created_at) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(expires_at) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(expires_at) ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT SELECT(expires_at) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(expires_at) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(accepted_at) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(accepted_at) ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT SELECT(accepted_at) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(accepted_at) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT(withdrawn_at) ON TABLE shopwire.invitations TO shopwire_functions;
GRANT SELECT(withdrawn_at) ON TABLE shopwire.invitations TO shopwire_maintenance;
GRANT SELECT(withdrawn_at),UPDATE(withdrawn_at) ON TABLE shopwire.invitations TO shopwire_operator_rights;
GRANT SELECT(withdrawn_at) ON TABLE shopwire.invitations TO shopwire_readonly_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.item_supply TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.item_supply TO shopwire_readonly_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.item_supply TO shopwire_worker_rights;

GRANT SELECT(item_id) ON TABLE shopwire.item_supply TO shopwire_api_rights;
GRANT SELECT(item_id) ON TABLE shopwire.item_supply TO shopwire_dashboard;
GRANT SELECT(item_id) ON TABLE shopwire.item_supply TO shopwire_functions;

GRANT SELECT(source) ON TABLE shopwire.item_supply TO shopwire_api_rights;
GRANT SELECT(source) ON TABLE shopwire.item_supply TO shopwire_dashboard;
GRANT SELECT(source) ON TABLE shopwire.item_supply TO shopwire_functions;

GRANT SELECT(pool_left) ON TABLE shopwire.item_supply TO shopwire_api_rights;
GRANT SELECT(pool_left) ON TABLE shopwire.item_supply TO shopwire_dashboard;
GRANT SELECT(pool_left) ON TABLE shopwire.item_supply TO shopwire_functions;

GRANT SELECT ON TABLE shopwire.items TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.items TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.items TO shopwire_functions;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.items TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.items TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.items TO shopwire_worker_rights;

GRANT UPDATE(has_supply) ON TABLE shopwire.items TO shopwire_worker_rights;

GRANT UPDATE(revision) ON TABLE shopwire.items TO shopwire_worker_rights;

GRANT SELECT,DELETE ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.jobs TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.jobs TO shopwire_functions;
GRANT DELETE ON TABLE shopwire.jobs TO shopwire_maintenance;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.jobs TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.jobs TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.jobs TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT INSERT(account_id) ON TABLE shopwire.jobs TO shopwire_functions;

GRANT INSERT(queue) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT INSERT(queue) ON TABLE shopwire.jobs TO shopwire_functions;
GRANT SELECT(queue) ON TABLE shopwire.jobs TO shopwire_maintenance;

GRANT INSERT(subject) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT INSERT(subject) ON TABLE shopwire.jobs TO shopwire_functions;
GRANT SELECT(subject) ON TABLE shopwire.jobs TO shopwire_maintenance;

GRANT INSERT(run_at),UPDATE(run_at) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT INSERT(run_at),UPDATE(run_at) ON TABLE shopwire.jobs TO shopwire_functions;

GRANT UPDATE(is_woken) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT UPDATE(is_woken) ON TABLE shopwire.jobs TO shopwire_functions;

GRANT UPDATE(is_backlog) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT UPDATE(is_backlog) ON TABLE shopwire.jobs TO shopwire_functions;

GRANT INSERT(created_at) ON TABLE shopwire.jobs TO shopwire_api_rights;
GRANT INSERT(created_at) ON TABLE shopwire.jobs TO shopwire_functions;

GRANT SELECT,INSERT ON TABLE shopwire.journal_comparisons TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.journal_comparisons TO shopwire_readonly_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.key_last_uses TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.key_last_uses TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.key_last_uses TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.key_last_uses TO shopwire_readonly_rights;

GRANT SELECT(account_id) ON TABLE shopwire.key_last_uses TO shopwire_maintenance;

GRANT UPDATE(last_address) ON TABLE shopwire.key_last_uses TO shopwire_maintenance;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.key_usage TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.key_usage TO shopwire_dashboard;
GRANT SELECT,DELETE ON TABLE shopwire.key_usage TO shopwire_maintenance;
GRANT SELECT ON TABLE shopwire.key_usage TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.key_usage TO shopwire_readonly_rights;
GRANT SELECT,DELETE ON TABLE shopwire.key_usage TO shopwire_worker_rights;

GRANT UPDATE(hour) ON TABLE shopwire.key_usage TO shopwire_worker_rights;

GRANT SELECT,INSERT ON TABLE shopwire.link_fingerprints TO shopwire_operator_rights;
GRANT SELECT,INSERT ON TABLE shopwire.link_fingerprints TO shopwire_worker_rights;

GRANT SELECT(seen_at) ON TABLE shopwire.link_fingerprints TO shopwire_readonly_rights;

GRANT SELECT(made_by) ON TABLE shopwire.link_fingerprints TO shopwire_readonly_rights;

GRANT INSERT ON TABLE shopwire.link_reads TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.link_reads TO shopwire_dashboard;
GRANT SELECT,DELETE ON TABLE shopwire.link_reads TO shopwire_maintenance;
GRANT SELECT ON TABLE shopwire.link_reads TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.link_reads TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.link_retention TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.link_retention TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.link_retention TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.links_kept_longer TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.links_kept_longer TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.links_kept_longer TO shopwire_worker_rights;

GRANT SELECT,INSERT ON TABLE shopwire.lost_links TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.lost_links TO shopwire_worker_rights;

GRANT SELECT(account_id) ON TABLE shopwire.lost_links TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.lost_links TO shopwire_readonly_rights;

GRANT SELECT(order_id) ON TABLE shopwire.lost_links TO shopwire_dashboard;
GRANT SELECT(order_id) ON TABLE shopwire.lost_links TO shopwire_readonly_rights;

GRANT SELECT(sold_at) ON TABLE shopwire.lost_links TO shopwire_readonly_rights;

GRANT SELECT(found_at) ON TABLE shopwire.lost_links TO shopwire_readonly_rights;

GRANT INSERT ON TABLE shopwire.lost_orders TO shopwire_functions;
GRANT SELECT,INSERT ON TABLE shopwire.lost_orders TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.lost_orders TO shopwire_readonly_rights;

GRANT SELECT(account_id) ON TABLE shopwire.lost_orders TO shopwire_functions;

GRANT SELECT(order_id) ON TABLE shopwire.lost_orders TO shopwire_functions;

GRANT SELECT,INSERT ON TABLE shopwire.mail_choices TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.mail_choices TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.mail_choices TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.mail_choices TO shopwire_worker_rights;

GRANT UPDATE(is_wanted) ON TABLE shopwire.mail_choices TO shopwire_dashboard;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.memberships TO shopwire_dashboard;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.memberships TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.memberships TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.memberships TO shopwire_worker_rights;

GRANT SELECT(account_id) ON TABLE shopwire.memberships TO shopwire_functions;

GRANT SELECT(person_id) ON TABLE shopwire.memberships TO shopwire_functions;
GRANT SELECT(person_id) ON TABLE shopwire.memberships TO shopwire_maintenance;

GRANT SELECT(role) ON TABLE shopwire.memberships TO shopwire_functions;

GRANT SELECT ON TABLE shopwire.notices TO shopwire_dashboard;
GRANT SELECT,INSERT ON TABLE shopwire.notices TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.notices TO shopwire_readonly_rights;
GRANT SELECT,INSERT ON TABLE shopwire.notices TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.one_time_values TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.one_time_values TO shopwire_worker_rights;

GRANT SELECT(xmin) ON TABLE shopwire.one_time_values TO shopwire_functions;

GRANT SELECT(person_id) ON TABLE shopwire.one_time_values TO shopwire_functions;

GRANT SELECT(expires_at) ON TABLE shopwire.one_time_values TO shopwire_worker_rights;

GRANT SELECT(used_at) ON TABLE shopwire.one_time_values TO shopwire_functions;

GRANT SELECT,UPDATE ON TABLE shopwire.operator_invitations TO shopwire_dashboard;
GRANT INSERT ON TABLE shopwire.operator_invitations TO shopwire_operator_rights;

GRANT SELECT(id) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT(email) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT(name) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT(expires_at) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT(accepted_at) ON TABLE shopwire.operator_invitations TO shopwire_readonly_rights;

GRANT SELECT,INSERT ON TABLE shopwire.operator_tokens TO shopwire_operator_rights;

GRANT SELECT(id) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;

GRANT SELECT(email) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;
GRANT SELECT(email) ON TABLE shopwire.operator_tokens TO shopwire_worker_rights;

GRANT SELECT(added_by) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;

GRANT SELECT(expires_at) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;
GRANT SELECT(expires_at) ON TABLE shopwire.operator_tokens TO shopwire_worker_rights;

GRANT UPDATE(revoked_at) ON TABLE shopwire.operator_tokens TO shopwire_operator_rights;
GRANT SELECT(revoked_at) ON TABLE shopwire.operator_tokens TO shopwire_readonly_rights;
GRANT SELECT(revoked_at) ON TABLE shopwire.operator_tokens TO shopwire_worker_rights;

GRANT INSERT ON TABLE shopwire.order_answers TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.order_answers TO shopwire_dashboard;
GRANT SELECT,DELETE ON TABLE shopwire.order_answers TO shopwire_maintenance;
GRANT SELECT ON TABLE shopwire.order_answers TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.order_answers TO shopwire_readonly_rights;

GRANT INSERT ON TABLE shopwire.order_attempts TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.order_attempts TO shopwire_dashboard;
GRANT SELECT,DELETE ON TABLE shopwire.order_attempts TO shopwire_maintenance;
GRANT SELECT ON TABLE shopwire.order_attempts TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.order_attempts TO shopwire_readonly_rights;

GRANT SELECT(at) ON TABLE shopwire.order_attempts TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.order_backlog TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.order_backlog TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.order_backlog TO shopwire_readonly_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.order_backlog TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.order_lines TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.order_lines TO shopwire_dashboard;
GRANT INSERT ON TABLE shopwire.order_lines TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.order_lines TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.order_lines TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.order_lines TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.order_links TO shopwire_dashboard;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.order_links TO shopwire_operator_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.order_links TO shopwire_worker_rights;

GRANT SELECT(account_id) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT SELECT(account_id) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(order_id) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT SELECT(order_id) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(line) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT SELECT(line) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(unit) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT SELECT(unit) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(link_sealed) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT UPDATE(link_sealed) ON TABLE shopwire.order_links TO shopwire_operator_rights;
GRANT UPDATE(link_sealed) ON TABLE shopwire.order_links TO shopwire_worker_rights;

GRANT SELECT(link_kek_id) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT UPDATE(link_kek_id) ON TABLE shopwire.order_links TO shopwire_operator_rights;
GRANT SELECT(link_kek_id) ON TABLE shopwire.order_links TO shopwire_readonly_rights;
GRANT UPDATE(link_kek_id) ON TABLE shopwire.order_links TO shopwire_worker_rights;

GRANT SELECT(source) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(obtained_at) ON TABLE shopwire.order_links TO shopwire_readonly_rights;

GRANT SELECT(erased_at) ON TABLE shopwire.order_links TO shopwire_api_rights;
GRANT UPDATE(erased_at) ON TABLE shopwire.order_links TO shopwire_operator_rights;
GRANT SELECT(erased_at) ON TABLE shopwire.order_links TO shopwire_readonly_rights;
GRANT UPDATE(erased_at) ON TABLE shopwire.order_links TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.orders TO shopwire_dashboard;
GRANT SELECT,INSERT ON TABLE shopwire.orders TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.orders TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.orders TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.orders TO shopwire_worker_rights;

GRANT SELECT(account_id) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT SELECT(account_id) ON TABLE shopwire.orders TO shopwire_maintenance;

GRANT SELECT(id) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT SELECT(id) ON TABLE shopwire.orders TO shopwire_maintenance;

GRANT SELECT(status) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT UPDATE(status) ON TABLE shopwire.orders TO shopwire_operator_rights;
GRANT UPDATE(status) ON TABLE shopwire.orders TO shopwire_worker_rights;

GRANT SELECT(total_cents) ON TABLE shopwire.orders TO shopwire_api_rights;

GRANT SELECT(client_address),UPDATE(client_address) ON TABLE shopwire.orders TO shopwire_maintenance;

GRANT SELECT(created_at) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT SELECT(created_at) ON TABLE shopwire.orders TO shopwire_maintenance;

GRANT SELECT(delivered_at) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT UPDATE(delivered_at) ON TABLE shopwire.orders TO shopwire_operator_rights;
GRANT UPDATE(delivered_at) ON TABLE shopwire.orders TO shopwire_worker_rights;

GRANT SELECT(cancelled_at) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT UPDATE(cancelled_at) ON TABLE shopwire.orders TO shopwire_operator_rights;
GRANT UPDATE(cancelled_at) ON TABLE shopwire.orders TO shopwire_worker_rights;

GRANT SELECT(cancel_reason) ON TABLE shopwire.orders TO shopwire_api_rights;
GRANT UPDATE(cancel_reason) ON TABLE shopwire.orders TO shopwire_operator_rights;
GRANT UPDATE(cancel_reason) ON TABLE shopwire.orders TO shopwire_worker_rights;

GRANT DELETE ON TABLE shopwire.outgoing_mail TO shopwire_maintenance;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.outgoing_mail TO shopwire_operator_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.outgoing_mail TO shopwire_worker_rights;

GRANT INSERT(id) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;
GRANT SELECT(id) ON TABLE shopwire.outgoing_mail TO shopwire_maintenance;
GRANT SELECT(id) ON TABLE shopwire.outgoing_mail TO shopwire_readonly_rights;

GRANT INSERT(account_id) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.outgoing_mail TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.outgoing_mail TO shopwire_readonly_rights;

GRANT INSERT(to_address) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;
GRANT SELECT(to_address) ON TABLE shopwire.outgoing_mail TO shopwire_maintenance;
GRANT SELECT(to_address) ON TABLE shopwire.outgoing_mail TO shopwire_readonly_rights;

GRANT INSERT(subject) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;
GRANT SELECT(subject) ON TABLE shopwire.outgoing_mail TO shopwire_readonly_rights;

GRANT INSERT(body_sealed) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;

GRANT SELECT(body_kek_id) ON TABLE shopwire.outgoing_mail TO shopwire_api_rights;
GRANT INSERT(body_kek_id) ON TABLE shopwire.outgoing_mail TO shopwire_dashboard;
GRANT SELECT(body_kek_id) ON TABLE shopwire.outgoing_mail TO shopwire_readonly_rights;

GRANT SELECT,INSERT ON TABLE shopwire.own_keys TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.own_keys TO shopwire_operator_rights;
GRANT SELECT,INSERT ON TABLE shopwire.own_keys TO shopwire_worker_rights;

GRANT SELECT(key_kek_id) ON TABLE shopwire.own_keys TO shopwire_api_rights;

GRANT SELECT ON TABLE shopwire.paid_orders TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.paid_orders TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.paid_orders TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.paid_orders TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.paid_orders TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.passkeys TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.passkeys TO shopwire_operator_rights;

GRANT SELECT(person_id) ON TABLE shopwire.passkeys TO shopwire_operator_rights;

GRANT SELECT ON TABLE shopwire.payment_events TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.payment_events TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.payment_events TO shopwire_worker_rights;

GRANT INSERT(provider) ON TABLE shopwire.payment_events TO shopwire_dashboard;

GRANT INSERT(event_id) ON TABLE shopwire.payment_events TO shopwire_dashboard;

GRANT INSERT(subject) ON TABLE shopwire.payment_events TO shopwire_dashboard;

GRANT INSERT(facts) ON TABLE shopwire.payment_events TO shopwire_dashboard;

GRANT INSERT(received_at) ON TABLE shopwire.payment_events TO shopwire_dashboard;

GRANT UPDATE(state) ON TABLE shopwire.payment_events TO shopwire_worker_rights;

GRANT UPDATE(next_at) ON TABLE shopwire.payment_events TO shopwire_worker_rights;

GRANT UPDATE(decided_at) ON TABLE shopwire.payment_events TO shopwire_worker_rights;

GRANT UPDATE(note) ON TABLE shopwire.payment_events TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.payment_reconciliations TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.payment_reconciliations TO shopwire_readonly_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.payment_reconciliations TO shopwire_worker_rights;

GRANT UPDATE(due_at) ON TABLE shopwire.payment_reconciliations TO shopwire_operator_rights;

GRANT SELECT ON TABLE shopwire.payment_reviews TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.payment_reviews TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(id) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(provider) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(subject) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(note) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT INSERT(top_up_id) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT UPDATE(gone_at) ON TABLE shopwire.payment_reviews TO shopwire_worker_rights;

GRANT UPDATE(decided_at) ON TABLE shopwire.payment_reviews TO shopwire_operator_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.people TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.people TO shopwire_maintenance;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.people TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.people TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.people TO shopwire_worker_rights;

GRANT SELECT(id) ON TABLE shopwire.people TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.people TO shopwire_maintenance;

GRANT SELECT(kind) ON TABLE shopwire.people TO shopwire_maintenance;

GRANT SELECT(email) ON TABLE shopwire.people TO shopwire_functions;
GRANT SELECT(email) ON TABLE shopwire.people TO shopwire_maintenance;

GRANT INSERT ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.personal_tokens TO shopwire_maintenance;

GRANT SELECT(account_id) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.personal_tokens TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.personal_tokens TO shopwire_maintenance;
GRANT SELECT(account_id) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(account_id) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(id) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(id) ON TABLE shopwire.personal_tokens TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(id) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(person_id) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(person_id) ON TABLE shopwire.personal_tokens TO shopwire_functions;
GRANT SELECT(person_id) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(person_id) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(name) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(name) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(name) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(token_hash) ON TABLE shopwire.personal_tokens TO shopwire_functions;

GRANT SELECT(rights) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(rights) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(rights) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(with_links) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(with_links) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(with_links) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(created_at) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(created_at) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(expires_at) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(expires_at) ON TABLE shopwire.personal_tokens TO shopwire_functions;
GRANT SELECT(expires_at) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(expires_at) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(last_used_at),UPDATE(last_used_at) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(last_used_at) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(last_used_at) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE shopwire.personal_tokens TO shopwire_dashboard;
GRANT SELECT(revoked_at) ON TABLE shopwire.personal_tokens TO shopwire_functions;
GRANT SELECT(revoked_at),UPDATE(revoked_at) ON TABLE shopwire.personal_tokens TO shopwire_operator_rights;
GRANT SELECT(revoked_at) ON TABLE shopwire.personal_tokens TO shopwire_readonly_rights;

GRANT SELECT,INSERT,DELETE ON TABLE shopwire.pool_links TO shopwire_operator_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.pool_links TO shopwire_worker_rights;

GRANT SELECT(item_id) ON TABLE shopwire.pool_links TO shopwire_readonly_rights;

GRANT SELECT(id) ON TABLE shopwire.pool_links TO shopwire_readonly_rights;

GRANT UPDATE(link_sealed) ON TABLE shopwire.pool_links TO shopwire_operator_rights;
GRANT UPDATE(link_sealed) ON TABLE shopwire.pool_links TO shopwire_worker_rights;

GRANT SELECT(link_kek_id) ON TABLE shopwire.pool_links TO shopwire_api_rights;
GRANT UPDATE(link_kek_id) ON TABLE shopwire.pool_links TO shopwire_operator_rights;
GRANT SELECT(link_kek_id) ON TABLE shopwire.pool_links TO shopwire_readonly_rights;
GRANT UPDATE(link_kek_id) ON TABLE shopwire.pool_links TO shopwire_worker_rights;

GRANT SELECT(loaded_at) ON TABLE shopwire.pool_links TO shopwire_readonly_rights;

GRANT UPDATE(set_aside_at) ON TABLE shopwire.pool_links TO shopwire_operator_rights;
GRANT SELECT(set_aside_at) ON TABLE shopwire.pool_links TO shopwire_readonly_rights;
GRANT UPDATE(set_aside_at) ON TABLE shopwire.pool_links TO shopwire_worker_rights;

GRANT SELECT,UPDATE ON TABLE shopwire.refund_rule TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.refund_rule TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT SELECT(cancel_after) ON TABLE shopwire.refund_rule TO shopwire_dashboard;

GRANT UPDATE(window_started_at) ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT UPDATE(window_count) ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT SELECT(held_at) ON TABLE shopwire.refund_rule TO shopwire_dashboard;
GRANT UPDATE(held_at) ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT SELECT(working_since) ON TABLE shopwire.refund_rule TO shopwire_dashboard;
GRANT UPDATE(working_since) ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT UPDATE(worked_at) ON TABLE shopwire.refund_rule TO shopwire_worker_rights;

GRANT SELECT,UPDATE ON TABLE shopwire.removals TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.removals TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.removals TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.removal_limits TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.removal_limits TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.removal_limits TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.restocked_items TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.restocked_items TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.restocked_items TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE ON TABLE shopwire.saved_views TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.saved_views TO shopwire_readonly_rights;

GRANT UPDATE(name) ON TABLE shopwire.saved_views TO shopwire_dashboard;

GRANT UPDATE(folded_name) ON TABLE shopwire.saved_views TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.schema_functions TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.schema_functions TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.schema_functions TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.schema_functions TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.schema_functions TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.schema_migrations TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.schema_migrations TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.schema_migrations TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.schema_migrations TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.schema_migrations TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.seal_commitments TO shopwire_operator_rights;
GRANT SELECT,INSERT ON TABLE shopwire.seal_commitments TO shopwire_worker_rights;

GRANT SELECT(audit_id) ON TABLE shopwire.seal_commitments TO shopwire_maintenance;

GRANT SELECT(salt),UPDATE(salt) ON TABLE shopwire.seal_commitments TO shopwire_maintenance;

GRANT SELECT ON TABLE shopwire.seal_digests TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.seal_digests TO shopwire_readonly_rights;
GRANT SELECT,INSERT ON TABLE shopwire.seal_digests TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.seal_progress TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.seal_progress TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.seal_progress TO shopwire_worker_rights;

GRANT SELECT(only_row),UPDATE(only_row) ON TABLE shopwire.seal_progress TO shopwire_maintenance;

GRANT SELECT ON TABLE shopwire.seal_segments TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.seal_segments TO shopwire_readonly_rights;
GRANT SELECT,INSERT ON TABLE shopwire.seal_segments TO shopwire_worker_rights;

GRANT INSERT ON TABLE shopwire.seal_waiting TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.seal_waiting TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.seal_waiting TO shopwire_readonly_rights;
GRANT SELECT,DELETE ON TABLE shopwire.seal_waiting TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.sessions TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.sessions TO shopwire_operator_rights;
GRANT DELETE ON TABLE shopwire.sessions TO shopwire_worker_rights;

GRANT SELECT(id) ON TABLE shopwire.sessions TO shopwire_operator_rights;

GRANT SELECT(person_id) ON TABLE shopwire.sessions TO shopwire_functions;
GRANT SELECT(person_id) ON TABLE shopwire.sessions TO shopwire_operator_rights;

GRANT SELECT(account_id),UPDATE(account_id) ON TABLE shopwire.sessions TO shopwire_maintenance;
GRANT SELECT(account_id),UPDATE(account_id) ON TABLE shopwire.sessions TO shopwire_operator_rights;

GRANT SELECT(last_seen_at) ON TABLE shopwire.sessions TO shopwire_operator_rights;

GRANT SELECT(expires_at) ON TABLE shopwire.sessions TO shopwire_functions;
GRANT SELECT(expires_at) ON TABLE shopwire.sessions TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.sign_in_attempts TO shopwire_dashboard;
GRANT DELETE ON TABLE shopwire.sign_in_attempts TO shopwire_worker_rights;

GRANT SELECT(window_started_at) ON TABLE shopwire.sign_in_attempts TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE ON TABLE shopwire.spent_nonces TO shopwire_api_rights;

GRANT SELECT ON TABLE shopwire.status_periods TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE ON TABLE shopwire.status_periods TO shopwire_worker_rights;

GRANT UPDATE(seen_until) ON TABLE shopwire.status_periods TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.store_position TO shopwire_api_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.store_position TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.store_position TO shopwire_readonly_rights;
GRANT SELECT,UPDATE ON TABLE shopwire.store_position TO shopwire_worker_rights;

GRANT SELECT("position") ON TABLE shopwire.store_position TO shopwire_functions;

GRANT SELECT ON TABLE shopwire.store_state TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.store_state TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.store_state TO shopwire_functions;
GRANT SELECT,UPDATE ON TABLE shopwire.store_state TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.store_state TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.store_state TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.store_windows TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.store_windows TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.store_windows TO shopwire_functions;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.store_windows TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.store_windows TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.store_windows TO shopwire_worker_rights;

GRANT SELECT,DELETE ON TABLE shopwire.supplier_requests TO shopwire_maintenance;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.supplier_requests TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.supplier_requests TO shopwire_readonly_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.supplier_requests TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.supplier_spending TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.supplier_spending TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.supplier_spending TO shopwire_worker_rights;

GRANT SELECT,INSERT ON TABLE shopwire.supplier_transfers TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.supplier_transfers TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.supplier_transfers TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.supplier_transfers TO shopwire_worker_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.suppliers TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.suppliers TO shopwire_worker_rights;

GRANT SELECT(name) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;
GRANT UPDATE(name) ON TABLE shopwire.suppliers TO shopwire_worker_rights;

GRANT SELECT(url) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT(secret_kek_id) ON TABLE shopwire.suppliers TO shopwire_api_rights;
GRANT SELECT(secret_kek_id) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT(timeout_ms) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT(is_paused) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT(hourly_limit_cents) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT(created_at) ON TABLE shopwire.suppliers TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.top_up_reversals TO shopwire_dashboard;
GRANT SELECT,INSERT ON TABLE shopwire.top_up_reversals TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.top_up_reversals TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.top_up_reversals TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.top_up_reversals TO shopwire_worker_rights;

GRANT UPDATE(provider_status) ON TABLE shopwire.top_up_reversals TO shopwire_functions;
GRANT UPDATE(provider_status) ON TABLE shopwire.top_up_reversals TO shopwire_worker_rights;

GRANT UPDATE(is_settled) ON TABLE shopwire.top_up_reversals TO shopwire_functions;
GRANT UPDATE(is_settled) ON TABLE shopwire.top_up_reversals TO shopwire_worker_rights;

GRANT UPDATE(taken_cents) ON TABLE shopwire.top_up_reversals TO shopwire_functions;

GRANT UPDATE(owed_cents) ON TABLE shopwire.top_up_reversals TO shopwire_functions;

GRANT UPDATE(written_off_cents) ON TABLE shopwire.top_up_reversals TO shopwire_functions;

GRANT UPDATE(returned_at) ON TABLE shopwire.top_up_reversals TO shopwire_functions;

GRANT SELECT ON TABLE shopwire.top_ups TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.top_ups TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.top_ups TO shopwire_dashboard;
GRANT SELECT(account_id) ON TABLE shopwire.top_ups TO shopwire_maintenance;

GRANT INSERT(id) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT INSERT(provider) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT INSERT(amount_cents) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT UPDATE(state) ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT UPDATE(state) ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT UPDATE(state) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT INSERT(reference) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT INSERT(provider_session) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT UPDATE(provider_payment) ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT UPDATE(provider_payment) ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT UPDATE(provider_payment) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT INSERT(created_by) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT INSERT(created_by_name) ON TABLE shopwire.top_ups TO shopwire_dashboard;
GRANT UPDATE(created_by_name) ON TABLE shopwire.top_ups TO shopwire_maintenance;

GRANT INSERT(created_at) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT UPDATE(decided_at) ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT UPDATE(decided_at) ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT UPDATE(decided_at) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT UPDATE(credited_cents) ON TABLE shopwire.top_ups TO shopwire_functions;

GRANT UPDATE(credited_seq) ON TABLE shopwire.top_ups TO shopwire_functions;

GRANT UPDATE(note) ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT SELECT(note),UPDATE(note) ON TABLE shopwire.top_ups TO shopwire_maintenance;
GRANT UPDATE(note) ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT UPDATE(note) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT UPDATE(look_at) ON TABLE shopwire.top_ups TO shopwire_functions;
GRANT UPDATE(look_at) ON TABLE shopwire.top_ups TO shopwire_operator_rights;
GRANT UPDATE(look_at) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT UPDATE(answers) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT UPDATE(compared_at) ON TABLE shopwire.top_ups TO shopwire_worker_rights;

GRANT INSERT(attempt) ON TABLE shopwire.top_ups TO shopwire_dashboard;

GRANT SELECT ON TABLE shopwire.transfers TO shopwire_dashboard;
GRANT SELECT,INSERT ON TABLE shopwire.transfers TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.transfers TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.transfers TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.transfers TO shopwire_worker_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.unassigned_units TO shopwire_functions;
GRANT SELECT ON TABLE shopwire.unassigned_units TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.unassigned_units TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.unassigned_units TO shopwire_worker_rights;

GRANT SELECT(item_id) ON TABLE shopwire.unassigned_units TO shopwire_api_rights;
GRANT SELECT(item_id) ON TABLE shopwire.unassigned_units TO shopwire_dashboard;

GRANT SELECT(units) ON TABLE shopwire.unassigned_units TO shopwire_api_rights;
GRANT SELECT(units) ON TABLE shopwire.unassigned_units TO shopwire_dashboard;

GRANT SELECT,INSERT ON TABLE shopwire.verify_runs TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.verify_runs TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.verify_runs TO shopwire_worker_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.waiting_lines TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.waiting_lines TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.waiting_lines TO shopwire_worker_rights;

GRANT SELECT ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.webhook_endpoints TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.webhook_endpoints TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.webhook_endpoints TO shopwire_readonly_rights;
GRANT SELECT ON TABLE shopwire.webhook_endpoints TO shopwire_worker_rights;

GRANT INSERT(account_id) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT(account_id) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.webhook_endpoints TO shopwire_maintenance;

GRANT INSERT(id) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT(id),UPDATE(id) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;

GRANT INSERT(url) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT(url) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;
GRANT UPDATE(url) ON TABLE shopwire.webhook_endpoints TO shopwire_maintenance;

GRANT INSERT(set_by) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;

GRANT INSERT(set_by_name) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT(set_by_name),UPDATE(set_by_name) ON TABLE shopwire.webhook_endpoints TO shopwire_maintenance;

GRANT INSERT(created_at) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;

GRANT UPDATE(ended_at) ON TABLE shopwire.webhook_endpoints TO shopwire_api_rights;
GRANT SELECT(ended_at) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;

GRANT UPDATE(last_delivered_at) ON TABLE shopwire.webhook_endpoints TO shopwire_worker_rights;

GRANT SELECT(last_failure_at) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;
GRANT UPDATE(last_failure_at) ON TABLE shopwire.webhook_endpoints TO shopwire_worker_rights;

GRANT SELECT(last_error) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;
GRANT UPDATE(last_error) ON TABLE shopwire.webhook_endpoints TO shopwire_worker_rights;

GRANT SELECT(alerted_percent) ON TABLE shopwire.webhook_endpoints TO shopwire_functions;
GRANT UPDATE(alerted_percent) ON TABLE shopwire.webhook_endpoints TO shopwire_worker_rights;

GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.webhook_secrets TO shopwire_dashboard;
GRANT SELECT,INSERT,UPDATE ON TABLE shopwire.webhook_secrets TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.webhook_secrets TO shopwire_worker_rights;

GRANT SELECT(account_id),INSERT(account_id) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;
GRANT SELECT(account_id) ON TABLE shopwire.webhook_secrets TO shopwire_functions;
GRANT SELECT(account_id) ON TABLE shopwire.webhook_secrets TO shopwire_readonly_rights;

GRANT INSERT(id) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;
GRANT SELECT(id) ON TABLE shopwire.webhook_secrets TO shopwire_functions;
GRANT SELECT(id) ON TABLE shopwire.webhook_secrets TO shopwire_readonly_rights;

GRANT INSERT(secret_sealed) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;

GRANT SELECT(secret_kek_id),INSERT(secret_kek_id) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;
GRANT SELECT(secret_kek_id) ON TABLE shopwire.webhook_secrets TO shopwire_readonly_rights;

GRANT INSERT(created_at) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;
GRANT SELECT(created_at) ON TABLE shopwire.webhook_secrets TO shopwire_readonly_rights;

GRANT SELECT(ends_at),UPDATE(ends_at) ON TABLE shopwire.webhook_secrets TO shopwire_api_rights;
GRANT SELECT(ends_at) ON TABLE shopwire.webhook_secrets TO shopwire_functions;
GRANT SELECT(ends_at) ON TABLE shopwire.webhook_secrets TO shopwire_readonly_rights;

GRANT SELECT,INSERT,DELETE ON TABLE shopwire.witnessed_nonces TO shopwire_api_rights;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.witnessed_refusals TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.witnessed_refusals TO shopwire_readonly_rights;

GRANT SELECT ON TABLE shopwire.worker_heartbeats TO shopwire_api_rights;
GRANT SELECT ON TABLE shopwire.worker_heartbeats TO shopwire_dashboard;
GRANT SELECT ON TABLE shopwire.worker_heartbeats TO shopwire_operator_rights;
GRANT SELECT ON TABLE shopwire.worker_heartbeats TO shopwire_readonly_rights;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE shopwire.worker_heartbeats TO shopwire_worker_rights;

GRANT INSERT,TRUNCATE ON TABLE shopwire.write_probe TO shopwire_maintenance;
