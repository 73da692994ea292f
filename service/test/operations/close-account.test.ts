import { afterAll, beforeAll, expect, test } from 'vitest'
import { INVARIANTS } from '../../src/installation.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { recordAction } from '../../src/platform/database/audit.ts'
import { type Queryable, sql, statement } from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { buy, delivered, openAccount } from '../../testing/dashboard-shop.ts'
import { asSuperuser } from '../../testing/database.ts'
import { openIdentity, type TestIdentity } from '../../testing/identity.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { PERSONAL_COLUMNS, SUGGESTS_A_PERSON } from '../../testing/personal-columns.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [ring, manual] = ['10000000000000001', '10000000000000003'] as const
/** What the people of these tests are called, and where they come from. */
const PERSONAL = /zelda|7a656c6461|The owner|The developer|203\.0\.113\./i
const LEDGER = [
  'select account_id, balance_cents, transfer_count, order_count from balances',
  'select account_id, seq, kind, change_cents, balance_after_cents, order_id, reference, note, created_at from transfers',
  'select account_id, day, first_seq, last_seq, closing_balance_cents from account_days',
  `select account_id, id, idempotency_key, request_hash, status, total_cents, key_id, request_id, created_at, delivered_at, cancelled_at,
          cancel_reason from orders`,
  'select account_id, order_id, line, item_id, name, qty, unit_price_cents from order_lines',
  'select account_id, order_id, line, unit, link_sealed, link_hash, source from order_links',
  'select hash, seen_at, made_by from link_fingerprints',
  'select reference, account_id from funding_references',
  'select supplier, kind, reference, amount_cents from supplier_transfers',
  'select account_id, id, amount_cents, state, reference, credited_cents, credited_seq from top_ups',
  'select account_id, id, amount_cents, taken_cents, owed_cents, written_off_cents from top_up_reversals',
]

let shop: Shop
let identity: TestIdentity
let worker: ReturnType<typeof startWorker>
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  identity = await openIdentity({ on: shop })
  worker = startWorker(shop)
  await putItems(shop.database.operator, [itemOf(ring, { price_cents: 1_000 }), itemOf(manual)])
  await shop.operator.loadPool(
    ring,
    Array.from({ length: 20 }, (_, n) => `https://gift.example/closing-${n}`),
  )
  await shop.operator.chooseSource(manual, { source: 'hand' })
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})

const admin = (...args: string[]) => runAdminOn(shop, ...args)
const payOut = (account_id: string, cents: number) =>
  shop.operator.adjustAccount(account_id, {
    change_cents: -cents,
    reference: `out-${account_id}`,
    note: 'payout',
  })
const one = <Row extends object>(text: string, ...values: unknown[]) =>
  shop.database.owner.one<Row>(statement(text, values))
const checksums = (db: Queryable) =>
  Promise.all(
    LEDGER.map(async (text) =>
      Object.values(
        await db.one(
          statement(
            `select md5(coalesce(string_agg(r::text, ';' order by r::text), '')) as sum from (${text}) r`,
            [],
          ),
        ),
      ),
    ),
  )

test('an account with money, orders, a debt or open requests is not closed, and the refusal says what to do', async () => {
  const { account_id, key } = await openAccount(shop, 10_000)
  const { body: order } = await buy(shop, key, [{ id: manual }])
  await shop.database.owner.run(sql`
    insert into top_ups (account_id, id, provider, amount_cents, reference, created_by, created_by_name, created_at)
    values (${account_id}, 'top_1', 'bank', 5000, 'RF18TOP1', 'person_x', 'Zelda', now())`)
  await shop.database.owner.run(sql`
    insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                  amount_cents, taken_cents, owed_cents, created_at)
    values (${account_id}, 'rev_1', 'top_1', 'dispute', 'dp_1', 'lost', true, 700, 700, 0, 700, now())`)
  await shop.database.owner.run(sql`
    insert into suppliers (name, url, secret_sealed, secret_kek_id, timeout_ms, created_at)
    values ('acme', 'https://acme.example/', '', 'none', 1000, now())`)
  await shop.database.owner.run(sql`
    insert into supplier_requests (account_id, order_id, line, supplier, sku, qty, attempts, first_at, last_at)
    values (${account_id}, ${order.id}, 1, 'acme', 'x', 1, 1, now(), now())`)
  const { code, err } = await admin('accounts', 'close', account_id, '--reason', 'asked for it')
  expect(code).not.toBe(0)
  expect(err).toMatch(/cannot be closed yet, and nothing was changed/)
  expect(err).toMatch(/1 order\(s\) are paid and not delivered: deliver or cancel/)
  expect(err).toMatch(/1 top-up\(s\) are open: confirm or reject/)
  expect(err).toMatch(/it owes \$7\.00: collect it or write it off/)
  expect(err).toMatch(/1 request\(s\) to suppliers are open: collect them or give them up/)
  expect(err).toMatch(/\$99\.00 are on its balance: pay them out, .*accounts adjust .* -- -99\.00/)
  expect((await shop.call('GET', '/v1/balance', { key })).status).toBe(200)
  expect(await one('select closed_at, status from accounts where id = $1', account_id)).toEqual({
    closed_at: null,
    status: 'active',
  })
  // The rest of the file checks every rule, and these rows have no story.
  await shop.database.asOwner('delete from supplier_requests; delete from top_up_reversals')
})

