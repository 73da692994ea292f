import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Keyring, localKeks, openKeyring } from '../../../src/platform/encryption/encryption.ts'

const a = randomBytes(32)
const b = randomBytes(32)
const row = { column: 'api_keys.secret', account_id: 'acct_1', row_id: 'key_1' }
const ring = (keys: Record<string, Buffer>, active: string): Keyring =>
  openKeyring(localKeks(new Map(Object.entries(keys)), active))

test('a sealed value opens again, and its bytes do not contain the plain text', async () => {
  const keyring = ring({ a }, 'a')
  const { bytes, kek_id } = await keyring.seal('https://gift/one', row)
  expect(kek_id).toBe('a')
  expect(bytes.includes('gift')).toBe(false)
  expect(await keyring.open(bytes, row)).toBe('https://gift/one')
})

test('equal values have different ciphertexts', async () => {
  const keyring = ring({ a }, 'a')
  const [one, two] = await Promise.all([keyring.seal('same', row), keyring.seal('same', row)])
  expect(one.bytes.equals(two.bytes)).toBe(false)
})

test.each([
  ['another row', { ...row, row_id: 'key_2' }],
  ['another account', { ...row, account_id: 'acct_2' }],
  ['another column', { ...row, column: 'webhooks.secret' }],
])('a value moved to %s does not open', async (_, elsewhere) => {
  const keyring = ring({ a }, 'a')
  const { bytes } = await keyring.seal('secret', row)
  await expect(keyring.open(bytes, elsewhere)).rejects.toThrow()
})

test('a value with any byte changed does not open', async () => {
  const keyring = ring({ a }, 'a')
  const { bytes } = await keyring.seal('secret', row)
  for (let n = 0; n < bytes.length; n += 1) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(n) ^ 1, n)
    await expect(keyring.open(changed, row)).rejects.toThrow()
  }
})

test('the error for a missing key names the key and says what to do', async () => {
  const { bytes } = await ring({ a }, 'a').seal('secret', row)
  await expect(ring({ b }, 'b').open(bytes, row)).rejects.toThrow(/"a".*SHOPWIRE_ENCRYPTION_KEYS/s)
})
