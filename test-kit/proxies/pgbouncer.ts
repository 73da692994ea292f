import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { codeBlocks, ROOT } from '../pages/code-blocks.ts'
import { changeUrls, findServiceUser, freePort, until } from '../servers/index.ts'
import { capture, type System } from '../systems/index.ts'

/** The PgBouncer of deploy/ha/pgbouncer.ini, that very file, but for the ports and the path of its list of logins. */
export interface Pgbouncer {
  readonly port: number
  /** The same database by way of it. */
  url(direct: string): string
  log(): string
  stop(): Promise<void>
}

const START_MS_MAX = 30_000

/** It knows the logins that this server has now. */
export async function startPgbouncer(superuserUrl: string): Promise<Pgbouncer> {
  const [folder, port, user] = [
    await mkdtemp(join(tmpdir(), 'shopwire-pgbouncer-')),
    await freePort(),
    findServiceUser(),
  ]
  const [config, list] = [join(folder, 'pgbouncer.ini'), join(folder, 'userlist.txt')]
  const shipped = await readFile(join(ROOT, 'deploy/ha/pgbouncer.ini'), 'utf8')
  await writeFile(
    config,
    shipped
      .replace('port=5000', `port=${new URL(superuserUrl).port}`)
      .replace('listen_port = 6432', `listen_port = ${port}`)
      .replace('/etc/pgbouncer/userlist.txt', list),
  )
  await writeFile(list, await loginsOf(superuserUrl), { mode: 0o600 })
  if (user) for (const path of [folder, config, list]) await chown(path, user.uid, user.gid)
  await chmod(folder, 0o700)
  const child = spawn('pgbouncer', [config], {
    env: { PATH: `/usr/sbin:${process.env.PATH}` },
    ...(user && { uid: user.uid, gid: user.gid }),
  })
  const exited = once(child, 'exit')
  const [out, err] = [capture(child, 'stdout'), capture(child, 'stderr')]
  const log = () => `${out()}${err()}`
  const url = (direct: string) => Object.assign(new URL(direct), { port: String(port) }).href
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true })
  }
  const answers = async () => {
    const client = new pg.Client({ connectionString: url(superuserUrl) })
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
  await until(answers, START_MS_MAX, () => `PgBouncer does not answer:\n${log()}`).catch(async (error) => {
    await stop()
    throw error
  })
  return { port, url, log, stop }
}

/**
 * In front of every process that this system starts from now on, with the limits that the page has for its logins. The owner and the
 * superuser stay connected directly.
 */
export async function poolConnections(system: System): Promise<Pgbouncer> {
  const path = join(ROOT, 'docs/self-hosting/high-availability.md')
  const blocks = codeBlocks({ path, text: await readFile(path, 'utf8') })
  await system.query(String(blocks.find(({ language }) => language === 'sql')?.code))
  const pgbouncer = await startPgbouncer(system.postgres.superuserUrl)
  const { ownerUrl } = system.database
  system.database = { ...changeUrls(system.database, pgbouncer.url), ownerUrl }
  system.settings = { ...system.settings, SHOPWIRE_DATABASE_NAMED_STATEMENTS: 'false' }
  return pgbouncer
}

/** As pgbouncer.ini says how to make it. */
async function loginsOf(superuserUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ line: string }>(
      `select format('"%s" "%s"', rolname, rolpassword) as line from pg_authid where rolpassword is not null`,
    )
    return rows.map(({ line }) => `${line}\n`).join('')
  } finally {
    await client.end()
  }
}
