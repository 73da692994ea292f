-- The standbys that follow this server, and the replication slots without a reader. With its owner's rights, because positions are
-- visible only to roles with pg_read_all_stats; without that right only the connections are known, not their lag.
create or replace function replication_standbys()
returns table (standby text, is_connected boolean, replayed double precision, written double precision)
language sql
stable
security definer
set search_path = pg_catalog, shopwire, pg_temp
as $$
  select coalesce(s.slot_name::text, r.application_name),
         r.pid is not null,
         (r.replay_lsn - '0/0'::pg_lsn)::double precision,
         (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0'::pg_lsn)::double precision
    -- A base backup streams too, and ends on its own.
    from (select pid, application_name, replay_lsn from pg_stat_replication
           where coalesce(state, 'streaming') in ('streaming', 'catchup') and application_name <> 'pg_basebackup') r
    full join (select slot_name, active_pid from pg_replication_slots where slot_type = 'physical' and not temporary) s
      on s.active_pid = r.pid
$$;

alter function replication_standbys owner to shopwire_maintenance;
