import { createServer } from 'node:net'
import { createAuthority, PUBLIC_ADDRESSES, until } from '@shopwire/engines'
import { checkInvariants } from '@shopwire/proof/invariants'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../support/connection.ts'
import { type ServerProcess, startWorker } from '../support/server-process.ts'
import { type Key, sign } from '../support/signed-request.ts'
import { START_MS_MAX, type System, startSystem } from '../support/system.ts'
import { startDnsStub } from './dns-stub.ts'
import { type Manner, startReceiver } from './receiver.ts'

/** Runs in a network where these are on this machine and names are looked up in the stub. */
const [HERE, THERE] = PUBLIC_ADDRESSES
const SOON_MS = 20_000
const ITEM = '10000000000000001'

let system: System
let worker: ServerProcess
let authority: Awaited<ReturnType<typeof createAuthority>>
let dns: Awaited<ReturnType<typeof startDnsStub>>
let inside: { connections(): number; close(): void }

beforeAll(async () => {
  authority = await createAuthority()
  dns = await startDnsStub()
  inside = listenInside()
  const settings = {
    NODE_EXTRA_CA_CERTS: authority.file,
    SHOPWIRE_REQUESTS_PER_MINUTE: '100000',
    SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: '100000',
  }
  system = await startSystem({ admission: 'postgres', settings })
  worker = await startWorker(system.settings)
  await system.query(
    `insert into items (id, name, type, collection, price_cents, is_for_sale, revision)
     values ('${ITEM}', 'Ring', 'decoration', 'Basics', 1, true, 2); update catalogue_state set revision = 2`,
  )
  // The change of the catalogue is told to nobody, because there is nobody yet; later it would get between the events below.
  await until(
    async () =>
      (await system.query('select revision from catalogue_announcement where told_up_to is null')) === '2',
    SOON_MS,
    () => 'the catalogue is not announced',
  )
}, START_MS_MAX)
afterAll(async () => {
  await worker?.kill('SIGTERM')
  await system?.stop()
  inside?.close()
  dns?.close()
  await authority?.remove()
})

/** Whoever lets itself be led inside ends up here. */
function listenInside() {
  let connections = 0
  const servers = [443, 8443].map((port) =>
    createServer((socket) => {
      connections += 1
      socket.destroy()
    }).listen(port, '127.0.0.1'),
  )
  return { connections: () => connections, close: () => void servers.map((server) => server.close()) }
}

async function call(key: Key, method: string, target: string, body = '') {
  const connection = await connect(system.ports[0] ?? 0)
  try {
    return await connection.send(sign(key, method, target, body).bytes)
  } finally {
    connection.close()
  }
}
const configure = (key: Key, url: string | null) => call(key, 'POST', '/v1/webhook', JSON.stringify({ url }))
const sendTest = (key: Key) => call(key, 'POST', '/v1/webhook/test', '{}')
const health = async (key: Key) => (await call(key, 'GET', '/v1/webhook')).body

/** A receiver of its own at a name of its own, and an account whose events go there. */
async function openReceiver(name: string, { address = HERE as string, port = 443, certificate = {} } = {}) {
  const receiver = await startReceiver(address, await authority.issue(`DNS:${name}`, certificate), port)
  onTestFinished(() => receiver.close())
  dns.set(name, [address])
  const { account_id, key } = await system.createAccount()
  const configured = await configure(key, `https://${name}${port === 443 ? '' : `:${port}`}/hook`)
  expect(configured.status).toBe(200)
  receiver.knows(configured.body.secret)
  return { receiver, key, account_id, secret: configured.body.secret as string }
}
const untilError = async (key: Key, error: string) => {
  let last: unknown
  await until(
    async () => {
      last = await health(key)
      return (last as { last_error: string | null }).last_error === error
    },
    SOON_MS,
    () => `last_error is not ${error}: ${JSON.stringify(last)}`,
  )
}