test('a closed account has no keys, people or webhook any more, takes no money and cannot be resumed', async () => {
  const { account_id, key } = await openAccount(shop, 1_000)
  const order = await buy(shop, key, [{ id: ring }])
  await delivered(shop, key, order.body.id)
  const hook = JSON.stringify({ url: 'https://93.184.216.34/hook' })
  expect((await shop.call('POST', '/v1/webhook', { key, body: hook })).status).toBe(200)
  const owner = await identity.newMember(account_id, 'owner')
  expect(await owner.browser.call('getSession')).toMatchObject({ account: { id: account_id } })
  await identity.invite(account_id, 'late@example.com', 'viewer')

  const { out } = await admin('accounts', 'close', account_id, '--reason', 'asked for it')
  expect(out).toMatch(/^Closed /)
  expect((await shop.call('GET', '/v1/balance', { key })).status).toBe(401)
  expect(await owner.browser.call('getSession')).toMatchObject({ person: null })
  expect(
    await one(
      `select (select count(*) from memberships where account_id = $1) as members,
              (select count(*) from api_keys where account_id = $1 and revoked_at is null) as keys,
              (select count(*) from webhook_endpoints where account_id = $1 and ended_at is null) as endpoints,
              (select count(*) from invitations where account_id = $1 and withdrawn_at is null and accepted_at is null) as invitations,
              (select count(*) from outgoing_mail where account_id = $1 and to_address = $2 and subject like '%is closed') as mails,
              (select count(*) from audit_log where target = $1 and action = 'account.close') as audited`,
      account_id,
      owner.email,
    ),
  ).toEqual({ members: 0, keys: 0, endpoints: 0, invitations: 0, mails: 1, audited: 1 })

  const refused = { type: 'conflict', message: expect.stringContaining('was closed on') }
  const { operator } = shop
  await expect(operator.resumeAccount(account_id)).rejects.toMatchObject(refused)
  await expect(operator.createKey(account_id, 'again', ['account:read'])).rejects.toMatchObject(refused)
  const funding = { amount_cents: 100, reference: 'late' }
  await expect(operator.fundAccount(account_id, funding)).rejects.toMatchObject(refused)
  const up = { change_cents: 100, reference: 'late', note: 'x' }
  await expect(operator.adjustAccount(account_id, up)).rejects.toMatchObject(refused)
  await expect(
    operator.placeOrder(account_id, { items: [{ id: ring }], idempotency_key: 'k' }),
  ).rejects.toMatchObject(refused)
  // Whatever program it is, the database refuses too.
  for (const text of [
    "update accounts set status = 'active' where id = $1",
    'update accounts set closed_at = null where id = $1',
    `insert into api_keys (account_id, id, name, scopes, secret_sealed, secret_kek_id, created_at)
     values ($1, 'key_x', 'x', '{account:read}', '', 'test', now())`,
    "insert into memberships (account_id, person_id, role, created_at) values ($1, 'person_x', 'owner', now())",
  ])
    await expect(shop.database.owner.run(statement(text, [account_id]))).rejects.toMatchObject({
      code: '23514',
    })
  expect((await admin('accounts', 'close', account_id, '--reason', 'x')).out).toMatch(/was closed before/)
  expect((await admin('accounts', 'show', account_id)).out).toMatch(/\nclosed, created/)
})

test('a key made while the account is being closed: the closing wins or nothing of it happens, never a live key', async () => {
  for (let n = 0; n < 5; n += 1) {
    const { account_id } = await openAccount(shop, 0)
    await Promise.allSettled([
      shop.operator.closeAccount(account_id, 'race'),
      shop.operator.createKey(account_id, 'race', ['account:read']),
    ])
    const { closed, keys } = await one<{ closed: boolean; keys: number }>(
      `select closed_at is not null as closed, (select count(*) from api_keys where account_id = a.id and revoked_at is null) as keys
         from accounts a where id = $1`,
      account_id,
    )
    expect(closed ? keys : 0).toBe(0)
  }
})

test('an account that is not closed is not erased', async () => {
  const { account_id } = await openAccount(shop, 0)
  await expect(shop.operator.eraseAccount(account_id)).rejects.toMatchObject({
    type: 'conflict',
    message: expect.stringContaining(`accounts close ${account_id}`),
  })
  await expect(
    shop.database.operator.one(sql`select erase_account(${account_id}, now()) as n`),
  ).rejects.toMatchObject({
    code: '23514',
  })
})

