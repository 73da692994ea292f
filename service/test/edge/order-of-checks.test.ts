import type { ErrorType } from '@shopwire/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endpoint } from '../../src/edge/endpoints/endpoint.ts'
import { refuse } from '../../src/platform/trouble.ts'
import { echoes } from '../../testing/echo.ts'
import { ask, chunked, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders, type TestKey } from '../../testing/shop.ts'

const CART = '{"items":[{"id":"12345678901234567"}]}'
const HOOK = '{"url":"https://example.com/hook"}'
const BIG = 'x'.repeat(20_000)
const LIMIT = 1_000

let shop: Shop
/** All scopes; accounts:read only; suspended; rate-limited; rate-limited and suspended. */
let keys: Record<'all' | 'accountOnly' | 'suspended' | 'limited' | 'limitedAndSuspended' | 'hooks', TestKey>
const echo = echoes('postQuote', 'postWebhook', 'deleteWebhook')
beforeAll(async () => {
  shop = await openShop({
    limits: { requestsMax: LIMIT },
    endpoints: () => [
      ...echo.endpoints(),
      endpoint('getOrder', async () => {
        throw refuse('not_found', 'There is no such order.')
      }),
    ],
  })
  const [suspended, limited, both] = await Promise.all([
    shop.operator.createAccount('Suspended'),
    shop.operator.createAccount('Limited'),
    shop.operator.createAccount('Both'),
  ])
  keys = {
    all: shop.key,
    accountOnly: await shop.makeKey(['account:read']),
    hooks: await shop.makeKey(['webhooks:write']),
    suspended: await shop.makeKey(['account:read'], suspended.id),
    limited: await shop.makeKey(['account:read'], limited.id),
    limitedAndSuspended: await shop.makeKey(['account:read'], both.id),
  }
  await shop.operator.suspendAccount(suspended.id, 'test')
  for (const account of [limited, both]) await useUp(account.id)
  await shop.operator.suspendAccount(both.id, 'test')
})
afterAll(() => shop.close())
beforeEach(() => {
  echo.calls.length = 0
})

/** Fills the account's window; timestamps in the future count as made now, however slow the test. */
const useUp = (account_id: string) =>
  shop.database.owner.run({
    name: 'use_up',
    text: `insert into admission_windows (account_id, requests)
           select $1, array_agg((extract(epoch from clock_timestamp()) * 1000)::bigint + 600000) from generate_series(1, $2::int)`,
    values: [account_id, LIMIT],
  })

interface Sent {
  readonly method?: string
  readonly target?: string
  readonly key?: TestKey
  /** What is wrong with the credentials. */
  readonly forged?:
    | 'unsigned'
    | 'form'
    | 'clock'
    | 'form and clock'
    | 'signature'
    | 'signature and nonce'
    | 'nonce'
  /** What is signed and, unless `sent` says otherwise, sent. */
  readonly body?: string
  readonly headers?: Record<string, string>
  /** The bytes after the headers, if they are not simply the body. */
  readonly sent?: string | Uint8Array
}

async function send({
  method = 'GET',
  target = '/v1/ping',
  key = keys.all,
  forged,
  body = '',
  headers = {},
  sent,
}: Sent) {
  const nowMs = forged?.includes('clock') ? Date.now() - 100_000 : Date.now()
  const signer = forged?.startsWith('signature') ? { ...key, secret: 'sk_other' } : key
  const signature = signedHeaders(signer, method, target, Buffer.from(body), nowMs)
  if (forged === 'form' || forged === 'form and clock') signature['X-Api-Nonce'] = 'short'
  const framing =
    body !== '' && sent === undefined ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}
  const bytes = requestBytes(
    method,
    target,
    { ...(forged === 'unsigned' ? {} : signature), ...framing, ...headers },
    sent ?? body,
  )
  if (forged === 'nonce') expect((await ask(shop.port, bytes)).status).not.toBe(401)
  if (forged === 'signature and nonce') {
    const spent = signedHeaders(key, method, target, Buffer.from(body), nowMs)
    expect((await ask(shop.port, requestBytes(method, target, { ...spent, ...framing }, body))).status).toBe(
      200,
    )
    return ask(
      shop.port,
      requestBytes(method, target, { ...spent, 'X-Api-Signature': 'f'.repeat(64), ...framing }, body),
    )
  }
  return ask(shop.port, bytes)
}

