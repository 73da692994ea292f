import { type Queryable, sql } from '../../platform/database/db.ts'

/** What PostgreSQL reports about itself to the role of the programs. Nothing here reads a table of ours. */
export interface DatabaseFacts {
  readonly version: number
  readonly version_text: string
  readonly clock_offset_ms: number
  readonly role: string
  readonly is_superuser: boolean
  readonly may_create_roles: boolean
  readonly may_create_databases: boolean
  readonly may_bypass_row_security: boolean
  readonly may_create_tables: boolean
  readonly owns_tables: number
  /** Whether this login may read what the checks of the store need; true if there are no tables. */
  readonly may_read_store: boolean
  /** Visible only to a superuser; null without that right. */
  readonly data_directory: string | null
  /** Of the processes and of the operator's command. */
  readonly logins: readonly string[]
  /** Settings that `alter role` or `alter database` gives to our roles; no role: to all sessions of this database. */
  readonly role_settings: readonly {
    readonly role: string | null
    readonly name: string
    readonly value: string
  }[]
  readonly dashboard_role: { readonly is_superuser: boolean; readonly sees_everything: boolean } | null
  /** Running processes whose login has rights that only another process needs. */
  readonly wide_logins: readonly { readonly process: string; readonly role: string }[]
  readonly uses_tls: boolean
  readonly encoding: string
  readonly settings: Readonly<Record<SettingName, string>>
  readonly pending_restart: readonly string[]
  readonly archived_s_ago: number | null
  readonly archive_failed_since: boolean
  readonly standbys: number
  readonly sessions: number
  readonly idle_slots: readonly { readonly name: string; readonly kept_bytes: number }[]
}

const SETTINGS = [
  'archive_command',
  'archive_library',
  'archive_mode',
  'autovacuum',
  'data_checksums',
  'fsync',
  'full_page_writes',
  'idle_in_transaction_session_timeout',
  'jit',
  'log_min_duration_statement',
  'log_statement',
  'log_timezone',
  'max_connections',
  'reserved_connections',
  'superuser_reserved_connections',
  'statement_timeout',
  'synchronous_commit',
  'synchronous_standby_names',
  'track_counts',
  'wal_compression',
  'wal_level',
] as const
type SettingName = (typeof SETTINGS)[number]
/** Settings that another login may have with another value. */
const OF_ROLES = [
  'idle_in_transaction_session_timeout',
  'jit',
  'log_statement',
  'statement_timeout',
  'synchronous_commit',
]
/** Of the processes and of the operator's command. */
const LOGIN_ROLES = [
  'shopwire_api_rights',
  'shopwire_worker_rights',
  'shopwire_operator_rights',
  'shopwire_dashboard',
]
/** Needed by store-data.ts. */
const STORE_TABLES = [
  'database_identity',
  'worker_heartbeats',
  'store_state',
  'item_supply',
  'jobs',
  'verify_runs',
]

type Row = Omit<DatabaseFacts, 'clock_offset_ms' | 'logins' | 'settings'> & {
  now_ms: number
  settings: Record<string, string>
}

export async function readDatabaseFacts(
  db: Queryable,
  { nowMs, dashboardRole }: { nowMs(): number; dashboardRole: string | undefined },
): Promise<DatabaseFacts> {
  const askedMs = nowMs()
  const { now_ms, settings, ...facts } = await db.one<Row>(sql`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms,
           current_setting('server_version_num')::integer as version, current_setting('server_version') as version_text,
           r.rolname as role, r.rolsuper as is_superuser, r.rolcreaterole as may_create_roles,
           r.rolcreatedb as may_create_databases, r.rolbypassrls as may_bypass_row_security,
           coalesce(has_schema_privilege(to_regnamespace('shopwire'), 'create'), false) as may_create_tables,
           (select count(*)
              from pg_class c
             where c.relnamespace = to_regnamespace('shopwire')
               and c.relkind in ('r', 'p')
               and pg_has_role(c.relowner, 'usage')) as owns_tables,
           (select coalesce(bool_and(has_table_privilege(to_regclass(name), 'select')), true)
              from unnest(${STORE_TABLES}::text[]) name)
             and coalesce(has_function_privilege(to_regprocedure('database_start()'), 'execute'), true) as may_read_store,
           case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end as data_directory,
           (select coalesce(json_agg(json_build_object('role', o.rolname, 'name', split_part(entry, '=', 1), 'value', split_part(entry, '=', 2))
                                     order by o.rolname, entry), '[]')
              from pg_db_role_setting s
             cross join unnest(s.setconfig) entry
              left join pg_roles o on o.oid = s.setrole
             where split_part(entry, '=', 1) = any(${OF_ROLES})
               and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
               and (s.setrole = 0 or not o.rolsuper and has_schema_privilege(o.oid, to_regnamespace('shopwire'), 'usage'))) as role_settings,
           (select json_build_object('is_superuser', d.rolsuper,
                                     'sees_everything', d.rolbypassrls or pg_has_role(d.oid, r.oid, 'member'))
              from pg_roles d
             where d.rolname = ${dashboardRole ?? null}) as dashboard_role,
           (select coalesce(json_agg(json_build_object('process', s.application_name, 'role', s.rolname)
                                     order by s.application_name, s.rolname), '[]')
              from (select distinct a.application_name, l.rolname
                      from pg_stat_activity a
                      join pg_roles l on l.oid = a.usesysid
                     where a.datname = current_database()
                       and (a.application_name = 'shopwire-api'
                              and has_table_privilege(l.oid, to_regclass('order_links'), 'insert')
                            or a.application_name in ('shopwire-api', 'shopwire-worker')
                              and has_table_privilege(l.oid, to_regclass('api_keys'), 'insert'))) s) as wide_logins,
           coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as uses_tls,
           current_setting('server_encoding') as encoding,
           (select json_object_agg(name, current_setting(name, true))
              from unnest(${[...SETTINGS]}::text[]) name) as settings,
           (select coalesce(json_agg(name order by name), '[]')
              from pg_settings
             where pending_restart
               -- A setting from the command line always differs from the file.
               and source <> 'command line') as pending_restart,
           extract(epoch from clock_timestamp() - a.last_archived_time)::float8 as archived_s_ago,
           coalesce(a.last_failed_time > coalesce(a.last_archived_time, '-infinity'), false) as archive_failed_since,
           (select count(*) from pg_stat_replication) as standbys,
           (select count(*) from pg_stat_activity where backend_type = 'client backend') as sessions,
           (select coalesce(json_agg(json_build_object('name', slot_name, 'kept_bytes',
                     coalesce(pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end,
                                              restart_lsn), 0)::float8)), '[]')
              from pg_replication_slots
             where not active) as idle_slots
      from pg_roles r, pg_stat_archiver a
     where r.rolname = current_user`)
  const doubtMs = (nowMs() - askedMs) / 2
  return {
    ...facts,
    logins: await readLogins(db),
    settings: settings as DatabaseFacts['settings'],
    clock_offset_ms: Math.round(now_ms - (askedMs + doubtMs)),
  }
}

async function readLogins(db: Queryable): Promise<string[]> {
  const rows = await db.many<{ name: string }>(sql`
    select l.rolname as name
      from pg_roles l
     where l.rolcanlogin
       and not l.rolsuper
       and exists (select from unnest(${LOGIN_ROLES}::text[]) r where pg_has_role(l.oid, to_regrole(r), 'usage'))
     order by l.rolname`)
  return rows.map(({ name }) => name)
}