test('erasing leaves no name or address of the account in any table, and the ledger and all rules as they were', async () => {
  const { operator } = shop
  const { owner } = shop.database
  const ofOthers = new Set(await rowsMatching(PERSONAL))
  const { id: account_id } = await operator.createAccount('Zelda Trading')
  const { id: other_id } = await operator.createAccount('Other')
  await operator.fundAccount(account_id, { amount_cents: 2_000, reference: 'zeta-1' })
  const { key, secret } = await operator.createKey(account_id, 'zelda-server', [
    'orders:read',
    'orders:write',
    'webhooks:read',
    'webhooks:write',
  ])
  const testKey = { id: key.id, secret }
  const hook = JSON.stringify({ url: 'https://93.184.216.34/zelda' })
  expect((await shop.call('POST', '/v1/webhook', { key: testKey, body: hook })).status).toBe(200)
  const order = await buy(shop, testKey, [{ id: ring }])
  const done = await delivered(shop, testKey, order.body.id)
  const alone = await identity.newMember(account_id, 'owner', 'zelda@zelda.example')
  const inBoth = await identity.newMember(account_id, 'developer', 'both@elsewhere.example')
  const [person] = await owner.many<{ id: string }>(
    sql`select id from people where email = 'both@elsewhere.example'`,
  )
  const [gone] = await owner.many<{ id: string }>(
    sql`select id from people where email = 'zelda@zelda.example'`,
  )
  await owner.run(sql`
    insert into memberships (account_id, person_id, role, created_at)
    values (${other_id}, ${person?.id}, 'owner', now())`)
  await identity.invite(account_id, 'cousin@zelda.example', 'viewer')
  await plant(account_id, key.id, gone?.id ?? '')
  await payOut(account_id, 1_000)
  await shop.evidence.stop()
  await operator.closeAccount(account_id, 'Zelda asked for it')
  const rules = await readRules(INVARIANTS)
  const before = await checksums(owner)

  const { out } = await admin('accounts', 'erase', account_id)
  expect(out).toMatch(/1 person\(s\) who belonged to no other account were removed/)
  expect(await checksums(owner)).toEqual(before)
  expect(
    (await verifyData(shop.database.operator, rules, () => {})).filter(({ violations }) => violations > 0),
  ).toEqual([])
  const found = (await rowsMatching(PERSONAL)).filter((row) => !ofOthers.has(row))
  // The one who belongs to another account too is still there, and what they did in this one is not.
  const own = found.filter((row) => /^(people|sessions): /.test(row) && row.includes(person?.id ?? ''))
  expect(found).toEqual(own)
  expect(own).toHaveLength(2)
  expect(
    await one(
      `select (select count(*) from people where email = 'both@elsewhere.example') as kept,
              (select count(*) from orders where account_id = $1 and client_address is not null) as addresses,
              (select count(*) from order_answers where account_id = $1) as answers,
              (select count(*) from order_attempts where account_id = $1) as attempts,
              (select count(*) from link_reads where account_id = $1) as reads,
              (select count(*) from jobs where queue = 'mail' and subject not in (select id from outgoing_mail)) as mail_jobs,
              (select name from accounts where id = $1) as name,
              (select count(*) from audit_log where account_id = $1 and actor = 'person:' || $2 and details ? 'erased') as acts`,
      account_id,
      gone?.id,
    ),
  ).toEqual({
    kept: 1,
    addresses: 0,
    answers: 0,
    attempts: 0,
    reads: 0,
    mail_jobs: 0,
    name: 'Erased account',
    acts: 3,
  })
  expect(await alone.browser.call('getSession')).toMatchObject({ person: null })
  expect(await inBoth.browser.call('getSession')).toMatchObject({
    person: { email: 'both@elsewhere.example' },
  })
  // The links that were sold are still known, and an operator still sees the order.
  expect(await operator.loadPool(ring, done.links)).toMatchObject({ loaded: 0 })
  expect((await admin('orders', 'show', order.body.id)).code).toBe(0)
  expect(await operator.eraseAccount(account_id)).toEqual({ people: 0 })
  expect(await checksums(owner)).toEqual(before)
})

