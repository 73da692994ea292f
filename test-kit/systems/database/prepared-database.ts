import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  findPostgres,
  findServiceUser,
  type Postgres,
  type ProvisionedDatabase,
  provisionDatabase,
  startPostgres,
} from '../../servers/index.ts'
import { keptFolder } from '../kept-folder.ts'
import { runProgram } from '../programs/program.ts'
import { ownerSettings, sharedSettings } from '../settings.ts'

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url))
/** All that a prepared database can depend on, beside the version of PostgreSQL. */
const MADE_FROM = ['service/schema', 'service/src/platform', 'test-kit/servers', 'test-kit/systems']
const NAME = 'shopwire'
const URLS = 'database.json'

/** The folder of a stopped PostgreSQL with the roles and the migrated, empty database of a store, for `copyOf`. */
export interface PreparedDatabase {
  readonly dir: string
  readonly name: typeof NAME
  /** Its logins on a server that was started with a copy of it. */
  on(server: Postgres): ProvisionedDatabase
}

let prepared: Promise<PreparedDatabase> | undefined

/** Made once for all test runs on the same schema: a copy takes a tenth of the time of initdb and migrations. */
export function preparedDatabase(): Promise<PreparedDatabase> {
  prepared ??= prepare()
  return prepared
}

async function prepare(): Promise<PreparedDatabase> {
  const { stdout: version } = await promisify(execFile)(join(findPostgres(), 'postgres'), ['--version'])
  // A copy keeps the owner of the files, which has to be the user that the server runs as.
  const user = String(findServiceUser()?.uid ?? process.getuid?.())
  const dir = await keptFolder('databases', [version, user, ...(await sources())], make)
  const { port, urls } = JSON.parse(await readFile(join(dir, URLS), 'utf8'))
  return {
    dir,
    name: NAME,
    on: (server) => JSON.parse(JSON.stringify(urls).replaceAll(`:${port}/`, `:${server.port}/`)),
  }
}

async function make(folder: string): Promise<void> {
  const postgres = await startPostgres()
  try {
    const urls = await migratedDatabase(postgres, NAME)
    await postgres.stop({ keepData: true })
    await promisify(execFile)('cp', ['-a', `${postgres.dir}/.`, folder])
    await writeFile(join(folder, URLS), JSON.stringify({ port: postgres.port, urls }))
  } finally {
    await postgres.stop()
  }
}

/** Does on any server what an operator does: roles, database, migrations. */
export async function migratedDatabase(postgres: Postgres, name: string): Promise<ProvisionedDatabase> {
  const database = await provisionDatabase(postgres, name)
  const migrated = await runProgram('migrate', [], { ...sharedSettings(), ...ownerSettings(database) })
  if (migrated.code !== 0) throw new Error(`the database was not migrated:\n${migrated.stderr}`)
  return database
}

async function sources(): Promise<string[]> {
  const paths = await Promise.all(
    MADE_FROM.map(async (folder) =>
      (await readdir(join(REPOSITORY, folder), { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  )
  return (
    await Promise.all(
      paths
        .flat()
        .sort()
        .map(async (path) => [path, await readFile(path, 'utf8')]),
    )
  ).flat()
}
