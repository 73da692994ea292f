import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readBalance } from '../../src/ledger/transfer.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const REFUSED = { code: '42501' }

let shop: Shop
let key: TestKey
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  key = await shop.makeKey(['catalogue:read'])
})

/** What an intruder does who has the login of a process and the whole of its rights. */
async function asIntruder(role: 'api' | 'dashboard', ...statements: string[]): Promise<void> {
  const connectionString = role === 'api' ? shop.database.processUrls.api : shop.database.dashboardUrl
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    // Whatever a person could set; row-level security asks for it.
    await client.query(`select set_config('shopwire.account_id', $1, false)`, [shop.account.id])
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const now = 'clock_timestamp()'

describe.each(['api', 'dashboard'] as const)(
  'with the database role of the %s in the hands of an intruder',
  (role) => {
    test('no money is minted: neither a balance nor a transfer can be written', async () => {
      const account_id = shop.account.id
      await expect(
        asIntruder(role, `update balances set balance_cents = 500000 where account_id = '${account_id}'`),
      ).rejects.toMatchObject(REFUSED)
      await expect(
        asIntruder(
          role,
          `insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, reference, created_at)
         values ('${account_id}', 1, 'tr_1', 'funding', 'house:cash', 'customer', 500000, 500000, 'minted', ${now})`,
        ),
      ).rejects.toMatchObject(REFUSED)
      await expect(
        asIntruder(role, `update orders set status = 'cancelled' where account_id = '${account_id}'`),
      ).rejects.toMatchObject(REFUSED)
      await expect(
        asIntruder(role, `update top_ups set state = 'credited' where account_id = '${account_id}'`),
      ).rejects.toMatchObject(REFUSED)
      await expect(asIntruder(role, `update items set price_cents = 0`)).rejects.toMatchObject(REFUSED)
    })

    test('a revoked key is not revived', async () => {
      await shop.operator.revokeKey(key.id)
      await expect(
        asIntruder(role, `update api_keys set revoked_at = null where id = '${key.id}'`),
      ).rejects.toMatchObject(REFUSED)
      await expect(
        asIntruder(role, `update api_keys set revoked_at = 'infinity' where id = '${key.id}'`),
      ).rejects.toMatchObject(REFUSED)
    })

    test('the scopes of a key are not widened', async () => {
      await expect(
        asIntruder(role, `update api_keys set scopes = '{orders:write}' where id = '${key.id}'`),
      ).rejects.toMatchObject(REFUSED)
    })

    test('no audit row is written in the name of an operator, and none is changed', async () => {
      await expect(
        asIntruder(
          role,
          `insert into audit_log (id, at, actor, action, target, account_id, details)
         values ('aud_forged', ${now}, 'cli:root', 'account.fund', '${shop.account.id}', '${shop.account.id}', '{}')`,
        ),
      ).rejects.toMatchObject(REFUSED)
      await expect(asIntruder(role, `update audit_log set actor = 'cli:root'`)).rejects.toMatchObject(REFUSED)
      await expect(asIntruder(role, 'delete from audit_log')).rejects.toMatchObject(REFUSED)
    })
  },
)

describe('threat 70: with the database role of the API in the hands of an intruder', () => {
  test('no audit row is written at all', async () => {
    await expect(
      asIntruder(
        'api',
        `insert into audit_log (id, at, actor, action, target, details)
         values ('aud_forged', ${now}, 'person:x', 'key.create', '${key.id}', '{}')`,
      ),
    ).rejects.toMatchObject(REFUSED)
  })

  test('no key is made', async () => {
    await expect(
      asIntruder(
        'api',
        `insert into api_keys (account_id, id, name, scopes, secret_sealed, secret_kek_id, created_at)
         values ('${shop.account.id}', 'key_1_forged', 'forged', '{orders:write}', '', 'k', ${now})`,
      ),
    ).rejects.toMatchObject(REFUSED)
  })

  test.each([
    'select link_sealed from pool_links',
    'select secret_sealed from webhook_secrets',
    'select secret_sealed from suppliers',
    'select key_sealed from own_keys',
    'select body_sealed from events',
    'select body_sealed from outgoing_mail',
    'select answer_sealed from delivery_attempts',
    'select token_hash from sessions',
    'select password_hash from credentials',
    'select email from people',
  ])('%s: refused', async (statement) => {
    await expect(asIntruder('api', statement)).rejects.toMatchObject(REFUSED)
  })

  test('place_order with a negative quantity, alone or beside a positive one, credits nothing', async () => {
    const account_id = shop.account.id
    const before = await readBalance(shop.db, account_id)
    await putItems(shop.db, [itemOf('1144058340327047001')])
    const place = (ids: string, qtys: string) => `
      select verdict from place_order('${account_id}', (select access_version from accounts where id = '${account_id}'), '${key.id}',
        'ord_forged', 'tr_forged', 'evt_forged', ${now}, 'forged', '\\x00', '${ids}', '${qtys}',
        '{null,null}', null, null)`
    await expect(
      asIntruder('api', place('{1144058340327047001,1144058340327047001}', '{1,-1}')),
    ).rejects.toMatchObject({ code: '23514' })
    await expect(
      asIntruder('api', place('{1144058340327047001,1144058340327047001}', '{-1,-1}')),
    ).rejects.toMatchObject({ code: '23514' })
    expect(await readBalance(shop.db, account_id)).toBe(before)
  })

  test('no event but a test is queued, and no job but a delivery', async () => {
    const account_id = shop.account.id
    await expect(
      asIntruder(
        'api',
        `select record_event('${account_id}', 'evt_forged', 'order.delivered', 'ord_x', null, ${now})`,
      ),
    ).rejects.toMatchObject(REFUSED)
    await expect(
      asIntruder(
        'api',
        `insert into jobs (account_id, queue, subject, run_at, created_at)
         values ('${account_id}', 'fulfil', 'ord_x', ${now}, ${now})`,
      ),
    ).rejects.toMatchObject(REFUSED)
  })
})
