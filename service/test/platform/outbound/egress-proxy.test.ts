import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openTunnel, ProxyRefused, ProxyTrouble } from '../../../src/platform/outbound/egress-proxy.ts'

let proxy: Server
let echo: TcpServer
let asked: { target: string; authorization: string | undefined }[]
let refusal: string | undefined

beforeAll(async () => {
  echo = createTcpServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  proxy = createServer((_request, response) => response.writeHead(200).end())
    .on('connect', (request, socket) => {
      asked.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] })
      if (refusal !== undefined) {
        if (refusal !== '') socket.end(`HTTP/1.1 ${refusal}\r\n\r\n`)
        return
      }
      const [, port] = /:(\d+)$/.exec(request.url ?? '') ?? []
      const there = connect(Number(port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        there.pipe(socket).pipe(there)
      })
    })
    .listen(0, '127.0.0.1')
  await Promise.all([once(echo, 'listening'), once(proxy, 'listening')])
})
afterAll(() => {
  proxy.closeAllConnections()
  proxy.close()
  echo.close()
})
beforeEach(() => {
  asked = []
  refusal = undefined
})

const portOf = (server: Server | TcpServer) => (server.address() as AddressInfo).port
const tunnel = (credentials = '', msMax = 5_000) =>
  openTunnel(
    new URL(`http://${credentials}127.0.0.1:${portOf(proxy)}`),
    '127.0.0.1',
    portOf(echo),
    AbortSignal.timeout(msMax),
  )

test('bytes pass through the tunnel, and the proxy gets an address, never a name', async () => {
  const socket = await tunnel()
  socket.write('hello')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toBe('hello')
  expect(asked).toEqual([{ target: `127.0.0.1:${portOf(echo)}`, authorization: undefined }])
  socket.destroy()
})

test('credentials in the proxy URL are sent to the proxy', async () => {
  ;(await tunnel('us%40er:pa%3Ass@')).destroy()
  expect(asked[0]?.authorization).toBe(`Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`)
})

test('an IPv6 address is sent in brackets', async () => {
  refusal = '403 Forbidden'
  await openTunnel(
    new URL(`http://127.0.0.1:${portOf(proxy)}`),
    '2606:2800:220:1::1',
    443,
    AbortSignal.timeout(5_000),
  ).catch(() => {})
  expect(asked[0]?.target).toBe('[2606:2800:220:1::1]:443')
})

test.each([
  ['403 Forbidden', true],
  ['502 Bad Gateway', false],
  ['503 Service Unavailable', false],
])('a proxy that answers %s throws ProxyRefused', async (answer, isByRule) => {
  refusal = answer
  const error = await tunnel().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ProxyRefused)
  expect((error as ProxyRefused).isByRule).toBe(isByRule)
})

test('a proxy that refuses our credentials, hangs or cannot be reached throws ProxyTrouble', async () => {
  refusal = '407 Proxy Authentication Required'
  await expect(tunnel()).rejects.toThrow(new ProxyTrouble('the egress proxy answered 407'))
  refusal = ''
  await expect(tunnel('', 50)).rejects.toThrow(ProxyTrouble)
  await expect(
    openTunnel(new URL('http://127.0.0.1:1'), '127.0.0.1', 443, AbortSignal.timeout(5_000)),
  ).rejects.toThrow(new ProxyTrouble('the egress proxy cannot be used: ECONNREFUSED'))
})
