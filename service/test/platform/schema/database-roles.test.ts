import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCHEMA } from '../../../src/installation.ts'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import type { Action } from '../../../src/platform/schema/rights.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'
import { ROLES, type RoleName, readRights } from '../../../testing/rights.ts'

/** No right, or nothing that could be changed: a view of several tables. */
const REFUSED = ['42501', '55000', '42809']

let database: TestDatabase
/** Every column of every table, and every function as a call with nulls. */
let columns: { table: string; column: string }[]
let functions: { name: string; call: string }[]
beforeAll(async () => {
  database = await openTestDatabase()
  await asSuperuser(async (client) => {
    columns = (
      await client.query(`
        select c.relname as table, a.attname as column
          from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'shopwire'::regnamespace
           and c.relkind in ('r', 'p', 'v')
         order by 1, a.attnum`)
    ).rows
    functions = (
      await client.query(`
        select p.proname as name,
               format('%I(%s)', p.proname, (select string_agg('null::' || format_type(t, null), ', ' order by n)
                                              from unnest(p.proargtypes::oid[]) with ordinality as a (t, n))) as call
          from pg_proc p
         where p.pronamespace = 'shopwire'::regnamespace
           and p.prorettype <> 'trigger'::regtype
         order by 1`)
    ).rows
  }, database.superuserUrl)
})
afterAll(() => database.close())

/** A session with the rights of the role and no others: its own login, where it has one. */
async function signIn(role: RoleName): Promise<pg.Client> {
  const hasLogin = role !== 'functions' && role !== 'maintenance'
  const client = new pg.Client({
    connectionString: hasLogin ? database.processUrls[role] : database.superuserUrl,
  })
  await client.connect()
  if (!hasLogin) await client.query(`set role ${readRights(role).role}`)
  return client
}

