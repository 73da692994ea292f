import { execFile } from 'node:child_process'
import { chown, mkdir, readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import {
  findPostgres,
  findServiceUser,
  freePort,
  makeTemporaryFolder,
  type Postgres,
  removeTemporaryFolder,
  temporaryParent,
} from '../servers/index.ts'
import { codeBlocks, ROOT } from './code-blocks.ts'

/** A machine for the commands of docs/runbooks: a folder for backups, and room for one new server. */
export interface Machine {
  readonly backups: string
  /** Where the new server listens once a runbook has started it. */
  readonly port: number
  /** The same URL on the new server. */
  moved(url: string): string
  /** Runs the blocks of a page with this mark in one shell, as PostgreSQL's user, as they are written. Returns what they print. */
  run(page: string, mark: string, variables?: Record<string, string>): Promise<string>
  /** Runs other commands in the same way. */
  shell(script: string, variables?: Record<string, string>): Promise<string>
  /** Ends the new server as a power failure would. */
  killServer(): Promise<void>
}

const RUN_MS_MAX = 60_000

export async function openMachine(): Promise<Machine> {
  const user = findServiceUser()
  const dir = await makeTemporaryFolder(temporaryParent(user), 'machine')
  onTestFinished(() => removeTemporaryFolder(dir))
  const backups = join(dir, 'backups')
  for (const folder of [backups, join(backups, 'wal')]) await mkdir(folder, { mode: 0o700 })
  if (user) for (const folder of [dir, backups, join(backups, 'wal')]) await chown(folder, user.uid, user.gid)
  const port = await freePort()
  const data = join(dir, 'data')
  let isStarted = false
  async function shell(script: string, variables: Record<string, string> = {}) {
    isStarted ||= script.includes(' start')
    const bash = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: dir,
      env: {
        PATH: `${findPostgres()}${delimiter}/usr/bin${delimiter}/bin`,
        LC_ALL: 'C.UTF-8',
        TZ: 'UTC',
        PGDATA: data,
        PGHOST: '127.0.0.1',
        PGPORT: String(port),
        PGUSER: 'postgres',
        // Without a socket file: its path may be too long here. As many connections as the old server, or it would not replay.
        PG_OPTIONS: `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200`,
        BACKUPS: backups,
        ...variables,
      },
      timeout: RUN_MS_MAX,
      ...(user && { uid: user.uid, gid: user.gid }),
    })
    return (await bash).stdout
  }
  const killServer = async () => {
    if (isStarted) await shell('pg_ctl --mode=immediate --wait stop')
    isStarted = false
  }
  onTestFinished(killServer)
  return {
    backups,
    port,
    moved(url) {
      const changed = new URL(url)
      changed.port = String(port)
      return changed.href
    },
    shell,
    run: async (page, mark, variables) => shell((await blocksOf(page, mark)).join('\n'), variables),
    killServer,
  }
}

/** The code of the blocks of a page (`restore`) or section (`money#a-wrong-price`) with this mark: `run=first`, or `look=` and `repair=` of an alert. */
export async function blocksOf(
  where: string,
  mark: string,
  kind: 'run' | 'look' | 'repair' = 'run',
): Promise<string[]> {
  const [page, wanted] = where.split('#')
  const path = `docs/runbooks/${page}.md`
  const blocks = codeBlocks({ path, text: await readFile(join(ROOT, path), 'utf8') })
  const found = blocks.filter(
    ({ section, marks }) => marks[kind] === mark && (wanted === undefined || section === wanted),
  )
  if (found.length === 0) throw new Error(`${where} of docs/runbooks has no block with ${kind}=${mark}`)
  return found.map(({ code }) => code)
}

/** The arguments of the operator's commands in the blocks of a page with this mark. */
export async function commandsOf(page: string, mark: string): Promise<string[][]> {
  const lines = (await blocksOf(page, mark)).flatMap((code) => code.split('\n'))
  return lines.map((line) => {
    const [program, ...args] = line.split(' ')
    expect(program).toBe('shopwire-admin')
    return args
  })
}

/** What the runbooks need to know about the server that is lost. */
export function variablesOf(postgres: Postgres, database = 'shopwire'): Record<string, string> {
  const old = new URL(postgres.superuserUrl)
  const PGPASSWORD = decodeURIComponent(old.password)
  old.pathname = `/${database}`
  return { OLD: old.href, PGPASSWORD }
}
