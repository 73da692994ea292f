import pg from 'pg'
import { connectClient } from '../database/database-url.ts'
import { describeBlockers, findHolders } from '../database/lock-blockers.ts'
import { MIGRATION_LOCK_ID } from './migrate.ts'
import { describeOpen, findOpenTransactions, type OpenTransaction } from './open-transactions.ts'
import { readSchema, type Schema } from './schema-files.ts'
import { outdatedFunctions, readRecorded, whyRefused } from './schema-version.ts'
import {
  diskFor,
  type PlannedFunctions,
  type PlannedMigration,
  pauseOf,
  planFunctions,
  planMigration,
  RATES,
  readTables,
} from './upgrade-plan.ts'

/** What `migrate` of this program would do to a database, and whether now is a good moment. The check changes nothing. */
export interface UpgradeCheck {
  readonly go: boolean
  /** Why it should not run; each says what to do. */
  readonly reasons: readonly string[]
  /** Worth knowing, but no reason to stop. */
  readonly warnings: readonly string[]
  readonly database_version: number
  readonly program_version: number
  readonly migrations: readonly PlannedMigration[]
  readonly functions: PlannedFunctions
  readonly estimate: {
    readonly seconds: number
    /** The longest time that requests wait at once. */
    readonly pause_seconds: number
    readonly rates: typeof RATES
  }
  readonly programs: {
    /** Programs of this version and later work on the database afterwards. */
    readonly oldest_version: number
    /** Programs of the version that the database has now: they continue beside the new ones, and can be started again. */
    readonly way_back_open: boolean
    readonly closed_by: readonly string[]
  }
  readonly blockers: readonly OpenTransaction[]
  readonly disk: { readonly needed_bytes: number; readonly free_bytes: number | null }
  /** Of WAL: null when nothing was archived yet. */
  readonly archive: { readonly last_seconds: number | null; readonly is_failing: boolean }
}

export interface UpgradeCheckOptions {
  /** Between the two samples of open transactions. */
  readonly lookMs: number
  /** The longest pause that callers may meet. */
  readonly pauseSecondsMax: number
  readonly isOneWayAccepted: boolean
  /** On the volume of the database; PostgreSQL cannot report it. */
  readonly diskFreeBytes?: number | undefined
}

const BYTES_PER_MB = 1_000_000
const ARCHIVE_S_MAX = 3_600

export async function checkUpgrade(
  url: string,
  folder: URL,
  options: UpgradeCheckOptions,
): Promise<UpgradeCheck> {
  const schema = await readSchema(folder)
  const client = new pg.Client({ connectionString: url, application_name: 'shopwire-upgrade-check' })
  // A session that the server ends fails the next query; without a listener it would end the process silently.
  client.on('error', () => {})
  await connectClient(client)
  try {
    await client.query('set default_transaction_read_only = on')
    return await checkOn(client, schema, options)
  } finally {
    await client.end()
  }
}

async function checkOn(
  client: pg.Client,
  schema: Schema,
  options: UpgradeCheckOptions,
): Promise<UpgradeCheck> {
  const recorded = await readRecorded(async (text) => (await client.query(text)).rows)
  const version = recorded.migrations.length
  const refused = whyRefused(schema.migrations, recorded)
  const pending = refused === undefined ? schema.migrations.slice(version) : []
  const tables = await readTables(client)
  const migrations = pending.map((file) => planMigration(file, tables))
  const functions = planFunctions(refused === undefined ? outdatedFunctions(schema, recorded) : [], tables)
  const steps = [...migrations, functions].flatMap((one) => one.steps)
  const buildsIndex = version > 0 && pending.some(({ isTransactional }) => !isTransactional)
  const blockers = await findOpenTransactions(client, { steps, buildsIndex }, options.lookMs)
  const closing = version > 0 ? pending.filter(({ compatible_with }) => compatible_with > version) : []
  const found: Found = {
    refused,
    version,
    blockers,
    closedBy: closing.map(({ name }) => name),
    pauseSeconds: Math.max(0, ...migrations.map(pauseOf)),
    neededBytes: diskFor(steps),
    isStandby: await one<boolean>(client, 'select pg_is_in_recovery() as value'),
    other: describeHolders(await findHolders(client, MIGRATION_LOCK_ID)),
  }
  const archive = await readArchive(client)
  const reasons = reasonsToStop(found, options)
  return {
    go: reasons.length === 0,
    reasons,
    warnings: warningsOf(archive, migrations),
    database_version: version,
    program_version: schema.migrations.length,
    migrations,
    functions,
    estimate: {
      seconds: [...migrations, functions].reduce((sum, { seconds }) => sum + seconds, 0),
      pause_seconds: found.pauseSeconds,
      rates: RATES,
    },
    programs: {
      oldest_version: Math.max(0, ...schema.migrations.map(({ compatible_with }) => compatible_with)),
      way_back_open: closing.length === 0,
      closed_by: found.closedBy,
    },
    blockers,
    disk: { needed_bytes: found.neededBytes, free_bytes: options.diskFreeBytes ?? null },
    archive,
  }
}

