-- Asked only while the database was seen to fail at writing: can it take new pages again? Unlogged, and never committed: what is
-- written takes no WAL, which is on the same full disk as often as not, and its space is given back at once.
create unlogged table write_probe (
  filler text not null
);
-- Kept as it is, or a page full of one letter would shrink to a few bytes.
alter table write_probe alter column filler set storage plain;

create function probe_writes()
returns void
language plpgsql
-- Emptying a table is its owner's right.
security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
  -- A new file each time: pages that are there already would say nothing.
  truncate public.write_probe;
  insert into public.write_probe select repeat('x', 8000) from generate_series(1, 128);
  raise exception 'written' using errcode = 'SW001';
exception
  when sqlstate 'SW001' then null;
end
$$;

revoke execute on function probe_writes from public;
grant execute on function probe_writes to shopwire_app;
