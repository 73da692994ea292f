import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres } from '../binaries.ts'
import type { Postgres } from './postgres.ts'

/** Each process signs in with a login of its own, which has one role's rights; see service/schema/rights. */
const LOGINS = {
  api: { login: 'shopwire_api', role: 'shopwire_api_rights' },
  worker: { login: 'shopwire_worker', role: 'shopwire_worker_rights' },
  operator: { login: 'shopwire_operator', role: 'shopwire_operator_rights' },
  dashboard: { login: 'shopwire_web', role: 'shopwire_dashboard' },
  readonly: { login: 'shopwire_readonly', role: 'shopwire_readonly_rights' },
} as const
export type ProcessName = keyof typeof LOGINS
const processNames = Object.keys(LOGINS) as readonly ProcessName[]

const OWNER = 'shopwire_owner'

/** A database with the logins of a Shopwire installation: one owns the tables, and each process has its own. */
export interface ProvisionedDatabase {
  readonly ownerUrl: string
  readonly processUrls: Readonly<Record<ProcessName, string>>
}

/** Does what an operator does once on a new server. It is idempotent. */
export async function provisionDatabase(postgres: Postgres, name: string): Promise<ProvisionedDatabase> {
  const { roles, grants, ...database } = describeInstallation(postgres, name)
  await runSql(
    postgres,
    'postgres',
    `${roles.join(';\n')};
    select 'create database ${name} owner ${OWNER}'
     where not exists (select from pg_database where datname = '${name}') \\gexec
    ${grants.join(';\n')};`,
  )
  return database
}

/**
 * What a superuser runs, for a PostgreSQL without psql: the roles, then a database of that name whose owner is shopwire_owner, then the
 * grants. Each statement may be run again.
 */
export function describeInstallation(
  postgres: Postgres,
  name: string,
): ProvisionedDatabase & { readonly roles: readonly string[]; readonly grants: readonly string[] } {
  const urlOf = (login: string, process: ProcessName | 'owner') =>
    postgres.url(login, passwordOf(postgres, process), name)
  return {
    roles: [
      ...['shopwire_functions', 'shopwire_maintenance'].map((role) => createMissing(role, 'nologin')),
      'grant pg_read_all_stats to shopwire_maintenance',
      createMissing(OWNER, `login password '${passwordOf(postgres, 'owner')}'`),
      `grant pg_read_all_stats, shopwire_functions, shopwire_maintenance to ${OWNER}`,
      ...processNames.flatMap((process) => {
        const { login, role } = LOGINS[process]
        const password = passwordOf(postgres, process)
        return [
          createMissing(role, 'nologin'),
          createMissing(login, `login password '${password}' in role ${role}`),
        ]
      }),
    ],
    grants: databaseGrants(name),
    ownerUrl: urlOf(OWNER, 'owner'),
    processUrls: forEachProcess((process) => urlOf(LOGINS[process].login, process)),
  }
}

/** Every process may connect, and none may make temporary tables. A database made from a template does not have the template's. */
export function databaseGrants(name: string): string[] {
  const roles = Object.values(LOGINS).map(({ role }) => role)
  return [
    `revoke all on database ${name} from public`,
    `grant connect on database ${name} to ${roles.join(', ')}`,
  ]
}

function createMissing(role: string, options: string): string {
  return `do $$ begin if to_regrole('${role}') is null then create role ${role} ${options}; end if; end $$`
}

/** The same logins on another server, or of another database. */
export function changeUrls(
  { ownerUrl, processUrls }: ProvisionedDatabase,
  change: (url: string) => string,
): ProvisionedDatabase {
  return {
    ownerUrl: change(ownerUrl),
    processUrls: forEachProcess((process) => change(processUrls[process])),
  }
}

function forEachProcess<Value>(make: (process: ProcessName) => Value): Record<ProcessName, Value> {
  const entries = processNames.map((process) => [process, make(process)])
  return Object.fromEntries(entries) as Record<ProcessName, Value>
}

async function runSql(postgres: Postgres, database: string, text: string): Promise<void> {
  const url = new URL(postgres.superuserUrl)
  url.pathname = `/${database}`
  const child = promisify(execFile)(psql(), [url.href, '-qXv', 'ON_ERROR_STOP=1', '-f', '-'])
  child.child.stdin?.end(text)
  await child
}

/** A PostgreSQL from npm contains no client; any client works. */
function psql(): string {
  const own = join(findPostgres(), 'psql')
  return existsSync(own) ? own : 'psql'
}

/** Derived, so that it is the same for the life of the server without being stored. */
function passwordOf(postgres: Postgres, process: ProcessName | 'owner'): string {
  return createHmac('sha256', new URL(postgres.superuserUrl).password).update(process).digest('hex')
}
