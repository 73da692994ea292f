import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The record of SQL files that databases have been made with. `npm run generate` adds new files and never changes a recorded migration: a
 * database that has applied it would refuse every program that brings another one.
 */
export interface SchemaChecksums {
  /** Migrations up to this number are the first release; the lint begins after them. */
  readonly baseline: number
  readonly migrations: Readonly<Record<string, string>>
  readonly functions: Readonly<Record<string, FunctionRecord>>
  /** Of all roles. */
  readonly rights: FileRecord
}

interface FileRecord {
  readonly sha256: string
  /** The newest migration when it was recorded. */
  readonly version: number
}

interface FunctionRecord extends FileRecord {
  /** Name, arguments and result. */
  readonly signature: string
}

export interface SqlFiles {
  /** Texts by file name. */
  readonly migrations: Readonly<Record<string, string>>
  /** Texts by path below the folder of functions. */
  readonly functions: Readonly<Record<string, string>>
  /** The texts of all roles. */
  readonly rights: string
}

const SCHEMA = join(import.meta.dirname, '../service/schema')
const RECORD = 'service/schema/checksums.json'
const UNRELEASED = `If it has never been part of a release, delete its line from ${RECORD} and run "npm run generate".`

export async function schemaChecksumsText(): Promise<string> {
  return `${JSON.stringify(nextChecksums(await readChecksums(), await readSqlFiles()), null, 2)}\n`
}

export async function readChecksums(): Promise<SchemaChecksums | undefined> {
  const text = await readFile(join(SCHEMA, 'checksums.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as SchemaChecksums)
}

export async function readSqlFiles(): Promise<SqlFiles> {
  return {
    migrations: await readTexts(join(SCHEMA, 'tables')),
    functions: await readTexts(join(SCHEMA, 'functions')),
    rights: Object.values(await readTexts(join(SCHEMA, 'rights'))).join('\n'),
  }
}

/** The record with the files that are new. Throws, with what to do, when a recorded file changed in a way that it may not. */
export function nextChecksums(recorded: SchemaChecksums | undefined, files: SqlFiles): SchemaChecksums {
  const version = Object.keys(files.migrations).length
  const problems = recorded
    ? [
        ...migrationProblems(recorded, files),
        ...functionProblems(recorded, files, version),
        ...(isSame(recorded.rights, files.rights) || version > recorded.rights.version
          ? []
          : [withoutMigration('service/schema/rights', recorded.rights)]),
      ]
    : []
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return {
    baseline: recorded?.baseline ?? version,
    migrations: mapValues(files.migrations, sha256),
    functions: mapValues(files.functions, (text, path) => {
      const was = recorded?.functions[path]
      return was && isSame(was, text) ? was : { sha256: sha256(text), version, signature: signatureOf(text) }
    }),
    rights:
      recorded && isSame(recorded.rights, files.rights)
        ? recorded.rights
        : { sha256: sha256(files.rights), version },
  }
}

function migrationProblems(recorded: SchemaChecksums, { migrations }: SqlFiles): string[] {
  return Object.entries(recorded.migrations).flatMap(([name, checksum]) => {
    const text = migrations[name]
    if (text !== undefined && sha256(text) === checksum) return []
    return (
      `service/schema/tables/${name} ${text === undefined ? 'is gone' : 'changed'} after it was recorded. Databases that have applied it would ` +
      `refuse this release. Restore the file (git checkout) and put the change into the next migration. ${UNRELEASED}`
    )
  })
}

function functionProblems(recorded: SchemaChecksums, files: SqlFiles, version: number): string[] {
  return Object.entries(recorded.functions).flatMap(([path, was]) => {
    const file = `service/schema/functions/${path}`
    const text = files.functions[path]
    if (text === undefined) return isDropped(was, files) ? [] : droppedWithoutMigration(file, was)
    if (isSame(was, text)) return []
    if (signatureOf(text) !== was.signature) {
      return (
        `${file} changed its arguments or its result. Programs of the release before, which run beside this one, would fail. ` +
        `Give the new form a name and a file of its own, and drop the old one a release later by a migration. ${UNRELEASED}`
      )
    }
    return version > was.version ? [] : withoutMigration(file, was)
  })
}

const isSame = (was: FileRecord, text: string) => was.sha256 === sha256(text)

function withoutMigration(file: string, was: FileRecord): string {
  return (
    `${file} changed, and there is no migration after the one it was recorded with (${was.version}). Databases tell releases apart ` +
    'by the number of migrations: add one, if only of comments, that says what changed and carries "-- compatible-with:". ' +
    UNRELEASED
  )
}

function droppedWithoutMigration(file: string, { signature }: FunctionRecord): string {
  return (
    `${file} is gone, and no later migration has "drop function if exists ${nameOf(signature)}". ` +
    `Restore the file, or add that migration once no running release calls the function. ${UNRELEASED}`
  )
}

function isDropped({ signature, version }: FunctionRecord, { migrations }: SqlFiles): boolean {
  const drop = new RegExp(`drop function if exists ${nameOf(signature)}\\b`)
  return Object.entries(migrations).some(
    ([name, text]) => Number.parseInt(name, 10) > version && drop.test(text),
  )
}

const nameOf = (signature: string) => signature.split('(')[0] ?? ''

/** Everything between "function" and its language, without comments and line ends. */
export function signatureOf(text: string): string {
  const [, signature = ''] =
    /create or replace function (.*?)\s+language /s.exec(text.replace(/--.*$/gm, '').replace(/\s+/g, ' ')) ??
    []
  return signature
}

async function readTexts(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true }))
    .filter((name) => /\.(sql|txt)$/.test(name))
    .sort()
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return Object.fromEntries(names.map((name, n) => [name, texts[n] ?? '']))
}

function mapValues<Value, Result>(
  from: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, change(value, key)]))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
