import { isLocalHost } from '../../platform/process/local-host.ts'
import { type Check, failed, notApplicable, ok, warning } from './check.ts'
import type { DatabaseFacts } from './database-facts.ts'

const VERSION_MIN = 15
/** The newest release that was tested. */
const VERSION_TRIED_MAX = 18
const ARCHIVED_S_MAX = 3_600
const SLOT_BYTES_MAX = 1024 ** 3
/** Sessions of operators, backups and monitoring. */
const OTHER_SESSIONS = 10
const BUSY_SHARE = 0.8

/** A setting of the server that must have one value. */
function setting(
  name: 'fsync' | 'full_page_writes' | 'autovacuum',
  texts: Pick<Check, 'id' | 'title' | 'why'>,
): Check {
  return {
    ...texts,
    group: 'PostgreSQL',
    fix: `alter system set ${name} = on; select pg_reload_conf();`,
    async examine(about) {
      const { settings } = await about.database()
      return settings[name] === 'on' ? ok('on') : failed(`${name} is ${settings[name]}`)
    },
  }
}

/** The server, its settings and the rights of the programs on it. */
export const DATABASE_CHECKS: readonly Check[] = [
  {
    id: 'database',
    group: 'PostgreSQL',
    title: 'PostgreSQL answers the programs',
    why: 'Without it the API answers 503 to every order.',
    fix: 'Start the server; check SHOPWIRE_DATABASE_URL, and pg_hba.conf for the address of this machine.',
    async examine(about) {
      const { role, version_text } = await about.database().catch((error: Error) => {
        if (about.settingsProblems.length > 0) throw error
        return { role: undefined, version_text: error.message }
      })
      return role === undefined ? failed(version_text) : ok(`PostgreSQL ${version_text}, as ${role}`)
    },
  },
  {
    id: 'database-version',
    group: 'PostgreSQL',
    title: `PostgreSQL is a supported release, ${VERSION_MIN} to ${VERSION_TRIED_MAX}`,
    why: `Older releases lack what the schema uses; releases after ${VERSION_TRIED_MAX} were not tested.`,
    fix: `Upgrade PostgreSQL to ${VERSION_TRIED_MAX}; after the upgrade it counts as another server, see "Restores and failover".`,
    async examine(about) {
      const { version, version_text } = await about.database()
      const major = Math.floor(version / 10_000)
      if (major < VERSION_MIN) return failed(version_text)
      return major > VERSION_TRIED_MAX ? warning(`${version_text} was not tested`) : ok(version_text)
    },
  },
  {
    id: 'schema',
    group: 'PostgreSQL',
    title: 'The schema is the one of this release',
    why: 'API and worker refuse to start on another one.',
    fix: 'shopwire-admin migrate',
    async examine(about) {
      await about.database()
      const mismatch = await about.schemaMismatch()
      return mismatch === undefined ? ok('it fits') : failed(mismatch)
    },
  },
  {
    id: 'database-role',
    group: 'PostgreSQL',
    title: 'This command uses the login of operators, which can change neither the schema nor the books',
    why: 'An owner or a superuser may change transfers, audit rows and sold links. The login of another process cannot see the store, so most items are not checked.',
    fix: "create role shopwire_operator login password '…' in role shopwire_operator_rights; and that role in SHOPWIRE_DATABASE_URL.",
    async examine(about) {
      const facts = await about.database()
      const rights = [
        facts.is_superuser && 'is superuser',
        facts.may_create_roles && 'may create roles',
        facts.may_create_databases && 'may create databases',
        facts.may_bypass_row_security && 'bypasses row security',
        facts.owns_tables > 0 && `owns ${facts.owns_tables} tables`,
        facts.may_create_tables && 'may create tables',
      ].filter((right) => right !== false)
      if (rights.length > 0) return failed(`${facts.role} ${rights.join(', ')}`)
      return facts.may_read_store
        ? ok(`${facts.role} has no such right`)
        : failed(`${facts.role} may not read all of the store: this command needs the login of operators`)
    },
  },
  {
    id: 'process-roles',
    group: 'PostgreSQL',
    title: 'API and worker have separate database roles',
    why: "With the API's own role nobody can move money, change keys or write audit rows; with the role of another process an intruder in the API can do what that one does.",
    fix: 'A login for each process, as docs/database-roles.md says.',
    async examine(about) {
      const { wide_logins } = await about.database()
      if (wide_logins.length === 0) return ok('no API or worker that runs now can do more than it needs')
      const named = wide_logins.map(({ process, role }) => `${process} signs in as ${role}`)
      return warning(`${named.join(', ')}, which may do what only other processes have to`)
    },
  },
  {
    id: 'dashboard-role',
    group: 'PostgreSQL',
    title: 'The dashboard has a separate role',
    why: 'It is bound to the account of the person who is signed in, by row security. The role of the API sees every account.',
    fix: "create role shopwire_web login password '…' in role shopwire_dashboard; and that role in SHOPWIRE_DASHBOARD_DATABASE_URL.",
    async examine(about) {
      const url = about.config().SHOPWIRE_DASHBOARD_DATABASE_URL
      if (url === undefined) return notApplicable('no dashboard is configured here')
      const name = decodeURIComponent(new URL(url).username)
      const { role, dashboard_role, is_superuser, may_read_store } = await about.database()
      // The check "database-role" reports it.
      if (name === role && (is_superuser || !may_read_store))
        return notApplicable(`${role} is the login of this command`)
      if (name === role) return failed(`dashboard and API both use ${role}`)
      if (dashboard_role === null) return failed(`there is no role ${name}`)
      if (dashboard_role.is_superuser) return failed(`${name} is superuser`)
      return dashboard_role.sees_everything
        ? failed(`${name} has the rights of the API`)
        : ok(`${name}, bound to one account at a time`)
    },
  },
  {
    id: 'database-tls',
    group: 'PostgreSQL',
    title: 'The connection to PostgreSQL is encrypted and checked, unless it stays on this machine',
    why: 'Orders, balances and the password itself would cross the network unencrypted, or go to whoever answers there.',
    fix: '?sslmode=verify-full at the end of SHOPWIRE_DATABASE_URL, &sslrootcert=/path/of/authority.pem for an authority of your own; ssl = on at the server. A server on a private network: its name in SHOPWIRE_PLAINTEXT_HOSTS.',
    async examine(about) {
      const { SHOPWIRE_DATABASE_URL: url, SHOPWIRE_PLAINTEXT_HOSTS: permitted } = about.config()
      const { hostname, searchParams } = new URL(url)
      const host = searchParams.get('host') ?? hostname
      const { uses_tls } = await about.database()
      if (searchParams.get('sslmode') === 'no-verify')
        return failed('sslmode=no-verify accepts any certificate')
      if (uses_tls) return ok('encrypted, and the certificate is checked')
      if (isLocalHost(host)) return ok('not encrypted, on this machine')
      return permitted.includes(host)
        ? ok(`not encrypted, to ${host}, as SHOPWIRE_PLAINTEXT_HOSTS permits`)
        : failed(`not encrypted, to ${host}`)
    },
  },
  {
    id: 'database-encoding',
    group: 'PostgreSQL',
    title: 'The database is in UTF-8',
    why: 'Names and texts in other scripts would be refused or come back changed.',
    fix: "create database shopwire owner shopwire_owner encoding 'UTF8' template template0; then move the data with a dump.",
    async examine(about) {
      const { encoding } = await about.database()
      return encoding === 'UTF8' ? ok(encoding) : failed(encoding)
    },
  },
  setting('fsync', {
    id: 'fsync',
    title: 'Commits are flushed to the disk',
    why: 'With fsync off a power failure loses paid orders and can damage the whole database.',
  }),
  setting('full_page_writes', {
    id: 'full-page-writes',
    title: 'Half-written pages can be repaired',
    why: 'A power failure in the middle of a write damages pages that only the log could repair.',
  }),
  {
    id: 'synchronous-commit',
    group: 'PostgreSQL',
    title: 'An order is answered after its commit is on disk',
    why: 'With synchronous_commit off the last orders before a crash were answered 201 and are gone.',
    fix: 'alter system set synchronous_commit = on; select pg_reload_conf(); for a role that is named: alter role … reset synchronous_commit; for the database: alter database … reset synchronous_commit.',
    async examine(about) {
      const { settings, role_settings } = await about.database()
      const { synchronous_commit: value, synchronous_standby_names: names } = settings
      const off = role_settings.filter((each) => each.name === 'synchronous_commit' && OFF.test(each.value))
      if (off.length > 0) return failed(`synchronous_commit is off for ${rolesOf(off)}`)
      if (value === 'off') return failed('synchronous_commit is off')
      return value === 'local' && names !== ''
        ? warning('local: commits do not wait for the standby')
        : ok(value)
    },
  },
  {
    id: 'synchronous-standby',
    group: 'PostgreSQL',
    title: 'A standby confirms every commit',
    why: 'Without one, the loss of the machine loses what was not archived yet: usually the last minute of orders.',
    fix: "A standby, then: alter system set synchronous_standby_names = 'ANY 1 (*)'; select pg_reload_conf();",
    async examine(about) {
      const { settings, standbys } = await about.database()
      if (settings.synchronous_standby_names === '')
        return warning(
          standbys === 0 ? 'there is no standby' : `${standbys} follow, and no commit waits for one`,
        )
      return standbys === 0
        ? failed(
            `commits wait for a standby (${settings.synchronous_standby_names}), and none is connected: nothing is sold`,
          )
        : ok(`${standbys} connected`)
    },
  },
  {
    id: 'wal-level',
    group: 'PostgreSQL',
    title: 'The log is written in a form that backups and standbys can use',
    why: 'With wal_level minimal neither base backups nor point-in-time restores are possible.',
    fix: 'alter system set wal_level = replica; then restart PostgreSQL.',
    async examine(about) {
      const { wal_level } = (await about.database()).settings
      return wal_level === 'minimal' ? failed('wal_level is minimal') : ok(wal_level)
    },
  },
  {
    id: 'wal-compression',
    group: 'PostgreSQL',
    title: 'Pages are compressed in the log',
    why: 'After every checkpoint the first change of a page writes all of it to the log. Compressed, the log of an order is about half as large, and so is what standbys, archives and backups store.',
    fix: 'alter system set wal_compression = lz4; select pg_reload_conf(); `on` where PostgreSQL was built without lz4.',
    async examine(about) {
      const { wal_compression: value } = (await about.database()).settings
      return value === 'off' ? warning('off') : ok(value)
    },
  },
  {
    id: 'jit',
    group: 'PostgreSQL',
    title: 'Statements are not compiled',
    why: 'Statements of the store take microseconds. With jit on PostgreSQL may compile one first, for a tenth of a second of processor time, every time it runs.',
    fix: 'shopwire-migrate sets it for the database; for a role that is named: alter role … reset jit; after a restore: alter database … set jit = off.',
    async examine(about) {
      const { settings, role_settings } = await about.database()
      const on = role_settings.filter(
        ({ name, role, value }) => name === 'jit' && role !== null && !OFF.test(value),
      )
      if (on.length > 0) return warning(`jit is on for ${rolesOf(on)}`)
      return settings.jit === 'off' ? ok('off') : warning('jit is on')
    },
  },
  {
    id: 'archiving',
    group: 'PostgreSQL',
    title: 'The log is archived all the time',
    why: 'A restore reaches as far as the archive does. Without one, everything since the last dump or base backup is lost with the disk.',
    fix: 'alter system set archive_mode = on; set archive_command and archive_timeout = 60, then restart. If it fails: select * from pg_stat_archiver, and the log of PostgreSQL.',
    async examine(about) {
      const { settings, archived_s_ago, archive_failed_since } = await about.database()
      if (settings.archive_mode === 'off') return failed('archive_mode is off')
      if (!settings.archive_library && isEmptyArchiving(settings.archive_command))
        return failed('archive_command succeeds without copying the file (%p) anywhere')
      if (archive_failed_since) return failed('the last file could not be archived')
      if (archived_s_ago === null) return warning('nothing was archived yet')
      const found = `the last file ${describeAge(archived_s_ago)} ago`
      return archived_s_ago > ARCHIVED_S_MAX ? warning(found) : ok(found)
    },
  },
  {
    id: 'checksums',
    group: 'PostgreSQL',
    title: 'Pages have checksums',
    why: 'Without them, a disk that returns other bytes than were written is not noticed.',
    fix: 'Stop PostgreSQL, `pg_checksums --enable -D "$PGDATA"`, start it.',
    async examine(about) {
      const { data_checksums: value } = (await about.database()).settings
      return value === 'on' ? ok('on') : warning('off')
    },
  },
  setting('autovacuum', {
    id: 'autovacuum',
    title: 'Autovacuum is on',
    why: 'Queue and nonces are rewritten all the time: without it tables grow until every order is slow, then the disk is full.',
  }),
  {
    id: 'connections',
    group: 'PostgreSQL',
    title: 'PostgreSQL has room for the connections of all processes',
    why: 'A process that gets no connection answers 503 to its callers.',
    fix: 'A lower SHOPWIRE_DATABASE_CONNECTIONS, or: alter system set max_connections = 200; then restart PostgreSQL.',
    async examine(about) {
      const facts = await about.database()
      const { SHOPWIRE_DATABASE_CONNECTIONS: pool, SHOPWIRE_DASHBOARD_DATABASE_URL: dashboard } =
        about.config()
      const workers = await about.store().then(
        (store) => store.workers.alive,
        () => 0,
      )
      const processes = 1 + Math.max(1, workers) + (dashboard === undefined ? 0 : 1)
      const available = availableConnections(facts)
      const needed = processes * pool + OTHER_SESSIONS
      const found = `${available} for the programs; ${processes} processes with ${pool} each and ${OTHER_SESSIONS} others need ${needed}; ${facts.sessions} in use`
      if (needed > available) return failed(found)
      return facts.sessions > available * BUSY_SHARE ? warning(found) : ok(found)
    },
  },
  {
    id: 'timeouts',
    group: 'PostgreSQL',
    title: 'Statements and idle transactions have a time limit',
    why: 'A process that hangs in a transaction would lock the row of a balance indefinitely, and block all orders of the account.',
    fix: "Behind a pooling proxy, for each login: alter role shopwire_api set statement_timeout = '5s'; and the same with lock_timeout = '2s' and idle_in_transaction_session_timeout = '10s'.",
    async examine(about) {
      const { settings, logins, role_settings } = await about.database()
      if (about.config().SHOPWIRE_DATABASE_NAMED_STATEMENTS) {
        const unlimited = LIMITS.filter((name) => settings[name] === '0')
        return unlimited.length === 0 ? ok('both end') : failed(`no limit: ${unlimited.join(' and ')}`)
      }
      const has = (login: string, name: string) =>
        role_settings.some((set) => set.name === name && set.value !== '0' && (set.role ?? login) === login)
      const without = logins.filter((login) => !LIMITS.every((name) => has(login, name)))
      return without.length === 0
        ? ok('both end, for every login')
        : failed(`no limit for ${without.join(', ')}`)
    },
  },
  {
    id: 'statement-log',
    group: 'PostgreSQL',
    title: 'PostgreSQL does not log every statement with its values',
    why: 'Its log would hold addresses of people and callers, outside of retention and erasure.',
    fix: 'alter system set log_statement = ddl; alter system set log_min_duration_statement = 1000; select pg_reload_conf();',
    async examine(about) {
      const { settings, role_settings } = await about.database()
      const { log_statement, log_min_duration_statement } = settings
      const all = role_settings.filter(
        (each) => each.name === 'log_statement' && /^(all|mod)$/.test(each.value),
      )
      if (all.length > 0) return warning(`log_statement is ${all[0]?.value} for ${rolesOf(all)}`)
      if (log_statement === 'all' || log_statement === 'mod')
        return warning(`log_statement is ${log_statement}`)
      return log_min_duration_statement === '0'
        ? warning('log_min_duration_statement is 0: every statement')
        : ok('it does not')
    },
  },
  {
    id: 'log-timezone',
    group: 'PostgreSQL',
    title: 'PostgreSQL logs in UTC, as the programs do',
    why: 'In an incident the two logs are compared by time.',
    fix: "alter system set log_timezone = 'UTC'; select pg_reload_conf();",
    async examine(about) {
      const zone = (await about.database()).settings.log_timezone
      return /^(Etc\/)?(UTC|GMT|UCT)$/.test(zone) ? ok(zone) : warning(zone)
    },
  },
  {
    id: 'replication-slots',
    group: 'PostgreSQL',
    title: 'No replication slot keeps the log for a reader that is gone',
    why: 'The log is kept until the slot is used again, and fills the disk.',
    fix: "select pg_drop_replication_slot('…'); or start its standby. Set max_slot_wal_keep_size.",
    async examine(about) {
      const { idle_slots } = await about.database()
      if (idle_slots.length === 0) return ok('none')
      const found = idle_slots
        .map(({ name, kept_bytes }) => `${name} keeps ${Math.ceil(kept_bytes / 1024 ** 2)} MB`)
        .join(', ')
      return idle_slots.some(({ kept_bytes }) => kept_bytes > SLOT_BYTES_MAX) ? failed(found) : warning(found)
    },
  },
  {
    id: 'pending-restart',
    group: 'PostgreSQL',
    title: 'No changed setting waits for a restart of PostgreSQL',
    why: 'The server does not run with the settings in its files, and changes its behaviour at the next restart, which may be an accident.',
    fix: 'Restart PostgreSQL at a quiet time; orders continue when it is back.',
    async examine(about) {
      const { pending_restart } = await about.database()
      return pending_restart.length === 0 ? ok('none') : warning(pending_restart.join(', '))
    },
  },
]

const OFF = /^(off|false|no|0)$/i

const LIMITS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const

function rolesOf(settings: DatabaseFacts['role_settings']): string {
  return settings.map(({ role }) => role ?? 'this database').join(', ')
}

function isEmptyArchiving(command: string): boolean {
  return (
    !command.includes('%p') ||
    /^\s*(\/\S*\/)?(true|:)(\s|$)/.test(command) ||
    /\/dev\/null["']?\s*$/.test(command)
  )
}

function availableConnections({ settings }: DatabaseFacts): number {
  // reserved_connections exists since PostgreSQL 16.
  return (
    Number(settings.max_connections) -
    Number(settings.superuser_reserved_connections) -
    Number(settings.reserved_connections ?? 0)
  )
}

export function describeAge(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} hours`
  return `${Math.round(seconds / 86_400)} days`
}
