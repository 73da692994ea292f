import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assertOwnRole } from '../../src/dashboard/team/own-role.ts'
import { inAccount } from '../../src/platform/database/account-scope.ts'
import { type Db, type Statement, sql, statement } from '../../src/platform/database/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import type { Shop } from '../../testing/shop.ts'
import { openTwoAccounts, type TwoAccounts } from '../../testing/two-accounts.ts'

// Threat 66: whatever the code of the dashboard does, its role in the database keeps accounts apart and money where it is.

/** Has the account that the session is in; it belongs to the person, and is found by the hash of its token. */
const OF_PEOPLE = new Set(['sessions'])

const WITH_ROWS = [
  'accounts',
  'api_keys',
  'audit_log',
  'balances',
  'deliveries',
  'delivery_attempts',
  'events',
  'invitations',
  'memberships',
  'order_answers',
  'order_lines',
  'order_links',
  'orders',
  'personal_tokens',
  'saved_views',
  'top_ups',
  'transfers',
  'webhook_endpoints',
  'webhook_secrets',
]

let there: TwoAccounts
let shop: Shop
let dashboard: Db
let owned: { table: string; column: string }[]

beforeAll(async () => {
  there = await openTwoAccounts()
  shop = there.shop
  dashboard = shop.database.dashboard
  // Attempts are written some time after the answer.
  await shop.evidence.flush()
  owned = await asSuperuser(async (client) => {
    const { rows } = await client.query<{ table: string; column: string }>(`
      select c.table_name as table, c.column_name as column
        from information_schema.columns c
        join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'shopwire' and t.table_type = 'BASE TABLE'
         and (c.column_name = 'account_id' or (c.table_name = 'accounts' and c.column_name = 'id'))
       order by 1`)
    return rows
  }, shop.database.superuserUrl)
}, 60_000)
afterAll(() => there.close())

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
        where c.relname = any ($1) and c.relnamespace = 'shopwire'::regnamespace
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
  const seen: string[] = []
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
    if (own.n > 0) seen.push(table)
  }
  // The same statements see rows where they may.
  expect(seen).toEqual(expect.arrayContaining(WITH_ROWS))
})

test('the setting ends with its transaction: a connection does not carry an account to the next one', async () => {
  await inAccount(dashboard, shop.account.id, (tx) => tx.one(count('accounts', 'id')))
  for (let n = 0; n < 20; n += 1) expect(await dashboard.one(count('accounts', 'id'))).toEqual({ n: 0 })
})

type Grant = { table: string; column: string; owner: string; privilege: 'INSERT' | 'UPDATE' }

/** Every column of an account's table that the dashboard's role may write, as the database itself lists them. */
async function grants(): Promise<Grant[]> {
  const all = await asSuperuser(async (client) => {
    const { rows } = await client.query<Omit<Grant, 'owner'>>(`
      select table_name as table, column_name as column, privilege_type as privilege
        from information_schema.column_privileges
       where grantee = 'shopwire_dashboard' and table_schema = 'shopwire' and privilege_type in ('INSERT', 'UPDATE')
       order by 1, 2`)
    return rows
  }, shop.database.superuserUrl)
  return all.flatMap((grant) => {
    const own = owned.find(({ table }) => table === grant.table && !OF_PEOPLE.has(table))
    return own ? [{ ...grant, owner: own.column }] : []
  })
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => String(error.cause?.message ?? error.message),
  )

test('no row can be inserted into another account, whatever the table', async () => {
  const naming = (await grants()).filter(
    ({ privilege, column, owner }) => privilege === 'INSERT' && column === owner,
  )
  expect(naming.length).toBeGreaterThan(8)
  expect(naming.map(({ table }) => table)).toContain('outgoing_mail')
  for (const { table, owner } of naming) {
    // The policy is checked before the constraints, so a row with nothing but its account is enough.
    const insert = statement(`insert into ${table} (${owner}) values ($1)`, [shop.account.id])
    const isRefused = [table, expect.stringMatching(/row-level security policy/)]
    const inOther = inAccount(dashboard, there.account_id, (tx) => tx.run(insert))
    expect([table, await failureOf(inOther)]).toEqual(isRefused)
    expect([table, await failureOf(dashboard.run(insert))]).toEqual(isRefused)
  }
})

test('mail is queued about the own account or a person, and never read, changed or removed', async () => {
  const mail = (account_id: string | null) => sql`
    insert into outgoing_mail (id, account_id, to_address, subject, body_sealed, body_kek_id)
    values (${`mail_${randomUUID()}`}, ${account_id}, 'ada@example.com', 'Hello', '', 'k1')`
  expect(await inAccount(dashboard, shop.account.id, (tx) => tx.run(mail(shop.account.id)))).toBe(1)
  expect(await dashboard.run(mail(null))).toBe(1)
  for (const write of [
    sql`select id from outgoing_mail`,
    sql`update outgoing_mail set to_address = 'eve@example.com'`,
    sql`delete from outgoing_mail`,
  ]) {
    const code = await codeOf(inAccount(dashboard, shop.account.id, (tx) => tx.run(write)))
    expect([write.text, code]).toEqual([write.text, '42501'])
  }
})

