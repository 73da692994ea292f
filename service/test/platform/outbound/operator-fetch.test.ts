import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type ConnectProxy, startConnectProxy } from '@shopwire/test-kit/proxies/connect-proxy'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { createAuthority } from '@shopwire/test-kit/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { operatorFetch } from '../../../src/platform/outbound/operator-fetch.ts'
import { outboundNetworks } from '../../../src/platform/outbound/outbound-networks.ts'
import { askSupplier } from '../../../src/supply/ask-supplier.ts'

const ASK = { id: 'ord_1-1', sku: 'ring', qty: 1 }

let proxy: ConnectProxy
let supplier: Awaited<ReturnType<typeof startSupplier>>
let impostor: Server
let refusal: string | undefined

beforeAll(async () => {
  supplier = await startSupplier('acme')
  supplier.setSecret('whsec_x')
  const authority = await createAuthority()
  const certificate = await authority.issue('DNS:supplier.example,IP:127.0.0.1', { isSelfSigned: true })
  await authority.remove()
  impostor = createHttpsServer(certificate, (_request, response) => response.writeHead(409).end())
  // It resolves every name to this machine.
  proxy = await startConnectProxy({ route: (_host, port) => refusal ?? { port } })
  impostor.listen(0, '127.0.0.1')
  await once(impostor, 'listening')
})
afterAll(async () => {
  proxy.close()
  impostor.closeAllConnections()
  impostor.close()
  await supplier.close()
})
beforeEach(() => {
  proxy.asked.length = 0
  refusal = undefined
})
afterEach(() => vi.unstubAllEnvs())

const portOf = (server: Server) => (server.address() as AddressInfo).port
const ask = (url: string, fetch: typeof globalThis.fetch) =>
  askSupplier({ url, secret: 'whsec_x', timeout_ms: 5_000 }, ASK, Date.now(), fetch)

test('with a proxy, a supplier is called through it, and the proxy gets the supplier’s name', async () => {
  const { port } = new URL(supplier.url)
  const reply = await ask(`http://supplier.example:${port}/links`, operatorFetch(proxy.url))
  expect(reply).toMatchObject({ kind: 'given' })
  expect(supplier.asked).toMatchObject([{ id: ASK.id, isSigned: true }])
  expect(proxy.asked).toEqual([`supplier.example:${port}`])
})

test('without a proxy, a supplier is called directly', async () => {
  expect(await ask(supplier.url, operatorFetch())).toMatchObject({ kind: 'given' })
  expect(proxy.asked).toEqual([])
})

test('with NODE_TLS_REJECT_UNAUTHORIZED=0, a supplier with an untrusted certificate is not called', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const failed = { kind: 'failed', error: 'tls' }
  expect(await ask(`https://127.0.0.1:${portOf(impostor)}/`, operatorFetch())).toEqual(failed)
  expect(await ask(`https://supplier.example:${portOf(impostor)}/`, operatorFetch(proxy.url))).toEqual(failed)
  expect(proxy.asked).toEqual([`supplier.example:${portOf(impostor)}`])
})

test('errors distinguish a proxy that forbids the supplier, wants a password or is down from a supplier that is down', async () => {
  const { url } = supplier
  const errors = []
  for (refusal of ['403 Forbidden', '407 Proxy Authentication Required', '502 Bad Gateway']) {
    errors.push(await ask(url, operatorFetch(proxy.url)))
  }
  errors.push(await ask(url, operatorFetch('http://127.0.0.1:1')))
  expect(errors).toEqual(['proxy', 'proxy', 'connect', 'proxy'].map((error) => ({ kind: 'unsent', error })))
})

test.for([
  ['an address in a denied network', '127.0.0.1', undefined, ['127.0.0.0/8']],
  ['the same address mapped into IPv6', '[::ffff:127.0.0.1]', undefined, ['127.0.0.0/8']],
  ['a name whose address is denied', 'localhost', undefined, ['127.0.0.0/8', '::1']],
  ['an address outside the allowed networks', '127.0.0.1', ['10.0.0.0/8'], undefined],
  ['a name outside the allowed networks', 'localhost', ['10.0.0.0/8'], undefined],
] as const)(
  'a supplier at %s is not called, directly or through the proxy; the error is `blocked`',
  async ([, host, allow, deny]) => {
    const { port } = new URL(supplier.url)
    const before = supplier.asked.length
    const networks = outboundNetworks(allow, deny)
    for (const fetch of [operatorFetch(undefined, networks), operatorFetch(proxy.url, networks)])
      expect(await ask(`http://${host}:${port}/links`, fetch)).toEqual({ kind: 'unsent', error: 'blocked' })
    expect(proxy.asked).toEqual([])
    expect(supplier.asked).toHaveLength(before)
  },
)

test('with lists, the proxy gets the address that was checked instead of the name', async () => {
  const { port } = new URL(supplier.url)
  const networks = outboundNetworks(['127.0.0.0/8', '::1'], undefined)
  expect(await ask(`http://localhost:${port}/links`, operatorFetch(undefined, networks))).toMatchObject({
    kind: 'given',
  })
  expect(await ask(`http://localhost:${port}/links`, operatorFetch(proxy.url, networks))).toMatchObject({
    kind: 'given',
  })
  expect(proxy.asked).toHaveLength(1)
  expect([`127.0.0.1:${port}`, `[::1]:${port}`]).toContain(proxy.asked[0])
})
