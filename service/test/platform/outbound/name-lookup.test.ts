import { readdirSync } from 'node:fs'
import { type DnsStub, startDnsStub } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createLookUp,
  LOOKUP_MS_MAX,
  type LookUp,
  LookupFailed,
} from '../../../src/platform/outbound/name-lookup.ts'
import { AddressBlocked, checkedAddresses } from '../../../src/platform/outbound/public-address.ts'

const [V4, V6] = ['93.184.216.34', '2606:2800:220:1::1'] as const
/** Slots of one owner; the fifth look-up waits. */
const AT_ONCE = 4
/** A timer may be late on a busy machine. */
const LATE_MS = 1_500

let dns: DnsStub
let lookUp: LookUp
beforeAll(async () => {
  dns = await startDnsStub(0)
  lookUp = createLookUp([`127.0.0.1:${dns.port}`])
})
afterAll(() => dns.close())

const failure = (name: string, owner = 'a') =>
  lookUp(name, owner).then(
    () => 'found',
    (error: LookupFailed) => (error.isUnknownName ? 'unknown' : 'no answer'),
  )
const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const startedMs = performance.now()
  const result = await work
  return [result, performance.now() - startedMs]
}

test('returns the addresses of both families, IPv4 first, through CNAMEs', async () => {
  dns.set('both.example.net', ['edge.example.org', V6, V4])
  expect(await lookUp('both.example.net', 'a')).toEqual([V4, V6])
})

test.for([
  ['NXDOMAIN', V4],
  ['SERVFAIL', V4],
  ['no answer', V4],
  ['NXDOMAIN', V6],
  ['no answer', V6],
] as const)(
  'when the other family answers with %s, returns %s without a long wait',
  async ([trouble, address]) => {
    const other = address === V4 ? 6 : 4
    const silence = trouble === 'no answer' ? 'SILENCE' : trouble
    dns.set('half.example.net', (_n, family) => (family === other ? silence : [address]))
    const [found, ms] = await timed(lookUp('half.example.net', 'a'))
    expect(found).toEqual([address])
    expect(ms).toBeLessThan(LOOKUP_MS_MAX - 500)
  },
)

test('distinguishes a name that does not exist or has no address from a name server that gives no answer', async () => {
  dns.set('empty.example.net', [])
  dns.set('failing.example.net', 'SERVFAIL')
  dns.set('half-failing.example.net', (_n, family) => (family === 4 ? 'NXDOMAIN' : 'SERVFAIL'))
  expect(await failure('nowhere.example.net')).toBe('unknown')
  expect(await failure('empty.example.net')).toBe('unknown')
  expect(await failure(`${'x'.repeat(64)}.example.net`)).toBe('unknown')
  expect(await failure('failing.example.net')).toBe('no answer')
  expect(await failure('half-failing.example.net')).toBe('no answer')
})

test('does not use /etc/hosts: "localhost" is resolved like any other name', async () => {
  expect(await failure('localhost')).toBe('unknown')
})

test('fails after two seconds without an answer, including look-ups that wait for a slot; other owners do not wait', async () => {
  dns.set('silent.example.net', 'SILENCE')
  dns.set('fine.example.net', [V4])
  const before = sockets()
  const hostile = timed(
    Promise.all(Array.from({ length: 20 }, () => failure('silent.example.net', 'hostile'))),
  )
  const [found, ms] = await timed(lookUp('fine.example.net', 'other'))
  expect(found).toEqual([V4])
  expect(ms).toBeLessThan(LOOKUP_MS_MAX / 2)
  // Four look-ups, each of which may have been retried by now, not twenty.
  expect(dns.lookUps('silent.example.net')).toBeLessThanOrEqual(AT_ONCE * 2)
  const [failures, hostileMs] = await hostile
  expect(new Set(failures)).toEqual(new Set(['no answer']))
  expect(hostileMs).toBeLessThan(LOOKUP_MS_MAX + LATE_MS)
  await expect.poll(sockets).toBeLessThanOrEqual(before)
})

test('an aborted look-up ends at once and frees its slot', async () => {
  dns.set('silent.example.net', 'SILENCE')
  dns.set('fine.example.net', [V4])
  const controller = new AbortController()
  const held = Array.from({ length: AT_ONCE }, () => lookUp('silent.example.net', 'b', controller.signal))
  const next = timed(lookUp('fine.example.net', 'b'))
  const reason = new Error('not wanted any more')
  controller.abort(reason)
  const ended = await Promise.allSettled(held)
  expect(ended.map((end) => end.status === 'rejected' && end.reason)).toEqual(Array(AT_ONCE).fill(reason))
  const [found, ms] = await next
  expect(found).toEqual([V4])
  expect(ms).toBeLessThan(LOOKUP_MS_MAX / 2)
})

test('one non-public answer in either family blocks all of them; at most two addresses per family are dialled', async () => {
  dns.set('mixed.example.net', [V4, '10.0.0.1'])
  dns.set('mixed6.example.net', [V4, '::1'])
  const many = [1, 2, 3, 4].flatMap((n) => [`93.184.216.${n}`, `2606:2800:220:1::${n}`])
  dns.set('many.example.net', many)
  dns.set('many-mixed.example.net', [...many, '127.0.0.1'])
  const check = (host: string) => checkedAddresses(host, { owner: 'a', lookUp })
  await expect(check('mixed.example.net')).rejects.toThrow(AddressBlocked)
  await expect(check('mixed6.example.net')).rejects.toThrow(AddressBlocked)
  await expect(check('many-mixed.example.net')).rejects.toThrow(AddressBlocked)
  await expect(check('nowhere.example.net')).rejects.toThrow(LookupFailed)
  expect(await check('many.example.net')).toEqual([
    '93.184.216.1',
    '93.184.216.2',
    '2606:2800:220:1::1',
    '2606:2800:220:1::2',
  ])
})

function sockets(): number {
  return readdirSync('/dev/fd').length
}
