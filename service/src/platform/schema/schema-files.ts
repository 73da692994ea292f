import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseRights, rightsSql } from './rights.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly checksum: string
  readonly text: string
  /** The oldest version whose programs still work once this file is applied. */
  readonly compatible_with: number
  /** False when programs of this release also start without it, such as before an index is built. */
  readonly isNeeded: boolean
  /** False for the one kind of statement that PostgreSQL refuses inside a transaction: building or dropping an index concurrently. */
  readonly isTransactional: boolean
}

/** Applied again whenever it changed: a function, or the rights of all roles. */
export interface SqlFunction {
  /** Below the folder of functions, such as orders/place_orders.sql; or `rights`. */
  readonly path: string
  readonly checksum: string
  readonly text: string
}

export interface Schema {
  readonly migrations: readonly Migration[]
  /** The rights come last: they are about all tables and functions. */
  readonly functions: readonly SqlFunction[]
  /** Roles that must exist before a migration. */
  readonly roles: readonly string[]
  /** Those of them that own functions, so the migrating role must be a member of them. */
  readonly owners: readonly string[]
}

const MIGRATION_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/
const FUNCTION_PATH = /^[a-z_]+\/[a-z0-9_]+\.sql$/
const HEADER = /^-- (migrate|compatible-with|needed): (.+)$/gm

/** A program's schema: numbered files in `tables/`, each function in a file of its own below `functions/`, a file for each role in `rights/`. */
export async function readSchema(folder: URL): Promise<Schema> {
  const functions = await readFunctions(new URL('functions/', folder))
  const rights = await readRights(new URL('rights/', folder))
  const text = rightsSql(rights)
  return {
    migrations: await readMigrations(new URL('tables/', folder)),
    functions: [...functions, { path: 'rights', checksum: checksumOf(text), text }],
    roles: rights.map(({ role }) => role),
    owners: [
      ...new Set(
        functions.flatMap((one) => /^alter function \w+ owner to (\w+);$/m.exec(one.text)?.[1] ?? []),
      ),
    ],
  }
}

/** The newest version that programs of this release need; functions are applied as soon as it is reached. */
export function neededVersion(migrations: readonly Migration[]): number {
  return migrations.findLast(({ isNeeded }) => isNeeded)?.number ?? 0
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name, n) => {
      const [, number] = MIGRATION_NAME.exec(name) ?? []
      if (Number(number) !== n + 1) {
        throw new Error(
          `Migration ${name} is out of sequence: expected number ${n + 1}, as in 0001_what_it_does.sql.`,
        )
      }
      const text = await readFile(new URL(name, folder), 'utf8')
      return { number: n + 1, name, checksum: checksumOf(text), text, ...readHeader(name, n + 1, text) }
    }),
  )
}

async function readFunctions(folder: URL): Promise<SqlFunction[]> {
  const paths = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll('\\', '/'))
  return Promise.all(
    paths
      .filter((path) => path.endsWith('.sql'))
      .sort()
      .map(async (path) => {
        if (!FUNCTION_PATH.test(path)) {
          throw new Error(`Function file ${path} is not where it belongs: expected <module>/<function>.sql.`)
        }
        const text = await readFile(new URL(path, folder), 'utf8')
        // PostgreSQL lets every role call a new function. Without arguments, this also fails if the name is not unique.
        const revoke = `revoke execute on function ${basename(path, '.sql')} from public`
        return { path, checksum: checksumOf(text), text: `${text}\n;${revoke}` }
      }),
  )
}

async function readRights(folder: URL) {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).sort()
  return Promise.all(
    names.map(async (name) => parseRights(name, await readFile(new URL(name, folder), 'utf8'))),
  )
}

function readHeader(name: string, number: number, text: string) {
  const header = new Map([...text.matchAll(HEADER)].map(([, key, value]) => [key, value]))
  const compatible_with = Number(header.get('compatible-with') ?? number)
  const wrong =
    (!Number.isInteger(compatible_with) || compatible_with < 1 || compatible_with > number) &&
    `"-- compatible-with:" takes a version from 1 to ${number}`
  const wrongNeeded =
    !['no', undefined].includes(header.get('needed')) && '"-- needed:" takes "no" or is left out'
  const wrongMigrate =
    !['no-transaction', undefined].includes(header.get('migrate')) &&
    '"-- migrate:" takes "no-transaction" or is left out'
  const problem = wrong || wrongNeeded || wrongMigrate
  if (problem) throw new Error(`Migration ${name} has a header that cannot be read: ${problem}.`)
  return {
    compatible_with,
    isNeeded: !header.has('needed'),
    isTransactional: !header.has('migrate'),
  }
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
