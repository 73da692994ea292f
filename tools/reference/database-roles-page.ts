import { readFileSync } from 'node:fs'

/** In the order of the columns. */
const ROLES = ['api', 'dashboard', 'worker', 'operator', 'readonly', 'functions', 'maintenance'] as const

/** docs/database-roles.md: the introduction by hand, the table from service/schema/rights. */
export function databaseRolesPage(): string {
  const rights = ROLES.map(readRights)
  const tables = [...new Set(rights.flatMap(({ tables }) => [...tables.keys()]))].sort()
  const functions = [...new Set(rights.flatMap(({ functions }) => functions))].sort()
  return [
    '<!-- Made by "npm run generate" from service/schema/rights and tools/reference/database-roles-page.ts; do not edit. -->',
    ...INTRODUCTION,
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

const INTRODUCTION = [
  '# Database roles',
  '',
  'Each process signs in to PostgreSQL with a login of its own that belongs to one role, so whoever gets hold of one process cannot do what the others',
  'do. With the login of the API nobody can credit a balance, write a transfer or an order, make, revive or widen a key, write an audit row, or read',
  'links in stock, webhook secrets and mail: PostgreSQL refuses with `42501`. With the login of the worker nobody can credit a balance without a top-up that was',
  'asked for, or refund an order that was not cancelled. Orders are placed, and money is moved, by functions whose owner, `shopwire_functions`, has no login',
  '([decisions 0045](decisions/0045-role-per-process.md) and [0052](decisions/0052-money-by-functions.md)). Neither has `shopwire_maintenance`, which owns the',
  'functions that erase a closed account, delete what is past its time, and look at the state of the server.',
  '',
  '| Process | Role | Its login goes to |',
  '|---|---|---|',
  '| API | `shopwire_api_rights` | `SHOPWIRE_DATABASE_URL` of the API processes |',
  '| worker | `shopwire_worker_rights` | `SHOPWIRE_DATABASE_URL` of the workers |',
  '| `shopwire-admin` | `shopwire_operator_rights` | `SHOPWIRE_DATABASE_URL` where operators work |',
  '| dashboard | `shopwire_dashboard` | `SHOPWIRE_DASHBOARD_DATABASE_URL` |',
  '| reports, support | `shopwire_readonly_rights` | your own tools |',
  '| `shopwire-admin migrate` | the owner of the database | `SHOPWIRE_DATABASE_OWNER_URL` |',
  '',
  'The compose file, the [systemd units](self-hosting/install.md#systemd) and the [chart](self-hosting/kubernetes.md) give each process its own. `shopwire all`, which',
  'runs API, worker and dashboard in one process for development and small machines, has a URL for each: `SHOPWIRE_DATABASE_URL` is the API’s,',
  '`SHOPWIRE_WORKER_DATABASE_URL` the worker’s. Whoever breaks into that process has all three.',
  '',
  '## Making the roles',
  '',
  'Once on a new server, as a superuser, before the first `shopwire-admin migrate`. The compose file does it by itself. `migrate` gives the roles their rights and needs',
  'no right to make roles itself; it stops with the name of a role that is missing.',
  '',
  '```sql',
  '-- These have rights, and nobody signs in as them.',
  'create role shopwire_api_rights nologin;',
  'create role shopwire_worker_rights nologin;',
  'create role shopwire_operator_rights nologin;',
  'create role shopwire_readonly_rights nologin;',
  'create role shopwire_dashboard nologin;',
  '-- Own functions that act with their rights. Whoever migrates has to be a member to replace them.',
  'create role shopwire_functions nologin;',
  'create role shopwire_maintenance nologin;',
  "create role shopwire_owner login password '…' in role shopwire_functions, shopwire_maintenance;",
  '-- Lets migrations and workers name the session that holds them up; without it only their own are seen.',
  'grant pg_read_all_stats to shopwire_owner, shopwire_maintenance;',
  '-- One for each process.',
  "create role shopwire_api login password '…' in role shopwire_api_rights;",
  "create role shopwire_worker login password '…' in role shopwire_worker_rights;",
  "create role shopwire_operator login password '…' in role shopwire_operator_rights;",
  "create role shopwire_web login password '…' in role shopwire_dashboard;",
  "create role shopwire_readonly login password '…' in role shopwire_readonly_rights;",
  '```',
  '',
  '```sql',
  'create database shopwire owner shopwire_owner;',
  'revoke all on database shopwire from public;',
  '```',
  '',
  'Every cell below is tried by a test, with a login of that role: what is listed works, everything else is refused. Row-level security narrows some of',
  'them further: the dashboard sees the account of the person who is signed in; the API adds events of the type `test` and jobs of the queue `deliver` only;',
  'nobody writes an audit row in the name of another kind of actor: `write_audit_row` compares it with the login.',
  '',
]

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
