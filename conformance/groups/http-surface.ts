import { group } from '../check.ts'
import { equal, that } from '../expect.ts'

export const httpSurface = group('http-surface', 'HTTP surface')
const { check } = httpSurface

for (const [slug, path] of [
  ['unknown', '/nothing'],
  ['trailing-slash', '/ping/'],
  ['double-slash', '//ping'],
  ['case', '/Ping'],
  ['escaped', '/%70ing'],
  ['dot', '/./ping'],
  ['dots', '/catalogue/../ping'],
  ['deeper', '/catalogue/1/2'],
  ['semicolon', '/ping;x=1'],
  ['empty-id', '/catalogue/'],
] as const) {
  check(
    `404-${slug}`,
    `${path} is not a path: 404 without a signature`,
    ['d1.unknown-path', 'd1.path-exact', 'err.404'],
    async (t) => (await t.send({ path })).refused(404, 'not_found'),
  )
}
for (const [slug, swap] of [
  ['without-prefix', ''],
  ['v2', '/v2'],
  ['upper-prefix', '/V1'],
] as const) {
  check(
    `404-${slug}`,
    `endpoints live under /v1 and not under "${swap}"`,
    ['ver.path', 'what.json', 'd1.path-exact'],
    async (t) =>
      (await t.send({ target: `${t.basePath.replace(/\/v1$/, swap)}/ping` })).refused(404, 'not_found'),
  )
}

const METHODS: [path: string, allow: string, wrong: string[]][] = [
  ['/status', 'GET, HEAD', ['POST', 'DELETE']],
  ['/ping', 'GET', ['POST', 'PUT']],
  ['/balance', 'GET', ['PATCH']],
  ['/catalogue', 'GET', ['POST']],
  ['/catalogue/12345678901234567', 'GET', ['DELETE']],
  ['/quote', 'POST', ['GET']],
  ['/orders', 'GET, POST', ['DELETE', 'PUT']],
  ['/orders/ord_1', 'GET', ['DELETE', 'PATCH']],
  ['/webhook', 'DELETE, GET, POST', ['PUT', 'PATCH']],
  ['/webhook/test', 'POST', ['GET']],
]
for (const [path, allow, wrong] of METHODS) {
  for (const method of wrong) {
    check(
      `405-${method.toLowerCase()}${path.replaceAll('/', '-')}`,
      `${method} ${path} is 405 and Allow says ${allow}`,
      ['d1.wrong-method'],
      async (t) => {
        const reply = (await t.send({ method, path })).refused(405, 'method_not_allowed')
        equal('Allow', reply.header('allow')?.split(/, */).sort().join(', '), allow)
      },
    )
  }
}
check('head-status', 'HEAD /status is answered as GET is, without a body', ['d1.head-status'], async (t) => {
  const [got, asked] = [await t.send({ path: '/status' }), await t.send({ method: 'HEAD', path: '/status' })]
  asked.is(200)
  equal('the body', asked.body.length, 0)
  for (const name of ['content-type', 'cache-control']) equal(name, asked.header(name), got.header(name))
})
for (const method of ['HEAD', 'OPTIONS', 'TRACE']) {
  check(
    `405-${method.toLowerCase()}`,
    `${method} is not offered for a signed request`,
    ['d1.unused-methods'],
    async (t) => {
      const reply = (await t.send({ method, path: '/ping' })).is(405)
      that('Allow', reply.header('allow') === 'GET', reply.header('allow'))
    },
  )
}
check('no-cors', 'nothing invites a browser', ['d1.unused-methods', 'what.secrets'], async (t) => {
  const headers = [
    ['Origin', 'https://shop.example'],
    ['Access-Control-Request-Method', 'GET'],
  ] as const
  for (const reply of [
    await t.send({ method: 'OPTIONS', path: '/ping', headers }),
    await t.get(await t.buyer(), '/ping', { headers }),
  ]) {
    that(
      'no Access-Control headers',
      reply.headers.every(([name]) => !name.toLowerCase().startsWith('access-control')),
      reply.headers,
    )
  }
})
check('get-body', 'a GET with a body is 400', ['d1.get-body'], async (t) =>
  (await t.get(await t.buyer(), '/ping', { body: '{}' })).refused(400, 'invalid_request'),
)
check(
  'delete-body',
  'a DELETE with a body is 400',
  ['d1.get-body'],
  async (t) =>
    (await t.send({ method: 'DELETE', path: '/webhook', key: await t.buyer(), body: '{}' })).refused(
      400,
      'invalid_request',
    ),
  { needs: ['webhooks'] },
)
for (const [slug, type] of [
  ['missing', undefined],
  ['text', 'text/plain'],
  ['json', 'application/json'],
  ['form', 'application/x-www-form-urlencoded'],
] as const) {
  check(
    `content-type-${slug}`,
    `a body with Content-Type ${type ?? '(none)'} is read as JSON`,
    ['d1.content-type', 'ep.json'],
    async (t) =>
      (
        await t.post(
          await t.buyer(),
          '/quote',
          { items: [{ id: '99999999999999999999' }] },
          type === undefined ? {} : { headers: [['Content-Type', type]] },
        )
      ).is(200),
  )
}
check('content-encoding', 'a Content-Encoding is 400', ['d1.content-type'], async (t) =>
  (
    await t.post(
      await t.buyer(),
      '/quote',
      { items: [{ id: '99999999999999999999' }] },
      { headers: [['Content-Encoding', 'gzip']] },
    )
  ).refused(400, 'invalid_request'),
)
check('identity-encoding', 'Content-Encoding: identity is none', ['d1.content-type'], async (t) =>
  (
    await t.post(
      await t.buyer(),
      '/quote',
      { items: [{ id: '99999999999999999999' }] },
      { headers: [['Content-Encoding', 'identity']] },
    )
  ).is(200),
)

