import { randomBytes } from 'node:crypto'
import { changeUrls, databaseGrants, type ProvisionedDatabase } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { inject } from 'vitest'
import { type Db, openDatabase } from '../src/platform/database/db.ts'
import { settingsSql } from '../src/platform/schema/database-settings.ts'

export const TEMPLATE_DATABASE = 'shopwire_template'

/** One `Db` for each process, with its login: a test calls what that process calls with the rights it has in production. */
export interface TestDatabase extends ProvisionedDatabase {
  readonly api: Db
  readonly worker: Db
  readonly operator: Db
  /** Without an account set (`inAccount`) it sees no account's rows. */
  readonly dashboard: Db
  /** Owns the tables: for what a test looks at, and for states that no process makes. */
  readonly owner: Db
  readonly superuserUrl: string
  /** Several statements at once, also those that need a superuser. */
  asOwner(statement: string): Promise<void>
  close(): Promise<void>
}

/** A new, migrated, empty database, dropped on close. Each login connects at its first use. */
export async function openTestDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const { name, drop, ...urls } = await createDatabase({ isEmpty })
  const superuserUrl = withDatabase(inject('superuserUrl'), name)
  const { ownerUrl, processUrls } = urls
  const logins = {
    api: openTestPool(processUrls.api, { byKeyOnly: true }),
    worker: openTestPool(processUrls.worker, { byKeyOnly: true }),
    operator: openTestPool(processUrls.operator),
    dashboard: openTestPool(processUrls.dashboard, { byKeyOnly: true }),
    owner: openTestPool(ownerUrl),
  }
  return {
    ...logins,
    ...urls,
    superuserUrl,
    asOwner: (statement) => asSuperuser(async (client) => void (await client.query(statement)), superuserUrl),
    async close() {
      await Promise.all(Object.values(logins).map((db) => db.close()))
      await drop()
    },
  }
}

/** The database alone, for tests that connect in their own way. */
export async function createDatabase({
  isEmpty = false,
} = {}): Promise<ProvisionedDatabase & { readonly name: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const template = isEmpty ? 'template0' : TEMPLATE_DATABASE
  await asSuperuser(async (client) => {
    await client.query(`create database ${name} owner shopwire_owner template ${template}`)
    // A copy has what is in the template, and neither the grants on it nor its settings.
    if (!isEmpty) await client.query([...databaseGrants(name), settingsSql(name)].join(';'))
  })
  // And a store is closed on a copy of its database.
  if (!isEmpty)
    await asSuperuser(
      async (client) =>
        void (await client.query('update shopwire.database_identity set copy = shopwire.database_copy()')),
      withDatabase(inject('superuserUrl'), name),
    )
  return {
    ...changeUrls(inject('database'), (url) => withDatabase(url, name)),
    name,
    drop: () =>
      asSuperuser(async (client) => void (await client.query(`drop database ${name} with (force)`))),
  }
}

/** Connections with this login. */
export function openTestPool(url: string, { byKeyOnly = false } = {}): Db {
  return openDatabase(
    {
      url,
      application_name: 'test',
      connectionsMax: 10,
      connectMsMax: 5_000,
      statementMsMax: 5_000,
      lockMsMax: 2_000,
      namedStatements: true,
      byKeyOnly,
    },
    () => {},
  )
}

export async function asSuperuser<Result>(
  work: (client: pg.Client) => Promise<Result>,
  url = inject('superuserUrl'),
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}
