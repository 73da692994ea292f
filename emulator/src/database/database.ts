import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Db, migrate, openDatabase, SCHEMA, statement } from '@shopwire/service/embedded'
import {
  describeInstallation,
  type Postgres,
  type ProvisionedDatabase,
  postgresVersion,
  startPostgres,
} from '@shopwire/test-kit/servers'
import { canKeepImages, imageOf } from './database-image.ts'
import { findPrograms, type PostgresPrograms } from './postgres-programs.ts'

/** The emulator's private PostgreSQL with the store's schema, and a login for each part of the store. */
export interface StoreDatabase extends ProvisionedDatabase {
  readonly version: string
  stop(): Promise<void>
}

const NAME = 'shopwire'
/** The pools of store/store.ts, and room for people who inspect the data. */
const SETTINGS = { max_connections: '60', shared_buffers: '32MB', autovacuum_naptime: '30s' }

const LOOK_EVERY_MS = 1_000

export async function startDatabase(
  data: string | undefined,
  progress: (what: string) => void,
  onEnded: (why: string) => void,
): Promise<StoreDatabase> {
  const programs = await findPrograms()
  try {
    progress('starting PostgreSQL')
    const { postgres, database } =
      data === undefined && canKeepImages
        ? await startTemporary(programs, progress)
        : await startOn({ ...(data !== undefined && { dir: join(data, 'postgres') }) }, programs, progress)
    const stopWatching = watch(postgres, onEnded)
    const stop = async () => {
      stopWatching()
      await postgres.stop()
      await programs.remove()
    }
    return { ...database, version: postgres.version, stop }
  } catch (error) {
    await programs.remove()
    throw (error as Error).name === 'UnusableFolder' ? error : aboutKept(error as Error, data)
  }
}

interface Started {
  readonly postgres: Postgres
  readonly database: ProvisionedDatabase
}

/** As a copy of an earlier one that was new. Without one, or with one that turns out to be damaged, a new one is made and kept. */
async function startTemporary(
  programs: PostgresPrograms,
  progress: (what: string) => void,
): Promise<Started> {
  const image = await imageOf(postgresVersion(programs))
  if (await image.exists()) {
    try {
      const started = await startOn({ copyOf: image.dir }, programs, progress)
      await forgetOtherServer(started)
      return started
    } catch {
      await image.remove()
    }
  }
  const started = await startOn({}, programs, progress)
  const { postgres } = started
  try {
    await postgres.stop({ keepData: true })
    // Where nothing can be kept, the next start takes as long as this one.
    await image.keep(postgres.dir).catch(() => {})
    await postgres.start()
    await forgetOtherServer(started)
    return started
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function startOn(
  place: { dir?: string; copyOf?: string },
  { bin, libraries }: PostgresPrograms,
  progress: (what: string) => void,
): Promise<Started> {
  const postgres = await startPostgres({
    settings: SETTINGS,
    ...place,
    ...(bin !== undefined && { bin }),
    ...(libraries !== undefined && { libraries }),
  })
  try {
    progress('making the schema')
    const database = await provision(postgres)
    await migrate(database.ownerUrl, SCHEMA)
    return { postgres, database }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

/** It was empty when it was copied, so no nonce was lost with the other server. Otherwise the store would refuse callers for a second. */
async function forgetOtherServer({ database }: Started): Promise<void> {
  const db = connect(database.ownerUrl)
  try {
    await db.run(statement('update admission_memory set server_started_at = pg_postmaster_start_time()', []))
  } finally {
    await db.close()
  }
}

function watch(postgres: Postgres, onEnded: (why: string) => void): () => void {
  const timer = setInterval(() => {
    const isThere = existsSync(postgres.dir)
    if (isThere && postgres.pid() !== undefined) return
    clearInterval(timer)
    const what = isThere
      ? 'The PostgreSQL of the emulator has ended by itself'
      : `${postgres.dir} was removed`
    onEnded(`${what}, and the emulator cannot work without it. Start it again.`)
  }, LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
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
  const db = connect(postgres.superuserUrl)
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

function connect(url: string): Db {
  return openDatabase(
    {
      url,
      application_name: 'shopwire-emulator',
      connectionsMax: 1,
      connectMsMax: 10_000,
      statementMsMax: 60_000,
      lockMsMax: 10_000,
      namedStatements: false,
    },
    () => {},
  )
}
