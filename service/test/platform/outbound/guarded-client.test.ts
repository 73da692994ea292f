import { EventEmitter, once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { createAuthority, type DnsStub, startDnsStub, until } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type GuardedClientOptions, guardedClients } from '../../../src/platform/outbound/guarded-client.ts'
import { type KeptClients, keepClients } from '../../../src/platform/outbound/kept-clients.ts'
import { createLookUp, LOOKUP_MS_MAX } from '../../../src/platform/outbound/name-lookup.ts'
import { outboundNetworks } from '../../../src/platform/outbound/outbound-networks.ts'
import { createTlsSessions } from '../../../src/platform/outbound/tls-sessions.ts'

/** Only public addresses are dialled, so the receiver is reached through a proxy that maps every address to this machine. */
const [FIRST, SECOND] = ['93.184.216.34', '2606:2800:220:1::1'] as const
const NAME = 'receiver.example.net'
/** A timer may be late on a busy machine. */
const LATE_MS = 1_500

let dns: DnsStub
let proxy: Server
let receiver: Server
let authority: Awaited<ReturnType<typeof createAuthority>>
/** How the proxy answers a CONNECT. By default it connects to the receiver. */
let manner: (target: string, socket: Socket) => boolean
/** Where the proxy connects to. By default the receiver. */
let destination: Server
let asked: string[]
let received: number
/** False for a receiver that never answers. */
let isAnswering: boolean

beforeAll(async () => {
  dns = await startDnsStub(0)
  authority = await createAuthority()
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authority.file, 'utf8')])
  const certificate = await authority.issue(`DNS:${NAME}`)
  receiver = createHttpsServer(certificate, (request, response) => {
    received += 1
    request.resume()
    if (isAnswering) response.writeHead(204).end()
  })
  proxy = createServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '')
    socket.on('error', () => {})
    if (!manner(request.url ?? '', socket as Socket))
      return void socket.resume().on('end', () => socket.end())
    const there = connect(portOf(destination), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      there.pipe(socket).pipe(there)
    })
    there.on('error', () => {})
  })
  receiver.listen(0, '127.0.0.1')
  proxy.listen(0, '127.0.0.1')
  await Promise.all([once(receiver, 'listening'), once(proxy, 'listening')])
})
afterAll(async () => {
  for (const server of [proxy, receiver]) {
    server.closeAllConnections()
    server.close()
  }
  dns.close()
  await authority.remove()
})
beforeEach(() => {
  dns.set(NAME, [FIRST])
  manner = () => true
  destination = receiver
  asked = []
  received = 0
  isAnswering = true
})

const portOf = (server: Server) => (server.address() as AddressInfo).port
const URL_USED = `https://${NAME}:8443/hook`
const clients = (proxyUrl = `http://127.0.0.1:${portOf(proxy)}`) =>
  guardedClients(proxyUrl, undefined, createLookUp([`127.0.0.1:${dns.port}`]))
const optionsWith = (options: Partial<GuardedClientOptions> = {}): GuardedClientOptions => ({
  totalMsMax: 1_000,
  connectionsMax: 1,
  owner: 'acct_1',
  isStillWanted: async () => true,
  ...options,
})
const open = (options: Partial<GuardedClientOptions> = {}, proxyUrl?: string) =>
  clients(proxyUrl)(URL_USED, optionsWith(options))
const post = (client: ReturnType<typeof open>) => client.post({}, Buffer.from('{}'))
const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const startedMs = performance.now()
  const result = await work
  return [result, performance.now() - startedMs]
}