const chunks = { 'Transfer-Encoding': 'chunked' }
const tooLong = { 'Content-Length': '16385' }
const post = { method: 'POST', target: '/v1/quote' }

describe('of two faults, the one that is checked first is reported', () => {
  const cases: [what: string, sent: () => Sent, reported: ErrorType][] = [
    ['framing before path', () => ({ target: '/v1/nothing', headers: { Host: 'other' } }), 'invalid_request'],
    ['framing before method', () => ({ method: 'PUT', headers: { Host: 'other' } }), 'invalid_request'],
    [
      'framing before length',
      () => ({ ...post, headers: { ...tooLong, Upgrade: 'h2c' } }),
      'invalid_request',
    ],
    ['path before signature', () => ({ target: '/v1/nothing', forged: 'unsigned' }), 'not_found'],
    ['path before length', () => ({ ...post, target: '/v1/nothing', headers: tooLong }), 'not_found'],
    ['path before scope', () => ({ target: '/v1/nothing', key: keys.suspended }), 'not_found'],
    ['method before signature', () => ({ method: 'DELETE', forged: 'unsigned' }), 'method_not_allowed'],
    ['method before length', () => ({ method: 'PUT', headers: tooLong }), 'method_not_allowed'],
    [
      'length before signature',
      () => ({ ...post, forged: 'unsigned', headers: tooLong }),
      'payload_too_large',
    ],
    ['length before form', () => ({ ...post, forged: 'form', headers: tooLong }), 'payload_too_large'],
    ['length before clock', () => ({ ...post, forged: 'clock', headers: tooLong }), 'payload_too_large'],
    ['length before "takes no body"', () => ({ headers: tooLong }), 'payload_too_large'],
    ['length on a public route', () => ({ target: '/v1/status', headers: tooLong }), 'payload_too_large'],
    ['form before clock', () => ({ forged: 'form and clock' }), 'authentication_failed'],
    [
      'form before the body has come',
      () => ({ ...post, forged: 'form', headers: { 'Content-Length': '9' }, sent: '' }),
      'authentication_failed',
    ],
    [
      'clock before the body has come',
      () => ({ ...post, forged: 'clock', headers: { 'Content-Length': '9' }, sent: '' }),
      'timestamp_out_of_range',
    ],
    [
      'form before a body that is too long',
      () => ({ ...post, forged: 'form', headers: chunks, sent: chunked(BIG) }),
      'authentication_failed',
    ],
    [
      'a body that is too long before signature',
      () => ({ ...post, forged: 'signature', headers: chunks, sent: chunked(BIG) }),
      'payload_too_large',
    ],
    [
      'clock before signature',
      () => ({ forged: 'clock', key: { ...keys.all, secret: 'sk_other' } }),
      'timestamp_out_of_range',
    ],
    ['signature before nonce', () => ({ forged: 'signature and nonce' }), 'authentication_failed'],
    [
      'signature before suspension',
      () => ({ forged: 'signature', key: keys.suspended }),
      'authentication_failed',
    ],
    [
      'signature before scope',
      () => ({ ...post, forged: 'signature', key: keys.accountOnly }),
      'authentication_failed',
    ],
    [
      'signature before "takes no body"',
      () => ({ forged: 'signature', body: '{}' }),
      'authentication_failed',
    ],
    [
      'signature before validation',
      () => ({ ...post, forged: 'signature', body: 'x' }),
      'authentication_failed',
    ],
    ['signature before limits', () => ({ forged: 'signature', key: keys.limited }), 'authentication_failed'],
    ['nonce before limits', () => ({ forged: 'nonce', key: keys.limited }), 'nonce_reused'],
    ['nonce before suspension', () => ({ forged: 'nonce', key: keys.suspended }), 'nonce_reused'],
    [
      'nonce before scope',
      () => ({ ...post, forged: 'nonce', key: keys.accountOnly, body: CART }),
      'nonce_reused',
    ],
    ['nonce before validation', () => ({ ...post, forged: 'nonce', body: 'x' }), 'nonce_reused'],
    ['limits before suspension', () => ({ key: keys.limitedAndSuspended }), 'rate_limited'],
    ['limits before scope', () => ({ ...post, key: keys.limited, body: CART }), 'rate_limited'],
    ['limits before validation', () => ({ key: keys.limited, body: '{}' }), 'rate_limited'],
    ['suspension before scope', () => ({ ...post, key: keys.suspended, body: CART }), 'account_suspended'],
    ['suspension before validation', () => ({ key: keys.suspended, body: '{}' }), 'account_suspended'],
    [
      'scope before validation',
      () => ({ ...post, key: keys.accountOnly, body: 'not JSON' }),
      'insufficient_scope',
    ],
    ['scope before "needs a body"', () => ({ ...post, key: keys.accountOnly }), 'insufficient_scope'],
    [
      'scope before "takes no body"',
      () => ({ method: 'DELETE', target: '/v1/webhook', key: keys.accountOnly, body: '{}' }),
      'insufficient_scope',
    ],
    [
      'scope before the query',
      () => ({ ...post, target: '/v1/quote?a=%ff', key: keys.accountOnly, body: CART }),
      'insufficient_scope',
    ],
    [
      'scope before Content-Encoding',
      () => ({ ...post, key: keys.accountOnly, body: CART, headers: { 'Content-Encoding': 'gzip' } }),
      'insufficient_scope',
    ],
    [
      'scope before lookup',
      () => ({ target: '/v1/orders/ord_x', key: keys.accountOnly }),
      'insufficient_scope',
    ],
    ['the query before lookup', () => ({ target: '/v1/orders/ord_x?a=1&a=2' }), 'invalid_request'],
    ['"takes no body" before lookup', () => ({ target: '/v1/orders/ord_x', body: '{}' }), 'invalid_request'],
    ['lookup', () => ({ target: '/v1/orders/ord_x' }), 'not_found'],
    [
      'a URL needs its scope only once the body is right',
      () => ({ method: 'POST', target: '/v1/webhook', key: keys.hooks, body: '{"url":"http://x"}' }),
      'invalid_request',
    ],
    [
      'a URL needs its scope',
      () => ({ method: 'POST', target: '/v1/webhook', key: keys.hooks, body: HOOK }),
      'insufficient_scope',
    ],
  ]

  test.each(cases)('%s', async (_what, sent, reported) => {
    expectRefusal(await send(sent()), reported)
    expect(echo.calls.filter(({ name }) => name === 'postQuote' || name === 'postWebhook')).toEqual([])
  })

  test('a URL with its scope, and null without it, are accepted', async () => {
    const hook = { method: 'POST', target: '/v1/webhook' }
    const refused = await send({ ...hook, key: keys.hooks, body: HOOK })
    expect(expectRefusal(refused, 'insufficient_scope')).toContain('orders:read')
    expect((await send({ ...hook, body: HOOK })).status).toBe(200)
    expect((await send({ ...hook, key: keys.hooks, body: '{"url":null}' })).status).toBe(200)
  })
})

