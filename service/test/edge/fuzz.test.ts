import { METHODS } from 'node:http'
import { BODY_BYTES_MAX, type Route, type RouteName, routeNamed } from '@shopwire/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { createInputReader } from '../../src/edge/read-input.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { echoes } from '../../testing/echo.ts'
import { below, mutate, pick, type Random, randomFrom } from '../../testing/mutate.ts'
import { chunked, openLine, type RawAnswer, requestBytes } from '../../testing/raw-http.ts'
import { faultsOf } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders, type TestKey } from '../../testing/shop.ts'

const SCALE = process.env.SHOPWIRE_LONG ? 1 : IS_SHORT ? 0.03 : 0.1
const SEED = 20_260_731
const MESSAGES = 100_000 * SCALE
const BODIES = 200_000 * SCALE
const BODIES_SENT = BODIES * 0.05
const LINES = 32
const MINUTES = 60_000

/** Long enough for the slowest deadline of the edge: ten seconds for headers, eleven for idling, five for a body. */
const DEADLINE_MS = 20_000

const ID = '12345678901234567'
const carts = [
  `{"items":[{"id":"${ID}"}]}`,
  `{"items":[{"id":"${ID}","qty":2,"expected_price_cents":1299},{"id":"12345678901234568"}]}`,
  `{"items":[{"id":"${ID}"}],"idempotency_key":"order-0001"}`,
  `{ "idempotency_key" : "a.b:c-d_9", "items" : [ { "qty" : 10, "id" : "99999999999999999999" } ] }`,
  '{"url":"https://example.com/hook?é=😀"}',
  '{"url":null}',
  '{}',
]
const bodyWords = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '"a":',
    '""',
    'null',
    'true',
    '[]',
    '{}',
    '[[[[[[[[[',
    '{"a":',
  ],
  ...['1.0', '1e0', '-0', '1E400', '9007199254740993', '0', '11', '-1', '"1"', '12345678901234567', '０'],
  ...[
    '"__proto__":',
    '"constructor":',
    '"qty":',
    '"items":',
    '"id":',
    '"idempotency_key":',
    '"url":',
    '"toString":1,',
  ],
  ...[
    '\\u0000',
    '\\ud800',
    '\\u0061',
    '\\x',
    '\ufeff',
    '\0',
    '\xff\xfe',
    '\xed\xa0\x80',
    '\xc0\xaf',
    '\r\n',
    '\t',
    '/*',
    '//',
  ],
]

let shop: Shop
/** Several accounts, each far below the size that would slow its window down. */
let keys: TestKey[]
const echo = echoes('postQuote', 'postOrders', 'deleteWebhook')
beforeAll(async () => {
  const limits = { requestsMax: 500, ordersMax: 500 }
  shop = await openShop({ endpoints: echo.endpoints, limits })
  keys = await Promise.all(Array.from({ length: Math.ceil(BODIES_SENT / 250) }, newKey))
})
afterAll(() => shop.close())

const newKey = async () => shop.makeKey(undefined, (await shop.operator.createAccount('Fuzz')).id)

/** Runs `work` for every number below `count`, `width` at a time. */
async function spread(count: number, width: number, work: (n: number) => Promise<void>) {
  let next = 0
  const run = async () => {
    while (next < count) {
      const n = next
      next += 1
      await work(n)
    }
  }
  await Promise.all(Array.from({ length: width }, run))
}

