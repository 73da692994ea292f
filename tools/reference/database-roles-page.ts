import { readFileSync } from 'node:fs'
import { wrapped } from './markdown.ts'

/** docs/database-roles.md: the introduction by hand, the rest from what a test saw. */
export function databaseRolesPage(): string {
  return [
    '<!-- Made by "npm run generate" from service/testing/refusals.json and tools/reference; do not edit. -->',
    ...INTRODUCTION(),
  ].join('\n')
}

const INTRODUCTION = () => [
  '# Database roles',
  '',
  'Each process signs in to PostgreSQL with a login of its own that belongs to one role, so whoever breaks into one process',
  'cannot do what the others do. Orders are placed, and money is moved, by functions whose owner, `shopwire_functions`, has',
  'no login ([decisions 0017](decisions/0017-rights-and-operators.md) and [0007](decisions/0007-ledger.md)).',
  '',
  '| Process | Login | Role | Its URL goes to |',
  '|---|---|---|---|',
  '| API | `shopwire_api` | `shopwire_api_rights` | `SHOPWIRE_DATABASE_URL` of the API processes |',
  '| worker | `shopwire_worker` | `shopwire_worker_rights` | `SHOPWIRE_DATABASE_URL` of the workers |',
  '| dashboard | `shopwire_web` | `shopwire_dashboard` | `SHOPWIRE_DASHBOARD_DATABASE_URL` |',
  '| `shopwire-admin` | `shopwire_operator` | `shopwire_operator_rights` | `SHOPWIRE_DATABASE_URL` where operators work |',
  '| reports, support | `shopwire_readonly` | `shopwire_readonly_rights` | your own tools |',
  '| `shopwire-admin migrate` | `shopwire_owner` | owns database and tables | `SHOPWIRE_DATABASE_OWNER_URL`, where migrations run and nowhere else |',
  '',
  '`shopwire all`, API, worker and dashboard in one process, has all three: `SHOPWIRE_DATABASE_URL` is the API’s,',
  '`SHOPWIRE_WORKER_DATABASE_URL` the worker’s.',
  '',
  '## Making the roles',
  '',
  'Once for a server, as a superuser; the installations with Compose and systemd do it by themselves:',
  '',
  '```sh',
  'psql --dbname=postgres --file=deploy/compose/postgres/roles.psql',
  '```',
  '',
  'Then give each login that is used a password with `\\password shopwire_api` in psql, and run `shopwire-admin migrate`',
  'with the owner’s URL. The owner should have no right to make roles: on PostgreSQL 15 a login with `CREATEROLE` can grant',
  'itself `pg_execute_server_program`, and run programs on the server.',
  '',
  '## What each role may do',
  '',
  '`service/schema/rights/` has a file for each role with every table, column and function. Row-level security narrows some',
  'further: the dashboard sees the account of the person who is signed in; the API adds events of the type `test` and jobs',
  'of the queue `deliver` only.',
  '',
  'These secrets can be read. What is “sealed” is also encrypted with a key that is not in the database.',
  '',
  ...secrets(),
  '## What a stolen login can do',
  '',
  ...refusals(),
  'With the login of the dashboard an intruder can still make a person a member, sign them in, and write audit rows in that',
  'person’s name, at the present time only. With the login of the worker a card top-up that somebody asked for can be',
  'credited without a payment ([decision 0007](decisions/0007-ledger.md)).',
  '',
]

interface Refusals {
  readonly intrusions: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What service/test/platform/schema/stolen-roles.test.ts saw. */
const readRefusals = () => JSON.parse(readFileSync('service/testing/refusals.json', 'utf8')) as Refusals

function refusals(): string[] {
  const tried = Object.entries(readRefusals().intrusions).filter(([, by]) =>
    Object.entries(by).every(([login, how]) => login === 'owner' || how !== 'done'),
  )
  const named = (isOwners: boolean) =>
    tried.flatMap(([attempt, { owner }]) => ((owner === 'done') === isOwners ? attempt : [])).join('; ')
  return [wrapped(`No login can ${named(false)}. Only the owner of the tables can ${named(true)}.`), '']
}

function secrets(): string[] {
  const read = Object.entries(readRefusals().secrets).map(([column, by]) => {
    const readers = Object.entries(by).filter(([login, what]) => login !== 'owner' && what !== '')
    return { column, readers: readers.map(([login]) => login).join(', ') || 'nobody' }
  })
  return [
    row(['Read by', 'Columns']),
    row(['---', '---']),
    ...[...Map.groupBy(read, ({ readers }) => readers)].map(([readers, some]) =>
      row([readers, some.map(({ column }) => `\`${column}\``).join(', ')]),
    ),
    '',
  ]
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
