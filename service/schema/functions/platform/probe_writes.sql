-- Tries to write a megabyte of new pages and undoes it. Succeeds when the database can write again after its disk was full.
create or replace function probe_writes()
returns void
language plpgsql
-- With its owner's rights: no login may truncate a table.
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  -- A new file each time: pages that exist already would prove nothing.
  truncate shopwire.write_probe;
  insert into shopwire.write_probe select repeat('x', 8000) from generate_series(1, 128);
  raise exception 'written' using errcode = 'SW001';
exception
  when sqlstate 'SW001' then null;
end
$$;

alter function probe_writes owner to shopwire_maintenance;
