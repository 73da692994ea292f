import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect as openHttp2 } from 'node:http2'
import { text } from 'node:stream/consumers'
import { BODY_BYTES_MAX } from '@shopwire/contract'
import { newOrder } from '@shopwire/test-kit/people/buyer'
import { startDesynchronisingProxy } from '@shopwire/test-kit/proxies/desynchronising-proxy'
import { startHaproxy } from '@shopwire/test-kit/proxies/haproxy'
import { ConnectionLost, connect, type Via } from '@shopwire/test-kit/requests/connection'
import { type Key, requestBytes, sign, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { type Certificate, createAuthority } from '@shopwire/test-kit/servers'
import {
  type ApiProcess,
  limitless,
  newItem,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HARMLESS, type HostileRequest, hostileHttp2Requests, hostileRequests } from './hostile-requests.ts'
import { readProxyBlock, startNginx } from './nginx.ts'
import { type Door, sendRaw } from './raw-answers.ts'
import { HOSTILE_ADDRESS, startUpstreamJournal, type UpstreamJournal } from './upstream-journal.ts'

/** nginx with deploy/proxy/nginx.conf and HAProxy with deploy/proxy/haproxy.cfg, in front of a real API process. */
const CALLER = '127.0.0.2'
const BALANCER = '127.0.0.5'
const STRANGER = '127.0.0.6'
/** Addresses behind the load balancer, which no caller of this machine can have. */
const BEHIND = '203.0.113.7'
const LANES = 8

let system: System
let authority: Awaited<ReturnType<typeof createAuthority>>
let certificate: Certificate
let ca: string
let key: Key
let behindTwo: ApiProcess
const item = newItem(1)
const stops: (() => Promise<void>)[] = []
const stopLater = <Started extends { stop(): Promise<void> }>(started: Started): Started => {
  stops.push(() => started.stop())
  return started
}

beforeAll(async () => {
  const settings = Object.fromEntries(
    [...(await readProxyBlock('proxy-settings')).matchAll(/^(\w+)=(\S+)/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  )
  system = await startSystem({ admission: 'postgres', settings: { ...limitless, ...settings } })
  behindTwo = await system.startApi({ SHOPWIRE_TRUSTED_PROXY_HOPS: '2' })
  authority = await createAuthority()
  ca = await readFile(authority.file, 'utf8')
  certificate = await authority.issue('DNS:api.example.com,IP:127.0.0.1')
  await system.importItems([item])
  key = (await system.createAccount({ balanceCents: 10_000 })).key
}, START_MS_MAX)
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
  await authority?.remove()
  await system?.stop()
})

type Kind = 'nginx' | 'HAProxy'

async function startProxy(kind: Kind, api: ApiProcess, apiPort = api.port): Promise<number> {
  if (kind === 'nginx') return stopLater(await startNginx({ certificate, apiPort })).port
  const apis = [{ port: apiPort, healthPort: new URL(api.healthUrl).port }]
  const variables = { HAPROXY_PROXY_PROTOCOL_FROM: `${BALANCER}/32` }
  return stopLater(await startHaproxy({ certificate, apis, variables })).port
}

/** Hostile requests side by side, each followed by a caller whose answers must be its own. Returns what went wrong. */
async function attack(
  door: Door,
  journal: UpstreamJournal,
  requests: readonly HostileRequest[],
  alpn?: string,
) {
  const queue = [...requests]
  const faults: string[] = []
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { text } = await sendRaw(door, next.bytes, {
        localAddress: HOSTILE_ADDRESS,
        ...(alpn && { alpn }),
      })
      if (/HTTP\/1\.1 500 /.test(text)) faults.push(`${next.what}: 500`)
      const victim = await beVictim(door)
      if (victim !== undefined) faults.push(`after ${next.what}: ${victim}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return [...faults, ...journal.smuggled()]
}

/** Twice on one connection: HAProxy gives the first request of a caller no connection that others have used. */
async function beVictim({ port, ca }: Door): Promise<string | undefined> {
  const via = await connect(port, { localAddress: CALLER, ...(ca && { ca }) })
  try {
    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await via.send(sign(key, 'GET', `/v1/catalogue/${item.id}`).bytes)
      if (status !== 200 || body.id !== item.id) return `${status} ${JSON.stringify(body)}`
    }
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    via.close()
  }
}

/** Buys one thing; the address that was recorded with the order, or undefined when no order could be sent. */
async function recordedAddress(
  port: number,
  via: Via,
  forged: readonly string[] = [],
): Promise<string | undefined> {
  const order = newOrder({ id: item.id })
  const { bytes } = sign(key, 'POST', '/v1/orders', JSON.stringify(order, undefined, 3))
  const lines = forged.map((value) => `\r\nX-Forwarded-For: ${value}`).join('')
  const connection = await connect(port, { ca, ...via }).catch(unlessLost)
  if (!connection) return undefined
  const { status } = await connection.send(Buffer.from(bytes.toString().replace('\r\n', `${lines}\r\n`)))
  connection.close()
  expect(status).toBe(201)
  return system.query(`select client_address from orders where idempotency_key = '${order.idempotency_key}'`)
}

function unlessLost(error: unknown): undefined {
  if (!(error instanceof ConnectionLost)) throw error
}

describe.each<Kind>(['nginx', 'HAProxy'])('%s in front', (kind) => {
  let api: ApiProcess
  let journal: UpstreamJournal
  let port: number
  beforeAll(async () => {
    api = system.apis[0] as ApiProcess
    journal = stopLater(await startUpstreamJournal(api.port))
    port = await startProxy(kind, api, journal.port)
  }, START_MS_MAX)

  const ask = async (bytes: Buffer) => {
    const via = await connect(port, { ca, localAddress: CALLER })
    try {
      return await via.send(bytes)
    } finally {
      via.close()
    }
  }
  const get = (target: string) => ask(sign(key, 'GET', target).bytes)

  test('threat 28: of the messages that two parsers may end at different places, none smuggles a request', async () => {
    expect(await attack({ port, ca }, journal, hostileRequests(key))).toEqual([])
  })

  test('threat 28: nor does one that the proxy translates from HTTP/2', async () => {
    expect(await attack({ port, ca }, journal, hostileHttp2Requests(key), 'h2')).toEqual([])
    expect(journal.sent()).toContain(`${HARMLESS}: a\r\n`)
  })

  test.each(ODD_TARGETS)('threats 26 and 29: %s arrives as it was signed', async (target, status) => {
    expect((await get(target)).status).toBe(status)
    expect(journal.sent()).toContain(`GET ${target} HTTP/1.1\r\n`)
  })

  test.each(['/v1/ping%zz', '/v1/ping%00', '/v1/../../ping', '/../v1/ping', '/v1/ping\x7f'])(
    'threat 26: %j is refused, by the proxy or by the API',
    async (target) => {
      expect((await sendRaw({ port, ca }, sign(key, 'GET', target).bytes)).statuses[0]).toBeOneOf([400, 404])
    },
  )

  test('threat 26: an order with an odd body arrives as it was signed', async () => {
    const order = newOrder({ id: item.id })
    const body = ` \n${JSON.stringify(order, undefined, 3).replace('items', '\\u0069tems')}\r\n\t`
    expect((await ask(sign(key, 'POST', '/v1/orders', body).bytes)).status).toBe(201)
  })

  test('each signature header twice: 401; Host twice: 400', async () => {
    const headers = Object.entries(signedHeaders(key, 'GET', '/v1/ping'))
    for (const [name, value] of headers) {
      for (const again of [value, 'x']) {
        const bytes = requestBytes('GET', '/v1/ping', Object.fromEntries(headers)).toString()
        const doubled = bytes.replace('\r\n\r\n', `\r\n${name}: ${again}\r\n\r\n`)
        expect((await ask(Buffer.from(doubled))).status, name).toBe(401)
      }
    }
    const doubled = sign(key, 'GET', '/v1/ping')
      .bytes.toString()
      .replace('\r\n', '\r\nHost: elsewhere.example\r\n')
    expect((await sendRaw({ port, ca }, Buffer.from(doubled))).statuses).toEqual([400])
  })

  test('headers of 12 KB pass, of 20 and 70 KB get 400', async () => {
    const withHeader = (length: number) =>
      Buffer.from(
        sign(key, 'GET', '/v1/ping')
          .bytes.toString()
          .replace('\r\n', `\r\nX-Long: ${'x'.repeat(length)}\r\n`),
      )
    expect((await ask(withHeader(12_000))).status).toBe(200)
    for (const length of [20_000, 70_000])
      expect((await sendRaw({ port, ca }, withHeader(length))).statuses).toEqual([400])
  })

  test('bodies of 16,384 bytes are read, of one byte or many more get 413', async () => {
    const cart = JSON.stringify({ items: [{ id: item.id }] })
    const quote = (length: number) => ask(sign(key, 'POST', '/v1/quote', cart.padEnd(length)).bytes)
    expect((await quote(BODY_BYTES_MAX)).status).toBe(200)
    expect((await quote(BODY_BYTES_MAX + 1)).status).toBe(413)
    expect((await quote(70_000)).status).toBe(413)
  })

  test('over HTTP/2 the same requests get the same answers', async () => {
    const session = openHttp2(`https://127.0.0.1:${port}`, { ca })
    const send = async (method: string, target: string, body = '') => {
      const stream = session.request(
        {
          ':method': method,
          ':path': target,
          ...signedHeaders(key, method, target, body),
        },
        { endStream: body === '' },
      )
      if (body !== '') stream.end(body)
      const [headers] = await once(stream, 'response')
      return { status: headers[':status'], body: JSON.parse(await text(stream)) }
    }
    const targets = await Promise.all(ODD_TARGETS.map(([target]) => send('GET', target)))
    expect(targets.map(({ status }) => status)).toEqual(ODD_TARGETS.map(([, status]) => status))
    const order = JSON.stringify(newOrder({ id: item.id }))
    expect((await send('POST', '/v1/orders', order)).status).toBe(201)
    expect((await send('POST', '/v1/quote', ' '.repeat(BODY_BYTES_MAX + 1))).status).toBe(413)
    session.close()
  })

  test('a forged X-Forwarded-For is ignored, behind one proxy and behind two', async () => {
    const FORGED = [[], ['8.8.8.8'], ['8.8.8.8', '9.9.9.9'], [' , ,'], ['8.8.8.8, 127.0.0.1'], ['']]
    for (const forged of FORGED)
      expect(await recordedAddress(port, { localAddress: CALLER }, forged), String(forged)).toBe(CALLER)

    const inner = await startProxy(kind, behindTwo)
    const change = (block: string) =>
      block.replace('proxy_pass http://', 'proxy_ssl_server_name on; proxy_pass https://')
    const cdn = stopLater(await startNginx({ certificate, apiPort: inner, change }))
    for (const forged of FORGED)
      expect(await recordedAddress(cdn.port, { localAddress: CALLER }, forged), String(forged)).toBe(CALLER)
  })

  test('with the PROXY protocol, 1 or 2, the load balancer says who the caller is, and nobody else can', async () => {
    let listening = port
    if (kind === 'nginx') {
      const lines = (await readProxyBlock('nginx-proxy-protocol')).replace('192.0.2.0/24', `${BALANCER}/32`)
      const change = (block: string) => block.replace('  listen 443 ssl http2;', lines)
      listening = stopLater(await startNginx({ certificate, apiPort: api.port, change })).port
    }
    const first = Buffer.from(`PROXY TCP4 ${BEHIND} 127.0.0.1 50000 443\r\n`)
    const addresses = [...BEHIND.split('.'), '127', '0', '0', '1'].map(Number)
    const second = Buffer.concat([
      Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'),
      Buffer.from([0x21, 0x11, 0, 12, ...addresses, 0xc3, 0x50, 0x01, 0xbb]),
    ])
    for (const preface of [first, second]) {
      expect(await recordedAddress(listening, { preface, localAddress: BALANCER }, ['8.8.8.8'])).toBe(BEHIND)
      const claimed = await recordedAddress(listening, { preface, localAddress: STRANGER })
      expect(claimed).toBe(kind === 'nginx' ? STRANGER : undefined)
    }
  })

  // Last: nothing reaches the API any more.
  test('when the API cannot be reached the answer is 503 in its format', async () => {
    await journal.stop()
    const { status, headers, body } = await get('/v1/ping')
    expect([status, body.error.type]).toEqual([503, 'service_unavailable'])
    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' })
  })
})

