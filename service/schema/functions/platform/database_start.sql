-- Names this start of the server with this copy of the data. Another one after every start, and for a dump that was restored into the same
-- server, into another database of it or over the tables of this one.
create or replace function database_start()
returns text
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
declare
  v_start text := current_setting('shopwire.database_start', true);
begin
  if coalesce(v_start, '') = '' then
    -- A session never moves to another start of the server or to another database. Its tables may be replaced.
    v_start := extract(epoch from pg_postmaster_start_time())::text || '/' ||
               (select d.oid::text from pg_database d where d.datname = current_database());
    perform set_config('shopwire.database_start', v_start, false);
  end if;
  return v_start || '/' || pg_relation_filenode('database_identity')::text;
end
$$;
