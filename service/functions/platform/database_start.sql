-- Names this start of the server with this copy of the data. Another one after every start, and for a dump that was restored into the same
-- server, into another database of it or over the tables of this one.
create or replace function database_start()
returns text
language plpgsql stable as $$
begin
  return extract(epoch from pg_postmaster_start_time())::text || '/' ||
         (select d.oid::text from pg_database d where d.datname = current_database()) || '/' ||
         pg_relation_filenode('database_identity')::text;
end
$$;

revoke execute on function database_start from public;
grant execute on function database_start to shopwire_app, shopwire_dashboard;
