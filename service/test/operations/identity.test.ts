import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { firstActorOf, type IdentitySettings, NoIdentity, whoActs } from '../../src/operations/identity.ts'
import { createOperator } from '../../src/operations/operator.ts'
import { findOperatorToken, listOperatorTokens } from '../../src/operations/operator-tokens.ts'
import { sql } from '../../src/platform/database/db.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const DAY_MS = 86_400_000
const PRODUCTION: IdentitySettings = {
  SHOPWIRE_ENV: 'production',
  SHOPWIRE_OPERATOR_IDENTITY: undefined,
  SHOPWIRE_OPERATOR_TOKEN: undefined,
  SHOPWIRE_OPERATOR: undefined,
  SHOPWIRE_ACTOR: undefined,
}
const alice = { uid: 1000, name: 'alice' }
const nameless = { uid: 54_321, name: undefined }

let shop: Shop
let nowMs: number
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  nowMs = Date.now()
  await shop.database.asOwner('delete from operator_tokens')
})

const actor = async (settings: Partial<IdentitySettings>, login: typeof alice | typeof nameless = alice) =>
  (
    await whoActs(
      { ...PRODUCTION, ...settings },
      {
        login,
        given: undefined,
        emailOfToken: async (token) => (await findOperatorToken(shop.database.operator, token, nowMs))?.email,
      },
    )
  )()
const operatorAs = (name: string) =>
  createOperator(
    {
      db: shop.database.operator,
      keyring: shop.keyring,
      clock: { nowMs: () => nowMs },
      cell: 'c1',
      admission: async () => shop.admission,
    },
    name,
  )
const add = (email: string, { isFirst = false, days = 90, by = 'cli:alice' } = {}) =>
  operatorAs(by).addOperator({ email, days, isFirst })

test('in production the user of the machine changes nothing, with or without a name; in development it is enough', async () => {
  for (const login of [alice, nameless]) {
    await expect(actor({}, login)).rejects.toThrow(NoIdentity)
    await expect(actor({ SHOPWIRE_ACTOR: 'bob' }, login)).rejects.toThrow(
      /SHOPWIRE_OPERATOR_TOKEN_FILE.*operators add/,
    )
  }
  expect(await actor({ SHOPWIRE_ENV: 'development' })).toBe('cli:alice')
  expect(await actor({ SHOPWIRE_ENV: 'development' }, nameless)).toBe('cli:uid-54321')
  expect(await actor({ SHOPWIRE_OPERATOR_IDENTITY: 'machine' })).toBe('cli:alice')
})

test('a person named by SHOPWIRE_OPERATOR counts only where the settings trust the platform', async () => {
  const named = { SHOPWIRE_OPERATOR: 'bob@example.com' }
  await expect(actor(named)).rejects.toThrow(NoIdentity)
  expect(await actor({ ...named, SHOPWIRE_OPERATOR_IDENTITY: 'platform' })).toBe('platform:bob@example.com')
  await expect(actor({ SHOPWIRE_OPERATOR_IDENTITY: 'platform' })).rejects.toThrow(
    /has not set SHOPWIRE_OPERATOR/,
  )
  await expect(
    actor({ SHOPWIRE_OPERATOR: 'a\u001b[2J', SHOPWIRE_OPERATOR_IDENTITY: 'platform' }),
  ).rejects.toThrow(/without control characters/)
})

test('a token names its person, until it expires or is revoked; the audit log has the person, never the token', async () => {
  const { token, id } = await add('Carol@Example.com', { days: 30 })
  const settings = { SHOPWIRE_OPERATOR_TOKEN: token }
  expect(await actor(settings)).toBe('operator:carol@example.com')
  const created = await operatorAs(await actor(settings)).createAccount('By Carol')
  const rows = await shop.database.owner.many<{ actor: string; action: string }>(
    sql`select actor, action from audit_log where target = any (${[id, created.id]}) order by id`,
  )
  expect(rows).toEqual([
    { actor: 'cli:alice', action: 'operators.add' },
    { actor: 'operator:carol@example.com', action: 'account.create' },
  ])
  const everything = JSON.stringify(
    await shop.database.owner.many(sql`select actor, action, target, details from audit_log`),
  )
  expect(everything).not.toContain(token)
  expect(JSON.stringify(await listOperatorTokens(shop.database.operator))).not.toContain(token)

  nowMs += 30 * DAY_MS - 1
  expect(await actor(settings)).toBe('operator:carol@example.com')
  nowMs += 1
  await expect(actor(settings)).rejects.toThrow(/has expired or was revoked/)

  const renewed = await add('carol@example.com')
  expect(await actor({ SHOPWIRE_OPERATOR_TOKEN: renewed.token })).toBe('operator:carol@example.com')
  expect(await operatorAs('cli:alice').revokeOperator('CAROL@example.com', 'left')).toMatchObject({
    revoked: [renewed.id],
  })
  await expect(actor({ SHOPWIRE_OPERATOR_TOKEN: renewed.token })).rejects.toThrow(/not valid/)
  await expect(operatorAs('cli:alice').revokeOperator('carol@example.com', 'again')).rejects.toThrow(
    /no token that could be used/,
  )
})

test.each(['', 'swo_', `swo_${'a'.repeat(43)}`, `swp_${'a'.repeat(43)}`, "' or true --"])(
  'the token %j is nobody’s, also where the machine’s user would be enough',
  async (token) => {
    await add('carol@example.com')
    await expect(actor({ SHOPWIRE_OPERATOR_TOKEN: token, SHOPWIRE_ENV: 'development' })).rejects.toThrow(
      /not valid/,
    )
  },
)

test('two people add the first operator at the same time: one becomes it, the other is refused, also after its token has ended', async () => {
  const first = (email: string) => add(email, { isFirst: true, by: firstActorOf(undefined, nameless) })
  const settled = await Promise.allSettled(['a@example.com', 'b@example.com'].map(first))
  expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const [row] = await listOperatorTokens(shop.database.operator)
  expect(row?.added_by).toBe('cli:uid-54321 (first operator)')
  await expect(first('c@example.com')).rejects.toThrow(/has, or had, operators/)
  nowMs += 90 * DAY_MS
  await expect(first('c@example.com')).rejects.toThrow(/has, or had, operators/)
  // What the documentation says for this case, as the owner of the database.
  await shop.database.owner.run(sql`delete from operator_tokens`)
  expect(await first('c@example.com')).toMatchObject({ is_first: true })
})

test('a database that does not answer refuses when the actor is asked for, not before', async () => {
  const ask = await whoActs(
    { ...PRODUCTION, SHOPWIRE_OPERATOR_TOKEN: `swo_${'a'.repeat(43)}` },
    {
      login: alice,
      given: undefined,
      emailOfToken: async () => {
        throw new Error('down')
      },
    },
  )
  expect(ask).toThrow('down')
})
