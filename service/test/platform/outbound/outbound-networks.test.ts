import { expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../../../src/config/config.ts'
import { outboundNetworks } from '../../../src/platform/outbound/outbound-networks.ts'
import { isPublicAddress } from '../../../src/platform/outbound/public-address.ts'
import { networksOf } from '../../../src/programs/wiring.ts'

const settings = (lists: Record<string, string>) =>
  loadConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_DATABASE_URL: 'postgres://somebody@127.0.0.1/shopwire',
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
    ...lists,
  })

test('without lists every address is allowed', () => {
  const networks = networksOf(settings({}))
  expect(networks.isLimited).toBe(false)
  expect(networks.allow('10.0.0.1')).toBe(true)
})

test.each([
  '203.0.113.9',
  '::ffff:203.0.113.9',
  '::ffff:cb00:7109',
  '0:0:0:0:0:ffff:cb00:7109',
  '64:ff9b::203.0.113.9',
  '64:ff9b::cb00:7109',
  '64:ff9b:1::cb00:7109',
  '::203.0.113.9',
  '::ffff:0:203.0.113.9',
  '2002:cb00:7109::1',
  '2001:0:1:2:3:4:34ff:8ef6',
  '2001:db8:7::1',
  '198.51.100.1',
])('a deny list of 203.0.113.0/24, 2001:db8:7::/48 and 198.51.100.1 refuses %s', (address) => {
  const networks = networksOf(
    settings({ SHOPWIRE_OUTBOUND_DENY: '203.0.113.0/24, 2001:db8:7::/48,198.51.100.1' }),
  )
  expect(networks.allow(address)).toBe(false)
})

test.each(['203.0.112.255', '203.0.114.0', '2001:db8:8::1', '198.51.100.2', '64:ff9b::203.0.114.1'])(
  'the same list allows %s beside those networks',
  (address) => {
    const networks = outboundNetworks(undefined, ['203.0.113.0/24', '2001:db8:7::/48', '198.51.100.1'])
    expect(networks.allow(address)).toBe(true)
  },
)

test('with an allow list only its networks are allowed, and the deny list wins', () => {
  const networks = networksOf(
    settings({ SHOPWIRE_OUTBOUND_ALLOW: '10.0.0.0/8,2001:db8::/32', SHOPWIRE_OUTBOUND_DENY: '10.9.0.0/16' }),
  )
  const allowed = ['10.1.2.3', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', '2001:db8::1']
  const refused = ['8.8.8.8', '10.9.0.1', '::ffff:10.9.0.1', '2002:0a01:203::1', 'fd00::1', 'a.example']
  expect(allowed.filter((address) => !networks.allow(address))).toEqual([])
  expect(refused.filter(networks.allow)).toEqual([])
  // What it allows is not public for that: the SSRF guard asks both.
  expect(isPublicAddress('10.1.2.3')).toBe(false)
})

test.each([
  ['10.0.0.0/33', 'is not a network'],
  ['10/8', 'is not a network'],
  ['example.com', 'is not a network'],
  ['10.0.0.0/8,', 'is not a network'],
  ['fe80::%eth0/10', 'is not a network'],
  ['10.1.0.0/8', 'write 10.0.0.0/8'],
  ['2001:db8::1/32', 'write 2001:db8::/32'],
  ['::ffff:10.0.0.0/104', 'write it as IPv4'],
])('the setting refuses %s: %s', (text, why) => {
  expect(() => settings({ SHOPWIRE_OUTBOUND_DENY: text })).toThrow(why)
})
