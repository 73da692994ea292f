import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type Keyring,
  localKeks,
  openKeyring,
  WrongEncryptionKey,
} from '../../../src/platform/encryption/encryption.ts'
import { verifiedKeyring, verifyEncryptionKeys } from '../../../src/platform/encryption/key-checks.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const [right, wrong, another] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const ring = (keys: Record<string, Buffer>): Keyring =>
  openKeyring(localKeks(new Map(Object.entries(keys)), Object.keys(keys)[0] as string))

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => database.asOwner('truncate encryption_key_checks'))

const verify = (keyring: Keyring) => verifyEncryptionKeys(database.worker, keyring)

test('stores a check value for every new key id and accepts the same keys afterwards', async () => {
  await verify(ring({ a: right, b: another }))
  await verify(ring({ b: another }))
  await verify(ring({ a: right }))
})

test('refuses another key under a known id, active or not, without key material in the message', async () => {
  await verify(ring({ a: right, b: another }))
  const refused = await verify(ring({ b: another, a: wrong })).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(WrongEncryptionKey)
  const { message, kek_id } = refused as WrongEncryptionKey
  expect(kek_id).toBe('a')
  expect(message).toMatch(/"a" in SHOPWIRE_ENCRYPTION_KEYS does not match the key .* Put the right key back/s)
  for (const key of [wrong, another]) {
    for (const encoding of ['base64', 'hex'] as const) expect(message).not.toContain(key.toString(encoding))
  }
})

test('when two processes bring different keys under one new id at once, exactly one is accepted', async () => {
  const outcomes = await Promise.allSettled([verify(ring({ c: right })), verify(ring({ c: wrong }))])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('a verified keyring does not seal or open before its keys are verified', async () => {
  const row = { column: 'x.y', account_id: '', row_id: '1' }
  const { bytes } = await ring({ a: wrong }).seal('text', row)
  await verify(ring({ a: right }))
  const bad = ring({ a: wrong })
  const refusing = verifiedKeyring(bad, () => verify(bad))
  for (const use of [() => refusing.seal('text', row), () => refusing.open(bytes, row)]) {
    await expect(use()).rejects.toThrow(WrongEncryptionKey)
  }
  const good = ring({ a: right })
  const accepting = verifiedKeyring(good, () => verify(good))
  expect(await accepting.open((await accepting.seal('text', row)).bytes, row)).toBe('text')
})
