-- Who was let in lately: used nonces and the times of the last requests. Unlogged, because it is written on every request and
-- worth nothing after two minutes. PostgreSQL empties unlogged tables after a crash and on a promoted standby; that is how we
-- learn that the memory was lost (see admission_memory).
create unlogged table spent_nonces (
  account_id text not null,
  key_id text not null,
  nonce text not null,
  signed_at bigint not null,
  primary key (account_id, key_id, nonce)
);

create index spent_nonces_signed_at on spent_nonces (signed_at);

create unlogged table admission_windows (
  account_id text primary key,
  -- Milliseconds since 1970, oldest first, never more than the limit.
  requests bigint[] not null default '{}',
  orders bigint[] not null default '{}'
) with (fillfactor = 40);

-- One row while the memory is whole. Missing, or from another start of the server: the memory may have gaps, and nothing
-- signed at or before that moment is admitted.
create unlogged table admission_memory (
  only_row boolean primary key default true check (only_row),
  server_started_at timestamptz not null,
  lost_at bigint not null,
  -- Nonces signed at or before this second have been purged; a clock that steps back must not open the door to them.
  purged_to bigint not null
);

-- Nonces that must outlive a crash: those signed ahead of our clock (a floor at the moment of loss would not cover them), and
-- those admitted while the loss is recent.
create table witnessed_nonces (
  account_id text not null,
  key_id text not null,
  nonce text not null,
  signed_at bigint not null,
  primary key (account_id, key_id, nonce)
);

create index witnessed_nonces_signed_at on witnessed_nonces (signed_at);

-- The tables above are new, so there is nothing they could have forgotten.
insert into admission_memory (server_started_at, lost_at, purged_to) values (pg_postmaster_start_time(), 0, 0);

-- Second since which the memory is whole; notices a loss and writes it down.
create function admission_memory_check(out lost_at bigint, out purged_to bigint, out was_lost boolean)
language plpgsql as $$
begin
  select m.lost_at, m.purged_to, false into lost_at, purged_to, was_lost
    from admission_memory m
   where m.server_started_at = pg_postmaster_start_time();
  if found then
    return;
  end if;
  -- One second more than now: a nonce signed up to a second ahead of our clock is not witnessed.
  insert into admission_memory as m (server_started_at, lost_at, purged_to)
  values (pg_postmaster_start_time(), floor(extract(epoch from clock_timestamp()))::bigint + 1, 0)
      on conflict (only_row) do update
     set server_started_at = excluded.server_started_at, lost_at = excluded.lost_at
   where m.server_started_at <> excluded.server_started_at;
  select m.lost_at, m.purged_to, true into lost_at, purged_to, was_lost from admission_memory m;
end
$$;

-- One request's admission in one round trip: access version, memory, nonce, both limits. Verdicts:
--   admitted   let in and counted
--   changed    the account or a key changed since the caller's key was read: read it again
--   warming    the memory was lost a moment ago; nothing can be admitted this second
--   forgotten  signed at or before the memory begins
--   replayed   the nonce was used
--   limited    a window is full; wait_ms says for how long (the nonce is spent all the same)
create function admit(
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

  insert into spent_nonces (account_id, key_id, nonce, signed_at)
  values (p_account_id, p_key_id, p_nonce, p_signed_at)
      on conflict do nothing;
  if found and (p_signed_at > now_s + 1 or now_s <= memory.lost_at + c_usable_s) then
    insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
    values (p_account_id, p_key_id, p_nonce, p_signed_at)
        on conflict do nothing;
  end if;
  if not found then
    verdict := 'replayed';
    return;
  end if;

  select requests, orders into w from admission_windows where account_id = p_account_id for update;
  if not found then
    insert into admission_windows (account_id) values (p_account_id) on conflict do nothing;
    select requests, orders into w from admission_windows where account_id = p_account_id for update;
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
  if wait_ms > 0 then
    verdict := 'limited';
  else
    verdict := 'admitted';
    w.requests := w.requests || now_ms + 1;
    if p_is_order then
      w.orders := w.orders || now_ms + 1;
    end if;
    update admission_windows set requests = w.requests, orders = w.orders where account_id = p_account_id;
  end if;
  requests_used := cardinality(w.requests);
  orders_used := cardinality(w.orders);
  requests_oldest_ms := coalesce(w.requests[1] + c_window_ms - now_ms, 0);
  orders_oldest_ms := coalesce(w.orders[1] + c_window_ms - now_ms, 0);
end
$$;

-- Forgets nonces nobody can use any more. The floor moves first, in the same transaction.
create function purge_nonces(p_signed_to bigint) returns bigint
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
  return purged;
end
$$;

grant select, insert, update, delete on spent_nonces, admission_windows, admission_memory, witnessed_nonces to shopwire_app;
revoke execute on function admission_memory_check, admit, purge_nonces from public;
grant execute on function admission_memory_check, admit, purge_nonces to shopwire_app;
