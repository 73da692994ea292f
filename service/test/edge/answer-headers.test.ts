import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../testing/raw-http.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const NOSNIFF = 'x-content-type-options'

test('every answer has X-Content-Type-Options: nosniff: 200, 304, refusals, public files', async () => {
  const url = `http://127.0.0.1:${shop.port}`
  const { headers } = await shop.call('GET', '/v1/catalogue')
  const known = { 'if-none-match': headers.get('etag') ?? '' }
  const answers = [
    { status: 200, headers },
    await shop.call('GET', '/v1/catalogue', { headers: known }),
    await shop.call('GET', '/v1/orders/ord_x'),
    await fetch(`${url}/v1/status`),
    await fetch(`${url}/v1/ping`),
    await fetch(`${url}/v1/ping`, { method: 'HEAD' }),
    await fetch(`${url}/nothing`),
    await fetch(`${url}/openapi.json`),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 304, 404, 200, 401, 405, 404, 200])
  expect(answers.map((answer) => answer.headers.get(NOSNIFF))).toEqual(answers.map(() => 'nosniff'))
})

test.each([
  ['a line that is not HTTP', 'nonsense\r\n\r\n'],
  ['a CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
  ['headers without end', `GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
])('the refusal of %s on the socket has it too', async (_, bytes) => {
  const answer = await ask(shop.port, bytes)
  expect(answer).toMatchObject({ status: 400, headers: { [NOSNIFF]: 'nosniff' } })
})