interface Found {
  readonly refused: string | undefined
  readonly version: number
  readonly blockers: readonly OpenTransaction[]
  readonly closedBy: readonly string[]
  readonly pauseSeconds: number
  readonly neededBytes: number
  readonly isStandby: boolean
  readonly other: string | undefined
}

function reasonsToStop(found: Found, options: UpgradeCheckOptions): string[] {
  const { diskFreeBytes, pauseSecondsMax, isOneWayAccepted } = options
  const [closing] = found.closedBy
  return [
    found.refused,
    found.isStandby && 'This server is a standby, which takes no changes. Check the primary.',
    found.other && `Another migration is running: ${found.other}. Let it finish, then check again.`,
    ...found.blockers.map(describeOpen),
    closing !== undefined &&
      !isOneWayAccepted &&
      `Programs of version ${found.version} do not work after ${closing}: stop them first. The only way back is a ` +
        'restored backup. Read the release notes, take a backup, and allow it with "--one-way".',
    found.pauseSeconds > pauseSecondsMax &&
      `Calls would wait for about ${found.pauseSeconds} s at a time, and ${pauseSecondsMax} s are allowed. Close the store for that time with ` +
        '"shopwire-admin store plan", or allow more with "--pause-max".',
    diskFreeBytes !== undefined &&
      found.neededBytes > diskFreeBytes &&
      `The volume of the database has ${toMb(diskFreeBytes)} MB free, and indexes and rewritten tables may need ${toMb(found.neededBytes)} MB. Enlarge it first.`,
  ].filter((one) => typeof one === 'string' && one !== '') as string[]
}

function warningsOf(archive: UpgradeCheck['archive'], migrations: readonly PlannedMigration[]): string[] {
  const unread = migrations.filter(({ steps }) => steps.some(({ work }) => work.includes('unknown')))
  const uncounted = new Set(
    migrations.flatMap(({ steps }) => steps.filter(({ rows }) => rows === null).map(({ table }) => table)),
  )
  return [
    archive.is_failing &&
      'The last attempt to archive WAL failed: a restore would not reach the present. See the log of PostgreSQL.',
    archive.last_seconds === null &&
      'No WAL was ever archived, so backups, if there are any, reach only to the time at which they were taken.',
    archive.last_seconds !== null &&
      archive.last_seconds > ARCHIVE_S_MAX &&
      `WAL was last archived ${archive.last_seconds} s ago.`,
    unread.length > 0 &&
      `Statements that the check cannot read count as the strongest lock on every table they name: ${unread.map(({ name }) => name).join(', ')}.`,
    uncounted.size > 0 &&
      `Rows are not counted yet in ${[...uncounted].sort().join(', ')}; "analyze" counts them. Times are estimated by size.`,
  ].filter((one) => typeof one === 'string')
}

function describeHolders(holders: Parameters<typeof describeBlockers>[0]): string | undefined {
  return holders.length > 0 ? describeBlockers(holders) : undefined
}

async function readArchive(client: pg.Client): Promise<UpgradeCheck['archive']> {
  const { rows } = await client.query<UpgradeCheck['archive']>(
    `select extract(epoch from now() - last_archived_time)::integer as last_seconds,
            coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) as is_failing
       from pg_stat_archiver`,
  )
  return rows[0] ?? { last_seconds: null, is_failing: false }
}

async function one<Value>(client: pg.Client, text: string): Promise<Value> {
  return (await client.query<{ value: Value }>(text)).rows[0]?.value as Value
}

function toMb(bytes: number): string {
  return Math.ceil(bytes / BYTES_PER_MB).toLocaleString('en-US')
}