/** Rows of everything about people that the steps above do not make by themselves. */
async function plant(account_id: string, key_id: string, person_id: string) {
  const { owner } = shop.database
  await owner.run(sql`
    insert into top_ups (account_id, id, provider, amount_cents, state, reference, created_by, created_by_name, created_at, decided_at, note)
    values (${account_id}, 'top_z', 'bank', 5000, 'rejected', 'RF18TOPZ', ${person_id}, 'Zelda', now(), now(), 'Zelda called')`)
  await owner.run(sql`
    insert into balance_alerts (account_id, threshold_cents, updated_at)
    values (${account_id}, 100, now())`)
  await owner.run(sql`
    insert into mail_choices (account_id, person_id, kind, is_wanted)
    values (${account_id}, ${person_id}, 'top_up', false)`)
  await owner.run(sql`
    insert into saved_views (account_id, id, person_id, list, name, folded_name, query, created_at)
    values (${account_id}, 'view_z', ${person_id}, 'orders', 'Zelda', 'zelda', 'q=zelda', now())`)
  await owner.run(sql`
    insert into alert_addresses (account_id, email, asked_at, confirmed_at)
    values (${account_id}, 'zelda@zelda.example', now(), now())`)
  await shop.database.asOwner(`
    insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at)
    values ('${account_id}', 'tok_z', '${person_id}', 'zelda laptop', sha256('z'), '{events:listen}', false, now(), now() + interval '1 day')`)
  await owner.run(sql`
    update api_keys
       set created_by = ${person_id}, created_by_name = 'Zelda'
     where id = ${key_id}`)
  await owner.run(sql`
    insert into key_usage (account_id, key_id, hour, requests, orders, last_used_at, last_address)
    values (${account_id}, ${key_id}, date_trunc('hour', now()) - interval '1 day', 1, 1, now(), '203.0.113.77')`)
  await owner.run(sql`
    insert into key_last_uses as u (account_id, key_id, last_used_at, last_address)
    values (${account_id}, ${key_id}, now(), '203.0.113.77')
        on conflict (account_id, key_id) do update
       set last_address = excluded.last_address`)
  await owner.run(sql`
    insert into order_attempts (account_id, idempotency_key, request_id, at, key_id, client_address, request_hash, status, outcome, is_sent)
    values (${account_id}, 'zeta', 'req_z', now(), ${key_id}, '203.0.113.77', sha256('z'), 402, 'insufficient_balance', true)`)
  await owner.run(sql`
    insert into link_reads (account_id, order_id, request_id, at, key_id, client_address, links, is_sent)
    select account_id, id, 'req_z', now(), ${key_id}, '203.0.113.77', 1, true
      from orders
     where account_id = ${account_id}`)
  await owner.run(sql`
    insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address,
                                   answer_sealed, answer_kek_id)
    select account_id, endpoint_id, event_id, 1, 1, now(), now(), 500, 'status', '203.0.113.77', 'zelda', 'test'
      from deliveries
     where account_id = ${account_id}`)
  await owner.run(sql`
    update deliveries
       set attempts = 1
     where account_id = ${account_id}`)
  const act = { actor: `person:${person_id}`, address: '203.0.113.77', request_id: 'req_z' }
  const details = { name: 'Zelda', before: { email: 'zelda@zelda.example' }, after: { role: 'owner' } }
  const { dashboard } = shop.database
  await recordAction(dashboard, { ...act, action: 'team.role', target: person_id, account_id, details })
  await recordAction(dashboard, { ...act, action: 'sign_in', target: person_id, details })
}

/** Every row of every table in which a text matches, as `table: row`. Bytes are in hex. */
async function rowsMatching(what: RegExp): Promise<string[]> {
  const tables = await shop.database.owner.many<{ name: string }>(sql`
    select relname as name
      from pg_class
     where relnamespace = 'shopwire'::regnamespace
       and relkind = 'r'
     order by relname`)
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await asSuperuser(
      (client) => client.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`),
      shop.database.superuserUrl,
    )
    found.push(...rows.map(({ row }) => `${name}: ${row}`).filter((row) => what.test(row)))
  }
  return found
}

test('every column whose name suggests a person is classified, and no classified column is gone', async () => {
  const columns = await shop.database.owner.many<{ id: string; type: string }>(sql`
    select c.relname || '.' || a.attname as id, format_type(a.atttypid, null) as type
      from pg_attribute a
      join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'shopwire'::regnamespace
       and c.relkind = 'r'
       and a.attnum > 0
       and not a.attisdropped
     order by 1`)
  const suspects = columns.filter(
    ({ id, type }) =>
      ['jsonb', 'inet'].includes(type) ||
      (/^(text|character|bytea)/.test(type) && SUGGESTS_A_PERSON.test(id.split('.')[1] ?? '')),
  )
  const unclassified = suspects.map(({ id }) => id).filter((id) => !(id in PERSONAL_COLUMNS))
  expect(
    unclassified,
    'Decide what happens to these when an account is erased: functions/access/erase_account.sql, testing/personal-columns.ts',
  ).toEqual([])
  const known = new Set(columns.map(({ id }) => id))
  expect(Object.keys(PERSONAL_COLUMNS).filter((id) => !known.has(id))).toEqual([])
})
