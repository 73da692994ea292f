import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { connectClient } from '../database/database-url.ts'
import { type BlockerWatch, describeBlockers, findHolders, watchBlockers } from '../database/lock-blockers.ts'
import { runConcurrently } from './build-index.ts'
import { DATABASE_SCHEMA, keepSettings } from './database-settings.ts'
import { type Migration, neededVersion, readSchema, type Schema, type SqlFunction } from './schema-files.ts'
import { checkRecorded, outdatedFunctions, readRecorded } from './schema-version.ts'

export interface MigrationReport {
  readonly applied: readonly string[]
  readonly version: number
}

/** Any constant will do if every version of Shopwire uses the same one. */
export const MIGRATION_LOCK_ID = 5_348_094_772
/**
 * While a migration waits for a lock, every order that needs the table waits behind it. The limit is below PostgreSQL's
 * deadlock_timeout of one second, so that the migration gives up before an order is chosen as the victim of a deadlock.
 */
const LOCK_WAIT_MS_MAX = 500
/** Pause between two attempts, so that the queue behind the lock can drain. */
const PAUSE_MS = 2_000
/** How long a file is retried before the migration fails and names the blockers. */
const PATIENCE_MS = 300_000
/** Longer than PATIENCE_MS: another migration may be retrying several files. */
const OTHER_MIGRATION_MS_MAX = 600_000
const OTHER_MIGRATION_POLL_MS = 200

/**
 * Brings the database to the newest version, forward only. Processes that start together wait for one another: the first does the
 * work, the others find it done. Each file is one transaction with its own record, and so are all functions that changed. A lock
 * that is not granted at once is given up and tried again later: a long-running reader delays the migration, never the sales. A
 * database that is newer than these files and works with them is left as it is, functions included, so that a release can be rolled
 * back.
 */
export async function migrate(
  ownerUrl: string,
  folder: URL,
  report: (line: string) => void = () => {},
  { patienceMs = PATIENCE_MS } = {},
): Promise<MigrationReport> {
  const schema = await readSchema(folder)
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'shopwire-migrate' })
  // A session that the server ends fails the next query; without a listener it would end the process silently.
  client.on('error', () => {})
  await connectClient(client)
  const { pid } = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0] ?? {
    pid: 0,
  }
  await refuseIfPooled(client, pid)
  const watch = await watchBlockers(ownerUrl, pid)
  const run: Run = { client, url: ownerUrl, pid, watch, patienceMs, report }
  try {
    await checkRoles(client, schema)
    await waitForOthers(client)
    await client.query(`create schema if not exists ${DATABASE_SCHEMA}; set search_path = ${DATABASE_SCHEMA}`)
    await client.query(CREATE_RECORDS)
    await keepSettings(client)
    const recorded = await readRecorded(async (text) => (await client.query(text)).rows)
    checkRecorded(schema.migrations, recorded)
    const version = recorded.migrations.length
    if (version > schema.migrations.length) {
      report(
        `the database is at version ${version}, newer than this program (${schema.migrations.length}) and compatible with it; nothing to do`,
      )
      return { applied: [], version }
    }
    const outdated = outdatedFunctions(schema, recorded)
    const gone = [...recorded.functions.keys()].filter(
      (path) => !schema.functions.some((one) => one.path === path),
    )
    const needed = neededVersion(schema.migrations)
    const replace = () => applyFunctions(run, schema.owners, outdated, gone)
    if (version >= needed) await replace()
    const applied: string[] = []
    for (const file of schema.migrations.slice(version)) {
      report(`applying ${file.name}`)
      await applyMigration(run, file)
      applied.push(file.name)
      if (file.number === needed) await replace()
    }
    await analyzeOneRowTables(client)
    if (version === 0) report(await describeRefunds(client))
    return { applied, version: schema.migrations.length }
  } finally {
    await watch.stop()
    await client.end()
  }
}

/** A pooling proxy makes up the number by which a session is cancelled. Two migrations would share one session there, and its lock. */
async function refuseIfPooled(client: pg.Client, pid: number): Promise<void> {
  if ((client as unknown as { processID: number }).processID === pid) return
  await client.end()
  throw new Error(
    'SHOPWIRE_DATABASE_OWNER_URL leads to a proxy that pools connections, such as PgBouncer. A migration holds a lock of its session, which ' +
      'does not work there. Nothing was changed. Name PostgreSQL itself, or the HAProxy in front of it.',
  )
}

interface Run {
  readonly client: pg.Client
  readonly url: string
  readonly pid: number
  readonly watch: BlockerWatch
  readonly patienceMs: number
  report(line: string): void
}

/** Money that a new store refunds automatically. Whoever installs it should know. */
async function describeRefunds(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ hours: string; per_hour_max: number }>(
    'select (extract(epoch from cancel_after) / 3600)::integer as hours, per_hour_max from refund_rule',
  )
  const [rule] = rows
  return (
    `a new store: an order that could not be delivered for ${rule?.hours} hours is cancelled and refunded, at most ` +
    `${rule?.per_hour_max} an hour; "shopwire-admin refunds rule" shows and changes that`
  )
}

/**
 * PostgreSQL expects hundreds of rows in a table that was never analysed, and autovacuum never analyses one that small: a query that
 * joins two of them, as every process runs once a second, is planned as one for hundreds of thousands of rows.
 */
