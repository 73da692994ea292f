import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres, until } from '../../servers/index.ts'

const REPLY_MS_MAX = 20_000
const QUIET = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1']

/** Runs one statement in a session of its own and returns its rows as text. */
export async function psql(url: string, statement: string): Promise<string> {
  const { stdout } = await promisify(execFile)(postgresTool('psql'), [...QUIET, '--command', statement, url])
  return stdout.trim()
}

/** A session that stays open, to hold a lock for as long as a test needs it. */
export async function openSession(url: string) {
  const child = spawn(postgresTool('psql'), [...QUIET, url], { stdio: ['pipe', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  return {
    async run(statements: string, msMax = REPLY_MS_MAX): Promise<void> {
      const done = randomBytes(8).toString('hex')
      child.stdin.write(`${statements}\n\\echo ${done}\n`)
      await until(
        () => printed.includes(done),
        msMax,
        () => `psql did not finish: ${statements}`,
      )
    },
    async end(): Promise<void> {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

/** Everything the database holds, as text; bytes appear in hexadecimal. */
export async function dump(url: string): Promise<string> {
  const { stdout } = await promisify(execFile)(postgresTool('pg_dump'), [url], {
    maxBuffer: 256 * 1024 * 1024,
  })
  return stdout
}

function postgresTool(name: string): string {
  return join(findPostgres(), name)
}
