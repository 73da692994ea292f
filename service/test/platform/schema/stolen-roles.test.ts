import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessName } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Admission } from '../../../src/access/admission.ts'
import { insertTopUp, type TopUpState } from '../../../src/funding/queries.ts'
import { newReference } from '../../../src/funding/reference.ts'
import { readBalance } from '../../../src/ledger/transfer.ts'
import { listPeople } from '../../../src/operations/actions/people-actions.ts'
import { createOperator, type Operator } from '../../../src/operations/operator.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { inAccount } from '../../../src/platform/database/account-scope.ts'
import { type Db, sql } from '../../../src/platform/database/db.ts'
import { timeInId } from '../../../src/platform/text/ids.ts'
import { LOGINS, type Login, openComposeInstall } from '../../../testing/compose-install.ts'
import { buy, openAccount } from '../../../testing/dashboard-shop.ts'
import { asSuperuser, openTestPool } from '../../../testing/database.ts'
import { INTRUSIONS, SECRET_COLUMNS, type Targets } from '../../../testing/intrusions.ts'
import { itemOf, putItems } from '../../../testing/items.ts'
import { memberOf, signIn } from '../../../testing/member.ts'
import { readRights } from '../../../testing/rights.ts'
import { openShop, type Shop, type TestKey, testKeyring } from '../../../testing/shop.ts'

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
          `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, reference, created_at)
         values ('${account_id}', 1, 'funding', 500000, 500000, 'minted', ${now})`,
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
    test('threat 78: the access version is not set back, and not so high that nothing can be revoked any more', async () => {
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
        `insert into people (id, name, email, created_at, updated_at) values ('per_1', 'Ada', 'ada@b.cd', ${now}, ${now})
             on conflict do nothing;
         insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at, revoked_at)
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
        ${each(() => `'${key.id}'`)}, ${fresh('ord')}, ${fresh('evt')}, ${each(() => now)}, ${fresh('key')}, ${each(() => `'\\x00'::bytea`)},
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
    for (const [account, queue] of [
      [`'${account_id}'`, 'fulfil'],
      ['null', 'mail'],
    ])
      await expect(
        asIntruder(
          'api',
          `insert into jobs (account_id, queue, subject, run_at, created_at)
           values (${account}, '${queue}', 'x', ${now}, ${now})`,
        ),
      ).rejects.toMatchObject(REFUSED)
  })
})

const auditRow = (actor: string, account_id: string | null = null) =>
  `select write_audit_row('${actor}', 'account.fund', 'x', ${account_id === null ? 'null' : `'${account_id}'`}, null, null, '{}')`

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
    ['dashboard', 'person:person_ada'],
  ] as const)(
    '%s as %s: written at the time of the database, and by the function only',
    async (role, actor) => {
      await signIn(shop.database, memberOf(shop.account.id))
      const before = await databaseTime()
      await asIntruder(role, auditRow(actor))
      const row = await shop.database.owner.one<{ id: string; at: Date }>(
        sql`select id, at from audit_log where actor = ${actor} order by id desc limit 1`,
      )
      expect(row.at.getTime()).toBeGreaterThanOrEqual(before)
      expect(timeInId(row.id)).toBe(row.at.getTime())
      await expect(
        asIntruder(
          role,
          `insert into audit_log (id, at, actor, action, target, details) values ('aud_x', ${now}, '${actor}', 'a', 'x', '{}')`,
        ),
      ).rejects.toMatchObject(REFUSED)
    },
  )

  test('rows of one transaction sort as they were written', async () => {
    const targets = Array.from({ length: 50 }, (_, n) => `row ${n}`)
    const write = (target: string) =>
      `select write_audit_row('cli:root', 'sorted', '${target}', null, null, null, '{}')`
    await asIntruder('operator', 'begin', ...targets.map(write), 'commit')
    const rows = await shop.database.owner.many<{ target: string }>(
      sql`select target from audit_log where action = 'sorted' order by id`,
    )
    expect(rows.map(({ target }) => target)).toEqual(targets)
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

describe('threat 70: with the login of the dashboard an audit row names only somebody who is there', () => {
  const there = { constraint: 'person_is_here', ...REFUSED }
  let people = 0
  let person_id: string
  beforeEach(() => {
    people += 1
    person_id = `person_there_${people}`
  })
  const asDashboard = (...statements: string[]) => asIntruder('dashboard', ...statements)
  const row = (account_id: string | null = shop.account.id) => auditRow(`person:${person_id}`, account_id)
  const asOwner = (statement: string) => shop.database.asOwner(statement)
  const join = () =>
    asOwner(`
      insert into people (id, name, email, created_at, updated_at)
      values ('${person_id}', 'Ada', '${person_id}@example.com', ${now}, ${now});
      insert into memberships (account_id, person_id, role, created_at)
      values ('${shop.account.id}', '${person_id}', 'viewer', ${now})`)
  const token = (expires: string, revoked = 'null') => `
    insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at, revoked_at)
    values ('${shop.account.id}', 'pat_${person_id}', '${person_id}', 'x', sha256('${person_id}'), '{events:listen}', false,
            ${now} - interval '2 days', ${now} + interval '${expires}', ${revoked})`
  const invitation = (email = `${person_id}@example.com`) => `
    insert into invitations (account_id, id, email, role, token_hash, is_mailed_only, created_at, expires_at)
    values ('${shop.account.id}', 'inv_${person_id}', '${email}', 'viewer', '', true, ${now}, ${now} + interval '1 day')`
  const accept = `update invitations set accepted_at = ${now} where id = 'inv_person_there_`
  const link = (kind: string) => `
    insert into one_time_values (token_hash, kind, person_id, expires_at)
    values (sha256('link_${person_id}'), '${kind}', '${person_id}', ${now} + interval '1 hour')`

  test('a person who never was, or who is not signed in: refused', async () => {
    await expect(asDashboard(row())).rejects.toMatchObject(there)
    await expect(asDashboard(row(null))).rejects.toMatchObject(there)
    await join()
    await expect(asDashboard(row())).rejects.toMatchObject(there)
    await expect(asDashboard(row(null))).rejects.toMatchObject(there)
  })

  test('a member with a session: in the account and without one, and in no other account', async () => {
    await signIn(shop.database, memberOf(shop.account.id, { person_id }))
    await asDashboard(row(), row(null))
    const other = (await openAccount(shop, 0)).account_id
    await expect(asDashboard(`set shopwire.account_id = '${other}'`, row(other))).rejects.toMatchObject(there)
  })

  test('a member whose session has expired, or was removed from the account: refused', async () => {
    await signIn(shop.database, memberOf(shop.account.id, { person_id }))
    await asOwner(`update sessions set expires_at = ${now} where person_id = '${person_id}'`)
    await expect(asDashboard(row())).rejects.toMatchObject(there)
    await asOwner(`
      update sessions set expires_at = ${now} + interval '1 hour' where person_id = '${person_id}';
      delete from memberships where person_id = '${person_id}'`)
    await expect(asDashboard(row())).rejects.toMatchObject(there)
  })

  test('a member with a personal token: in its account, while it works', async () => {
    await join()
    await asOwner(token('1 day'))
    await asDashboard(row())
    await expect(asDashboard(row(null))).rejects.toMatchObject(there)
    await asOwner(`update personal_tokens set revoked_at = ${now} where person_id = '${person_id}'`)
    await expect(asDashboard(row())).rejects.toMatchObject(there)
  })

  test('a member whose personal token has expired: refused', async () => {
    await join()
    await asOwner(token('-1 second'))
    await expect(asDashboard(row())).rejects.toMatchObject(there)
  })

  test('an invitation to the person that is accepted in the same transaction: written; accepted before, or to another address: refused', async () => {
    await join()
    await asOwner(invitation())
    await expect(asDashboard(row())).rejects.toMatchObject(there)
    await asDashboard('begin', `${accept}${people}'`, row(), 'commit')
    await expect(asDashboard(row())).rejects.toMatchObject(there)
    people += 1
    person_id = `person_there_${people}`
    await join()
    await asOwner(invitation('another@example.com'))
    await expect(asDashboard('begin', `${accept}${people}'`, row())).rejects.toMatchObject(there)
  })

  test.each([
    ['to choose a new password', 'reset-password'],
    ['to confirm an address', 'verify-email'],
  ])(
    'a mailed link %s that is used in the same transaction: written; unused, or used before: refused',
    async (_, kind) => {
      await join()
      await asOwner(link(kind))
      await expect(asDashboard(row())).rejects.toMatchObject(there)
      const use = `update one_time_values set used_at = ${now} where token_hash = sha256('link_${person_id}')`
      await asDashboard('begin', use, row(), 'commit')
      await expect(asDashboard(row())).rejects.toMatchObject(there)
    },
  )
})

