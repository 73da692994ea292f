import { afterAll, beforeAll, expect, test } from 'vitest'
import { assertOwnRole } from '../../src/dashboard/own-role.ts'
import { inAccount } from '../../src/platform/account-scope.ts'
import { type Db, sql, statement } from '../../src/platform/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

/** Has the account that the session is in; it belongs to the person, and is found by the hash of its token. */
const OF_PEOPLE = new Set(['sessions'])

let shop: Shop
let dashboard: Db
let owned: { table: string; column: string }[]

beforeAll(async () => {
  shop = await openShop()
  dashboard = shop.database.dashboardDb()
  await shop.operator.createAccount('Other')
  owned = await asSuperuser(async (client) => {
    const { rows } = await client.query<{ table: string; column: string }>(`
      select c.table_name as table, c.column_name as column
        from information_schema.columns c
        join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
         and (c.column_name = 'account_id' or (c.table_name = 'accounts' and c.column_name = 'id'))
       order by 1`)
    return rows
  }, shop.database.superuserUrl)
})
afterAll(() => shop.close())

const count = (table: string, column: string) =>
  statement(`select count(${column})::int as n from ${table}`, [])
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error.code ?? error.cause?.code,
  )

test('every table that belongs to accounts has row-level security with a policy for each role, or is closed to the dashboard', async () => {
  expect(owned.length).toBeGreaterThan(18)
  const unprotected = await asSuperuser(async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select c.relname as name
         from pg_class c
        where c.relname = any ($1) and c.relnamespace = 'public'::regnamespace
          and not (c.relrowsecurity
                   and exists (select from pg_policy p where p.polrelid = c.oid
                                and p.polroles = array['shopwire_dashboard'::regrole::oid]))`,
      [owned.map(({ table }) => table)],
    )
    return rows.map(({ name }) => name)
  }, shop.database.superuserUrl)
  const reachable: string[] = []
  for (const name of unprotected) {
    const { can } = await dashboard.one<{ can: boolean }>(
      statement(`select has_any_column_privilege('${name}', 'select, update') as can`, []),
    )
    if (can && !OF_PEOPLE.has(name)) reachable.push(name)
  }
  expect(reachable).toEqual([])
})

test('without an account, and with another one, every table shows no rows of this account', async () => {
  const stranger = await shop.operator.createAccount('Stranger')
  let seen = 0
  for (const { table, column } of owned) {
    const { can } = await dashboard.one<{ can: boolean }>(
      statement(`select has_column_privilege('${table}', '${column}', 'select') as can`, []),
    )
    if (!can || OF_PEOPLE.has(table)) continue
    const without = await dashboard.one<{ n: number }>(count(table, column))
    const asStranger = await inAccount(dashboard, stranger.id, (tx) =>
      tx.one<{ n: number }>(
        statement(`select count(${column})::int as n from ${table} where ${column} = $1`, [shop.account.id]),
      ),
    )
    expect({ table, without: without.n, asStranger: asStranger.n }).toEqual({
      table,
      without: 0,
      asStranger: 0,
    })
    const own = await inAccount(dashboard, shop.account.id, (tx) =>
      tx.one<{ n: number }>(count(table, column)),
    )
    seen += own.n
  }
  // The same statements see rows where they may: the account, its key, its money.
  expect(seen).toBeGreaterThan(3)
})

test('the setting ends with its transaction: a connection does not carry an account to the next one', async () => {
  await inAccount(dashboard, shop.account.id, (tx) => tx.one(count('accounts', 'id')))
  for (let n = 0; n < 20; n += 1) expect(await dashboard.one(count('accounts', 'id'))).toEqual({ n: 0 })
})

test('a row of another account cannot be written', async () => {
  const stranger = await shop.operator.createAccount('Writer')
  const now = new Date()
  const writes = [
    sql`insert into audit_log (id, at, actor, action, target, details, account_id)
        values ('aud_x', ${now}, 'person:x', 'x', 'x', '{}', ${shop.account.id})`,
    sql`insert into events (account_id, id, type, created_at) values (${shop.account.id}, 'evt_x', 'test', ${now})`,
    sql`insert into webhook_endpoints (account_id, id, url, set_by, created_at)
        values (${shop.account.id}, 'whe_x', 'https://a.example', 'x', ${now})`,
    sql`insert into memberships (account_id, person_id, role, created_at) values (${shop.account.id}, 'per_x', 'owner', ${now})`,
  ]
  for (const write of writes)
    expect(await codeOf(inAccount(dashboard, stranger.id, (tx) => tx.run(write)))).toBe('42501')
  const renamed = await inAccount(dashboard, stranger.id, (tx) =>
    tx.run(sql`update accounts set name = 'taken' where id = ${shop.account.id}`),
  )
  expect(renamed).toBe(0)
})

test('no statement of the dashboard moves money or reads a secret', async () => {
  const { id } = shop.account
  const forbidden = [
    sql`update balances set balance_cents = 1 where account_id = ${id}`,
    sql`insert into balances (account_id) values ('acct_x')`,
    sql`insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, created_at)
        values (${id}, 99, 'trf_x', 'funding', 'house:cash', 'customer', 1, 1, now())`,
    sql`delete from transfers where account_id = ${id}`,
    sql`update orders set status = 'cancelled' where account_id = ${id}`,
    sql`insert into funding_references (reference) values ('x')`,
    sql`select secret_sealed from api_keys where account_id = ${id}`,
    sql`select remote_address from delivery_attempts where account_id = ${id}`,
    sql`select key_hash from pool_links`,
    sql`update accounts set status = 'active' where id = ${id}`,
    sql`delete from audit_log where account_id = ${id}`,
    sql`update audit_log set actor = 'x' where account_id = ${id}`,
    sql`select place_order()`,
  ]
  for (const write of forbidden) {
    const code = await codeOf(inAccount(dashboard, id, (tx) => tx.run(write)))
    // 42703 and 42883: what it names is not even there under that name.
    expect([write.text, code]).toEqual([write.text, expect.stringMatching(/^(42501|42703|42883)$/)])
  }
})

test('the dashboard starts with its own role only', async () => {
  await assertOwnRole(dashboard)
  await expect(assertOwnRole(shop.db)).rejects.toThrow(
    /SHOPWIRE_DASHBOARD_DATABASE_URL signs in as shopwire_api/,
  )
})

test('the versions of accounts are numbers, and for the dashboard alone', async () => {
  const ask = sql`select v.balance from account_versions(${[shop.account.id]}) v`
  expect(await dashboard.many(ask)).toHaveLength(1)
  expect(await codeOf(shop.db.many(ask))).toBe('42501')
})
