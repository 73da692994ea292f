-- Identifies this start of the server with this copy of the data.
create or replace function database_start()
returns text
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
begin
  return extract(epoch from pg_postmaster_start_time())::text || '/' || database_copy();
end
$$;
