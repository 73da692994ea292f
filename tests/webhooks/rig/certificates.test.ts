import { once } from 'node:events'
import { connect } from 'node:tls'
import { describe, expect } from 'vitest'
import { HERE, type ListenOptions, test } from './rig.ts'

const OLD_TLS = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const

describe('threat 57: nothing is sent to a receiver without a valid certificate or with an old TLS version', () => {
  test.for([
    ['a self-signed certificate', { certificate: { isSelfSigned: true } }],
    ['an expired certificate', { certificate: { days: -1 } }],
    ['TLS 1.1', { tls: OLD_TLS }],
  ] as [string, ListenOptions][])('%s', async ([, options], { subscribe }) => {
    const { receiver, sendTest, untilError, health } = await subscribe('unproven.example.net', options)
    await sendTest()
    await untilError('tls')
    expect(receiver.arrivals).toEqual([])
    expect(await health()).toMatchObject({ pending: 1, last_delivered_at: null })
  })

  test('a certificate for another name', async ({ rig, subscribe }) => {
    const { receiver, configure, sendTest, untilError } = await subscribe('right.example.net')
    rig.dns.set('wrong.example.net', [HERE])
    expect((await configure('https://wrong.example.net/')).status).toBe(200)
    await sendTest()
    await untilError('tls')
    expect(receiver.arrivals).toEqual([])
  })

  test('the TLS 1.1 receiver of this test answers a client that allows TLS 1.1', async ({ listen }) => {
    await listen('old.example.net', { tls: OLD_TLS })
    const socket = connect({ host: HERE, port: 443, rejectUnauthorized: false, ...OLD_TLS })
    await once(socket, 'secureConnect')
    expect(socket.getProtocol()).toBe('TLSv1.1')
    socket.destroy()
  })
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())
