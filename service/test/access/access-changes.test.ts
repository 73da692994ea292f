import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type AccessChanges,
  followAccessChanges,
  purgeAccessChanges,
} from '../../src/access/access-changes.ts'
import type { Admission } from '../../src/access/admission.ts'
import { createKnownKeys, type KnownKeys } from '../../src/access/known-keys.ts'
import { setAccountStatus } from '../../src/accounts/account.ts'
import { revokeKey } from '../../src/accounts/api-key.ts'
import { sql } from '../../src/platform/database/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let keys: KnownKeys
let changes: AccessChanges
let announced: [account_id: string, access_version: number][]
let announcingFails: boolean
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  announced = []
  announcingFails = false
  keys = createKnownKeys(shop.database.api, shop.keyring)
  const admission = {
    async announce(account_id: string, access_version: number) {
      if (announcingFails) throw new Error('Redis is away')
      announced.push([account_id, access_version])
    },
  } as Admission
  changes = followAccessChanges(shop.database.api, { keys, admission }, () => {})
  await changes.open()
})
afterEach(() => changes.close())

async function newAccountWithKey() {
  const account = await shop.operator.createAccount('Caller')
  const key = await shop.makeKey(undefined, account.id)
  return { account_id: account.id, key }
}

/**
 * A follower that has just begun also announces changes of earlier tests while a transaction is open that began before them, in
 * whichever database of the server.
 */
const announcedOf = (...accounts: readonly { readonly account_id: string }[]) =>
  announced.filter(([id]) => accounts.some(({ account_id }) => account_id === id))

/** The state after a request: the key is read and confirmed by the admission store. */
async function cacheKey(key_id: string) {
  const known = await keys.read(key_id)
  if (known) known.epoch = 'an epoch'
  expect(keys.cached(key_id)).toBeDefined()
}

test('a revocation and a suspension that were not announced invalidate cached keys and are announced', async () => {
  const [one, other] = [await newAccountWithKey(), await newAccountWithKey()]
  await cacheKey(one.key.id)
  await cacheKey(other.key.id)
  await shop.database.operator.transaction((tx) => revokeKey(tx, one.key.id, Date.now()))
  await shop.database.operator.transaction((tx) => setAccountStatus(tx, other.account_id, 'suspended'))
  await expect
    .poll(() => announcedOf(one, other))
    .toEqual([
      [one.account_id, 2],
      [other.account_id, 2],
    ])
  expect(keys.cached(one.key.id)).toBeUndefined()
  expect(keys.cached(other.key.id)).toBeUndefined()
})

test('a key that is read after the change is cached again', async () => {
  const { account_id, key } = await newAccountWithKey()
  await cacheKey(key.id)
  await shop.database.operator.transaction((tx) => setAccountStatus(tx, account_id, 'suspended'))
  await expect.poll(() => keys.cached(key.id)).toBeUndefined()
  await cacheKey(key.id)
})

test('a change that was made early and committed late is not missed', async () => {
  const [late, early] = [await newAccountWithKey(), await newAccountWithKey()]
  await cacheKey(late.key.id)
  await asSuperuser(async (client) => {
    await client.query('begin')
    await client.query('update accounts set access_version = access_version + 1 where id = $1', [
      late.account_id,
    ])
    await shop.database.operator.transaction((tx) => setAccountStatus(tx, early.account_id, 'suspended'))
    await expect.poll(() => announcedOf(early, late)).toEqual([[early.account_id, 2]])
    expect(keys.cached(late.key.id)).toBeDefined()
    await client.query('commit')
  }, shop.database.superuserUrl)
  await expect
    .poll(() => announcedOf(early, late))
    .toEqual([
      [early.account_id, 2],
      [late.account_id, 2],
    ])
  expect(keys.cached(late.key.id)).toBeUndefined()
})

test('a failed announcement is repeated, and cached keys are invalidated meanwhile', async () => {
  announcingFails = true
  const { account_id, key } = await newAccountWithKey()
  await cacheKey(key.id)
  await shop.database.operator.transaction((tx) => revokeKey(tx, key.id, Date.now()))
  await expect.poll(() => keys.cached(key.id)).toBeUndefined()
  expect(announced).toEqual([])
  announcingFails = false
  await expect.poll(() => announcedOf({ account_id })).toEqual([[account_id, 2]])
})

test('a change that is rolled back leaves nothing, and two changes leave one row with the last version', async () => {
  const { account_id } = await newAccountWithKey()
  const rows = () =>
    shop.database.owner.many(sql`select access_version from access_changes where account_id = ${account_id}`)
  const rolledBack = shop.database.operator.transaction(async (tx) => {
    await setAccountStatus(tx, account_id, 'suspended')
    throw new Error('no')
  })
  await expect(rolledBack).rejects.toThrow('no')
  expect(await rows()).toEqual([])
  for (const status of ['suspended', 'active'] as const) {
    await shop.database.operator.transaction((tx) => setAccountStatus(tx, account_id, status))
  }
  expect(await rows()).toEqual([{ access_version: 3 }])
})

test('a change is deleted when it is an hour old, and not before', async () => {
  const ages = { '59 minutes': await newAccountWithKey(), '61 minutes': await newAccountWithKey() }
  for (const [age, { account_id }] of Object.entries(ages))
    await shop.database.asOwner(
      `insert into access_changes (account_id, access_version, changed_in, changed_at)
       values ('${account_id}', 2, pg_current_xact_id(), now() - interval '${age}')`,
    )
  await purgeAccessChanges(shop.database.api)
  const left = await shop.database.owner.many(
    sql`select account_id from access_changes where account_id = any(${Object.values(ages).map((one) => one.account_id)})`,
  )
  expect(left).toEqual([{ account_id: ages['59 minutes'].account_id }])
})

describe('whoever asks, also with the rights of the owner of the tables', () => {
  const refused = { code: '42501' }
  let account_id: string
  beforeEach(async () => {
    ;({ account_id } = await newAccountWithKey())
    await shop.database.operator.transaction((tx) => setAccountStatus(tx, account_id, 'suspended'))
  })

  test.each(['access_version - 1', '0', 'access_version + 2', '9223372036854775807'])(
    'threat 78: the access version does not become %s',
    async (version) => {
      const set = `update accounts set access_version = ${version} where id = '${account_id}'`
      await expect(shop.database.asOwner(set)).rejects.toMatchObject(refused)
    },
  )

  test.each([
    'update access_changes set access_version = access_version - 1',
    'update access_changes set access_version = access_version',
    `update access_changes set access_version = access_version + 1, changed_in = '3'`,
    `update access_changes set access_version = access_version + 1, changed_in = pg_current_xact_id(), changed_at = 'epoch'`,
    'delete from access_changes',
  ])('a change of this hour is kept: %s', async (statement) => {
    await expect(
      shop.database.asOwner(`${statement} where account_id = '${account_id}'`),
    ).rejects.toMatchObject(refused)
  })

  test('changes are not truncated', async () => {
    await expect(shop.database.asOwner('truncate access_changes')).rejects.toMatchObject(refused)
  })
})