async function analyzeOneRowTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select c.oid::regclass::text as name
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'only_row'
     where c.relkind = 'r'
       and c.relnamespace = '${DATABASE_SCHEMA}'::regnamespace
       and c.reltuples < 0`)
  if (rows.length > 0) await client.query(`analyze ${rows.map(({ name }) => name).join(', ')}`)
}

const CREATE_RECORDS = `
  create table if not exists schema_migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    compatible_with integer not null,
    applied_at timestamptz not null default now()
  );
  create table if not exists schema_functions (
    path text collate "C" primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/**
 * Held until this session ends. Polled rather than waited for: a waiting session has a snapshot, and the migration that builds an
 * index would in turn wait for it.
 */
async function waitForOthers(client: pg.Client) {
  const startedMs = performance.now()
  const isOurs = async () =>
    (await client.query<{ ok: boolean }>('select pg_try_advisory_lock($1) as ok', [MIGRATION_LOCK_ID]))
      .rows[0]?.ok
  while (!(await isOurs())) {
    if (performance.now() - startedMs > OTHER_MIGRATION_MS_MAX) {
      throw new Error(
        `Another migration has been running for ${OTHER_MIGRATION_MS_MAX / 1_000} s: ${describeBlockers(await findHolders(client, MIGRATION_LOCK_ID))}. ` +
          'Nothing was changed. Let it finish or stop it, then run this again.',
      )
    }
    await sleep(OTHER_MIGRATION_POLL_MS)
  }
}

async function applyMigration(run: Run, file: Migration) {
  const { client } = run
  const record = `insert into schema_migrations (number, name, checksum, compatible_with) values (${file.number}, ${literals(client, file.name, file.checksum)}, ${file.compatible_with})`
  if (file.isTransactional) {
    return applyPatiently(run, `Migration ${file.name}`, `${file.text}\n;${record}`)
  }
  await runConcurrently(client, file, run)
  await client.query(record)
}

/** Roles belong to the whole server and are made once, by a superuser: the owner of a database needs no right to make roles. */
async function checkRoles(client: pg.Client, { roles, owners }: Schema) {
  const { rows } = await client.query<{ missing: string[]; foreign: string[]; me: string }>(
    `select array(select r from unnest($1::text[]) r where to_regrole(r) is null) as missing,
            array(select r.rolname::text from pg_roles r where r.rolname = any ($2) and not pg_has_role(r.oid, 'usage')) as foreign,
            current_user::text as me`,
    [roles, owners],
  )
  const { missing = [], foreign = [], me = '' } = rows[0] ?? {}
  const problem =
    missing.length > 0
      ? `The server lacks the roles ${missing.join(', ')}.`
      : foreign.length > 0 && `The role ${me} is not a member of ${foreign.join(', ')}, which own functions.`
  if (problem)
    throw new Error(
      `${problem} Nothing was changed. Run the statements of docs/database-roles.md, "Making the roles", as a superuser, then migrate again.`,
    )
}

/** In one transaction: they call one another. A role that is to own a function must be allowed to create one, only for this moment. */
async function applyFunctions(
  run: Run,
  owners: readonly string[],
  outdated: readonly SqlFunction[],
  gone: readonly string[],
) {
  if (outdated.length + gone.length === 0) return
  const { client, report } = run
  if (outdated.length > 0) report(`replacing functions: ${outdated.map(({ path }) => path).join(', ')}`)
  const record = ({ path, checksum }: SqlFunction) =>
    `insert into schema_functions (path, checksum) values (${literals(client, path, checksum)}) ` +
    'on conflict (path) do update set checksum = excluded.checksum, applied_at = now()'
  const statements = [
    `grant create on schema shopwire to ${owners.join(', ')}`,
    ...outdated.flatMap((one) => [one.text, record(one)]),
    `revoke create on schema shopwire from ${owners.join(', ')}`,
    ...gone.map((path) => `delete from schema_functions where path = ${literals(client, path)}`),
  ]
  await applyPatiently(run, 'The step that replaces functions', statements.join('\n;'))
}

async function applyPatiently({ client, watch, patienceMs, report }: Run, what: string, text: string) {
  const startedMs = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await applyAtOnce(client, text)
    } catch (error) {
      if (!isLockTrouble(error)) {
        throw new Error(`${what} failed and was rolled back: ${(error as Error).message}`, {
          cause: error,
        })
      }
      const blockers = describeBlockers(watch.latest())
      const triedMs = performance.now() - startedMs
      if (triedMs + PAUSE_MS > patienceMs) {
        throw new Error(
          `${what} did not get its locks in ${Math.round(triedMs / 1_000)} s (${attempt} attempts) and was rolled back. ` +
            `Blocked by: ${blockers}. Let it end, or end it with "select pg_terminate_backend(pid)", and migrate again.`,
          { cause: error },
        )
      }
      report(
        `${what} did not get a lock within ${LOCK_WAIT_MS_MAX} ms (attempt ${attempt}); blocked by: ${blockers}; ` +
          `next attempt in ${PAUSE_MS / 1_000} s`,
      )
      await sleep(PAUSE_MS)
    }
  }
}

function isLockTrouble(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError && [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(error.code ?? '')
  )
}

/**
 * All in one message. If they were sent one by one, the locks of an executed file would be held until this process has read the
 * answer and sent the commit: while the process is starved, frozen or cut off, no order could proceed.
 */
async function applyAtOnce(client: pg.Client, text: string) {
  try {
    await client.query(`begin;\nset local lock_timeout = ${LOCK_WAIT_MS_MAX};\n${text}\n;commit`)
  } catch (error) {
    // A broken connection has rolled back already; the first error is the one that matters.
    await client.query('rollback').catch(() => {})
    throw error
  }
}

function literals(client: pg.Client, ...values: string[]): string {
  return values.map((value) => client.escapeLiteral(value)).join(', ')
}
