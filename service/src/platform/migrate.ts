import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type BlockerWatch, describeBlockers, watchBlockers } from './lock-blockers.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly checksum: string
  readonly text: string
}

export interface MigrationReport {
  readonly applied: readonly string[]
  readonly version: number
}

/** Any constant will do if every version of Shopwire uses the same one. */
const LOCK_ID = 5_348_094_772
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
const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/

/**
 * Brings the database to the newest version, forward only. Processes that start together wait for each other on a lock: the
 * first one migrates, the others find it done. Each file is one transaction with its own record. A lock that is not granted at
 * once is released and retried, so a long-running reader delays the migration and not the orders.
 */
export async function migrate(
  ownerUrl: string,
  folder: URL,
  report: (line: string) => void = () => {},
  { patienceMs = PATIENCE_MS } = {},
): Promise<MigrationReport> {
  const files = await readMigrations(folder)
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'shopwire-migrate' })
  await client.connect()
  const { pid } = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0] ?? {
    pid: 0,
  }
  const watch = await watchBlockers(ownerUrl, pid)
  try {
    await lockOutOthers(client, watch)
    await client.query(`
      create table if not exists schema_migrations (
        number integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`)
    const done = await readApplied(client)
    checkHistory(files, done)
    const applied: string[] = []
    for (const file of files.slice(done.length)) {
      report(`applying ${file.name}`)
      await applyPatiently(client, file, { watch, patienceMs, report })
      applied.push(file.name)
    }
    return { applied, version: files.length }
  } finally {
    await watch.stop()
    await client.end()
  }
}

/** Whether the database at this URL has the expected version, for callers that have no connection yet. */
export async function schemaMismatchAt(url: string, folder: URL): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'shopwire-migrate' })
  await client.connect()
  try {
    return await schemaMismatch(async (text) => (await client.query<Applied>(text)).rows, folder)
  } finally {
    await client.end()
  }
}

/** Compares the database's version with the one this code needs. Returns why they do not match, or undefined. */
export async function schemaMismatch(
  query: (text: string) => Promise<Applied[]>,
  folder: URL,
): Promise<string | undefined> {
  const files = await readMigrations(folder)
  const done = await query(readAppliedText).catch((error: { code?: string }) => {
    if (error.code === UNDEFINED_TABLE) return []
    throw error
  })
  try {
    checkHistory(files, done)
  } catch (error) {
    return (error as Error).message
  }
  if (done.length === files.length) return undefined
  return `The database is at version ${done.length}, this program needs ${files.length}. Run "shopwire-admin migrate" first.`
}

export async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name, n) => {
      const [, number] = FILE_NAME.exec(name) ?? []
      if (Number(number) !== n + 1) {
        throw new Error(
          `Migration ${name} is out of sequence: expected number ${n + 1}, as in 0001_what_it_does.sql.`,
        )
      }
      const text = await readFile(new URL(name, folder), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { number: n + 1, name, checksum, text }
    }),
  )
}

interface Applied {
  number: number
  name: string
  checksum: string
}

const UNDEFINED_TABLE = '42P01'
const readAppliedText = 'select number, name, checksum from schema_migrations order by number'

async function readApplied(client: pg.Client): Promise<Applied[]> {
  return (await client.query<Applied>(readAppliedText)).rows
}

function checkHistory(files: Migration[], done: Applied[]) {
  if (done.length > files.length) {
    throw new Error(
      `The database is at version ${done.length}, newer than this program, which knows ${files.length}. ` +
        'Run the newer release; going back is done by restoring a backup.',
    )
  }
  for (const [n, was] of done.entries()) {
    if (files[n]?.checksum !== was.checksum) {
      throw new Error(
        `Migration ${was.name} was applied with other contents than ${files[n]?.name ?? 'none'} has now. ` +
          'Applied files never change: restore the file and put the change into a new one.',
      )
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/** Held until this session ends. */
async function lockOutOthers(client: pg.Client, watch: BlockerWatch) {
  await client.query(`set lock_timeout = ${OTHER_MIGRATION_MS_MAX}`)
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_ID])
  } catch (error) {
    if (!isLockTrouble(error)) throw error
    throw new Error(
      `Another migration has been running for ${OTHER_MIGRATION_MS_MAX / 1_000} s: ${describeBlockers(watch.latest())}. ` +
        'Nothing was changed. Let it finish or stop it, then run this again.',
      { cause: error },
    )
  }
  await client.query(`set lock_timeout = ${LOCK_WAIT_MS_MAX}`)
}

async function applyPatiently(
  client: pg.Client,
  file: Migration,
  { watch, patienceMs, report }: { watch: BlockerWatch; patienceMs: number; report(line: string): void },
) {
  const startedMs = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await apply(client, file)
    } catch (error) {
      if (!isLockTrouble(error)) {
        throw new Error(`Migration ${file.name} failed and was rolled back: ${(error as Error).message}`, {
          cause: error,
        })
      }
      const blockers = describeBlockers(watch.latest())
      const triedMs = performance.now() - startedMs
      if (triedMs + PAUSE_MS > patienceMs) {
        throw new Error(
          `Migration ${file.name} did not get its locks in ${Math.round(triedMs / 1_000)} s (${attempt} attempts) and was rolled back. ` +
            `Blocked by: ${blockers}. Let it end, or end it with "select pg_terminate_backend(pid)", and migrate again.`,
          { cause: error },
        )
      }
      report(
        `${file.name} did not get a lock within ${LOCK_WAIT_MS_MAX} ms (attempt ${attempt}); blocked by: ${blockers}; ` +
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
 * All in one message. Sent one by one, the locks of an executed file would be held until this process has read the answer and
 * sent the commit: while the process is starved, frozen or cut off, no order could proceed.
 */
async function apply(client: pg.Client, { number, name, checksum, text }: Migration) {
  const record = [name, checksum].map((value) => client.escapeLiteral(value)).join(', ')
  try {
    await client.query(
      `begin;\n${text}\n;insert into schema_migrations (number, name, checksum) values (${number}, ${record});\ncommit`,
    )
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}
