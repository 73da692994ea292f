import pg from 'pg'
import { connectClient } from '../database/database-url.ts'
import { type Migration, neededVersion, readSchema, type Schema } from './schema-files.ts'

/** What the migration runner has recorded: applied migrations in their order, and the functions in force. */
export interface Recorded {
  readonly migrations: readonly RecordedFile[]
  /** Checksums by path. */
  readonly functions: ReadonlyMap<string, string>
}

interface RecordedFile {
  /** Null for a function. */
  readonly number: number | null
  readonly name: string
  readonly checksum: string
  readonly compatible_with: number | null
}

/** This program cannot work on the database; the message says why and what to do. */
class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

type Query = (text: string) => Promise<RecordedFile[]>

const UNDEFINED_TABLE = '42P01'
const READ_RECORDED = `
  select number, name, checksum, compatible_with from schema_migrations
  union all
  select null, path, checksum, null from schema_functions
  order by 1, 2`

/** Whether the database at this URL fits, for a command that has no connection yet. */
export async function schemaMismatchAt(url: string, folder: URL): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'shopwire-migrate' })
  await connectClient(client)
  try {
    return await schemaMismatch(async (text) => (await client.query<RecordedFile>(text)).rows, folder)
  } finally {
    await client.end()
  }
}

/**
 * The check of every program when it starts: can it work on this database? It can when the database has all the program needs, and
 * every later migration has declared that programs of this version still work. Returns why not, or undefined.
 */
export async function schemaMismatch(query: Query, folder: URL): Promise<string | undefined> {
  const schema = await readSchema(folder)
  try {
    const recorded = await readRecorded(query)
    checkRecorded(schema.migrations, recorded)
    return missingFrom(recorded, schema)
  } catch (error) {
    if (error instanceof SchemaError) return error.message
    throw error
  }
}

function missingFrom(recorded: Recorded, schema: Schema): string | undefined {
  const [version, needed] = [recorded.migrations.length, neededVersion(schema.migrations)]
  if (version < needed) {
    return (
      `The database is at version ${version}, this program needs ${needed}. ` +
      'Run "shopwire-admin migrate" of this release first.'
    )
  }
  const [outdated] = outdatedFunctions(schema, recorded)
  if (outdated === undefined) return undefined
  return (
    `The database is at version ${version}, but its ${outdated.path === 'rights' ? 'rights are not those' : `function ${outdated.path} is not the one`} of this program: ` +
    'a migration did not finish. Run "shopwire-admin migrate" of this release.'
  )
}

export async function readRecorded(query: Query): Promise<Recorded> {
  const rows = await query(READ_RECORDED).catch((error: { code?: string }) => {
    if (error.code === UNDEFINED_TABLE) return []
    throw error
  })
  return {
    migrations: rows.filter(({ number }) => number !== null),
    functions: new Map(
      rows.filter(({ number }) => number === null).map(({ name, checksum }) => [name, checksum]),
    ),
  }
}

/** The same as a text instead of an error, for a report that continues. */
export function whyRefused(files: readonly Migration[], recorded: Recorded): string | undefined {
  try {
    checkRecorded(files, recorded)
    return undefined
  } catch (error) {
    if (error instanceof SchemaError) return error.message
    throw error
  }
}

/** Throws when the database was made with other files, or is too old. */
export function checkRecorded(files: readonly Migration[], { migrations: done }: Recorded): void {
  for (const [n, was] of done.slice(0, files.length).entries()) {
    if (files[n]?.checksum !== was.checksum) {
      throw new SchemaError(
        `Migration ${was.name} was applied with other contents than ${files[n]?.name ?? 'none'} has now. ` +
          'Applied files never change: restore the file and put the change into a new one.',
      )
    }
  }
  const refusing = done
    .slice(files.length)
    .find(({ compatible_with }) => Number(compatible_with) > files.length)
  if (refusing) {
    throw new SchemaError(
      `The database is at version ${done.length}, newer than this program, which knows ${files.length}: ` +
        `since ${refusing.name} only programs that know version ${refusing.compatible_with} or later work on it. ` +
        'Run a newer release; going back further is done by restoring a backup.',
    )
  }
}

/** Functions that differ between the database and these files. None when the database is newer: then its functions are the newer ones. */
export function outdatedFunctions({ migrations, functions }: Schema, recorded: Recorded) {
  if (recorded.migrations.length > migrations.length) return []
  return functions.filter(({ path, checksum }) => recorded.functions.get(path) !== checksum)
}
