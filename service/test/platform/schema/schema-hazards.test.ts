import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SEALED_COLUMNS } from '../../../src/operations/sealed-columns.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** In a transaction that is rolled back, without the rows that these would refer to. */
const attempt = <Result>(work: (client: pg.Client) => Promise<Result>) =>
  asSuperuser(async (client) => {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    return work(client)
  }, database.superuserUrl)

test.each([
  [
    'personal_tokens',
    `account_id, id, person_id, name, token_hash, rights, with_links`,
    `'a', 'pat_1', 'per_1', 'x', sha256('x'), '{events:listen}', false`,
    90,
  ],
  ['operator_tokens', `id, email, token_hash, added_by`, `'opt_1', 'a@b.cd', sha256('x'), 'x'`, 365],
])(
  '%s: a token of as many days as it may have is kept across the beginning of summer time, wherever the server is',
  async (table, columns, values, days) => {
    await attempt(async (client) => {
      await client.query(`set local timezone = 'Europe/Berlin'`)
      const made = `'2027-01-20T12:00:00Z'::timestamptz`
      await client.query(
        `insert into ${table} (${columns}, created_at, expires_at) values (${values}, ${made}, ${made} + interval '${24 * days} hours')`,
      )
    })
  },
)

test('nothing is recorded as taken from an account that has no balance', async () => {
  const reversal = `
    insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                  amount_cents, taken_cents, owed_cents, created_at)
    values ('acct_none', 'rev_1', 'top_1', 'dispute', 'du_1', 'lost', true, 500, 500, 0, 500, now())`
  await expect(
    attempt(async (client) => {
      await client.query(reversal)
      await client.query(`select collect_owed('acct_none', now())`)
    }),
  ).rejects.toThrow('account acct_none has no balance')
  const topUp = `
    insert into top_ups (account_id, id, provider, amount_cents, reference, created_by, created_by_name, created_at, state, provider_session, credited_cents,
                         credited_seq, decided_at, provider_payment)
    values ('acct_none', 'top_1', 'stripe', 500, 'RF00X', 'per_1', 'Ada', now(), 'credited', 'cs_1', 500, 1, now(), 'pi_1')`
  await expect(
    attempt(async (client) => {
      await client.query(topUp)
      await client.query(
        `select take_back_top_up('acct_none', 'top_1', 'rev_2', 'dispute', 'du_2', 'lost', true, 500, now())`,
      )
    }),
  ).rejects.toThrow('account acct_none has no balance')
})

test('the gate of a restored store looks at the stage of a request to a supplier after it was decided', async () => {
  const names = await attempt(
    async (client) =>
      (
        await client.query<{ name: string }>(
          // Bit 2: before the row is written. PostgreSQL runs them in the order of their names.
          `select tgname as name
             from pg_trigger
            where tgrelid = 'supplier_requests'::regclass and not tgisinternal and tgtype & 2 = 2
            order by tgname collate "C"`,
        )
      ).rows,
  )
  expect(names.map(({ name }) => name)).toEqual([
    'supplier_requests_advance',
    'supplier_requests_after_advance_only_if_confirmed',
  ])
})

const listed = (text: string) =>
  attempt(async (client) => (await client.query<{ name: string }>(text)).rows.map(({ name }) => name))

test('every text of an index is compared byte by byte, whatever the locale of the database', async () => {
  const others = await listed(`
    select distinct c.relname || '.' || a.attname as name
      from pg_index i
      join pg_class c on c.oid = i.indrelid and c.relnamespace = 'shopwire'::regnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
     where a.attcollation <> 0 and a.attcollation <> '"C"'::regcollation`)
  expect(others).toEqual([])
})

test('every rule about several columns has a name that says what it is', async () => {
  const unnamed = await listed(`
    select conrelid::regclass || ': ' || conname as name
      from pg_constraint
     where connamespace = 'shopwire'::regnamespace and contype = 'c' and cardinality(conkey) > 1 and conname ~ '_check[0-9]*$'`)
  expect(unnamed).toEqual([])
})

test.each(SEALED_COLUMNS)(
  'what re-encryption walks $table by begins with its primary key',
  async ({ table, keys }) => {
    const primary = await listed(`
    select a.attname as name
      from pg_index i
      cross join unnest(i.indkey) with ordinality as k (attnum, place)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where i.indrelid = '${table}'::regclass and i.indisprimary
     order by k.place`)
    expect(keys.slice(0, primary.length)).toEqual(primary)
  },
)