test('events of a real order arrive signed, over TLS, at the registered place', async () => {
  const { receiver, key, account_id } = await openReceiver('hook.example.net')
  await system.admin('accounts', 'fund', account_id, '1.00', '--reference', 'x')
  const order = await call(
    key,
    'POST',
    '/v1/orders',
    JSON.stringify({ items: [{ id: ITEM }], idempotency_key: 'rig-order' }),
  )
  expect(order.status).toBe(201)
  await until(
    () => receiver.received.length === 1,
    SOON_MS,
    () => 'the event does not arrive',
  )
  expect(receiver.received[0]).toMatchObject({ event: 'order.accepted', path: '/hook', isGenuine: true })
  expect(JSON.parse(receiver.received[0]?.body ?? '').data.order.id).toBe(order.body.id)
  await until(
    async () => (await health(key)).pending === 0,
    SOON_MS,
    () => 'it stays pending',
  )
})

test('at rest an event is on its way within a moment; how soon is printed', async (context) => {
  const { receiver, key } = await openReceiver('quick.example.net')
  const waits: number[] = []
  for (let n = 0; n < 40; n += 1) {
    const sentMs = Date.now()
    await sendTest(key)
    await until(
      () => receiver.received.length === n + 1,
      SOON_MS,
      () => 'the event does not arrive',
    )
    waits.push((receiver.received[n]?.atMs ?? 0) - sentMs)
  }
  waits.sort((a, b) => a - b)
  await context.annotate(`event to first attempt: p50 ${waits[20]} ms, p99 ${waits[39]} ms`)
  expect(waits[20]).toBeLessThan(250)
  expect(receiver.received.every(({ isGenuine }) => isGenuine)).toBe(true)
})

describe('nobody inside is ever dialled', () => {
  test('a name that turns to a private address after it was registered', async () => {
    const { key, account_id, receiver } = await openReceiver('rebind.example.net')
    dns.set('rebind.example.net', ['127.0.0.1'])
    await sendTest(key)
    await untilError(key, 'blocked')
    expect(account_id).toBeTruthy()
    expect(receiver.received).toEqual([])
  })

  test('a name that changes with every look-up: what was checked is what is dialled', async () => {
    const { key, receiver } = await openReceiver('flip.example.net')
    dns.set('flip.example.net', (lookUp) => [lookUp % 2 === 1 ? HERE : '127.0.0.1'])
    for (let n = 0; n < 8; n += 1) await sendTest(key)
    await until(
      async () => (await health(key)).last_error === 'blocked' || receiver.received.length >= 8,
      SOON_MS,
      () => 'nothing happens',
    )
  })

  test.each([
    ['mixed', [HERE, '10.0.0.1']],
    ['mapped', ['::ffff:7f00:1']],
    ['metadata', ['169.254.169.254']],
    ['local6', ['::1']],
    ['unique', ['fd00:ec2::254']],
  ] as const)(
    'a name with %s answers is refused when it is registered, and when it is dialled',
    async (kind, answers) => {
      const name = `${kind}.example.net`
      const { key, receiver } = await openReceiver(name)
      dns.set(name, answers)
      await sendTest(key)
      await untilError(key, 'blocked')
      expect((await configure(key, `https://${name}/other`)).body.error.type).toBe('webhook_url_not_allowed')
      expect(receiver.received).toEqual([])
    },
  )

  test('a resolver that fails at registration does not switch the check off', async () => {
    dns.set('sick.example.net', 'SERVFAIL')
    const { key } = await system.createAccount()
    expect((await configure(key, 'https://sick.example.net/')).status).toBe(200)
    dns.set('sick.example.net', ['127.0.0.1'])
    await sendTest(key)
    await untilError(key, 'blocked')
  })

  test('a redirect to the inside is not followed', async () => {
    const { key, receiver } = await openReceiver('redirect.example.net')
    receiver.behaves((_request, response) =>
      response.writeHead(307, { location: 'https://127.0.0.1/' }).end(),
    )
    await sendTest(key)
    await untilError(key, 'http_307')
  })

  afterAll(() => {
    expect(inside.connections()).toBe(0)
  })
})

describe('who cannot prove its name gets nothing', () => {
  test.each([
    ['selfsigned.example.net', { isSelfSigned: true }],
    ['expired.example.net', { days: -1 }],
  ])('%s', async (name, certificate) => {
    const { key, receiver } = await openReceiver(name, { certificate })
    await sendTest(key)
    await untilError(key, 'tls')
    expect(receiver.received).toEqual([])
  })

  test('a certificate of another name', async () => {
    const { key, receiver } = await openReceiver('right.example.net')
    dns.set('wrong.example.net', [HERE])
    expect((await configure(key, 'https://wrong.example.net/')).status).toBe(200)
    await sendTest(key)
    await untilError(key, 'tls')
    expect(receiver.received).toEqual([])
  })
})

