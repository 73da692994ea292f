import { afterAll, beforeAll, expect, test } from 'vitest'
import { findLiveKey, listKeys, openSecret } from '../../src/accounts/api-key.ts'
import { sql } from '../../src/platform/database/db.ts'
import { call, openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

test('an account can have several keys, and revoking one leaves the others valid', async () => {
  const [old, fresh] = [await shop.makeKey(), await shop.makeKey()]
  expect((await shop.call('GET', '/v1/ping', { key: old })).status).toBe(200)
  expect((await shop.call('GET', '/v1/ping', { key: fresh })).status).toBe(200)
  await shop.operator.revokeKey(old.id)
  expect((await shop.call('GET', '/v1/ping', { key: old })).status).toBe(401)
  expect((await shop.call('GET', '/v1/ping', { key: fresh })).status).toBe(200)
})

test('a revoked key is refused by a process that has just used it', async () => {
  const key = await shop.makeKey()
  const second = await shop.secondApi()
  expect((await shop.call('GET', '/v1/ping', { key })).status).toBe(200)
  expect((await call(second.port, key, 'GET', '/v1/ping')).status).toBe(200)
  await shop.operator.revokeKey(key.id)
  expect((await shop.call('GET', '/v1/ping', { key })).status).toBe(401)
  expect((await call(second.port, key, 'GET', '/v1/ping')).status).toBe(401)
  await second.close()
})

test('a revoked key, an unknown key and a wrong signature get the same answer', async () => {
  const revoked = await shop.makeKey()
  await shop.operator.revokeKey(revoked.id)
  const answers = await Promise.all([
    shop.call('GET', '/v1/ping', { key: revoked }),
    shop.call('GET', '/v1/ping', { key: { ...shop.key, id: 'key_c1_00000000000000000000000000' } }),
    shop.call('GET', '/v1/ping', { key: { ...shop.key, secret: 'sk_wrong' } }),
  ])
  for (const { status, body } of answers) expect([status, body]).toEqual([401, answers[0]?.body])
  expect(answers[0]?.body.error.type).toBe('authentication_failed')
})

test('a secret is stored sealed, and opens only for its own row', async () => {
  const key = await shop.makeKey()
  const [row, other] = [
    await findLiveKey(shop.database.api, key.id),
    await findLiveKey(shop.database.api, shop.key.id),
  ]
  expect(row?.secret_sealed.includes(key.secret)).toBe(false)
  expect(row && (await openSecret(shop.keyring, row))).toBe(key.secret)
  // Threat 64: a ciphertext moved to another row does not open.
  const swapped = row && other && { ...row, secret_sealed: other.secret_sealed }
  await expect(openSecret(shop.keyring, swapped as NonNullable<typeof row>)).rejects.toThrow()
})

test('lists never show a secret', async () => {
  const keys = await listKeys(shop.database.operator, shop.account.id)
  expect(JSON.stringify(keys)).not.toMatch(/secret|sk_/)
})

test('revoking twice keeps the first time', async () => {
  const key = await shop.makeKey()
  const first = await shop.operator.revokeKey(key.id)
  const second = await shop.operator.revokeKey(key.id)
  expect(second.revoked_at).toEqual(first.revoked_at)
})

test('an unknown scope is refused with the list of known ones', async () => {
  await expect(shop.makeKey(['orders:delete' as 'orders:read'])).rejects.toThrow(
    /orders:delete.*account:read/,
  )
})

test('a suspension applies to the next request and ends with resume', async () => {
  const account = await shop.operator.createAccount('Suspect')
  const key = await shop.makeKey(['account:read'], account.id)
  expect((await shop.call('GET', '/v1/ping', { key })).status).toBe(200)
  await shop.operator.suspendAccount(account.id, 'chargeback')
  expect((await shop.call('GET', '/v1/ping', { key })).body.error.type).toBe('account_suspended')
  await shop.operator.resumeAccount(account.id)
  expect((await shop.call('GET', '/v1/ping', { key })).status).toBe(200)
})

test('a key reads only its own account', async () => {
  const rich = await shop.operator.createAccount('Rich')
  await shop.operator.fundAccount(rich.id, { amount_cents: 777, reference: 'r' })
  const key = await shop.makeKey(['account:read'], rich.id)
  expect((await shop.call('GET', '/v1/balance', { key })).body).toEqual({
    balance_cents: 777,
    currency: 'USD',
  })
  expect((await shop.call('GET', '/v1/balance')).body.balance_cents).toBe(25_000)
})

test('every action writes one audit row, and none contains a secret', async () => {
  const before = await shop.database.owner.one<{ n: number }>(sql`select count(*) as n from audit_log`)
  const account = await shop.operator.createAccount('Audited')
  const { key, secret } = await shop.operator.createKey(account.id, 'k', ['account:read'])
  await shop.operator.revokeKey(key.id)
  const rows = await shop.database.owner.many<{ action: string; details: object }>(sql`
    select action, details from audit_log order by id offset ${before.n}`)
  expect(rows.map(({ action }) => action)).toEqual(['account.create', 'key.create', 'key.revoke'])
  expect(JSON.stringify(rows)).not.toContain(secret)
})