describe(`${BODIES} mutated bodies`, () => {
  const readers = (['postQuote', 'postOrders', 'postWebhook', 'postWebhookTest'] as const).map(
    (name: RouteName) => createInputReader(routeNamed(name) as Route),
  )
  const body = (random: Random) => mutate(random, Buffer.from(pick(random, carts)), bodyWords)

  test(
    'are read as the contract says or refused with a message; nothing else happens',
    () => {
      const random = randomFrom(SEED)
      let accepted = 0
      for (let n = 0; n < BODIES - BODIES_SENT; n += 1) {
        const bytes = body(random)
        for (const reader of readers) {
          try {
            const value = reader.body(bytes)
            accepted += 1
            // Two parsers read the same value.
            if (JSON.stringify(value) !== JSON.stringify(JSON.parse(bytes.toString('utf8'))))
              throw new Error('read otherwise')
          } catch (error) {
            const isNamed =
              error instanceof Refusal && error.type === 'invalid_request' && error.message.length < 400
            if (!isNamed)
              throw new Error(`body ${n} of seed ${SEED}: ${JSON.stringify(bytes.toString('latin1'))}`, {
                cause: error,
              })
          }
        }
      }
      expect(accepted).toBeGreaterThan(BODIES / 100)
      expect(({} as Record<string, unknown>).polluted).toBe(undefined)
    },
    MINUTES * 5,
  )

  test(
    `${BODIES_SENT} of them, signed and sent, get the same result as from the parser alone`,
    async () => {
      const random = randomFrom(SEED + 1)
      const routes = [
        { target: '/v1/quote', reader: createInputReader(routeNamed('postQuote')) },
        { target: '/v1/orders', reader: createInputReader(routeNamed('postOrders')) },
      ]
      const cases = Array.from({ length: BODIES_SENT }, (_, n) => ({
        n,
        bytes: body(random),
        ...pick(random, routes),
      }))
      const wrong: unknown[] = []
      const lines = await Promise.all(Array.from({ length: LINES }, () => openLine(shop.port)))
      const free = [...lines]
      await spread(cases.length, LINES, async (at) => {
        const { n, bytes, target, reader } = cases[at] as (typeof cases)[number]
        const line = free.pop() as (typeof lines)[number]
        const key = keys[n % keys.length] as TestKey
        const headers = signedHeaders(key, 'POST', target, bytes)
        line.send(requestBytes('POST', target, { ...headers, 'Content-Length': String(bytes.length) }, bytes))
        const answer = await line.next()
        free.push(line)
        if (answer?.status !== verdict(reader, bytes) || faultsOf(answer).length > 0) {
          wrong.push({
            n,
            target,
            sent: bytes.toString('latin1'),
            status: answer?.status,
            faults: faultsOf(answer),
          })
        }
      })
      for (const line of lines) line.close()
      expect(wrong.slice(0, 5)).toEqual([])
    },
    MINUTES * 5,
  )

  function verdict(reader: ReturnType<typeof createInputReader>, bytes: Uint8Array): number {
    if (bytes.length > BODY_BYTES_MAX) return 413
    try {
      reader.body(bytes)
      return 200
    } catch {
      return 400
    }
  }
})

