import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { guardedClients } from '../../src/platform/outbound/guarded-client.ts'
import {
  AddressBlocked,
  bare,
  checkedAddresses,
  isPublicAddress,
} from '../../src/platform/outbound/public-address.ts'
import { checkWebhookUrl } from '../../src/webhooks/url-rules.ts'

/** Threat 51: 10,000 spellings of internal addresses. None is accepted, and none would be dialled if it were. */
const FORMS = 10_000
const OWNER = 'acct_1'

const byte = fc.integer({ min: 0, max: 255 })
const inside = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), byte, byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(198), fc.constantFrom(18, 19), byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
)
type Quad = readonly [number, number, number, number]

const CIRCLED = '⓪①②③④⑤⑥⑦⑧⑨'
const circled = (text: string) => text.replace(/\d/g, (digit) => CIRCLED[Number(digit)] ?? '')
const fullWidth = (text: string) =>
  text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))
const escaped = (text: string) => text.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`)
const number = ([a, b, c, d]: Quad) => a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d
const hex = (n: number) => n.toString(16)
const pair = (a: number, b: number) => hex(a * 256 + b)
const dotted = (quad: Quad) => quad.join('.')

const spellings: readonly ((quad: Quad) => string)[] = [
  dotted,
  (quad) => String(number(quad)),
  (quad) => `0x${hex(number(quad))}`,
  (quad) => `0${number(quad).toString(8)}`,
  (quad) => quad.map((part) => `0x${hex(part)}`).join('.'),
  (quad) => quad.map((part) => `0${part.toString(8)}`).join('.'),
  (quad) => quad.map((part, n) => (n % 2 ? `0x${hex(part)}` : `00${part.toString(8)}`)).join('.'),
  ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  ([a, b, c, d]) => `${a}.${b * 65536 + c * 256 + d}`,
  (quad) => circled(dotted(quad)),
  (quad) => fullWidth(dotted(quad)),
  (quad) => dotted(quad).replaceAll('.', '。'),
  (quad) => escaped(dotted(quad)),
  (quad) => `${dotted(quad)}.`,
  ([a, b, c, d]) => `[::ffff:${pair(a, b)}:${pair(c, d)}]`,
  (quad) => `[::ffff:${dotted(quad)}]`,
  (quad) => `[::${dotted(quad)}]`,
  (quad) => `[::ffff:0:${dotted(quad)}]`,
  (quad) => `[64:ff9b::${dotted(quad)}]`,
  (quad) => `[64:ff9b:1::${dotted(quad)}]`,
  ([a, b, c, d]) => `[2002:${pair(a, b)}:${pair(c, d)}::1]`,
  ([a, b, c, d]) => `[2001:0:1:2:3:4:${pair(255 - a, 255 - b)}:${pair(255 - c, 255 - d)}]`,
  ([a, b]) => `[fe80::${pair(a, b)}]`,
  ([a, b]) => `[fd00:${pair(a, b)}::1]`,
  ([a, b]) => `[fec0::${pair(a, b)}]`,
  ([a, b]) => `[ff02::${pair(a, b)}]`,
]
const wrappers: readonly ((host: string) => string)[] = [
  (host) => `https://${host}/`,
  (host) => `https://${host}:8443/hook`,
  (host) => `https://example.com@${host}/`,
  (host) => `https://${host}#@example.com/`,
  (host) => `https://${host}?@example.com/`,
  (host) => `https://\t${host}\n/`,
  (host) => `https:${host}`,
  (host) => `https:\\\\${host}\\`,
]
const form = fc
  .tuple(inside, fc.constantFrom(...spellings), fc.constantFrom(...wrappers))
  .map(([quad, spell, wrap]) => wrap(spell(quad as Quad)))

test(`${FORMS} spellings of internal addresses are refused at registration, and not dialled either`, async () => {
  await fc.assert(
    fc.asyncProperty(form, async (url) => {
      await expect(checkWebhookUrl(url, OWNER)).rejects.toMatchObject({ type: 'webhook_url_not_allowed' })
      if (!URL.canParse(url)) return
      await expect(checkedAddresses(bare(new URL(url).hostname), { owner: OWNER })).rejects.toThrow(
        AddressBlocked,
      )
    }),
    { numRuns: FORMS },
  )
})

test('the client blocks an internal address and reports only `blocked`', async () => {
  for (const url of ['https://127.0.0.1:1/', 'https://[::1]:1/', 'https://[::ffff:7f00:1]:1/']) {
    const client = guardedClients()(url, {
      totalMsMax: 1_000,
      connectionsMax: 1,
      owner: OWNER,
      isStillWanted: async () => true,
    })
    expect(await client.post({}, Buffer.from('{}'))).toEqual({
      error: 'blocked',
      status: null,
      remote_address: null,
    })
    await client.close()
  }
})

describe('public addresses', () => {
  test.each(['93.184.216.34', '8.8.8.8', '1.1.1.1', '2606:2800:220:1::1', '2a00:1450:4001::5e'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  test.each([
    '',
    'example.com',
    '127.0.0.1.',
    '1.2.3',
    '::ffff:8.8.8.8',
    '4000::1',
    '100::1',
    '3fff::1',
    '2001:db8::1',
    '168.63.129.16',
  ])('%j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})