/** With what the API says to each: the signature is right, so none gets 401. */
const ODD_TARGETS: [target: string, status: number][] = [
  ['/v1/ping?', 200],
  ['/v1/ping??', 200],
  ['/v1/ping?a=%31&b=+&c', 200],
  ['/v1/ping?//../%70ing', 200],
  ['/v1/ping?&&', 200],
  ['/v1/catalogue?search=a%2Fb%20c+d&limit=5', 200],
  ['/v1/ping?a=1&a=1', 400],
  ['//v1/ping', 404],
  ['/v1//ping', 404],
  ['/v1/./ping', 404],
  ['/v1/x/../ping', 404],
  ['/v1/%2e/ping', 404],
  ['/v1/x/%2e%2e/ping', 404],
  ['/v1/%70ing', 404],
  ['/v1%2fping', 404],
  ['/v1/ping/', 404],
  ['/v1/ping/.', 404],
  ['/v1/ping;x', 404],
  ['/v1/ping%0a', 404],
  ['/v1/ping%20', 404],
  ['/v1/PING', 404],
  ['/v1\\ping', 404],
  ['/v1/catalogue/..%2fping', 404],
]

describe('threat 29: an nginx that rewrites', () => {
  const REWRITES: [what: string, method: string, target: string, line: string][] = [
    ['the path, by a path after proxy_pass', 'GET', '/v1//ping', 'proxy_pass http://shopwire_api/;'],
    ['the path, by a rule', 'GET', '/ping', 'rewrite ^/(.*)$ /v1/$1 break; proxy_pass http://shopwire_api;'],
    ['the query', 'GET', '/v1/ping?a=1', 'proxy_pass http://shopwire_api$uri;'],
    ['the method', 'POST', '/v1/ping', 'proxy_method GET; proxy_pass http://shopwire_api;'],
    ['the body', 'POST', '/v1/quote', 'proxy_set_body "$request_body "; proxy_pass http://shopwire_api;'],
  ]
  test.each(REWRITES)('%s: 401', async (_what, method, target, line) => {
    const change = (block: string) => block.replace('proxy_pass http://shopwire_api;', line)
    const apiPort = (system.apis[0] as ApiProcess).port
    const { port } = stopLater(await startNginx({ certificate, apiPort, change }))
    const body = method === 'POST' ? JSON.stringify({ items: [{ id: item.id }] }) : ''
    const { statuses, text } = await sendRaw({ port, ca }, sign(key, method, target, body).bytes)
    expect([statuses, text]).toEqual([[401], expect.stringContaining('authentication_failed')])
  })
})

test.each(['ends by chunks', 'swallows the next'])(
  'threat 28: behind a proxy that ends messages by their length alone, the same check finds what "%s" smuggles',
  async (kind) => {
    const journal = stopLater(await startUpstreamJournal((system.apis[0] as ApiProcess).port))
    const { port } = stopLater(await startDesynchronisingProxy(journal.port))
    const plain = hostileRequests(key).find(({ what }) => what.startsWith(kind)) as HostileRequest
    expect(await attack({ port }, journal, [plain])).not.toEqual([])
  },
)