describe('a request that was refused after its signature was verified cannot be sent again', () => {
  test.each<[ErrorType, () => Sent]>([
    ['invalid_request', () => ({ ...post, body: 'x' })],
    ['insufficient_scope', () => ({ ...post, key: keys.accountOnly, body: CART })],
    ['account_suspended', () => ({ key: keys.suspended })],
    ['not_found', () => ({ target: '/v1/orders/ord_x' })],
    ['rate_limited', () => ({ key: keys.limited })],
  ])('%s', async (type, sent) => {
    const { method = 'GET', target = '/v1/ping', key = keys.all, body = '' } = sent()
    const bytes = requestBytes(
      method,
      target,
      {
        ...signedHeaders(key, method, target, Buffer.from(body)),
        ...(body && { 'Content-Length': String(body.length) }),
      },
      body,
    )
    expectRefusal(await ask(shop.port, bytes), type)
    expectRefusal(await ask(shop.port, bytes), 'nonce_reused')
  })
})

describe('bodies where none is allowed', () => {
  test.each([
    ['GET', '/v1/ping'],
    ['DELETE', '/v1/webhook'],
  ])('%s %s with a signed body: 400 after authentication', async (method, target) => {
    expect(expectRefusal(await send({ method, target, body: '{}' }), 'invalid_request')).toContain(
      'takes no body',
    )
    const inChunks = { method, target, body: '{}', headers: chunks, sent: chunked('{}') }
    expectRefusal(await send(inChunks), 'invalid_request')
    expect(echo.calls).toEqual([])
  })

  test.each([
    ['GET', '/v1/ping'],
    ['DELETE', '/v1/webhook'],
  ])('%s %s with an empty body: the same as without', async (method, target) => {
    expect((await send({ method, target, headers: { 'Content-Length': '0' } })).status).toBe(200)
    expect((await send({ method, target, headers: chunks, sent: chunked('') })).status).toBe(200)
  })
})

