import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgres } from './binaries.ts'
import type { Postgres } from './postgres.ts'

/** Processes whose logins have the rights of `shopwire_<process>_rights`; see service/schema/rights. */
const PROCESSES = ['api', 'worker', 'operator', 'readonly'] as const

/** A database with the roles of a Shopwire installation: one owns the tables, and each process has its own. */
export interface ProvisionedDatabase {
  readonly ownerUrl: string
  /** With the rights of API, worker and operator together, as installations had it before each process got its own role. */
  readonly appUrl: string
  readonly dashboardUrl: string
  readonly processUrls: Readonly<Record<(typeof PROCESSES)[number], string>>
}

/** Does what an operator does once on a new server. It is idempotent. */
export async function provisionDatabase(postgres: Postgres, name: string): Promise<ProvisionedDatabase> {
  const owner = { role: 'shopwire_owner', password: passwordOf(postgres, 'owner') }
  const dashboard = { role: 'shopwire_web', password: passwordOf(postgres, 'dashboard') }
  const app = { role: 'shopwire_api', password: passwordOf(postgres, 'app') }
  const processes = PROCESSES.map((process) => ({
    process,
    role: `shopwire_${process}_login`,
    rights: `shopwire_${process}_rights`,
    password: passwordOf(postgres, process),
  }))
  await runSql(
    postgres,
    'postgres',
    `
    select 'create role shopwire_app nologin' where to_regrole('shopwire_app') is null \\gexec
    select 'create role shopwire_dashboard nologin' where to_regrole('shopwire_dashboard') is null \\gexec
    select 'create role ${owner.role} login' where to_regrole('${owner.role}') is null \\gexec
    grant pg_read_all_stats to ${owner.role};
    select 'create role ${app.role} login in role shopwire_app' where to_regrole('${app.role}') is null \\gexec
    select 'create role ${dashboard.role} login in role shopwire_dashboard' where to_regrole('${dashboard.role}') is null \\gexec
    select 'create role shopwire_functions nologin' where to_regrole('shopwire_functions') is null \\gexec
    select 'create role shopwire_maintenance nologin' where to_regrole('shopwire_maintenance') is null \\gexec
    grant pg_read_all_stats to shopwire_maintenance;
    grant shopwire_functions, shopwire_maintenance to ${owner.role};
    ${processes
      .map(
        ({ role, rights, password }) => `
    select 'create role ${rights} nologin' where to_regrole('${rights}') is null \\gexec
    select 'create role ${role} login in role ${rights}' where to_regrole('${role}') is null \\gexec
    alter role ${role} password '${password}';`,
      )
      .join('')}
    alter role ${owner.role} password '${owner.password}';
    alter role ${app.role} password '${app.password}';
    alter role ${dashboard.role} password '${dashboard.password}';
    select 'create database ${name} owner ${owner.role}'
     where not exists (select from pg_database where datname = '${name}') \\gexec
    revoke all on database ${name} from public;
    grant connect on database ${name} to shopwire_app, shopwire_dashboard, ${processes.map(({ rights }) => rights).join(', ')};`,
  )
  return {
    ownerUrl: postgres.url(owner.role, owner.password, name),
    appUrl: postgres.url(app.role, app.password, name),
    dashboardUrl: postgres.url(dashboard.role, dashboard.password, name),
    processUrls: Object.fromEntries(
      processes.map(({ process, role, password }) => [process, postgres.url(role, password, name)]),
    ) as ProvisionedDatabase['processUrls'],
  }
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
function passwordOf(postgres: Postgres, role: string): string {
  return createHmac('sha256', new URL(postgres.superuserUrl).password).update(role).digest('hex')
}
