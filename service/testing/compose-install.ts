import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres, startPostgres } from '@shopwire/test-kit/servers'
import { SCHEMA } from '../src/installation.ts'
import { migrate } from '../src/platform/schema/migrate.ts'

/** The logins that deploy/compose/postgres makes, by what signs in with them. */
export const LOGINS = {
  api: 'shopwire_api',
  worker: 'shopwire_worker',
  dashboard: 'shopwire_web',
  operator: 'shopwire_operator',
  readonly: 'shopwire_readonly',
  owner: 'shopwire_owner',
} as const
export type Login = keyof typeof LOGINS

/** A server of its own, with the roles and the database as the compose install makes them, migrated by the owner's login. */
export async function openComposeInstall() {
  const postgres = await startPostgres()
  const secrets = await mkdtemp(join(tmpdir(), 'shopwire-secrets-'))
  try {
    const passwords = new Map(Object.keys(LOGINS).map((name) => [name, randomBytes(24).toString('hex')]))
    for (const [name, password] of passwords) await writeFile(join(secrets, `${name}_password`), password)
    const superuser = new URL(postgres.superuserUrl)
    const folder = join(import.meta.dirname, '../../deploy/compose/postgres')
    await promisify(execFile)('sh', [join(folder, '10-shopwire.sh')], {
      env: {
        PATH: [findPostgres(), process.env.PATH].join(delimiter),
        PGHOST: postgres.host,
        PGPORT: String(postgres.port),
        PGPASSWORD: superuser.password,
        POSTGRES_USER: superuser.username,
        SHOPWIRE_SECRETS: secrets,
        SHOPWIRE_ROLES: join(folder, 'roles.psql'),
      },
    })
    const urlOf = (login: Login) => postgres.url(LOGINS[login], String(passwords.get(login)), 'shopwire')
    await migrate(urlOf('owner'), SCHEMA)
    superuser.pathname = '/shopwire'
    return {
      version: postgres.version,
      superuserUrl: superuser.href,
      urlOf,
      close: () => postgres.stop(),
    }
  } catch (error) {
    await postgres.stop()
    throw error
  } finally {
    await rm(secrets, { recursive: true, force: true })
  }
}
