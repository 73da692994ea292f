import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Postgres, startPostgres } from '@shopwire/engines'
import { type Db, migrate, openDatabase, SCHEMA, statement } from '@shopwire/service/embedded'
import { findPrograms } from './postgres-programs.ts'

/** The emulator's private PostgreSQL with the store's schema. */
export interface StoreDatabase {
  /** Connects with the application role; the owner role is needed only for migrations. */
  readonly appUrl: string
  readonly version: string
  stop(): Promise<void>
}

const NAME = 'shopwire'
/** One process with two pools, and room for people who inspect the data. */
const SETTINGS = { max_connections: '60', shared_buffers: '32MB', autovacuum_naptime: '30s' }

/** Those that migrations give rights to. */
const ROLES = [
  'shopwire_app',
  'shopwire_api_rights',
  'shopwire_worker_rights',
  'shopwire_operator_rights',
  'shopwire_readonly_rights',
  'shopwire_dashboard',
  'shopwire_functions',
  'shopwire_maintenance',
]

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
    const { ownerUrl, appUrl } = await provision(postgres)
    await migrate(ownerUrl, SCHEMA)
    return { appUrl, version: postgres.version, stop }
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

/** Creates the two roles of an installation, as an operator does once. The packaged PostgreSQL has no psql. */
async function provision(postgres: Postgres): Promise<{ ownerUrl: string; appUrl: string }> {
  const owner = passwordOf(postgres, 'owner')
  const app = passwordOf(postgres, 'app')
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
    // In one transaction, and idempotent: a start may be interrupted.
    if (!(await isThere(db, `select from pg_roles where rolname = 'shopwire_api'`)))
      await db.transaction(async (tx) => {
        for (const role of ROLES) await tx.run(statement(`create role ${role} nologin`, []))
        await tx.run(statement(`create role shopwire_owner login password '${owner}'`, []))
        await tx.run(statement('grant shopwire_functions, shopwire_maintenance to shopwire_owner', []))
        await tx.run(statement(`create role shopwire_api login in role shopwire_app password '${app}'`, []))
      })
    if (!(await isThere(db, `select from pg_database where datname = '${NAME}'`)))
      await run(`create database ${NAME} owner shopwire_owner strategy file_copy`)
    await run(`revoke all on database ${NAME} from public`)
    await run(`grant connect on database ${NAME} to shopwire_app`)
  } finally {
    await db.close()
  }
  return {
    ownerUrl: postgres.url('shopwire_owner', owner, NAME),
    appUrl: postgres.url('shopwire_api', app, NAME),
  }
}

async function isThere(db: Db, text: string): Promise<boolean> {
  return (await db.many(statement(text, []))).length > 0
}

/** Derived, so that it is the same for the life of the server without being stored. */
function passwordOf(postgres: Postgres, role: string): string {
  return createHmac('sha256', new URL(postgres.superuserUrl).password).update(role).digest('hex')
}