const FRAMES: [slug: string, what: string, lines: string[]][] = [
  ['no-host', 'no Host', []],
  ['two-hosts', 'Host twice', ['Host: a', 'Host: a']],
  ['two-lengths', 'Content-Length twice', ['Host: a', 'Content-Length: 2', 'Content-Length: 2']],
  [
    'length-and-chunks',
    'Content-Length and Transfer-Encoding',
    ['Host: a', 'Content-Length: 2', 'Transfer-Encoding: chunked'],
  ],
  ['signed-length', 'a Content-Length with a sign', ['Host: a', 'Content-Length: +2']],
  ['other-encoding', 'a Transfer-Encoding that is not chunked', ['Host: a', 'Transfer-Encoding: gzip']],
  ['space-before-colon', 'a space before the colon of a header', ['Host : a']],
  ['folded', 'a header folded over two lines', ['Host: a', 'X-A: b', ' c']],
]
for (const [slug, what, lines] of FRAMES) {
  check(
    `framing-${slug}`,
    `a request with ${what} is 400`,
    ['d1.framing', 'd1.duplicate-headers', 'd1.order'],
    async (t) =>
      (
        await t.raw(
          Buffer.from(
            `POST ${t.basePath}/quote HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n{}`,
          ),
        )
      ).refused(400, 'invalid_request'),
  )
}
for (const [slug, line] of [
  ['2.0', 'HTTP/2.0'],
  ['0.9', 'HTTP/0.9'],
  ['1.2', 'HTTP/1.2'],
] as const) {
  check(`version-${slug}`, `${line} is 400`, ['d1.http-versions'], async (t) =>
    (await t.raw(Buffer.from(`GET ${t.basePath}/status ${line}\r\nHost: a\r\n\r\n`))).refused(
      400,
      'invalid_request',
    ),
  )
}
check('version-none', 'a request line without a version is 400', ['d1.http-versions'], async (t) =>
  (await t.raw(Buffer.from(`GET ${t.basePath}/status\r\n\r\n`))).refused(400),
)
check('version-1.0', 'HTTP/1.0 is answered, and the connection closed', ['d1.http-versions'], async (t) => {
  const reply = (
    await t.raw(Buffer.from(`GET ${t.basePath}/status HTTP/1.0\r\nHost: a\r\n\r\n`), { closeMsMax: 3_000 })
  ).is(200)
  equal('closed', reply.isClosed, true)
})
check('absolute-form', 'a whole address as target is 400', ['d1.path-exact', 'd1.framing'], async (t) =>
  (await t.send({ target: `http://a${t.basePath}/status` })).refused(400),
)
check(
  'keep-alive',
  'several requests on one connection are answered in their order',
  ['what.json'],
  async (t) => {
    const key = await t.buyer()
    await t.waitForCapacity(key, 4)
    const bytes = Buffer.concat(
      ['/ping', '/balance', '/nothing', '/ping'].map((path) => t.bytes({ path, key })),
    )
    equal(
      'statuses',
      (await t.rawAnswers(bytes, 4)).map(({ status }) => status),
      [200, 200, 404, 200],
    )
  },
)
check(
  'smuggling',
  'nothing behind a request with two lengths is taken for a request',
  ['d1.framing'],
  async (t) => {
    const inner = t.bytes({ path: '/status' })
    const bytes = Buffer.concat([
      Buffer.from(
        `POST ${t.basePath}/quote HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n`,
      ),
      inner,
    ])
    const reply = (await t.raw(bytes, { closeMsMax: 3_000 })).refused(400)
    equal('closed', reply.isClosed, true)
  },
)

check(
  'json-type',
  'answers are application/json in UTF-8',
  ['d1.response-headers', 'ep.json', 'what.json'],
  async (t) =>
    equal(
      'Content-Type',
      (await t.get(await t.buyer(), '/ping')).is(200).header('content-type'),
      'application/json; charset=utf-8',
    ),
)
check('no-store', 'answers are not to be stored', ['d1.response-headers'], async (t) => {
  const key = await t.buyer()
  for (const path of ['/ping', '/balance', '/orders', '/webhook']) {
    equal(`Cache-Control of ${path}`, (await t.get(key, path)).is(200).header('cache-control'), 'no-store')
  }
})
check(
  'request-id',
  'every answer has an X-Request-Id of its own, refusals too',
  ['d1.extra-headers', 'd1.response-headers'],
  async (t) => {
    const key = await t.buyer()
    const replies = [
      await t.get(key, '/ping'),
      await t.get(key, '/ping'),
      await t.send({ path: '/nothing' }),
      await t.send({ path: '/ping' }),
      await t.send({ method: 'PUT', path: '/ping' }),
    ]
    const ids = replies.map((reply) => reply.header('x-request-id'))
    that(
      'an id on each',
      ids.every((id) => id !== undefined && id !== ''),
      ids,
    )
    equal('number of different ids', new Set(ids).size, ids.length)
  },
)