test('of jobs without an account, those of mail are added, and none is read, changed or removed', async () => {
  const run = (of: Statement) => inAccount(dashboard, shop.account.id, (tx) => tx.run(of))
  const add = (queue: string, account_id: string | null) =>
    run(sql`
      insert into jobs (account_id, queue, subject, run_at, created_at)
      values (${account_id}, ${queue}, ${randomUUID()}, now(), now())`)
  expect(await add('mail', null)).toBe(1)
  for (const [queue, account_id] of [
    ['deliver', null],
    ['fulfil', null],
    ['fulfil', shop.account.id],
  ] as const)
    expect([queue, await codeOf(add(queue, account_id))]).toEqual([queue, '42501'])
  for (const touch of [
    sql`select subject from jobs where queue = 'mail'`,
    sql`update jobs set run_at = 'infinity' where queue = 'mail'`,
    sql`delete from jobs where queue = 'mail'`,
  ])
    expect([touch.text, await run(touch)]).toEqual([touch.text, 0])
})

test('no row of another account can be changed, and none be given to another account, whatever the column', async () => {
  const updates = (await grants()).filter(({ privilege }) => privilege === 'UPDATE')
  const given: string[] = []
  for (const { table, column, owner } of updates) {
    const change = statement(`update ${table} set ${column} = ${column} where ${owner} = $1`, [
      shop.account.id,
    ])
    expect([table, column, await inAccount(dashboard, there.account_id, (tx) => tx.run(change))]).toEqual([
      table,
      column,
      0,
    ])
    expect([table, column, await dashboard.run(change)]).toEqual([table, column, 0])
    if (column !== owner) continue
    const give = statement(`update ${table} set ${owner} = $1 where ${owner} = $2`, [
      there.account_id,
      shop.account.id,
    ])
    const failure = await failureOf(inAccount(dashboard, shop.account.id, (tx) => tx.run(give)))
    if (failure !== undefined) given.push(table)
    expect([table, failure ?? 'row-level security: there was no row']).toEqual([
      table,
      expect.stringMatching(/row-level security/),
    ])
  }
  expect(given).toEqual(expect.arrayContaining(['events', 'memberships', 'webhook_endpoints']))
})

test('no row of another account can be deleted, whatever the table', async () => {
  for (const { table, column } of owned.filter((one) => !OF_PEOPLE.has(one.table))) {
    const remove = statement(`delete from ${table} where ${column} = $1`, [shop.account.id])
    const outcome = await inAccount(dashboard, there.account_id, (tx) => tx.run(remove)).catch(
      (error) => error.code ?? error.cause?.code,
    )
    expect([table, outcome]).toEqual([table, outcome === 0 ? 0 : '42501'])
  }
})

test('no statement of the dashboard moves money or reads a secret', async () => {
  const { id } = shop.account
  const columns = (privilege: string, table: string) =>
    dashboard.many<{ name: string }>(
      statement(
        `select attname as name from pg_attribute
          where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped
            and has_column_privilege(attrelid, attnum, '${privilege}')`,
        [],
      ),
    )
  for (const table of [
    'transfers',
    'balances',
    'orders',
    'order_lines',
    'order_links',
    'funding_references',
    'pool_links',
  ])
    for (const privilege of ['insert', 'update'])
      expect([table, privilege, await columns(privilege, table)]).toEqual([table, privilege, []])
  const forbidden = [
    sql`insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, created_at)
        values (${id}, 99, 'funding', 1, 1, now())`,
    sql`update transfers set change_cents = 1 where account_id = ${id}`,
    sql`delete from transfers where account_id = ${id}`,
    sql`insert into balances (account_id, balance_cents) values ('acct_x', 1)`,
    sql`update balances set balance_cents = 1 where account_id = ${id}`,
    sql`insert into orders (account_id, id) values (${id}, 'ord_x')`,
    sql`update orders set status = 'cancelled' where account_id = ${id}`,
    sql`insert into top_ups (account_id, credited_cents) values (${id}, 1)`,
    sql`insert into top_ups (account_id, credited_seq) values (${id}, 1)`,
    sql`insert into top_ups (account_id, state) values (${id}, 'credited')`,
    sql`update top_ups set credited_cents = 1 where account_id = ${id}`,
    sql`update top_ups set credited_seq = 1 where account_id = ${id}`,
    sql`update top_ups set state = 'credited' where account_id = ${id}`,
    sql`insert into funding_references (reference, account_id) values ('x', ${id})`,
    sql`select secret_sealed from api_keys where account_id = ${id}`,
    sql`select remote_address from delivery_attempts where account_id = ${id}`,
    sql`select link_sealed from pool_links`,
    sql`select link_hash from pool_links`,
    sql`update accounts set status = 'active' where id = ${id}`,
    sql`delete from audit_log where account_id = ${id}`,
    sql`update audit_log set actor = 'x' where account_id = ${id}`,
    sql`insert into encryption_key_checks (kek_id, check_sealed) values ('x', '')`,
    sql`select place_orders(true, array[${id}], '{1}', '{k}', '{o}', '{e}', '{now}', '{i}', '{x}', '{r}', '{a}', '{1}', '{1}',
                            '{1}', '{null}')`,
  ]
  for (const write of forbidden) {
    const code = await codeOf(inAccount(dashboard, id, (tx) => tx.run(write)))
    expect([write.text, code]).toEqual([write.text, '42501'])
  }
})

test('the dashboard starts with its own role only', async () => {
  await assertOwnRole(dashboard)
  await expect(assertOwnRole(shop.database.api)).rejects.toThrow(
    /SHOPWIRE_DASHBOARD_DATABASE_URL signs in as shopwire_api/,
  )
})

test('the versions of accounts are numbers, and for the dashboard alone', async () => {
  const ask = sql`select v.balance from account_versions(${[shop.account.id]}) v`
  expect(await dashboard.many(ask)).toHaveLength(1)
  expect(await codeOf(shop.database.api.many(ask))).toBe('42501')
})