describe('Content-Type is ignored, Content-Encoding is not', () => {
  test.each([
    undefined,
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
    '',
    ';;;',
    'application/json, text/plain',
    'application/json; charset=utf-16',
  ])('Content-Type: %s', async (type) => {
    const headers = type === undefined ? {} : { 'Content-Type': type }
    expect((await send({ ...post, body: CART, headers })).status).toBe(200)
  })

  test.each(['gzip', 'GZIP', 'deflate', 'br', 'identity, gzip', 'x', ''])(
    'Content-Encoding: "%s" is refused',
    async (encoding) => {
      const answer = await send({ ...post, body: CART, headers: { 'Content-Encoding': encoding } })
      expect(expectRefusal(answer, 'invalid_request')).toContain('Content-Encoding')
    },
  )

  test.each(['identity', 'Identity'])('Content-Encoding: %s is accepted', async (encoding) => {
    expect((await send({ ...post, body: CART, headers: { 'Content-Encoding': encoding } })).status).toBe(200)
  })
})

describe('both windows are in every answer to an authenticated caller, and in no other', () => {
  const POLICY = `"req";q=${LIMIT};w=60, "orders";q=20;w=60`

  test.each<[string, number, () => Sent]>([
    ['success', 200, () => ({})],
    ['validation', 400, () => ({ ...post, body: 'x' })],
    ['scope', 403, () => ({ ...post, key: keys.accountOnly, body: CART })],
    ['lookup', 404, () => ({ target: '/v1/orders/ord_x' })],
    ['limits', 429, () => ({ key: keys.limited })],
  ])('%s: %i with RateLimit', async (_what, status, sent) => {
    const answer = await send(sent())
    expect([answer.status, answer.headers['ratelimit-policy']]).toEqual([status, POLICY])
    expect(answer.headers.ratelimit).toMatch(/^"req";r=\d+;t=\d+, "orders";r=\d+;t=\d+$/)
  })

  test('rate-limited: 429 with Retry-After in whole seconds', async () => {
    expect((await send({ key: keys.limited })).headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/)
  })

  test.each<[string, () => Sent]>([
    ['a wrong signature', () => ({ forged: 'signature' })],
    ['an unknown path', () => ({ target: '/v1/nothing' })],
    ['a length over the limit', () => ({ ...post, headers: tooLong })],
    ['a public route', () => ({ target: '/v1/status' })],
  ])('%s: no RateLimit header', async (_what, sent) => {
    expect((await send(sent())).headers.ratelimit).toBe(undefined)
  })
})
