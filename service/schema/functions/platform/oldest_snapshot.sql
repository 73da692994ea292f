-- What keeps dead rows of this database from being removed: the session, prepared transaction or replication slot with the oldest
-- snapshot. With its owner's rights, because a session shows its snapshot only to roles with pg_read_all_stats; never the text of a
-- query, which may contain values. Without that right the sessions of other roles are not visible.
create or replace function oldest_snapshot()
returns table (kind text, name text, application_name text, role text, state text, horizon text)
language sql
stable
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select h.kind, h.name, h.application_name, h.role, h.state, h.horizon::text
    from (select 'session' as kind, pid::text as name, application_name, usename::text as role, state, backend_xmin as horizon
            from pg_stat_activity
           where backend_xmin is not null
             -- Sessions in other databases do not matter; a standby that reports its snapshot has no database.
             and coalesce(datname, current_database()) = current_database()
             and pid <> pg_backend_pid()
             and backend_type <> 'autovacuum worker'
           union all
          select 'prepared transaction', gid, null, owner::text, 'prepared', transaction
            from pg_prepared_xacts
           where database = current_database()
           union all
          select 'replication slot', slot_name::text, null, null, case when active then 'active' else 'inactive' end, xmin
            from pg_replication_slots
           where xmin is not null) h
   order by age(h.horizon) desc, h.kind, h.name
   limit 1
$$;

alter function oldest_snapshot owner to shopwire_maintenance;
