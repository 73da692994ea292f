import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { type Exchanged, undocumented } from '@shopwire/test-kit/requests/documented'
import { requestBytes } from '@shopwire/test-kit/requests/signed-request'
import { expect, test } from 'vitest'

const headers = {
  'x-request-id': 'req_01k9zq3v7m8n4p2r6s0t5w1x9y',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-length': '1',
}
const rate = { ratelimit: '"req";r=1;t=1', 'ratelimit-policy': '"req";q=1;w=1' }
const balance: Exchanged = {
  method: 'GET',
  target: '/v1/balance',
  status: 200,
  headers: { ...headers, ...rate },
  body: { balance_cents: 1, currency: 'USD' },
}
const refusal = (type: string) => ({ error: { type, message: 'x' } })

test('an answer that matches the OpenAPI document passes', () => {
  const passing: Exchanged[] = [
    balance,
    { ...balance, target: '/v1/balance?x=1' },
    { ...balance, status: 401, headers, body: refusal('nonce_reused') },
    { ...balance, status: 429, headers: { ...headers, 'retry-after': '3' }, body: refusal('rate_limited') },
    { ...balance, target: '/v1/nothing', status: 404, headers, body: refusal('not_found') },
    {
      ...balance,
      method: 'PUT',
      status: 405,
      headers: { ...headers, allow: 'GET' },
      body: refusal('method_not_allowed'),
    },
    { ...balance, target: '/openapi.json', headers: {}, body: {} },
  ]
  for (const one of passing) expect(undocumented(one)).toBeUndefined()
})

test.each<[string, Partial<Exchanged>]>([
  ['a field that is not documented', { body: { balance_cents: 1, currency: 'USD', name: 'x' } }],
  ['a field that is missing', { body: { currency: 'USD' } }],
  ['a status that is not documented', { status: 202 }],
  ['an error of another operation', { status: 402, body: refusal('insufficient_funds') }],
  ['an error type of another status', { status: 401, body: refusal('not_found') }],
  ['an error type that is not documented', { status: 400, body: refusal('bad_karma') }],
  [
    'one more field in an error',
    { status: 401, body: { error: { ...refusal('nonce_reused').error, id: 1 } } },
  ],
  ['a header that is not documented', { headers: { ...balance.headers, 'x-powered-by': 'x' } }],
  ['a header that is missing', { headers }],
  ['a header of another form', { headers: { ...balance.headers, 'x-request-id': '7' } }],
  ['no body where there should be one', { body: undefined }],
  ['an operation that is not documented', { method: 'DELETE' }],
  ['a path that is not documented', { target: '/v1/accounts' }],
  ['a body with 304', { target: '/v1/catalogue', status: 304, headers: { ...balance.headers, etag: '"1"' } }],
])('%s is caught', (_what, change) => {
  expect(undocumented({ ...balance, ...change })).toMatch(/^(GET|DELETE) \/v1\//)
})

test('a test connection fails the request whose answer does not match the OpenAPI document', async () => {
  let body: object = balance.body as object
  const server = createServer((_, response) => {
    const text = JSON.stringify(body)
    response
      .writeHead(200, { ...balance.headers, 'content-length': String(Buffer.byteLength(text)) })
      .end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = () => exchange(port, requestBytes('GET', '/v1/balance'))
  expect((await ask()).status).toBe(200)
  body = { ...body, surprise: 1 }
  await expect(ask()).rejects.toThrow('GET /v1/balance: 200 has a body that is not as documented')
  server.close()
})