async function as<Result>(role: RoleName, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = await signIn(role)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** They touch no row, so each is decided by the rights alone; none changes the next. */
const PROBES: Record<Action, (table: string, column: string) => string> = {
  select: (table, column) => `select "${column}" from ${table} where false`,
  insert: (table, column) => `insert into ${table} ("${column}") select null where false`,
  update: (table, column) => `update ${table} set "${column}" = default where false`,
  delete: (table) => `delete from ${table} where false`,
  truncate: (table) =>
    `do $$ begin truncate ${table}; raise sqlstate 'SW001'; exception when sqlstate 'SW001' then null; end $$`,
}

async function isAllowed(client: pg.Client, statement: string): Promise<boolean> {
  try {
    await client.query(statement)
    return true
  } catch (error) {
    if (!REFUSED.includes(String((error as { code?: string }).code))) throw error
    return false
  }
}

describe('threat 70: a role can do what service/schema/rights says and nothing else', () => {
  test.each(ROLES)('%s: every column of every table', async (role) => {
    const rights = readRights(role)
    const tables = new Set(columns.map(({ table }) => table))
    expect([...rights.tables.keys()].filter((table) => !tables.has(table))).toEqual([])
    const wrong: string[] = []
    await as(role, async (client) => {
      for (const { table, column } of columns) {
        for (const action of Object.keys(PROBES) as Action[]) {
          const granted = rights.tables.get(table)?.get(action)
          const expected = granted === true || (granted?.includes(column) ?? false)
          if ((await isAllowed(client, PROBES[action](table, column))) !== expected)
            wrong.push(`${action} ${table}.${column} is ${expected ? 'refused' : 'allowed'}`)
        }
      }
    })
    expect(wrong).toEqual([])
  })

  test.each(ROLES)('%s: every function', async (role) => {
    const rights = readRights(role)
    const allowed = await as(role, async (client) => {
      const names: string[] = []
      // Planned and not run: PostgreSQL looks at the right to call it before it runs anything.
      for (const { name, call } of functions)
        if (await isAllowed(client, `explain select ${call}`)) names.push(name)
      return names
    })
    expect(allowed).toEqual([...rights.functions].sort())
  })

  test.each(ROLES)('%s: neither tables nor roles are made', async (role) => {
    await as(role, async (client) => {
      expect(await isAllowed(client, 'create table mine (n integer)')).toBe(false)
      expect(await isAllowed(client, 'create role mine')).toBe(false)
      expect(await isAllowed(client, 'truncate transfers')).toBe(false)
      expect(await isAllowed(client, 'alter table transfers disable trigger all')).toBe(false)
    })
  })
})

describe('functions', () => {
  /** An operator might have granted it. */
  beforeAll(() =>
    database.asOwner(
      `do $$ begin execute format('grant temporary on database %I to shopwire_worker_rights', current_database()); end $$`,
    ),
  )

  /** All of ours: an extension may have added others. */
  const ours = `
    select p.proname as name, p.prosecdef as definer, r.rolname as owner, r.rolcanlogin as login,
           coalesce(p.proconfig @> array['search_path=pg_catalog, shopwire, pg_temp'], false) as fixed
      from pg_proc p
      join pg_roles r on r.oid = p.proowner
     where p.pronamespace = 'shopwire'::regnamespace
     order by 1`
  const readFunctions = () =>
    asSuperuser(async (client) => (await client.query(ours)).rows, database.superuserUrl)

  test('with the rights of their owner belong to a role that nobody can sign in as', async () => {
    const definers = (await readFunctions()).filter(({ definer }) => definer)
    expect(definers.length).toBeGreaterThan(20)
    expect(definers.filter(({ login }) => login)).toEqual([])
    const owners = [readRights('functions').role, readRights('maintenance').role]
    expect(definers.filter(({ owner }) => !owners.includes(owner))).toEqual([])
  })

  test('fix their search_path, except one that is put into the statement that calls it and names the schema of its table', async () => {
    const open = (await readFunctions()).filter(({ fixed }) => !fixed).map(({ name }) => name)
    expect(open).toEqual(['price_cart'])
    const text = readFileSync(new URL('functions/catalogue/price_cart.sql', SCHEMA), 'utf8')
    expect(text.match(/\b(from|join) (?!lateral|unnest|shopwire\.)\w+/g)).toBeNull()
  })

  test('threat 70: temporary tables of the same name, made with the login of the worker, change nothing', async () => {
    await as('worker', async (client) => {
      const answers = async () =>
        (
          await client.query(
            `select database_is_confirmed() as confirmed, store_is_open() as open, database_start() as start`,
          )
        ).rows[0]
      const before = await answers()
      expect(before).toMatchObject({ confirmed: true, open: true })
      await client.query(`
        create temporary table database_identity as select i.* from shopwire.database_identity i where false;
        create temporary table store_state as select s.* from shopwire.store_state s where false;
        create temporary table store_windows as select w.* from shopwire.store_windows w where false`)
      expect((await client.query('select count(*)::integer as rows from database_identity')).rows).toEqual([
        { rows: 0 },
      ])
      expect(await answers()).toEqual(before)
    })
  })

  test('a store marked as behind stays closed to the worker, whatever temporary table it makes', async () => {
    await database.asOwner('update database_identity set behind_since = now()')
    await as('worker', async (client) => {
      await client.query(`
        create temporary table database_identity as select i.* from shopwire.database_identity i;
        update database_identity set behind_since = null`)
      const { rows } = await client.query('select database_is_confirmed() as confirmed')
      expect(rows).toEqual([{ confirmed: false }])
    })
    await database.asOwner('update database_identity set behind_since = null')
  })
})

test('after migrating nobody but the owner can make temporary tables or schemas in the database', async () => {
  const empty = await openTestDatabase({ isEmpty: true })
  await migrate(empty.ownerUrl, SCHEMA)
  const { rows } = await asSuperuser(
    (client) =>
      client.query(`
        select r.rolname as role
          from pg_roles r
         where r.rolname like 'shopwire%'
           and (has_database_privilege(r.oid, current_database(), 'temporary') or has_database_privilege(r.oid, current_database(), 'create'))`),
    empty.superuserUrl,
  )
  await empty.close()
  expect(rows).toEqual([{ role: 'shopwire_owner' }])
})
