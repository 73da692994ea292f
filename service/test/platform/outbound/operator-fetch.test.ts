import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { createAuthority } from '@shopwire/test-kit/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { operatorFetch } from '../../../src/platform/outbound/operator-fetch.ts'
import { outboundNetworks } from '../../../src/platform/outbound/outbound-networks.ts'
import { askSupplier } from '../../../src/supply/ask-supplier.ts'

const ASK = { id: 'ord_1-1', sku: 'ring', qty: 1 }

let proxy: Server
let supplier: Awaited<ReturnType<typeof startSupplier>>
let impostor: Server
let asked: string[]
let refusal: string | undefined

beforeAll(async () => {
  supplier = await startSupplier('acme')
  supplier.setSecret('whsec_x')
  const authority = await createAuthority()
  const certificate = await authority.issue('DNS:supplier.example,IP:127.0.0.1', { isSelfSigned: true })
  await authority.remove()
  impostor = createHttpsServer(certificate, (_request, response) => response.writeHead(409).end())
  // It resolves every name to this machine.
  proxy = createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal}\r\n\r\n`)
    const there = connect(Number(new URL(`http://${request.url}`).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      there.pipe(socket).pipe(there)
    })
    for (const end of [there, socket]) end.on('error', () => {})
  })
  for (const server of [proxy, impostor]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
})
afterAll(async () => {
  for (const server of [proxy, impostor]) {
    server.closeAllConnections()
    server.close()
  }
  await supplier.close()
})
beforeEach(() => {
  asked = []
  refusal = undefined
})
afterEach(() => vi.unstubAllEnvs())

const portOf = (server: Server) => (server.address() as AddressInfo).port
const proxyUrl = () => `http://127.0.0.1:${portOf(proxy)}`
const ask = (url: string, fetch: typeof globalThis.fetch) =>
  askSupplier({ url, secret: 'whsec_x', timeout_ms: 5_000 }, ASK, Date.now(), fetch)

test('with a proxy, a supplier is called through it, and the proxy gets the supplier’s name', async () => {
  const { port } = new URL(supplier.url)
  const reply = await ask(`http://supplier.example:${port}/links`, operatorFetch(proxyUrl()))
  expect(reply).toMatchObject({ kind: 'given' })
  expect(supplier.asked).toMatchObject([{ id: ASK.id, isSigned: true }])
  expect(asked).toEqual([`supplier.example:${port}`])
})

test('without a proxy, a supplier is called directly', async () => {
  expect(await ask(supplier.url, operatorFetch())).toMatchObject({ kind: 'given' })
  expect(asked).toEqual([])
})

test('with NODE_TLS_REJECT_UNAUTHORIZED=0, a supplier with an untrusted certificate is not called', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const failed = { kind: 'failed', error: 'tls' }
  expect(await ask(`https://127.0.0.1:${portOf(impostor)}/`, operatorFetch())).toEqual(failed)
  expect(await ask(`https://supplier.example:${portOf(impostor)}/`, operatorFetch(proxyUrl()))).toEqual(
    failed,
  )
  expect(asked).toEqual([`supplier.example:${portOf(impostor)}`])
})

test('errors distinguish a proxy that forbids the supplier, wants a password or is down from a supplier that is down', async () => {
  const { url } = supplier
  const errors = []
  for (refusal of ['403 Forbidden', '407 Proxy Authentication Required', '502 Bad Gateway']) {
    errors.push(await ask(url, operatorFetch(proxyUrl())))
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
    for (const fetch of [operatorFetch(undefined, networks), operatorFetch(proxyUrl(), networks)])
      expect(await ask(`http://${host}:${port}/links`, fetch)).toEqual({ kind: 'unsent', error: 'blocked' })
    expect(asked).toEqual([])
    expect(supplier.asked).toHaveLength(before)
  },
)

test('with lists, the proxy gets the address that was checked instead of the name', async () => {
  const { port } = new URL(supplier.url)
  const networks = outboundNetworks(['127.0.0.0/8', '::1'], undefined)
  expect(await ask(`http://localhost:${port}/links`, operatorFetch(undefined, networks))).toMatchObject({
    kind: 'given',
  })
  expect(await ask(`http://localhost:${port}/links`, operatorFetch(proxyUrl(), networks))).toMatchObject({
    kind: 'given',
  })
  expect(asked).toHaveLength(1)
  expect([`127.0.0.1:${port}`, `[::1]:${port}`]).toContain(asked[0])
})
