-- Identifies this copy of the data within its server: it differs for a dump that was restored into another database or over the
-- tables of this one, and for a database made from this one as its template. It also changes with `vacuum full` of the table, which
-- an operator then has to confirm.
create or replace function database_copy()
returns text
language plpgsql
set search_path = pg_catalog, shopwire, pg_temp
as $$
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
