import { expect, test } from 'vitest'
import {
  KEY_ID_FORM,
  NONCE_FORM,
  requestHeaders,
  requestHeadersLower,
  SIGNATURE_FORM,
  TIMESTAMP_FORM,
  timestampInRange,
  webhookHeaders,
  webhookHeadersLower,
} from '../src/index.ts'

const random = '01k9zq3v7m8n4p2r6s0t5w1x9y'

test('the lower-case header names are the published ones in lower case', () => {
  const lower = (names: Record<string, string>) =>
    Object.fromEntries(Object.entries(names).map(([part, name]) => [part, name.toLowerCase()]))
  expect(requestHeadersLower).toEqual(lower(requestHeaders))
  expect(webhookHeadersLower).toEqual(lower(webhookHeaders))
})

test.each([
  ['key id', KEY_ID_FORM, `key_c1_${random}`],
  ['key id with the longest cell', KEY_ID_FORM, `key_${'a'.repeat(16)}_${random}`],
  ['timestamp', TIMESTAMP_FORM, '1794700000'],
  ['nonce of 32', NONCE_FORM, '0f'.repeat(16)],
  ['nonce of 64', NONCE_FORM, '0f'.repeat(32)],
  ['nonce of 33', NONCE_FORM, `${'0f'.repeat(16)}0`],
  ['signature', SIGNATURE_FORM, '0f'.repeat(32)],
])('accepts a %s', (_name, form, value) => {
  expect(form.test(value)).toBe(true)
})

test.each([
  ['key id without a cell', KEY_ID_FORM, `key__${random}`],
  ['key id with a cell of 17', KEY_ID_FORM, `key_${'a'.repeat(17)}_${random}`],
  ['key id in upper case', KEY_ID_FORM, `key_c1_${random.toUpperCase()}`],
  ['key id with a letter base32 leaves out', KEY_ID_FORM, `key_c1_${random.replace('k', 'l')}`],
  ['key id of 25', KEY_ID_FORM, `key_c1_${random.slice(1)}`],
  ['timestamp with a leading zero', TIMESTAMP_FORM, '0794700000'],
  ['timestamp in milliseconds', TIMESTAMP_FORM, '1794700000000'],
  ['timestamp with a sign', TIMESTAMP_FORM, '+794700000'],
  ['timestamp with a fraction', TIMESTAMP_FORM, '17947000.0'],
  ['timestamp with a newline after it', TIMESTAMP_FORM, '1794700000\n'],
  ['timestamp in digits of another script', TIMESTAMP_FORM, '١٧٩٤٧٠٠٠٠٠'],
  ['nonce of 31', NONCE_FORM, '0f'.repeat(16).slice(1)],
  ['nonce of 65', NONCE_FORM, `${'0f'.repeat(32)}0`],
  ['nonce in upper case', NONCE_FORM, '0F'.repeat(16)],
  ['signature in upper case', SIGNATURE_FORM, '0F'.repeat(32)],
  ['signature of 63', SIGNATURE_FORM, '0f'.repeat(32).slice(1)],
])('refuses a %s', (_name, form, value) => {
  expect(form.test(value)).toBe(false)
})

test('a timestamp 60 seconds in the past or future is in range, 61 seconds is not', () => {
  const nowMs = 1_794_700_000_000
  for (const seconds of [-60, -1, 0, 1, 60])
    expect(timestampInRange(1_794_700_000 + seconds, nowMs)).toBe(true)
  for (const seconds of [-61, 61]) expect(timestampInRange(1_794_700_000 + seconds, nowMs)).toBe(false)
})

test('the clock is truncated to whole seconds before the comparison', () => {
  const nowMs = 1_794_700_000_999
  expect(timestampInRange(1_794_699_940, nowMs)).toBe(true)
  expect(timestampInRange(1_794_699_939, nowMs)).toBe(false)
  expect(timestampInRange(1_794_700_060, nowMs)).toBe(true)
  expect(timestampInRange(1_794_700_061, nowMs)).toBe(false)
})

test('a timestamp that is not a number is never in range', () => {
  expect(timestampInRange(Number.NaN, 1_794_700_000_000)).toBe(false)
})