test('one connection serves consecutive requests', async () => {
  const client = open()
  const accepted = { error: null, status: 204, remote_address: FIRST }
  expect(await Promise.all([post(client), post(client)])).toMatchObject([accepted, accepted])
  expect(asked).toEqual([`${FIRST}:8443`])
  expect(received).toBe(2)
  await client.close()
})

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('sessions of %s', (version) => {
  async function withReceiver(name: string, use: (wasResumed: boolean[]) => Promise<void>) {
    const certificate = await authority.issue(`DNS:${name}`)
    const wasResumed: boolean[] = []
    const server = createHttpsServer(
      { ...certificate, minVersion: version, maxVersion: version },
      (request, response) => {
        wasResumed.push((request.socket as TLSSocket).isSessionReused())
        request.resume()
        response.writeHead(204).end()
      },
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    destination = server
    await use(wasResumed)
    server.closeAllConnections()
    server.close()
  }
  const postOnce = async (openClient: ReturnType<typeof clients>, owner: string) => {
    const client = openClient(URL_USED, optionsWith({ owner }))
    const sent = await post(client)
    await client.close()
    return sent.error
  }

  test('the next connection of the same account resumes the session; that of another account does not', () =>
    withReceiver(NAME, async (wasResumed) => {
      const openClient = clients()
      for (const owner of ['acct_1', 'acct_1', 'acct_1', 'acct_2'])
        expect(await postOnce(openClient, owner)).toBe(null)
      expect(wasResumed).toEqual([false, true, true, false])
    }))

  test('a receiver whose certificate is for another name gets nothing, however often it is tried', () =>
    withReceiver('another.example.net', async (wasResumed) => {
      const openClient = clients()
      for (let n = 0; n < 4; n += 1) expect(await postOnce(openClient, 'acct_1')).toBe('tls')
      expect(wasResumed).toEqual([])
    }))
})

test('ten minutes after its certificate was checked a session is not resumed any more, however often it was', () => {
  let nowMs = 0
  const sessions = createTlsSessions(() => nowMs)
  const use = () => {
    const known = sessions.find('key')
    const socket = Object.assign(new EventEmitter(), { isSessionReused: () => known !== undefined })
    sessions.follow('key', socket as unknown as TLSSocket, known)
    socket.emit('secureConnect')
    socket.emit('session', Buffer.from('ticket'))
    return known !== undefined
  }
  expect(use()).toBe(false)
  for (nowMs = 60_000; nowMs < 600_000; nowMs += 60_000) expect(use()).toBe(true)
  expect(use()).toBe(false)
})

describe('clients that are kept', () => {
  const accepted = { error: null, status: 204 }

  test('a client that is opened again within the time uses the same connection, and asks its own user whether to go on', async () => {
    const kept = keepClients(clients(), { keptMs: 60_000 })
    const first = kept.open(URL_USED, optionsWith())
    expect(await post(first)).toMatchObject(accepted)
    await first.close()
    const again = kept.open(URL_USED, optionsWith({ isStillWanted: async () => false }))
    expect(await post(again)).toMatchObject({ ...accepted, took: { connect_ms: 0 } })
    expect(asked).toHaveLength(1)
    receiver.closeAllConnections()
    await until(
      async () => (await post(again)).error === 'withdrawn',
      5_000,
      () => 'it never connected again',
    )
    expect(asked).toHaveLength(2)
    await again.close()
    await kept.close()
  })

  test('another owner, another URL and a second user at the same time get connections of their own', async () => {
    const kept = keepClients(clients(), { keptMs: 60_000 })
    const first = kept.open(URL_USED, optionsWith())
    const second = kept.open(URL_USED, optionsWith())
    for (const client of [first, second]) {
      expect(await post(client)).toMatchObject(accepted)
    }
    expect(asked).toHaveLength(2)
    await first.close()
    await second.close()
    for (const [url, owner] of [
      [URL_USED, 'acct_2'],
      [`${URL_USED}/other`, 'acct_1'],
    ] as const) {
      const client = kept.open(url, optionsWith({ owner }))
      expect(await post(client)).toMatchObject(accepted)
      await client.close()
    }
    expect(asked).toHaveLength(4)
    await kept.close()
  })

  test('connections end when their time is over, when there are too many, and when all are closed', async () => {
    const openSockets = () =>
      new Promise<number>((resolve, reject) =>
        receiver.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      )
    receiver.closeAllConnections()
    await until(
      async () => (await openSockets()) === 0,
      5_000,
      () => 'connections stayed',
    )
    const use = async (kept: KeptClients, owner: string) => {
      const client = kept.open(URL_USED, optionsWith({ owner }))
      await post(client)
      await client.close()
    }
    const brief = keepClients(clients(), { keptMs: 50 })
    await use(brief, 'acct_1')
    await until(
      async () => (await openSockets()) === 0,
      5_000,
      () => 'it was kept for too long',
    )
    const few = keepClients(clients(), { keptMs: 60_000, keptMax: 2 })
    for (const owner of ['acct_1', 'acct_2', 'acct_3']) await use(few, owner)
    await until(
      async () => (await openSockets()) === 2,
      5_000,
      () => 'too many were kept',
    )
    await few.close()
    await until(
      async () => (await openSockets()) === 0,
      5_000,
      () => 'they were not closed',
    )
  })
})

test('with NODE_TLS_REJECT_UNAUTHORIZED=0, a receiver or a proxy with an untrusted certificate gets nothing', async ({
  onTestFinished,
}) => {
  const certificate = await authority.issue(`DNS:${NAME},IP:127.0.0.1`, { isSelfSigned: true })
  const servers = [1, 2].map(() =>
    createHttpsServer(certificate, (_request, response) => {
      received += 1
      response.end()
    }).listen(0, '127.0.0.1'),
  )
  const [impostor, wrongProxy] = servers as Server[] as [Server, Server]
  await Promise.all(servers.map((server) => once(server, 'listening')))
  wrongProxy.on('connect', (request) => asked.push(request.url ?? ''))
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => {
    vi.unstubAllEnvs()
    for (const server of servers) server.close()
  })

  destination = impostor
  const client = open()
  expect(await post(client)).toMatchObject({ error: 'tls', status: null, remote_address: FIRST })
  await client.close()

  asked = []
  const behind = open({}, `https://127.0.0.1:${portOf(wrongProxy)}`)
  await expect(post(behind)).rejects.toThrow('the egress proxy cannot be used: DEPTH_ZERO_SELF_SIGNED_CERT')
  await behind.close()
  expect(asked).toEqual([])
  expect(received).toBe(0)
})

