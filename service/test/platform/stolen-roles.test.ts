import { randomBytes } from 'node:crypto'
import type { ProcessName } from '@shopwire/engines'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { insertTopUp, type TopUpState } from '../../src/funding/queries.ts'
import { newReference } from '../../src/funding/reference.ts'
import { readBalance } from '../../src/ledger/transfer.ts'
import { inAccount } from '../../src/platform/account-scope.ts'
import { sql } from '../../src/platform/db.ts'
import { buy, openAccount } from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const REFUSED = { code: '42501' }
/** check_violation: the function or trigger found nothing that justifies it. */
const UNJUSTIFIED = { code: '23514' }

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
/** Resolves with the rows of the last statement. */
async function asIntruder(role: ProcessName, ...statements: string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: shop.database.processUrls[role] })
  await client.connect()
  try {
    // Whatever a person could set; row-level security asks for it.
    await client.query(`select set_config('shopwire.account_id', $1, false)`, [shop.account.id])
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
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

describe.each(['api', 'dashboard', 'worker', 'operator'] as const)(
  'threat 70: what was revoked stays revoked with the login of the %s',
  (role) => {
    test('the access version is not set back, and not so high that nothing can be revoked any more', async () => {
      for (const version of ['access_version - 1', '9223372036854775807'])
        await expect(
          asIntruder(role, `update accounts set access_version = ${version} where id = '${shop.account.id}'`),
        ).rejects.toMatchObject(REFUSED)
    })

    test('what API processes read about it is neither changed nor removed', async () => {
      await shop.operator.revokeKey(key.id)
      for (const statement of [
        'update access_changes set access_version = 0',
        `update access_changes set changed_in = '0'`,
        'delete from access_changes',
        'truncate access_changes',
      ])
        await expect(asIntruder(role, statement)).rejects.toMatchObject(REFUSED)
    })

    test('a revoked key, personal token or operator token does not work again', async () => {
      await shop.operator.revokeKey(key.id)
      await shop.database.asOwner(
        `insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at, revoked_at)
         values ('${shop.account.id}', 'pat_revoked', 'per_1', 'x', sha256('pat'), '{events:listen}', false, ${now}, ${now} + interval '1 day', ${now})
             on conflict do nothing;
         insert into operator_tokens (id, email, token_hash, added_by, created_at, expires_at, revoked_at)
         values ('opt_revoked', 'a@b.cd', sha256('opt'), 'x', ${now}, ${now} + interval '1 day', ${now})
             on conflict do nothing`,
      )
      for (const [table, id] of [
        ['api_keys', key.id],
        ['personal_tokens', 'pat_revoked'],
        ['operator_tokens', 'opt_revoked'],
      ])
        await expect(
          asIntruder(role, `update ${table} set revoked_at = null where id = '${id}'`),
        ).rejects.toMatchObject(REFUSED)
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

  describe('place_orders sells only for what the lines of a cart cost', () => {
    const CHEAP = '1144058340327047001'
    const DEAR = '1144058340327047002'
    let stranger: string
    beforeAll(async () => {
      await putItems(shop.database.operator, [
        itemOf(CHEAP, { price_cents: 1 }),
        itemOf(DEAR, { price_cents: 4_000 }),
      ])
      stranger = (await shop.operator.createAccount('Another buyer')).id
    })

    interface Forged {
      readonly accounts?: readonly string[]
      readonly counts: string
      readonly ids: string
      readonly qtys: string
      readonly expected?: string
    }
    let calls = 0
    const place = ({ accounts = [shop.account.id], counts, ids, qtys, expected }: Forged) => {
      calls += 1
      const each = (value: (account: string, n: number) => string) =>
        `array[${accounts.map(value).join(', ')}]`
      const fresh = (prefix: string) => each((_, n) => `'${prefix}_forged${calls}_${n}'`)
      return `
      select verdicts from place_orders(${accounts.length === 1}, ${each((account) => `'${account}'`)},
        ${each((account) => `coalesce((select access_version from accounts where id = '${account}'), 1)`)},
        ${each(() => `'${key.id}'`)}, ${fresh('ord')}, ${fresh('tr')}, ${fresh('evt')}, ${each(() => now)}, ${fresh('key')}, ${each(() => `'\\x00'::bytea`)},
        ${each(() => 'null::text')}, ${each(() => 'null::text')}, '${counts}', '${ids}', '${qtys}',
        '${expected ?? ids.replaceAll(/[^{},]+/g, 'null')}')`
    }

    test.each([
      [
        'a line that belongs to no cart',
        { counts: '{1}', ids: `{${CHEAP},${DEAR}}`, qtys: '{1,1}' },
        '22023',
      ],
      ['a cart without lines', { counts: '{0}', ids: '{}', qtys: '{}' }, '22023'],
      ['a negative number of lines', { counts: '{2,-1}', ids: `{${CHEAP}}`, qtys: '{1}' }, '22023'],
      ['an unknown number of lines', { counts: '{null}', ids: `{${DEAR}}`, qtys: '{1}' }, '22023'],
      [
        'counts of more carts than accounts',
        { counts: '{1,1}', ids: `{${CHEAP},${DEAR}}`, qtys: '{1,1}' },
        '22023',
      ],
      ['a line without quantity', { counts: '{2}', ids: `{${CHEAP},${DEAR}}`, qtys: '{1,null}' }, '23502'],
      ['fewer quantities than lines', { counts: '{2}', ids: `{${CHEAP},${DEAR}}`, qtys: '{1}' }, '22023'],
      [
        'fewer expected prices than lines',
        { counts: '{1}', ids: `{${DEAR}}`, qtys: '{1}', expected: '{}' },
        '22023',
      ],
      [
        'a negative quantity beside a positive one',
        { counts: '{2}', ids: `{${DEAR},${DEAR}}`, qtys: '{1,-1}' },
        '23514',
      ],
      ['negative quantities', { counts: '{1}', ids: `{${DEAR}}`, qtys: '{-1}' }, '23514'],
    ])('%s: refused, nothing is charged', async (_what, forged, code) => {
      const before = await readBalance(shop.database.owner, shop.account.id)
      await expect(asIntruder('api', place(forged))).rejects.toMatchObject({ code })
      expect(await readBalance(shop.database.owner, shop.account.id)).toBe(before)
    })

    test('a dear cart beside the cheap one of an unknown or a poor account pays its own price', async () => {
      await shop.operator.fundAccount(shop.account.id, {
        amount_cents: 10_000,
        reference: 'for two dear carts',
      })
      for (const [other, verdict] of [
        ['acc_unknown', 'changed'],
        [stranger, 'insufficient_funds'],
      ] as const) {
        const before = await readBalance(shop.database.owner, shop.account.id)
        const accounts = [other, shop.account.id]
        const rows = await asIntruder(
          'api',
          place({ accounts, counts: '{1,1}', ids: `{${CHEAP},${DEAR}}`, qtys: '{1,1}' }),
        )
        expect(rows).toEqual([{ verdicts: [verdict, 'bought'] }])
        expect(await readBalance(shop.database.owner, shop.account.id)).toBe(before - 4_000)
      }
    })
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

const auditRow = (actor: string, account_id: string | null = null) =>
  `select write_audit_row('aud_${randomBytes(6).toString('hex')}', ${now}, '${actor}', 'account.fund', 'x',
                          ${account_id === null ? 'null' : `'${account_id}'`}, null, null, '{}')`

describe('threat 70: an audit row names the kind of actor that its login stands for', () => {
  test.each([
    ['api', 'worker:funding'],
    ['worker', 'cli:root'],
    ['worker', 'person:per_1'],
    ['operator', 'person:per_1'],
    ['operator', 'worker:funding'],
    ['readonly', 'cli:root'],
    ['dashboard', 'cli:root'],
    ['dashboard', 'worker:funding'],
  ] as const)('%s as %s: refused', async (role, actor) => {
    await expect(asIntruder(role, auditRow(actor))).rejects.toMatchObject(REFUSED)
  })

  test.each([
    ['worker', 'worker:funding'],
    ['operator', 'cli:root'],
    ['dashboard', 'person:per_1'],
  ] as const)('%s as %s: written, and by the function only', async (role, actor) => {
    await asIntruder(role, auditRow(actor))
    await expect(
      asIntruder(
        role,
        `insert into audit_log (id, at, actor, action, target, details) values ('aud_x', ${now}, '${actor}', 'a', 'x', '{}')`,
      ),
    ).rejects.toMatchObject(REFUSED)
  })

  test('the dashboard, for an account that is not the one of the person: refused', async () => {
    await asIntruder('dashboard', auditRow('person:per_1', shop.account.id))
    const other = (await openAccount(shop, 0)).account_id
    await expect(asIntruder('dashboard', auditRow('person:per_1', other))).rejects.toMatchObject(REFUSED)
  })

  test('the worker does not become another role', async () => {
    for (const statement of [
      'set role shopwire_functions',
      'set role shopwire_operator_rights',
      'set session authorization shopwire_owner',
    ])
      await expect(asIntruder('worker', statement)).rejects.toMatchObject(REFUSED)
  })
})

describe('threat 70: with the database role of the worker in the hands of an intruder', () => {
  const item = '1144058340327047002'
  let account_id: string
  let buyer: TestKey
  beforeAll(async () => {
    await putItems(shop.database.operator, [itemOf(item, { price_cents: 700 })])
    await shop.operator.chooseSource(item, { source: 'hand' })
  })
  beforeEach(async () => {
    ;({ account_id, key: buyer } = await openAccount(shop, 10_000))
  })

  const order = async () => (await buy(shop, buyer, [{ id: item }])).body.id as string
  const balance = () => readBalance(shop.database.owner, account_id)
  const refund = (id: string, to = account_id) =>
    `select seq from refund_order('${to}', '${id}', 'tr_${id}', ${now})`
  const cancel = (id: string) =>
    `update orders set status = 'cancelled', cancelled_at = ${now}, cancel_reason = 'stolen' where id = '${id}'`
  const credit = (id: string, payment: string) =>
    `select verdict from credit_paid_top_up('${account_id}', '${id}', 'tr_${payment}', '${payment}', null, ${now})`

  let topUps = 0
  async function topUp(provider: 'bank' | 'stripe', state: TopUpState = 'pending') {
    topUps += 1
    const id = `top_stolen_${topUps}`
    await inAccount(shop.database.dashboard, account_id, (tx) =>
      insertTopUp(tx, {
        account_id,
        id,
        provider,
        amount_cents: 500,
        reference: newReference(),
        provider_session: provider === 'stripe' ? `cs_${id}` : null,
        created_by: 'per_1',
        created_by_name: 'Ada',
        created_at: new Date(),
      }),
    )
    await shop.database.owner.run(sql`update top_ups set state = ${state} where id = ${id}`)
    return id
  }

  test.each([
    'update balances set balance_cents = balance_cents + 1',
    'update balances set order_count = 0',
    `insert into balances (account_id, balance_cents) values ('acct_x', 1)`,
    `insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, reference, created_at)
     values ('acct_x', 1, 'tr_1', 'funding', 'house:cash', 'customer', 500000, 500000, 'minted', ${now})`,
    `insert into top_ups (account_id, id, provider, amount_cents, reference, provider_session, created_by, created_by_name, created_at)
     values ('acct_x', 'top_x', 'stripe', 500000, 'RF00X', 'cs_x', 'x', 'x', ${now})`,
    `update top_ups set amount_cents = 500000`,
    `update top_ups set credited_cents = null, credited_transfer_id = null, state = 'pending'`,
    `insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, amount_cents, taken_cents, owed_cents, created_at)
     values ('acct_x', 'rev_x', 'top_x', 'dispute', 'du_x', 500000, 500000, 0, ${now})`,
    'update top_up_reversals set returned_at = null',
    `insert into payment_events (provider, event_id, subject, facts, received_at) values ('stripe', 'evt_x', 'x', '{}', ${now})`,
    `insert into supplier_transfers (supplier, kind, reference, debit, credit, amount_cents, booked_at)
     values ('x', 'cost', 'x', 'house:goods', 'supplier', 1, ${now})`,
    'update orders set total_cents = 500000',
    `select move_balance('acct_x', 'tr_1', 'funding', 'house:cash', 'customer', 500000, null, 'minted', null, ${now})`,
    `select fund_account('acct_x', 'tr_1', 500000, 'minted', null, true, ${now})`,
    `select adjust_account('acct_x', 'tr_1', 500000, 'minted', 'minted', ${now})`,
    `select book_top_up('acct_x', 'top_x', 'tr_1', 500000, 'minted', null, null, ${now})`,
    `select confirm_top_up('acct_x', 'top_x', 'tr_1', 500000, 'minted', null, ${now})`,
  ])('%s: refused', async (statement) => {
    await expect(asIntruder('worker', statement)).rejects.toMatchObject(REFUSED)
  })

  test('an order is refunded once, with what it cost, and only to the account that paid', async () => {
    const [id, other] = [await order(), (await openAccount(shop, 0)).account_id]
    const before = await balance()
    await expect(asIntruder('worker', refund(id))).rejects.toMatchObject(UNJUSTIFIED)
    await asIntruder('worker', 'begin', cancel(id), refund(id), 'commit')
    expect(await balance()).toBe(before + 700)
    await expect(asIntruder('worker', refund(id))).rejects.toMatchObject({ code: '23505' })
    await expect(asIntruder('worker', refund(id, other))).rejects.toMatchObject(UNJUSTIFIED)
    expect([await balance(), await readBalance(shop.database.owner, other)]).toEqual([before + 700, 0])
  })

  test('a delivered order is not refunded, and does not become another one first', async () => {
    const id = await order()
    await shop.operator.deliverOrder(id, [`https://gift.example/stolen-${id}`])
    const before = await balance()
    await expect(asIntruder('worker', refund(id))).rejects.toMatchObject(UNJUSTIFIED)
    const again = `update orders set status = 'paid', delivered_at = null, cancelled_at = null, cancel_reason = null where id = '${id}'`
    await expect(asIntruder('worker', again)).rejects.toMatchObject(UNJUSTIFIED)
    await expect(
      asIntruder('worker', cancel(id).replace('set ', 'set delivered_at = null, ')),
    ).rejects.toMatchObject(UNJUSTIFIED)
    expect(await balance()).toBe(before)
  })

  test('a cancelled order does not become paid again, to be delivered after its refund', async () => {
    const id = await order()
    await shop.operator.cancelOrder(id, 'not needed')
    const again = `update orders set status = 'paid', cancelled_at = null, cancel_reason = null where id = '${id}'`
    await expect(asIntruder('worker', again)).rejects.toMatchObject(UNJUSTIFIED)
  })

  test('a top-up is credited once, with what was asked for, and a payment credits one top-up', async () => {
    const [id, second] = [await topUp('stripe'), await topUp('stripe')]
    const before = await balance()
    await asIntruder('worker', credit(id, 'pi_1'))
    expect(await balance()).toBe(before + 500)
    await expect(asIntruder('worker', credit(id, 'pi_2'))).rejects.toMatchObject(UNJUSTIFIED)
    await expect(asIntruder('worker', credit(second, 'pi_1'))).rejects.toMatchObject({ code: '23505' })
    await expect(asIntruder('worker', credit('top_none', 'pi_3'))).rejects.toMatchObject(UNJUSTIFIED)
    expect(await balance()).toBe(before + 500)
  })

  test.each([
    ['bank', 'pending'],
    ['stripe', 'review'],
    ['stripe', 'rejected'],
  ] as const)('a top-up (%s, %s) is for an operator to decide', async (provider, state) => {
    const id = await topUp(provider, 'pending')
    await shop.database.owner.run(sql`update top_ups set state = ${state} where id = ${id}`)
    const before = await balance()
    await expect(asIntruder('worker', credit(id, `pi_${id}`))).rejects.toMatchObject(UNJUSTIFIED)
    if (state !== 'pending')
      await expect(
        asIntruder('worker', `update top_ups set state = 'pending' where id = '${id}'`),
      ).rejects.toMatchObject(UNJUSTIFIED)
    expect(await balance()).toBe(before)
  })

  test('a dispute that is won returns what it took, once, and one that took nothing returns nothing', async () => {
    const id = await topUp('stripe')
    await asIntruder('worker', credit(id, 'pi_won'))
    const before = await balance()
    const won = (dispute: string) =>
      `select returned_cents from return_dispute('${account_id}', '${id}', '${dispute}', 'tr_${dispute}', ${now})`
    await asIntruder('worker', won('du_none'))
    expect(await balance()).toBe(before)
    await asIntruder(
      'worker',
      `select taken_cents from take_back_top_up('${account_id}', '${id}', 'rev_1', 'tr_rev_1', 'dispute', 'du_1', 999999, ${now})`,
    )
    expect(await balance()).toBe(before - 500)
    await asIntruder('worker', won('du_1'), won('du_1'))
    expect(await balance()).toBe(before)
  })
})
