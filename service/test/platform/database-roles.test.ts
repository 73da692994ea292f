import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../testing/database.ts'
import { type Action, ROLES, type RoleName, readRights } from '../../testing/rights.ts'

const REFUSED = '42501'

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
         where c.relnamespace = 'public'::regnamespace
           and c.relkind in ('r', 'p', 'v')
         order by 1, a.attnum`)
    ).rows
    functions = (
      await client.query(`
        select p.proname as name,
               format('%I(%s)', p.proname, (select string_agg('null::' || format_type(t, null), ', ' order by n)
                                              from unnest(p.proargtypes::oid[]) with ordinality as a (t, n))) as call
          from pg_proc p
         where p.pronamespace = 'public'::regnamespace
           and p.prorettype <> 'trigger'::regtype
         order by 1`)
    ).rows
  }, database.superuserUrl)
})
afterAll(() => database.close())

/** A session with the rights of the role and no others: its own login, where it has one. */
async function signIn(role: RoleName): Promise<pg.Client> {
  const url =
    role === 'functions'
      ? database.superuserUrl
      : role === 'dashboard'
        ? database.dashboardUrl
        : database.processUrls[role]
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  if (role === 'functions') await client.query(`set role ${ROLES.functions}`)
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

/** They touch no row, so each is decided by the rights alone. */
const PROBES: Record<Action, (table: string, column: string) => string> = {
  select: (table, column) => `select "${column}" from ${table} where false`,
  insert: (table, column) => `insert into ${table} ("${column}") select null where false`,
  update: (table, column) => `update ${table} set "${column}" = default where false`,
  delete: (table) => `delete from ${table} where false`,
}

async function isAllowed(client: pg.Client, statement: string): Promise<boolean> {
  try {
    await client.query(statement)
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== REFUSED) throw error
    return false
  }
}

describe('threat 70: a role can do what service/rights says and nothing else', () => {
  test.each(Object.keys(ROLES) as RoleName[])('%s: every column of every table', async (role) => {
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

  test.each(Object.keys(ROLES) as RoleName[])('%s: every function', async (role) => {
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

  test.each(Object.keys(ROLES) as RoleName[])('%s: neither tables nor roles are made', async (role) => {
    await as(role, async (client) => {
      // The owner of functions has to have this right; nobody signs in as it.
      if (role !== 'functions') expect(await isAllowed(client, 'create table mine (n integer)')).toBe(false)
      expect(await isAllowed(client, 'create role mine')).toBe(false)
      expect(await isAllowed(client, 'truncate transfers')).toBe(false)
      expect(await isAllowed(client, 'alter table transfers disable trigger all')).toBe(false)
    })
  })

  test('the statements in docs/database-roles.md, run as they are written, give each login its rights and no others', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/database-roles.md'), 'utf8')
    const [make, narrow] = [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, block = '']) => block)
    const [, goBack] = /To go back [^`]*`(grant [^`]*;)`/.exec(page) ?? []
    await asSuperuser(async (client) => {
      const mayWrite = async (login: string) => {
        const { rows } = await client.query(
          `select has_table_privilege($1, 'transfers', 'insert') as transfers, has_table_privilege($1, 'orders', 'update') or
                  has_any_column_privilege($1, 'orders', 'update') as orders`,
          [login],
        )
        return rows[0]
      }
      // Roles belong to the whole server, which other tests use too.
      await client.query('begin')
      await client.query(make ?? '')
      for (const login of ['shopwire_worker', 'shopwire_operator'])
        expect(await mayWrite(login)).toEqual({ transfers: false, orders: true })
      expect(await mayWrite('shopwire_readonly')).toEqual({ transfers: false, orders: false })
      expect(await mayWrite('shopwire_api')).toEqual({ transfers: true, orders: true })
      await client.query(narrow ?? '')
      expect(await mayWrite('shopwire_api')).toEqual({ transfers: false, orders: false })
      await client.query(goBack ?? '')
      expect(await mayWrite('shopwire_api')).toEqual({ transfers: true, orders: true })
      await client.query('rollback')
    }, database.superuserUrl)
  })

  test('nobody can sign in as the owner of the functions that move money, and they fix their search_path', async () => {
    const { rows } = await asSuperuser(
      (client) =>
        client.query(`
          select p.proname, r.rolname, r.rolcanlogin, p.proconfig
            from pg_proc p
            join pg_roles r on r.oid = p.proowner
           where p.proname = 'place_orders'
              or p.prosecdef and p.prosrc ~ '(move_balance|fund_account|book_top_up|into supplier_transfers)'
           order by 1`),
      database.superuserUrl,
    )
    expect(rows.map(({ proname }) => proname)).toEqual([
      'adjust_account',
      'book_supplier_cost',
      'collect_owed',
      'confirm_top_up',
      'credit_paid_top_up',
      'fund_account',
      'pay_supplier',
      'place_orders',
      'refund_order',
      'return_dispute',
      'take_back_top_up',
    ])
    for (const row of rows) {
      expect(row).toMatchObject({ rolname: ROLES.functions, rolcanlogin: false })
      expect(row.proconfig).toContain('search_path=pg_catalog, public, pg_temp')
    }
  })
})
