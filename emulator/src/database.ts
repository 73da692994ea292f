import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  describeInstallation,
  type Postgres,
  type ProvisionedDatabase,
  startPostgres,
} from '@shopwire/engines'
import { type Db, migrate, openDatabase, SCHEMA, statement } from '@shopwire/service/embedded'
import { findPrograms } from './postgres-programs.ts'

/** The emulator's private PostgreSQL with the store's schema, and a login for each part of the store. */
export interface StoreDatabase extends ProvisionedDatabase {
  readonly version: string
  stop(): Promise<void>
}

const NAME = 'shopwire'
/** The pools of store.ts, and room for people who inspect the data. */
const SETTINGS = { max_connections: '60', shared_buffers: '32MB', autovacuum_naptime: '30s' }

const LOOK_EVERY_MS = 1_000

export async function startDatabase(
  data: string | undefined,
  progress: (what: string) => void,
  onEnded: (why: string) => void,
): Promise<StoreDatabase> {
  const programs = await findPrograms()
  progress('starting PostgreSQL')
  const { bin, libraries } = programs
  const postgres = await startPostgres({
    settings: SETTINGS,
    ...(data !== undefined && { dir: join(data, 'postgres') }),
    ...(bin !== undefined && { bin }),
    ...(libraries !== undefined && { libraries }),
  }).catch(async (error) => {
    await programs.remove()
    throw error.name === 'UnusableFolder' ? error : aboutKept(error, data)
  })
  const watch = setInterval(() => {
    const isThere = existsSync(postgres.dir)
    if (isThere && postgres.pid() !== undefined) return
    clearInterval(watch)
    const what = isThere
      ? 'The PostgreSQL of the emulator has ended by itself'
      : `${postgres.dir} was removed`
    onEnded(`${what}, and the emulator cannot work without it. Start it again.`)
  }, LOOK_EVERY_MS)
  watch.unref()
  const stop = async () => {
    clearInterval(watch)
    await postgres.stop()
    await programs.remove()
  }
  try {
    progress('making the schema')
    const database = await provision(postgres)
    await migrate(database.ownerUrl, SCHEMA)
    return { ...database, version: postgres.version, stop }
  } catch (error) {
    await stop()
    throw aboutKept(error as Error, data)
  }
}

/** Data of another version or damaged data is never deleted automatically. */
function aboutKept(error: Error, data: string | undefined): Error {
  if (data === undefined) return error
  const advice = `If it is the data kept in ${resolve(data)}: move it away to start afresh, or choose another folder.`
  return new Error(`${error.message}\n${advice}`, { cause: error })
}

/** As an operator does once. The packaged PostgreSQL has no psql. */
async function provision(postgres: Postgres): Promise<ProvisionedDatabase> {
  const { roles, grants, ...database } = describeInstallation(postgres, NAME)
  const db = openDatabase(
    {
      url: postgres.superuserUrl,
      application_name: 'shopwire-emulator',
      connectionsMax: 1,
      connectMsMax: 10_000,
      statementMsMax: 60_000,
      lockMsMax: 10_000,
      namedStatements: false,
    },
    () => {},
  )
  try {
    const run = (text: string) => db.run(statement(text, []))
    // Idempotent: a start may be interrupted.
    for (const text of roles) await run(text)
    if (!(await isThere(db, `select from pg_database where datname = '${NAME}'`)))
      await run(`create database ${NAME} owner shopwire_owner strategy file_copy`)
    for (const text of grants) await run(text)
  } finally {
    await db.close()
  }
  return database
}

async function isThere(db: Db, text: string): Promise<boolean> {
  return (await db.many(statement(text, []))).length > 0
}
