import pg from 'pg'
import { connectClient } from '../database/database-url.ts'
import { type Blocker, describeBlockers, findBlockers } from '../database/lock-blockers.ts'
import type { Migration } from './schema-files.ts'

export interface BuildOptions {
  /** For a second connection, which watches the build. */
  readonly url: string
  readonly pid: number
  /** How long the build waits for sessions that block it. The build itself may take as long as it needs. */
  readonly patienceMs: number
  report(line: string): void
}

const POLL_EVERY_MS = 500
const REPORT_EVERY_MS = 10_000
const STATEMENT =
  /^(create|drop)\s+(?:unique\s+)?index\s+concurrently\s+(if\s+(?:not\s+)?exists\s+)?(\w+)(?:\s+on\s+(\w+))?/i

/**
 * Runs a statement that PostgreSQL refuses inside a transaction: one index, built or dropped while sales continue. It takes no lock
 * that a sale waits for, but it waits for transactions that were open before it. An interrupted build leaves an invalid index,
 * which costs every write and serves no read: it is dropped, and built again.
 */
export async function runConcurrently(
  client: pg.Client,
  file: Migration,
  options: BuildOptions,
): Promise<void> {
  const { statement, isDrop, name, table } = readStatement(file)
  const found = await findIndex(client, name)
  if (isDrop) {
    if (found) await runWatched(client, file, statement, options)
    return
  }
  if (found && found.table !== table) {
    throw new Error(
      `Migration ${file.name} cannot build index ${name} on ${table}: an index of that name is on ${found.table} already. ` +
        'Nothing was changed. Rename or drop that index, which no release of Shopwire has made, and migrate again.',
    )
  }
  if (found?.is_valid) {
    options.report(`${file.name}: index ${name} exists already and is left as it is`)
    return
  }
  if (found) {
    options.report(
      `${file.name}: index ${name} was left unfinished by an interrupted run; it is dropped and built again`,
    )
    await runWatched(client, file, `drop index concurrently ${name}`, options)
  }
  await runWatched(client, file, statement, options)
}

/** The one statement of the file, or an error that says what such a file may hold. */
export function readStatement({ name: fileName, text }: Pick<Migration, 'name' | 'text'>) {
  const statement = text.replace(/--.*$/gm, '').trim().replace(/;$/, '')
  const [, verb = '', ifExists, name = '', table = ''] = STATEMENT.exec(statement) ?? []
  const isDrop = verb.toLowerCase() === 'drop'
  const isOne = verb !== '' && !statement.includes(';') && (isDrop ? !statement.includes(',') : table !== '')
  if (!isOne || (ifExists !== undefined && !isDrop)) {
    throw new Error(
      `Migration ${fileName} runs outside a transaction and must hold exactly one statement: "create index concurrently <name> on <table> …" ` +
        '(without "if not exists", which would keep an unfinished index) or "drop index concurrently if exists <name>". ' +
        'Put everything else into separate files.',
    )
  }
  return { statement, isDrop, name, table }
}

async function findIndex(client: pg.Client, name: string) {
  const { rows } = await client.query<{ is_valid: boolean; table: string }>(
    `select i.indisvalid and i.indisready as is_valid, i.indrelid::regclass::text as table
       from pg_index i
      where i.indexrelid = to_regclass($1)`,
    [name],
  )
  return rows[0]
}

async function runWatched(client: pg.Client, file: Migration, statement: string, options: BuildOptions) {
  const watch = await watchBuild(file, options)
  // No session waits for this statement, so it may wait itself.
  await client.query('set lock_timeout = 0')
  await client.query('set statement_timeout = 0')
  try {
    await client.query(statement)
  } catch (error) {
    const stopped = watch.stoppedBecause()
    if (stopped === undefined) {
      throw new Error(
        `Migration ${file.name} failed: ${(error as Error).message}. An unfinished index may remain; no read uses it. ` +
          'Remove the cause and migrate again: the index is then dropped and built again.',
        { cause: error },
      )
    }
    throw new Error(stopped, { cause: error })
  } finally {
    await watch.stop()
    await client.query('reset statement_timeout').catch(() => {})
  }
}

interface Progress {
  phase: string
  done: number
  total: number
}

/** Reports how far the build is and which sessions block it, and cancels it when they stay for too long. */
async function watchBuild(file: Migration, { url, pid, patienceMs, report }: BuildOptions) {
  const client = new pg.Client({ connectionString: url, application_name: 'shopwire-migrate-watch' })
  client.on('error', () => {})
  await connectClient(client)
  let looking: Promise<void> | undefined
  let reported = { phase: '', atMs: Number.NEGATIVE_INFINITY }
  let blockedSinceMs: number | undefined
  let stopped: string | undefined

  async function look() {
    const nowMs = performance.now()
    const { rows } = await client.query<Progress>(PROGRESS, [pid])
    const blockers = await findBlockers(client, pid)
    const phase = rows[0]?.phase ?? 'waiting'
    const isBlocked = blockers.length > 0
    blockedSinceMs = isBlocked ? (blockedSinceMs ?? nowMs) : undefined
    if (isBlocked || rows[0]) {
      const key = `${phase} ${isBlocked}`
      if (key !== reported.phase || nowMs - reported.atMs >= REPORT_EVERY_MS) {
        report(`${file.name}: ${describeProgress(rows[0], blockers)}`)
        reported = { phase: key, atMs: nowMs }
      }
    }
    if (blockedSinceMs !== undefined && nowMs - blockedSinceMs > patienceMs && stopped === undefined) {
      stopped =
        `Migration ${file.name} waited ${Math.round((nowMs - blockedSinceMs) / 1_000)} s for transactions that were open before it, and was stopped. ` +
        `Blocked by: ${describeBlockers(blockers)}. No sale waited. Let it end, or end it with "select pg_terminate_backend(pid)", ` +
        'and migrate again: an unfinished index is then dropped and built again.'
      await client.query('select pg_cancel_backend($1)', [pid])
    }
  }

  const timer = setInterval(() => {
    looking ??= look()
      .catch(() => {})
      .finally(() => {
        looking = undefined
      })
  }, POLL_EVERY_MS)
  return {
    stoppedBecause: () => stopped,
    async stop() {
      clearInterval(timer)
      await looking
      await client.end().catch(() => {})
    },
  }
}

const PROGRESS = `
  select phase, coalesce(nullif(blocks_done, 0), tuples_done)::float8 as done, coalesce(nullif(blocks_total, 0), tuples_total)::float8 as total
    from pg_stat_progress_create_index
   where pid = $1`

function describeProgress(progress: Progress | undefined, blockers: readonly Blocker[]): string {
  const { phase, done, total } = progress ?? { phase: 'waiting', done: 0, total: 0 }
  const share = total > 0 ? `, ${Math.floor((100 * done) / total)} % of this phase` : ''
  const waits = blockers.length > 0 ? `; waits for ${describeBlockers(blockers)}` : ''
  return `${phase}${share}${waits}`
}
