import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCHEMA } from '../../../src/installation.ts'
import { readSchema } from '../../../src/platform/schema/schema-files.ts'
import {
  effectsOf,
  isStronger,
  LOCK_MODES,
  type LockMode,
  type Work,
} from '../../../src/platform/schema/statement-effects.ts'
import { readTables } from '../../../src/platform/schema/upgrade-plan.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await openTestDatabase({ isEmpty: true })
  client = await connectOwner()
})
afterAll(async () => {
  await client.end()
  await database.close()
})

/** Weaker ones are in nobody's way but of an ACCESS EXCLUSIVE, and come with every look at a table. */
const isWorthNaming = (mode: LockMode) => isStronger(mode, 'ROW SHARE')

test('for every migration, the tables and locks read from its text are those that PostgreSQL takes', async () => {
  const { migrations } = await readSchema(SCHEMA)
  const differing: string[] = []
  for (const file of migrations) {
    const known = await readTables(client)
    const effects = effectsOf(file.text, known)
    const read = strongest(effects.map(({ table, lock }) => [table, lock]))
    if (!file.isTransactional) {
      await client.query(file.text)
      // pg_locks shows nothing afterwards; build-index.test.ts watches one while it waits.
      expect([...read.values()], file.name).toEqual(['SHARE UPDATE EXCLUSIVE'])
      continue
    }
    await client.query(`begin;${file.text}`)
    const taken = await locksOf(client, known.tables)
    await client.query('commit')
    // A block of code may do less than it names.
    for (const { table, work } of effects) if (work === 'unknown' && !taken.has(table)) read.delete(table)
    if (JSON.stringify([...read].sort()) !== JSON.stringify([...taken].sort()))
      differing.push(`${file.name}: read ${describe(read)}; taken ${describe(taken)}`)
  }
  expect(differing).toEqual([])
}, 60_000)

test.each<[string, LockMode, Work]>([
  ['alter table parents add column a text', 'ACCESS EXCLUSIVE', 'none'],
  [`alter table parents add column b text not null default 'x'`, 'ACCESS EXCLUSIVE', 'none'],
  ['alter table parents add column c timestamptz default now()', 'ACCESS EXCLUSIVE', 'none'],
  ['alter table parents add column d uuid default gen_random_uuid()', 'ACCESS EXCLUSIVE', 'rewrite'],
  [
    'alter table parents add column e bigint generated always as (id * 2) stored',
    'ACCESS EXCLUSIVE',
    'rewrite',
  ],
  ['alter table parents add column f int check (f > 0)', 'ACCESS EXCLUSIVE', 'scan'],
  ['alter table parents alter column note set not null', 'ACCESS EXCLUSIVE', 'scan'],
  ['alter table parents alter column id type numeric', 'ACCESS EXCLUSIVE', 'rewrite'],
  ['alter table parents add constraint k check (id > 0)', 'ACCESS EXCLUSIVE', 'scan'],
  ['alter table parents add constraint k check (id > 0) not valid', 'ACCESS EXCLUSIVE', 'none'],
  ['alter table parents add constraint k unique (note)', 'ACCESS EXCLUSIVE', 'index'],
  ['alter table parents set (fillfactor = 80)', 'SHARE UPDATE EXCLUSIVE', 'none'],
  ['alter table parents alter column note set statistics 500', 'SHARE UPDATE EXCLUSIVE', 'none'],
  ['create index i on parents (note)', 'SHARE', 'index'],
  ['create table children (parent bigint references parents (id))', 'SHARE ROW EXCLUSIVE', 'none'],
  [`update parents set note = 'a;b'`, 'ROW EXCLUSIVE', 'rows'],
  ['create policy p on parents using (true)', 'ACCESS EXCLUSIVE', 'none'],
  ['drop index parents_note', 'ACCESS EXCLUSIVE', 'none'],
  ['truncate parents', 'ACCESS EXCLUSIVE', 'none'],
  [
    `do $$ begin execute 'lock table parents in access exclusive mode; '; end $$`,
    'ACCESS EXCLUSIVE',
    'unknown',
  ],
])('%s: %s, %s', async (statement, lock, work) => {
  await client.query(
    `begin; create table parents (id bigint primary key, note text); create index parents_note on parents (note);
     insert into parents values (1, 'x'); commit`,
  )
  try {
    const known = await readTables(client)
    expect(effectsOf(statement, known)).toEqual([{ table: 'parents', lock, work }])
    const filenode = () => ask(`select pg_relation_filenode('parents')`)
    const before = await filenode()
    await client.query(`begin;${statement}`)
    expect(await locksOf(client, known.tables)).toEqual(new Map([['parents', lock]]))
    // A table that was written anew has another file; emptying it makes one too, without work.
    if (!statement.startsWith('truncate')) expect((await filenode()) !== before).toBe(work === 'rewrite')
  } finally {
    await client.query('rollback; drop table parents')
  }
})

test('a concurrent build of an index holds the lock that is read from its text', async () => {
  await client.query('create table parents (id bigint primary key)')
  const [reader, builder] = await Promise.all([connectOwner(), connectOwner()])
  try {
    const statement = 'create index concurrently parents_twice on parents ((id * 2))'
    const known = await readTables(client)
    await reader.query('begin isolation level repeatable read; select count(*) from parents')
    const built = builder.query(statement)
    const pid = (builder as unknown as { processID: number }).processID
    let held = new Map<string, LockMode>()
    for (let n = 0; n < 200 && !held.has('parents'); n += 1) {
      held = await locksOf(client, known.tables, pid)
      await sleep(20)
    }
    expect(effectsOf(statement, known)).toEqual([
      { table: 'parents', lock: held.get('parents'), work: 'index' },
    ])
    await reader.query('commit')
    await built
  } finally {
    await Promise.all([reader.end(), builder.end()])
    await client.query('drop table parents')
  }
})

async function connectOwner(): Promise<pg.Client> {
  const one = new pg.Client({ connectionString: database.ownerUrl })
  await one.connect()
  // As migrating does.
  await one.query('create schema if not exists shopwire; set search_path = shopwire')
  return one
}

async function ask(text: string): Promise<unknown> {
  return Object.values((await client.query(text)).rows[0])[0]
}

async function locksOf(on: pg.Client, tables: ReadonlySet<string>, pid?: number) {
  const { rows } = await on.query<{ table: string; mode: string }>(
    `select c.relname as table, l.mode from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = coalesce($1, pg_backend_pid()) and l.granted and c.relkind = 'r' and c.relnamespace = to_regnamespace('shopwire')`,
    [pid ?? null],
  )
  return strongest(
    rows
      .filter(({ table }) => tables.has(table))
      .map(({ table, mode }) => [table, spelled(mode)] as const)
      .filter(([, mode]) => isWorthNaming(mode)),
  )
}

/** AccessShareLock as ACCESS SHARE. */
function spelled(mode: string): LockMode {
  const words = mode.replace(/Lock$/, '').replace(/([a-z])([A-Z])/g, '$1 $2')
  const found = LOCK_MODES.find((one) => one === words.toUpperCase())
  if (!found) throw new Error(`an unknown lock: ${mode}`)
  return found
}

function strongest(locks: readonly (readonly [string, LockMode])[]): Map<string, LockMode> {
  const found = new Map<string, LockMode>()
  for (const [table, mode] of locks)
    if (isStronger(mode, found.get(table) ?? 'ACCESS SHARE')) found.set(table, mode)
  return found
}

function describe(locks: ReadonlyMap<string, LockMode>): string {
  return [...locks].map(([table, mode]) => `${table} ${mode}`).join(', ') || 'none'
}