describe(`${MESSAGES} mutated messages`, () => {
  const words = [
    ...[
      '\r\n',
      '\n',
      '\r',
      '\r\n\r\n',
      ' ',
      '\t',
      '\0',
      ':',
      ';',
      ',',
      '%',
      '#',
      '?',
      '//',
      '\x7f',
      '\xff',
      '"',
    ],
    ...[
      'GET ',
      'POST ',
      'HEAD ',
      'PUT ',
      'TRACE ',
      'CONNECT ',
      'OPTIONS * ',
      'PRI * ',
      'QUERY ',
      'PROPFIND ',
    ],
    ...[
      'HTTP/1.1',
      'HTTP/1.0',
      'HTTP/0.9',
      'HTTP/2.0',
      'http://shop',
      '/v1/ping',
      '/v1/status',
      '/v1/quote',
      '/v1/../',
    ],
    ...['Host: other\r\n', 'Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Content-Length: -1\r\n'],
    ...[
      'Content-Length: 16385\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Transfer-Encoding: gzip, chunked\r\n',
    ],
    ...[
      'Transfer-Encoding : chunked\r\n',
      'Expect: 100-continue\r\n',
      'Expect: x\r\n',
      'Connection: close\r\n',
    ],
    ...[
      'Connection: keep-alive\r\n',
      'Connection: Upgrade\r\nUpgrade: h2c\r\n',
      'Upgrade: x\r\n',
      ' folded\r\n',
      'X: y\r\n',
    ],
    ...[
      '0\r\n\r\n',
      '5\r\nhello\r\n',
      'ffffffff\r\n',
      '-1\r\n',
      '5;ext=1\r\n',
      'Content-Encoding: gzip\r\n',
      'Trailer: X\r\n',
    ],
    'A: b\r\n'.repeat(150),
    'x'.repeat(17_000),
  ]
  /** Ends whatever the message has left open: too long for any body, and not a header, chunk or request line. */
  const END = Buffer.alloc(BODY_BYTES_MAX + 600)
  const ALLOWED = new Set([100, 200, 400, 401, 404, 405, 408, 413, 429])

  interface Message {
    method: string
    target: string
    version: string
    headers: [string, string][]
    body: Buffer
  }

  /** A request that would succeed, signed as it is. */
  function wellFormed(random: Random, key: TestKey): Message {
    const cart = Buffer.from(carts[below(random, 3)] as string)
    const signed = (
      method: string,
      target: string,
      headers: Record<string, string> = {},
      body: Buffer = Buffer.alloc(0),
      sent = body,
    ) => ({
      method,
      target,
      version: 'HTTP/1.1',
      headers: Object.entries({ ...signedHeaders(key, method, target, body), ...headers }),
      body: sent,
    })
    const length = { 'Content-Length': String(cart.length) }
    const inChunks = { 'Transfer-Encoding': 'chunked' }
    const json = { 'Content-Type': 'application/json' }
    return pick(random, [
      () => signed('GET', '/v1/ping'),
      () => signed('GET', '/v1/ping?a=1'),
      () => ({ ...signed('GET', '/v1/status'), headers: [] }),
      () => signed('POST', '/v1/quote', length, cart),
      () => signed('POST', '/v1/orders', { ...length, ...json }, cart),
      () => signed('POST', '/v1/quote', inChunks, cart, chunked(cart, 1 + below(random, 20))),
      () => signed('POST', '/v1/quote', { ...length, Expect: '100-continue' }, cart),
      () => signed('DELETE', '/v1/webhook'),
    ])()
  }

  const methods = [...METHODS, 'get', 'FOO', '', 'GET GET']
  const targets = [
    '/v1/ping',
    '/v1/status',
    '/v1/quote',
    '/v1/nothing',
    '*',
    'http://shop/v1/ping',
    '/v1/ping#x',
    '//',
    '/%ff',
  ]
  const versions = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', '', 'RTSP/1.0']
  const extras: [string, string][] = [
    ...(
      [
        'Host',
        'Content-Length',
        'Transfer-Encoding',
        'Expect',
        'Connection',
        'Upgrade',
        'X-Api-Nonce',
      ] as const
    ).flatMap((name) =>
      [
        '',
        '0',
        '5',
        '16385',
        '-1',
        'chunked',
        'gzip, chunked',
        '100-continue',
        'close',
        'keep-alive',
        'h2c',
      ].map((value): [string, string] => [name, value]),
    ),
    ['Content-Encoding', 'gzip'],
    ['Content-Type', ';;'],
    ['Accept-Version', '1'],
    ['Transfer-Encoding ', 'chunked'],
    ['X-Folded', 'a\r\n b'],
  ]
  const reshapes: readonly ((random: Random, message: Message) => void)[] = [
    (random, message) => {
      message.method = pick(random, methods)
    },
    (random, message) => {
      message.target = pick(random, targets)
    },
    (random, message) => {
      message.version = pick(random, versions)
    },
    (random, { headers }) => void headers.splice(below(random, headers.length + 1), 0, pick(random, extras)),
    (random, { headers }) => void headers.splice(below(random, headers.length + 1), 1),
    (random, { headers }) => void (headers.length > 0 && headers.push(pick(random, headers))),
    (random, message) => {
      message.body = mutate(random, message.body, words)
    },
    (random, { headers }) => {
      const at = below(random, headers.length)
      const [name, value] = headers[at] ?? ['X', 'y']
      headers[at] = [name, mutate(random, Buffer.from(value), words).toString('latin1')]
    },
  ]

  /** Well-formed requests with some parts exchanged and some bytes changed. */
  function message(random: Random, n: number): Buffer {
    const requests = Array.from({ length: random() < 0.2 ? 2 : 1 }, () => {
      const made = wellFormed(random, keys[n % keys.length] as TestKey)
      for (let left = below(random, 4); left > 0; left -= 1) pick(random, reshapes)(random, made)
      return requestBytes(made.method, made.target, made.headers, made.body, made.version)
    })
    const bytes = Buffer.concat(requests)
    return random() < 0.4 ? mutate(random, bytes, words) : bytes
  }

  /** How the message is sent and ended. */
  type Ending = 'junk' | 'half-close' | 'silence'

  async function deliver(random: Random, bytes: Buffer, ending: Ending): Promise<string[]> {
    const line = await openLine(shop.port)
    const timer = setTimeout(() => line.close(), DEADLINE_MS)
    const startedMs = performance.now()
    const cut = random() < 0.3 ? below(random, bytes.length + 1) : bytes.length
    line.send(bytes.subarray(0, cut))
    if (cut < bytes.length) await new Promise((resolve) => setImmediate(resolve))
    line.send(ending === 'junk' ? Buffer.concat([bytes.subarray(cut), END]) : bytes.subarray(cut))
    if (ending === 'half-close') line.endSending()
    try {
      // Which answer belongs to HEAD is not known here; such a conversation only has to end.
      if (bytes.includes('HEAD')) await line.closed
      const answers = bytes.includes('HEAD') ? [] : await line.rest()
      const faults = answers.flatMap(faultsIn)
      const hasSaidSomething = /\S/.test(bytes.toString('latin1')) && !bytes.includes('HEAD')
      if (answers.length === 0 && hasSaidSomething) faults.push('no answer')
      if (performance.now() - startedMs >= DEADLINE_MS - 100) faults.push('it never ended')
      return faults
    } catch (error) {
      return [String(error)]
    } finally {
      clearTimeout(timer)
      line.close()
    }
  }

  function faultsIn(answer: RawAnswer): string[] {
    if (!ALLOWED.has(answer.status)) return [`status ${answer.status} ${answer.body}`]
    return answer.status === 100 ? [] : faultsOf(answer)
  }

  async function deliverAll(
    seed: number,
    count: number,
    width: number,
    endingOf: (random: Random) => Ending,
  ) {
    const wrong: unknown[] = []
    await spread(count, width, async (n) => {
      // One sequence per message: what is sent does not depend on which answer came first.
      const random = randomFrom(seed + n * SEED)
      const bytes = message(random, n)
      const faults = await deliver(random, bytes, endingOf(random))
      if (faults.length > 0) wrong.push({ n, sent: bytes.toString('latin1'), faults })
    })
    expect(wrong.slice(0, 5)).toEqual([])
  }

  const SILENT = MESSAGES * 0.03

  test(
    'end in our answers and a closed connection, at once or at their deadline',
    async () => {
      // Those that leave the end to the server wait for its deadlines in parallel.
      const silent = deliverAll(SEED + 2, SILENT, 500, () => 'silence')
      const loud = deliverAll(SEED + 3, MESSAGES - SILENT, LINES, (random) =>
        random() < 0.1 ? 'half-close' : 'junk',
      )
      await Promise.all([silent, loud])
    },
    MINUTES * 15,
  )
})

test('after all that, a caller is served', async () => {
  const key = await newKey()
  expect((await shop.call('GET', '/v1/ping', { key })).status).toBe(200)
  expect((await shop.call('POST', '/v1/quote', { key, body: carts[0] as string })).status).toBe(200)
})
