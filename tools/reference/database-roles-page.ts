import { readFileSync } from 'node:fs'

/** In the order of the columns. */
const ROLES = ['api', 'dashboard', 'worker', 'operator', 'readonly', 'functions', 'maintenance'] as const

/** docs/database-roles.md: the introduction by hand, the tables from service/schema/rights. */
export function databaseRolesPage(): string {
  const rights = ROLES.map(readRights)
  const tables = [...new Set(rights.flatMap(({ tables }) => [...tables.keys()]))].sort()
  const functions = [...new Set(rights.flatMap(({ functions }) => functions))].sort()
  return [
    '<!-- Made by "npm run generate" from service/schema/rights and tools/reference/database-roles-page.ts; do not edit. -->',
    ...INTRODUCTION(),
    '## What each role may do',
    '',
    '"(n)" means: on n columns only; `service/schema/rights/` in the repository names them.',
    '',
    row(['Table', ...ROLES]),
    row(['---', ...ROLES.map(() => '---')]),
    ...tables.map((table) => row([`\`${table}\``, ...rights.map(({ tables }) => tables.get(table) ?? '')])),
    '',
    '## What each role may call',
    '',
    row(['Function', ...ROLES]),
    row(['---', ...ROLES.map(() => '---')]),
    ...functions.map((name) =>
      row([`\`${name}\``, ...rights.map(({ functions }) => (functions.includes(name) ? 'yes' : ''))]),
    ),
    '',
  ].join('\n')
}

const ROLES_FILE = 'deploy/compose/postgres/roles.psql'

const INTRODUCTION = () => [
  '# Database roles',
  '',
  'Each process signs in to PostgreSQL with a login of its own that belongs to one role, so whoever gets hold of one process cannot do what the others',
  'do. Orders are placed, and money is moved, by functions whose owner, `shopwire_functions`, has no login',
  '([decisions 0017](decisions/0017-rights-and-operators.md) and [0007](decisions/0007-ledger.md)).',
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
  'The compose file, the [systemd units](self-hosting/install.md#systemd) and the [chart](self-hosting/kubernetes.md) give each process its own. `shopwire all`, API and',
  'worker and dashboard in one process for development and small machines, has a URL for each: `SHOPWIRE_DATABASE_URL` is the API’s, `SHOPWIRE_WORKER_DATABASE_URL` the',
  'worker’s. Whoever breaks into that process has all three.',
  '',
  '## Making the roles',
  '',
  `Once for a server, as a superuser. The compose install does it by itself. This is \`${ROLES_FILE}\` of the repository: \`psql --dbname=postgres --file=roles.psql\`.`,
  '',
  '```sql',
  readFileSync(ROLES_FILE, 'utf8').trim(),
  '```',
  '',
  'Then give each login that is used a password, with `\\password shopwire_api` in psql, which sends no password in the clear; and run `shopwire-admin migrate` with the',
  'owner’s URL. The owner needs no right to make roles, and should have none: on PostgreSQL 15 a login with `CREATEROLE` can grant itself',
  '`pg_execute_server_program`, and run programs on the server.',
  '',
  '## What a stolen login is refused',
  '',
  'A test makes these roles on a server of its own, migrates with the owner’s login, and tries all of this with each login. “No right” means that PostgreSQL refuses',
  'with `42501` because nothing was granted; a name is the function or trigger of `service/schema/functions` that refuses. The owner owns the tables, so what nothing but a grant',
  'refuses, it may do.',
  '',
  ...refusals(),
  'What that leaves: with the login of the dashboard an intruder can make a person a member and sign them in, because both are the dashboard’s work, and then write audit rows in',
  'that person’s name, at the present time only. With the login of the worker a card top-up that somebody asked for can be credited without a payment ([decision 0007](decisions/0007-ledger.md)).',
  '',
  'These logins read what they work with, and nothing else that is secret. What is “sealed” is also encrypted with a key that is not in the database.',
  '',
  ...secrets(),
  'Every cell of the tables below is tried by a test, with a login of that role: what is listed works, everything else is refused. Row-level security narrows some of',
  'them further: the dashboard sees the account of the person who is signed in; the API adds events of the type `test` and jobs of the queue `deliver` only.',
  '',
]

interface Refusals {
  readonly intrusions: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What service/test/platform/schema/stolen-roles.test.ts saw. */
const readRefusals = () => JSON.parse(readFileSync('service/testing/refusals.json', 'utf8')) as Refusals

function refusals(): string[] {
  const { intrusions } = readRefusals()
  const shown = (by: string) =>
    ({ done: 'owns the tables', 'no right': 'no right', 'finds no row': 'finds no row' })[by] ?? `\`${by}\``
  return tableOf('Attempt', intrusions, shown)
}

function secrets(): string[] {
  const rows = Object.entries(readRefusals().secrets).map(
    ([column, { owner: _, ...by }]) => [`\`${column}\``, by] as const,
  )
  return tableOf('Column', Object.fromEntries(rows), (by) => by)
}

function tableOf(
  name: string,
  rows: Readonly<Record<string, Readonly<Record<string, string>>>>,
  shown: (cell: string) => string,
): string[] {
  const logins = Object.keys(Object.values(rows)[0] ?? {})
  return [
    row([name, ...logins]),
    row(['---', ...logins.map(() => '---')]),
    ...Object.entries(rows).map(([first, by]) =>
      row([first, ...logins.map((login) => shown(by[login] ?? ''))]),
    ),
    '',
  ]
}

function readRights(role: string): { tables: Map<string, string>; functions: string[] } {
  const lines = readFileSync(`service/schema/rights/${role}.txt`, 'utf8').split('\n')
  const called = lines.find((line) => line.startsWith('call: '))
  return {
    functions: called?.slice('call: '.length).split(', ') ?? [],
    tables: new Map(
      lines
        .map((line) => /^(\w+) +(.*)$/.exec(line))
        .filter((found) => found !== null)
        .map(([, table = '', rights = '']) => [
          table,
          rights.replace(/ \(([^)]*)\)/g, (_, columns: string) => ` (${columns.split(', ').length})`),
        ]),
    ),
  }
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
