import { randomBytes } from 'node:crypto'
import type { ProvisionedDatabase } from '@shopwire/engines'
import pg from 'pg'
import { inject } from 'vitest'
import { type Db, openDatabase } from '../src/platform/db.ts'

export const TEMPLATE_DATABASE = 'shopwire_template'

export interface TestDatabase {
  readonly db: Db
  readonly appUrl: string
  readonly dashboardUrl: string
  /** As the dashboard's role: without an account set (`inAccount`) it sees no account's rows. Opened at first use. */
  dashboardDb(): Db
  /** As the login of one process, with its rights alone. */
  readonly processUrls: ProvisionedDatabase['processUrls']
  readonly ownerUrl: string
  readonly superuserUrl: string
  /** With the owner's rights, to set up states that the application role cannot. */
  asOwner(statement: string): Promise<void>
  close(): Promise<void>
}

/** A new, migrated, empty database, dropped on close. `db` uses the application role. */
export async function openTestDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await asSuperuser((client) =>
    client.query(
      `create database ${name} owner shopwire_owner template ${isEmpty ? 'template0' : TEMPLATE_DATABASE}`,
    ),
  )
  const appUrl = withDatabase(inject('appUrl'), name)
  const dashboardUrl = withDatabase(inject('dashboardUrl'), name)
  const db = open(appUrl)
  let dashboard: Db | undefined
  return {
    db,
    appUrl,
    dashboardUrl,
    dashboardDb() {
      dashboard ??= open(dashboardUrl)
      return dashboard
    },
    processUrls: Object.fromEntries(
      Object.entries(inject('processUrls')).map(([process, url]) => [process, withDatabase(url, name)]),
    ) as ProvisionedDatabase['processUrls'],
    ownerUrl: withDatabase(inject('ownerUrl'), name),
    superuserUrl: withDatabase(inject('superuserUrl'), name),
    asOwner: (statement) =>
      asSuperuser(
        async (client) => void (await client.query(statement)),
        withDatabase(inject('superuserUrl'), name),
      ),
    async close() {
      await Promise.all([db.close(), dashboard?.close()])
      await asSuperuser((client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

function open(url: string): Db {
  return openDatabase(
    {
      url,
      application_name: 'test',
      connectionsMax: 10,
      connectMsMax: 5_000,
      statementMsMax: 5_000,
      lockMsMax: 2_000,
      namedStatements: true,
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
