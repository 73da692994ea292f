-- A request that is refused with 429 has used up its nonce. Written down one by one without end, such nonces were a way to fill
-- the disk. Now the first ones of a minute, as many as the request limit, are written down; of those after them only the latest
-- time of signing is kept, and nothing signed at or before it is admitted. See docs/decisions/0022.
alter table admission_windows
  -- When the minute began in which nonces of refused requests are counted, in milliseconds, and how many were written down.
  add column refused_since bigint not null default 0,
  add column refused_count integer not null default 0,
  -- The latest time of signing, in seconds, among refused requests whose nonce was not written down. Orders have their own: a
  -- refused order can only be repeated as an order, and must not hold up anything else.
  add column requests_refused_to bigint not null default 0,
  add column orders_refused_to bigint not null default 0;

-- The same times where no crash can forget them, for requests whose nonces would have been witnessed.
create table witnessed_refusals (
  account_id text not null,
  is_order boolean not null,
  refused_to bigint not null,
  primary key (account_id, is_order)
);

create index witnessed_refusals_refused_to on witnessed_refusals (refused_to);

-- Verdicts as before:
--   admitted   let in and counted
--   changed    the account or a key changed since the caller's key was read: read it again
--   warming    the memory was lost a moment ago; nothing can be admitted this second
--   forgotten  signed at or before the memory begins
--   replayed   the nonce was used
--   limited    a window is full, or the request was signed no later than one whose refusal was not written down; wait_ms says
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

  select * into memory from admission_memory_check();
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

  select * into w from admission_windows where account_id = p_account_id for update;
  if not found then
    insert into admission_windows (account_id) values (p_account_id) on conflict do nothing;
    select * into w from admission_windows where account_id = p_account_id for update;
  end if;

  -- Read after the lock is held: a copy that waited must not count with an old time. Admissions are stamped a shade late and
  -- judged a shade early, so that no window of 60 s ever holds one too many.
  now_us := floor(extract(epoch from clock_timestamp()) * 1000000);
  now_ms := now_us / 1000;
  -- A clock that stepped back leaves stamps in the future; they count as made now.
  if w.requests[cardinality(w.requests)] > now_ms + 1 then
    w.requests := array(select least(t, now_ms) from unnest(w.requests) t);
    w.orders := array(select least(t, now_ms) from unnest(w.orders) t);
  end if;
  if w.refused_since <= now_ms - c_window_ms or w.refused_since > now_ms then
    w.refused_since := now_ms;
    w.refused_count := 0;
  end if;
  -- Stamps that left the window are dropped from the front; they are in order.
  while w.requests[1] <= now_ms - c_window_ms loop
    w.requests := w.requests[2:];
  end loop;
  while w.orders[1] <= now_ms - c_window_ms loop
    w.orders := w.orders[2:];
  end loop;
  if cardinality(w.requests) >= p_requests_max then
    requests_wait := w.requests[cardinality(w.requests) - p_requests_max + 1] + c_window_ms - now_ms;
  end if;
  if p_is_order and cardinality(w.orders) >= p_orders_max then
    orders_wait := w.orders[cardinality(w.orders) - p_orders_max + 1] + c_window_ms - now_ms;
  end if;
  wait_ms := greatest(requests_wait, orders_wait);

  refused_to := case when p_is_order then w.orders_refused_to else w.requests_refused_to end;
  if now_s <= memory.lost_at + c_usable_s then
    -- What was refused under a memory that is gone.
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
    -- By the clock that signed this one: a second later than the latest.
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

-- Remembers a refusal whose nonce is not written down; the time that holds from now on.
create function witness_refusal(p_account_id text, p_is_order boolean, p_signed_at bigint) returns bigint
language sql as $$
  insert into witnessed_refusals as r (account_id, is_order, refused_to)
  values (p_account_id, p_is_order, p_signed_at)
      on conflict (account_id, is_order) do update
     set refused_to = greatest(r.refused_to, excluded.refused_to)
  returning refused_to
$$;

-- For a memory that is not in this database: uses up a nonce where no crash can forget it. `is_new` is false when it was used
-- before. `refused_to` is set, and nothing is written, when the request was signed no later than one that was refused without
-- having its nonce written down.
create function witness_nonce(
  p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_is_order boolean,
  out is_new boolean, out refused_to bigint
)
language plpgsql as $$
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

create or replace function purge_nonces(p_signed_to bigint) returns bigint
language plpgsql as $$
declare
  purged bigint;
begin
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

grant select, insert, update, delete on witnessed_refusals to shopwire_app;
revoke execute on function witness_refusal, witness_nonce from public;
grant execute on function witness_refusal, witness_nonce to shopwire_app;
