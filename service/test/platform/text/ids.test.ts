import { KEY_ID_FORM } from '@shopwire/contract'
import { expect, test } from 'vitest'
import { hexOfId, newId, newOpaqueId, newSecret } from '../../../src/platform/text/ids.ts'

test('later ids sort after earlier ones', () => {
  const moments = [0, 1, 65_535, 65_536, 1_794_708_483_144, 1_794_708_483_145, 2 ** 48 - 1]
  const ids = moments.map((ms) => newId('ord', ms))
  expect([...ids].sort()).toEqual(ids)
})

test('ids of one millisecond sort in the order they were made', () => {
  const ids = Array.from({ length: 2_000 }, () => newId('aud', 1_794_708_483_200))
  expect([...ids].sort()).toEqual(ids)
})

test('an id is its prefix and 26 unambiguous characters', () => {
  for (let n = 0; n < 1_000; n += 1)
    expect(newId('acct', Date.now())).toMatch(/^acct_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
})

test('ten thousand ids of one millisecond are all different', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => newId('evt', 1_794_708_483_144))).size).toBe(10_000)
})

test('a key id has the form of the contract, names its cell and does not repeat', () => {
  const ids = Array.from({ length: 1_000 }, () => newOpaqueId('key_c1'))
  for (const id of ids) expect(id).toMatch(KEY_ID_FORM)
  expect(new Set(ids.map((id) => id.slice(0, 12))).size).toBeGreaterThan(990)
})

test('a secret has 256 random bits', () => {
  expect(newSecret('sk')).toMatch(/^sk_[A-Za-z0-9_-]{43}$/)
})

test('the hexadecimal form of an id is its UUIDv7: time first, then version and variant', () => {
  for (let n = 0; n < 1_000; n += 1) {
    const ms = Math.floor(Math.random() * 2 ** 48)
    const hex = hexOfId(newId('req', ms))
    expect(hex).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    expect(Number.parseInt(hex?.slice(0, 12) ?? '', 16)).toBe(ms)
  }
  expect(hexOfId('req_01j9zzzzzzzzzzzzzzzzzzzzzz')).toBe('01927fffffffffffffffffffffffffff')
})

test.each([
  '',
  'req',
  'req_',
  'req_01j9zzzzzzzzzzzzzzzzzzzzz',
  'req_01j9zzzzzzzzzzzzzzzzzzzzzu',
  '01j9zzzzzzzzzzzzzzzzzzzzzz',
])('a text that is no id has no hexadecimal form: %j', (text) => expect(hexOfId(text)).toBeUndefined())