async function databaseTime(): Promise<number> {
  const { at } = await shop.database.owner.one<{ at: Date }>(sql`select clock_timestamp() as at`)
  return at.getTime()
}

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
  const refund = (id: string, to = account_id) => `select seq from refund_order('${to}', '${id}', ${now})`
  const cancel = (id: string) =>
    `update orders set status = 'cancelled', cancelled_at = ${now}, cancel_reason = 'stolen' where id = '${id}'`
  const credit = (id: string, payment: string) =>
    `select verdict from credit_paid_top_up('${account_id}', '${id}', '${payment}', null, ${now})`

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
        attempt: id,
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
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, reference, created_at)
     values ('acct_x', 1, 'funding', 500000, 500000, 'minted', ${now})`,
    `insert into top_ups (account_id, id, provider, amount_cents, reference, provider_session, created_by, created_by_name, created_at)
     values ('acct_x', 'top_x', 'stripe', 500000, 'RF00X', 'cs_x', 'x', 'x', ${now})`,
    `update top_ups set amount_cents = 500000`,
    `update top_ups set credited_cents = null, credited_seq = null, state = 'pending'`,
    `insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                   amount_cents, taken_cents, owed_cents, created_at)
     values ('acct_x', 'rev_x', 'top_x', 'dispute', 'du_x', 'lost', true, 500000, 500000, 500000, 0, ${now})`,
    'update top_up_reversals set returned_at = null',
    `insert into payment_events (provider, event_id, subject, facts, received_at) values ('stripe', 'evt_x', 'x', '{}', ${now})`,
    `insert into supplier_transfers (supplier, kind, reference, amount_cents, booked_at)
     values ('x', 'cost', 'x', 1, ${now})`,
    'update orders set total_cents = 500000',
    `select move_balance('acct_x', 'funding', 500000, null, 'minted', null, ${now})`,
    `select fund_account('acct_x', 500000, 'minted', null, true, ${now})`,
    `select adjust_account('acct_x', 500000, 'minted', 'minted', ${now})`,
    `select book_top_up('acct_x', 'top_x', 500000, 'minted', null, null, ${now})`,
    `select confirm_top_up('acct_x', 'top_x', 500000, 'minted', null, ${now})`,
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
    const won = (reversal: string) =>
      `select returned_cents from return_reversal('${account_id}', '${reversal}', 'won', ${now})`
    await expect(asIntruder('worker', won('rev_none'))).rejects.toMatchObject({ code: 'P0002' })
    await expect(await balance()).toBe(before)
    await asIntruder(
      'worker',
      `select taken_cents from take_back_top_up('${account_id}', '${id}', 'rev_1', 'dispute', 'du_1', 'open', false, 999999, ${now})`,
    )
    expect(await balance()).toBe(before - 500)
    await asIntruder('worker', won('rev_1'), won('rev_1'))
    expect(await balance()).toBe(before)
  })
})

const REFUSALS = join(import.meta.dirname, '../../../testing/refusals.json')

describe('threat 70: with the logins of the compose install, on a server of its own', () => {
  let install: Awaited<ReturnType<typeof openComposeInstall>>
  let targets: Targets
  let operatorDb: Db
  let operator: Operator
  beforeAll(async () => {
    install = await openComposeInstall()
    await asSuperuser((client) => givePassword(client, install.urlOf('readonly')), install.superuserUrl)
    operatorDb = openTestPool(install.urlOf('operator'))
    const keyring = testKeyring()
    const admission = async () => ({ announce: async () => {} }) as unknown as Admission
    operator = createOperator(
      {
        db: operatorDb,
        clock: systemClock,
        keyring,
        cell: 'c1',
        admission,
        dashboardOrigin: 'https://dashboard.example',
      },
      'cli:test',
    )
    const { id: account_id } = await operator.createAccount('Acme')
    await operator.fundAccount(account_id, { amount_cents: 10_000, reference: 'wire-1' })
    const item = itemOf('1144058340327047009')
    await putItems(operatorDb, [item])
    await operator.chooseSource(item.id, { source: 'hand' })
    const buyOne = async (idempotency_key: string) => {
      const outcome = await operator.placeOrder(account_id, {
        items: [{ id: item.id, qty: 1 }],
        idempotency_key,
      })
      return outcome.kind === 'bought' ? outcome.order.id : ''
    }
    const [delivered_order_id, paid_order_id] = [await buyOne('order-1'), await buyOne('order-2')]
    await operator.deliverOrder(delivered_order_id, ['https://gift.example/delivered'])
    const { key } = await operator.createKey(account_id, 'revoked', ['account:read'])
    await operator.revokeKey(key.id)
    targets = { account_id, delivered_order_id, paid_order_id, revoked_key_id: key.id }
  })
  afterAll(async () => {
    await operatorDb?.close()
    await install?.close()
  })

  test('every intrusion is refused, by what docs/database-roles.md says, and no process reads a secret that it does not work with', async () => {
    const intrusions = await byLogin(async (attempt, login) => {
      const refusedBy: [string, string][] = []
      for (const [action, statement] of Object.entries(INTRUSIONS))
        refusedBy.push([action, await attempt(statement(login, targets))])
      return refusedBy
    })
    const secrets = await byLogin(async (attempt) => {
      const read: [string, string][] = []
      for (const column of SECRET_COLUMNS) {
        const [table, name] = column.split('.')
        const outcome = await attempt(`select ${name} from ${table} limit 1`)
        read.push([column, outcome === DONE ? 'reads' : ''])
      }
      return read
    })
    const done = Object.entries(intrusions).flatMap(([action, by]) =>
      Object.entries(by).flatMap(([login, how]) =>
        how === DONE && login !== 'owner' ? [`${login}: ${action}`] : [],
      ),
    )
    expect(done).toEqual([])
    for (const role of ['api', 'worker', 'dashboard', 'operator', 'readonly'] as const)
      for (const column of SECRET_COLUMNS) {
        const [table = '', name = ''] = column.split('.')
        const granted = readRights(role).tables.get(table)?.get('select')
        const isGranted = granted === true || (granted?.includes(name) ?? false)
        expect([role, column, secrets[column]?.[role]]).toEqual([role, column, isGranted ? 'reads' : ''])
      }
    const found = `${JSON.stringify({ intrusions, secrets }, null, 2)}\n`
    if (process.env.SHOPWIRE_WRITE_DOCS === '1') await writeFile(REFUSALS, found)
    expect(found).toBe(await readFile(REFUSALS, 'utf8'))
  })

  test('the owner may not make roles, and grants itself nothing of the server', async () => {
    const [rights] = await asSuperuser(
      async (client) =>
        (
          await client.query(`
            select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
                   array(select r.rolname::text from pg_roles r
                          where pg_has_role('shopwire_owner', r.oid, 'member') order by 1) as roles
              from pg_roles where rolname = 'shopwire_owner'`)
        ).rows,
      install.superuserUrl,
    )
    expect(rights).toEqual({
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      rolbypassrls: false,
      roles: [
        'pg_database_owner',
        'pg_read_all_stats',
        'shopwire_functions',
        'shopwire_maintenance',
        'shopwire_owner',
      ],
    })
  })

  test('the operator’s command invites, lists, resets and removes people without reading what they sign in with', async () => {
    const { account_id } = targets
    await asSuperuser(
      (client) =>
        client.query(`
          insert into people (id, name, email, created_at, updated_at)
          values ('per_2', 'Ada', 'ada@example.com', now(), now()), ('per_3', 'Bob', 'bob@example.com', now(), now());
          insert into memberships (account_id, person_id, role, created_at)
          values ('${account_id}', 'per_2', 'owner', now()), ('${account_id}', 'per_3', 'viewer', now());
          insert into sessions (token_hash, id, person_id, account_id, created_at, last_seen_at, expires_at, address, user_agent)
          values (sha256('x'), 'ses_x', 'per_3', '${account_id}', now(), now(), now() + interval '1 hour', '', '')`),
      install.superuserUrl,
    )
    await operator.invitePerson(account_id, { email: 'eve@example.com', role: 'viewer' })
    await operator.inviteOperator({ email: 'root@example.com', name: 'Root' })
    const { members, invitations } = await listPeople(operatorDb, account_id)
    expect([members.length, invitations.length]).toEqual([2, 1])
    expect(await operator.resetFactors('bob@example.com', 'lost')).toMatchObject({ sessions_ended: 1 })
    expect(await operator.removePerson(account_id, 'bob@example.com', 'left')).toMatchObject({
      role: 'viewer',
    })
  })

  type Attempt = (statement: string) => Promise<string>
  /** By row and login. Whatever is done is rolled back. */
  async function byLogin(work: (attempt: Attempt, login: Login) => Promise<[string, string][]>) {
    const table: Record<string, Record<string, string>> = {}
    for (const login of Object.keys(LOGINS) as Login[]) {
      const client = new pg.Client({ connectionString: install.urlOf(login) })
      await client.connect()
      const attempt: Attempt = async (statement) => {
        await client.query('begin')
        try {
          // Whatever a person could set; row-level security asks for it.
          await client.query(`select set_config('shopwire.account_id', $1, true)`, [targets.account_id])
          const { rowCount } = await client.query(statement)
          return rowCount === 0 && !statement.startsWith('select') ? 'finds no row' : DONE
        } catch (error) {
          return refusedBy(error as pg.DatabaseError)
        } finally {
          await client.query('rollback')
        }
      }
      for (const [row, cell] of await work(attempt, login)) {
        table[row] ??= {}
        table[row][login] = cell
      }
      await client.end()
    }
    return table
  }
})

const DONE = 'done'
function refusedBy({ code, where, message }: pg.DatabaseError): string {
  if (code !== REFUSED.code && code !== UNJUSTIFIED.code) throw new Error(message)
  const [, raised] = /PL\/pgSQL function (\w+)\(/.exec(where ?? '') ?? []
  return raised ?? 'no right'
}

/** The kit gives the login for reports no password; its owner does. */
async function givePassword(client: pg.Client, url: string): Promise<void> {
  await client.query(`alter role shopwire_readonly password '${new URL(url).password}'`)
}