describe('a receiver that misbehaves is left after its time and holds up nobody', () => {
  test.each([
    ['hangs', () => {}, 'timeout'],
    [
      'has an endless header',
      (_request, response) => response.writeHead(200, { x: 'y'.repeat(20_000) }).end(),
      'bad_response',
    ],
    ['hangs up', (request) => request.socket.destroy(), 'reset'],
    ['is unwell', (_request, response) => response.writeHead(503).end(), 'http_503'],
  ] as [string, Manner, string][])('one that %s', async (kind, manner, error) => {
    const name = `${kind.replaceAll(' ', '-')}.example.net`
    const bad = await openReceiver(name, { address: THERE })
    bad.receiver.behaves(manner)
    const good = await openReceiver(`beside-${name}`)
    await sendTest(bad.key)
    const sentMs = Date.now()
    await sendTest(good.key)
    await until(
      () => good.receiver.received.length === 1,
      SOON_MS,
      () => 'the healthy one is held up',
    )
    expect((good.receiver.received[0]?.atMs ?? 0) - sentMs).toBeLessThan(2_000)
    await untilError(bad.key, error)
  })

  test.each([
    [
      'answers without end',
      (_request, response) => {
        response.writeHead(200)
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on('drain', pour)
        pour()
      },
    ],
    [
      'drips its answer',
      (_request, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write('x'), 500)
        response.on('close', () => clearInterval(drip))
      },
    ],
  ] as [string, Manner][])(
    'one that %s has accepted with its 200, and is not listened to for long',
    async (kind, manner) => {
      const { key, receiver } = await openReceiver(`${kind.replaceAll(' ', '-')}.example.net`, {
        address: THERE,
      })
      receiver.behaves(manner)
      await sendTest(key)
      await until(
        async () => (await health(key)).pending === 0,
        SOON_MS,
        () => 'it stays pending',
      )
      expect(await health(key)).toMatchObject({ failed: 0, last_error: null })
    },
  )
})

test('a worker killed with -9 loses no event, and every copy has the same id and bytes', async () => {
  const { receiver, key } = await openReceiver('killed.example.net')
  receiver.behaves((_request, response) => setTimeout(() => response.writeHead(200).end(), 30))
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 8; n += 1) await sendTest(key)
    await until(
      () => receiver.received.length > round * 8,
      SOON_MS,
      () => 'nothing arrives',
    )
    await worker.kill('SIGKILL')
    await worker.start()
    await until(
      async () => (await health(key)).pending === 0,
      SOON_MS * 2,
      () => 'events stay pending',
    )
  }
  expect(receiver.handled.size).toBe(24)
  const bodies = new Map<string, Set<string>>()
  for (const { id, body } of receiver.received) bodies.set(id, (bodies.get(id) ?? new Set()).add(body))
  expect([...bodies.values()].every((copies) => copies.size === 1)).toBe(true)
})

test('after a change of URL was answered nothing more reaches the old place', async () => {
  const first = await openReceiver('old.example.net')
  const second = await startReceiver(THERE, await authority.issue('DNS:new.example.net'))
  onTestFinished(() => second.close())
  second.knows(first.secret)
  dns.set('new.example.net', [THERE])
  let isOld = false
  const late: number[] = []
  for (let n = 0; n < 20; n += 1) {
    for (let m = 0; m < 5; m += 1) await sendTest(first.key)
    const url = isOld ? 'https://old.example.net/hook' : 'https://new.example.net/hook'
    const changed = await configure(first.key, url)
    expect(changed.status).toBe(200)
    const answeredMs = Date.now()
    const stale = isOld ? second : first.receiver
    await sendTest(first.key)
    await until(
      async () => (await health(first.key)).pending === 0,
      SOON_MS,
      () => 'events stay pending',
    )
    late.push(stale.received.filter(({ atMs }) => atMs > answeredMs).length)
    isOld = !isOld
  }
  expect(late).toEqual(Array(20).fill(0))
})

test('after all of that every rule of money and delivery holds', async () => {
  expect(await checkInvariants(system.superuserUrl)).toEqual([])
})
