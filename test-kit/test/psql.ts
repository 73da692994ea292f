import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres } from '../servers/binaries.ts'
import { until } from '../servers/until.ts'

const BUSY_MS_MAX = 10_000

/** Runs one statement in a separate session and returns its rows as text. */
export async function psql(url: string, statement: string): Promise<string> {
  const { stdout } = await promisify(execFile)(program(), args(url, statement))
  return stdout.trim()
}

/** A backend that never reads from its client does not notice by itself that its postmaster is gone. */
export async function startBusyBackend(url: string): Promise<number> {
  const client = spawn(program(), args(url, 'do $$ begin loop end loop; end $$'), { stdio: 'ignore' })
  client.unref()
  const isBusy = "query like 'do %' and state = 'active'"
  const find = () => psql(url, `select pid from pg_stat_activity where ${isBusy}`)
  return Number(await until(find, BUSY_MS_MAX, () => 'no backend became busy'))
}

function program(): string {
  return join(findPostgres(), 'psql')
}

function args(url: string, statement: string): string[] {
  const quiet = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1']
  return [...quiet, '--command', statement, url]
}