test('a name server that never answers gives `dns` after two seconds, although the total limit is longer', async () => {
  dns.set(NAME, 'SILENCE')
  const client = open({ totalMsMax: 10_000 })
  const [sent, ms] = await timed(post(client))
  expect(sent).toMatchObject({ error: 'dns', status: null, remote_address: null })
  expect(ms).toBeLessThan(LOOKUP_MS_MAX + LATE_MS)
  expect(asked).toEqual([])
  await client.close()
})

test.for([
  ['the name server does not answer', () => dns.set(NAME, 'SILENCE')],
  [
    'the TLS handshake is never answered',
    () => {
      manner = (_target, socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        return false
      }
    },
  ],
  [
    'the receiver does not answer',
    () => {
      isAnswering = false
    },
  ],
] as const)(
  'the total limit ends a request while %s, and those that wait for the connection; nothing is left open',
  async ([, arrange]) => {
    const before = sockets()
    arrange()
    const client = open({ totalMsMax: 500 })
    const [sent, ms] = await timed(Promise.all([post(client), post(client), post(client)]))
    expect(sent.map(({ error }) => error)).toEqual(['timeout', 'timeout', 'timeout'])
    expect(ms).toBeLessThan(500 + LATE_MS)
    await client.close()
    await until(
      () => sockets() <= before,
      5_000,
      () => `${sockets()} files are open, ${before} were`,
    )
  },
)

test('the total limit ends a request while isStillWanted is pending, and nothing is sent', async () => {
  const client = open({ totalMsMax: 500, isStillWanted: () => new Promise(() => {}) })
  const [sent, ms] = await timed(post(client))
  expect(sent).toMatchObject({ error: 'timeout', status: null, remote_address: FIRST })
  expect(ms).toBeLessThan(500 + LATE_MS)
  expect(received).toBe(0)
  await client.close()
})

test('a proxy that does not answer CONNECT throws ProxyTrouble when the total limit is over', async () => {
  manner = () => false
  const client = open({ totalMsMax: 300 })
  await expect(post(client)).rejects.toThrow('the egress proxy cannot be used: it did not answer in time')
  await client.close()
})

test('when the proxy cannot reach one address the next one is tried; one that its rules forbid ends the request', async () => {
  dns.set(NAME, [FIRST, SECOND])
  manner = (target, socket) => {
    if (!target.startsWith(FIRST)) return true
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    return false
  }
  const client = open()
  expect(await post(client)).toMatchObject({ error: null, status: 204, remote_address: SECOND })
  expect(asked).toEqual([`${FIRST}:8443`, `[${SECOND}]:8443`])
  asked = []
  await client.close()
  const refused = open()
  manner = (_target, socket) => {
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    return false
  }
  expect(await post(refused)).toMatchObject({ error: 'blocked', status: null, remote_address: null })
  expect(asked).toEqual([`${FIRST}:8443`])
  await refused.close()
})

test('closing the client ends requests under way', async () => {
  dns.set(NAME, 'SILENCE')
  const client = open({ totalMsMax: 60_000 })
  const sent = timed(post(client))
  await until(
    () => dns.lookUps(NAME) > 0,
    5_000,
    () => 'nothing was looked up',
  )
  await client.close()
  const [{ error }, ms] = await sent
  expect(error).toBe('connect')
  expect(ms).toBeLessThan(LATE_MS)
})

test('an address that the operator denies, or does not allow, is not dialled: the attempt is `blocked`', async () => {
  dns.set(NAME, [FIRST, SECOND])
  const lookUp = createLookUp([`127.0.0.1:${dns.port}`])
  const sendWith = async (allow: string[] | undefined, deny: string[] | undefined) => {
    const proxyUrl = `http://127.0.0.1:${portOf(proxy)}`
    const client = guardedClients(proxyUrl, outboundNetworks(allow, deny), lookUp)(URL_USED, optionsWith())
    const sent = await post(client)
    await client.close()
    return sent
  }
  const blocked = { error: 'blocked', status: null, remote_address: null }
  expect(await sendWith(undefined, ['93.184.216.0/24'])).toEqual(blocked)
  // One answer of several is enough.
  expect(await sendWith(undefined, ['2606:2800::/32'])).toEqual(blocked)
  expect(await sendWith(['93.184.216.34'], undefined)).toEqual(blocked)
  expect(asked).toEqual([])
  expect(await sendWith(['93.0.0.0/8', '2606:2800::/32'], ['93.184.217.0/24'])).toMatchObject({ status: 204 })
  expect(asked).toEqual([`${FIRST}:8443`])
})

function sockets(): number {
  return readdirSync('/dev/fd').length
}
