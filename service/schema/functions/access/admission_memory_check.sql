-- Returns the second since which no nonce is missing from the unlogged tables. Detects that PostgreSQL has emptied them, and
-- records it.
create or replace function admission_memory_check(out lost_at bigint, out purged_to bigint, out was_lost boolean)
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
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
