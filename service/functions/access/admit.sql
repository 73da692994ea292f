-- Admits one request, or says why not, in one round trip: access version, nonce and both rate limits. Verdicts:
--   admitted   admitted and counted
--   changed    the account or a key changed since the caller's key was read: read it again
--   warming    the nonces were lost a moment ago; nothing can be admitted this second
--   forgotten  signed before the second since which no nonce is missing
--   replayed   the nonce was used
--   limited    a window is full, or the request was signed no later than a refused one whose nonce was not stored; wait_ms says
--              after how long a newly signed one passes (the nonce is used up all the same)
create or replace function admit(
  p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_access_version bigint,
  p_is_order boolean, p_requests_max integer, p_orders_max integer,
  out verdict text, out requests_used integer, out requests_oldest_ms integer,
  out orders_used integer, out orders_oldest_ms integer, out wait_ms integer
)
language plpgsql as $$
declare
  c_window_ms constant bigint := 60000;
  c_usable_s constant bigint := 120;
  now_us bigint;
  now_ms bigint;
  now_s bigint;
  memory record;
  w record;
  must_survive boolean;
  refused_to bigint;
  requests_wait bigint := 0;
  orders_wait bigint := 0;
begin
  perform from accounts where id = p_account_id and access_version = p_access_version;
  if not found then
    verdict := 'changed';
    return;
  end if;

  select m.lost_at, m.purged_to into memory from admission_memory_check() m;
  now_us := floor(extract(epoch from clock_timestamp()) * 1000000);
  now_s := now_us / 1000000;
  if now_s <= memory.lost_at then
    verdict := 'warming';
    return;
  end if;
  if p_signed_at <= greatest(memory.lost_at, memory.purged_to) then
    verdict := 'forgotten';
    return;
  end if;
  must_survive := p_signed_at > now_s + 1 or now_s <= memory.lost_at + c_usable_s;

  select requests, orders, refused_since, refused_count, requests_refused_to, orders_refused_to
    into w
    from admission_windows
   where account_id = p_account_id
     for update;
  if not found then
    insert into admission_windows (account_id) values (p_account_id) on conflict do nothing;
    select requests, orders, refused_since, refused_count, requests_refused_to, orders_refused_to
      into w
      from admission_windows
     where account_id = p_account_id
       for update;
  end if;

  -- Read after the lock is held: a request that waited must not be counted at the time it arrived. Admissions are recorded one
  -- millisecond late and compared with the time rounded down, so no window of 60 s ever holds one too many.
  now_us := floor(extract(epoch from clock_timestamp()) * 1000000);
  now_ms := now_us / 1000;
  -- A clock that stepped back leaves times in the future; they count as now.
  if w.requests[cardinality(w.requests)] > now_ms + 1 then
    w.requests := array(select least(t, now_ms) from unnest(w.requests) t);
    w.orders := array(select least(t, now_ms) from unnest(w.orders) t);
  end if;
  if w.refused_since <= now_ms - c_window_ms or w.refused_since > now_ms then
    w.refused_since := now_ms;
    w.refused_count := 0;
  end if;
  -- Times that have left the window are at the front: they are in order.
  w.requests := w.requests[width_bucket(now_ms - c_window_ms, w.requests) + 1:];
  w.orders := w.orders[width_bucket(now_ms - c_window_ms, w.orders) + 1:];
  if cardinality(w.requests) >= p_requests_max then
    requests_wait := w.requests[cardinality(w.requests) - p_requests_max + 1] + c_window_ms - now_ms;
  end if;
  if p_is_order and cardinality(w.orders) >= p_orders_max then
    orders_wait := w.orders[cardinality(w.orders) - p_orders_max + 1] + c_window_ms - now_ms;
  end if;
  wait_ms := greatest(requests_wait, orders_wait);

  refused_to := case when p_is_order then w.orders_refused_to else w.requests_refused_to end;
  if now_s <= memory.lost_at + c_usable_s then
    -- Refusals from before the nonces were lost.
    refused_to := greatest(refused_to, (
      select r.refused_to from witnessed_refusals r where r.account_id = p_account_id and r.is_order = p_is_order));
  end if;

  if p_signed_at <= refused_to or (wait_ms > 0 and w.refused_count >= p_requests_max) then
    perform from spent_nonces where account_id = p_account_id and key_id = p_key_id and nonce = p_nonce;
    if not found and must_survive then
      perform from witnessed_nonces where account_id = p_account_id and key_id = p_key_id and nonce = p_nonce;
    end if;
    if found then
      verdict := 'replayed';
      return;
    end if;
    if p_signed_at > refused_to then
      refused_to := p_signed_at;
      update admission_windows set
        requests_refused_to = case when p_is_order then requests_refused_to else p_signed_at end,
        orders_refused_to = case when p_is_order then p_signed_at else orders_refused_to end
       where account_id = p_account_id;
      if must_survive then
        perform witness_refusal(p_account_id, p_is_order, p_signed_at);
      end if;
    end if;
    verdict := 'limited';
    -- By the clock that signed this one: a second after the latest refused one.
    wait_ms := greatest(wait_ms, (refused_to - p_signed_at + 1) * 1000);
  else
    insert into spent_nonces (account_id, key_id, nonce, signed_at)
    values (p_account_id, p_key_id, p_nonce, p_signed_at)
        on conflict do nothing;
    if found and must_survive then
      insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
      values (p_account_id, p_key_id, p_nonce, p_signed_at)
          on conflict do nothing;
    end if;
    if not found then
      verdict := 'replayed';
      return;
    end if;
    if wait_ms > 0 then
      verdict := 'limited';
      update admission_windows set refused_since = w.refused_since, refused_count = w.refused_count + 1
       where account_id = p_account_id;
    else
      verdict := 'admitted';
      w.requests := w.requests || now_ms + 1;
      if p_is_order then
        w.orders := w.orders || now_ms + 1;
      end if;
      update admission_windows set requests = w.requests, orders = w.orders where account_id = p_account_id;
    end if;
  end if;
  requests_used := cardinality(w.requests);
  orders_used := cardinality(w.orders);
  requests_oldest_ms := coalesce(w.requests[1] + c_window_ms - now_ms, 0);
  orders_oldest_ms := coalesce(w.orders[1] + c_window_ms - now_ms, 0);
end
$$;

revoke execute on function admit from public;
grant execute on function admit to shopwire_app, shopwire_api_rights;
