import { request } from 'node:http'
import type { DashboardRoute } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  openDashboard,
  refusalOf,
  type SignedInBrowser,
  sendRoute,
  type TestDashboard,
} from '../../../testing/dashboard.ts'

const OBJECT = { type: 'object' }
const WITH_A = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }

/** A table of its own: one route for each kind of answer. */
const table = [
  {
    name: 'json',
    method: 'GET',
    path: '/api/json',
    access: 'anyone',
    reply: WITH_A,
  },
  { name: 'cookies', method: 'GET', path: '/api/cookies', access: 'anyone', reply: OBJECT },
  { name: 'away', method: 'GET', path: '/api/away', access: 'anyone', reply: OBJECT },
  { name: 'file', method: 'GET', path: '/api/file', access: ['owner'], reply: null, download: 'text/csv' },
  {
    name: 'broken',
    method: 'GET',
    path: '/api/broken',
    access: ['owner'],
    reply: null,
    download: 'text/csv',
  },
  { name: 'cut', method: 'GET', path: '/api/cut', access: ['owner'], reply: null, download: 'text/csv' },
  {
    name: 'wrong',
    method: 'GET',
    path: '/api/wrong',
    access: ['owner'],
    reply: WITH_A,
  },
  {
    name: 'input',
    method: 'POST',
    path: '/api/input',
    access: ['owner'],
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['n'],
      properties: { n: { type: 'integer', maximum: 3 } },
    },
    reply: OBJECT,
  },
] as const satisfies readonly DashboardRoute[]
type Name = (typeof table)[number]['name']

const ROWS = 50_000
let dashboard: TestDashboard
let owner: SignedInBrowser
let lines: Record<string, unknown>[] = []
let rowsMade = 0

beforeAll(async () => {
  dashboard = await openDashboard({
    table,
    requestsPerMinute: 60,
    log: { write: (line) => void lines.push(JSON.parse(line)) },
    handlers: () => handlers as never,
  })
  const { id } = await dashboard.operator.createAccount('One')
  owner = await dashboard.signIn(id)
})
afterAll(() => dashboard.close())
beforeEach(() => {
  lines = []
})

const handlers = {
  json: async () => ({ reply: { a: 1 } }),
  cookies: async () => ({ reply: {}, setCookie: ['__Host-a=1; Secure', '__Host-b=2; Secure'] }),
  away: async () => ({ reply: {}, redirect: 'https://company.example/authorize', setCookie: ['__Host-c=3'] }),
  file: async () => ({ filename: 'orders.csv', content: rows() }),
  broken: async () => ({
    filename: 'orders.csv',
    // biome-ignore lint/correctness/useYield: it fails before its first row
    content: (async function* (): AsyncGenerator<string> {
      throw new Error('a secret of the database')
    })(),
  }),
  cut: async () => ({
    filename: 'orders.csv',
    content: (async function* () {
      yield 'first\n'
      throw new Error('the database went away')
    })(),
  }),
  wrong: async () => ({ a: 'text' }),
  input: async ({ body }: { body: { n: number } }) => ({ n: body.n }),
}

async function* rows(): AsyncGenerator<string> {
  for (let n = 0; n < ROWS; n += 1) {
    rowsMade += 1
    yield `${n},${'x'.repeat(100)}\n`
  }
}

const route = (name: Name) => table.find((one) => one.name === name) as DashboardRoute
const send = (name: Name, sent = {}) => sendRoute(dashboard.port, route(name), owner, sent)
const get = (name: Name) =>
  fetch(`http://127.0.0.1:${dashboard.port}/api/${name}?account=${owner.account_id}`, {
    headers: { cookie: owner.cookie },
  })

test('JSON, not to be kept, with what protects an answer that a browser opens as a page', async () => {
  const answer = await send('json')
  expect([answer.status, answer.body]).toEqual([200, '{"a":1}'])
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'strict-transport-security': expect.stringContaining('max-age='),
    'x-request-id': expect.stringMatching(/^req_/),
  })
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
})

test('several cookies are several headers, also with a redirect', async () => {
  const set = await fetch(`http://127.0.0.1:${dashboard.port}/api/cookies`)
  expect(set.headers.getSetCookie()).toEqual(['__Host-a=1; Secure', '__Host-b=2; Secure'])
  const away = await fetch(`http://127.0.0.1:${dashboard.port}/api/away`, { redirect: 'manual' })
  expect([away.status, away.headers.get('location'), away.headers.getSetCookie()]).toEqual([
    303,
    'https://company.example/authorize',
    ['__Host-c=3'],
  ])
})

test('a link from another site may lead to a route for anyone, and to no other', async () => {
  const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }
  expect((await send('away', { headers })).status).toBe(303)
  expect(refusalOf(await send('file', { headers }))).toBe('request_forged')
})

test('a download is streamed as an attachment', async () => {
  const answer = await get('file')
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="orders.csv"')
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect((await answer.text()).split('\n')).toHaveLength(ROWS + 1)
})

test('a download is made no faster than it is read, and ends when the reader hangs up', async () => {
  rowsMade = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked = request(
    {
      port: dashboard.port,
      host: '127.0.0.1',
      path: `/api/file?account=${owner.account_id}`,
      headers: { cookie: owner.cookie },
    },
    (answer) => void answer.once('readable', () => resolve()),
  )
  asked.on('error', () => {}).end()
  await promise
  asked.destroy()
  await expect.poll(() => lines.find((line) => line.route === 'file')).toMatchObject({ status: 499 })
  expect(rowsMade).toBeLessThan(ROWS)
})

test('a download that fails before its first row is an error in JSON; one that fails later is cut', async () => {
  const broken = await get('broken')
  expect([broken.status, broken.headers.get('content-disposition')]).toEqual([500, null])
  expect(await broken.text()).not.toContain('secret')
  await expect(get('cut').then((answer) => answer.text())).rejects.toThrow()
})

test('a reply that does not fit its schema is not sent', async () => {
  expect([(await send('wrong')).status]).toEqual([500])
  await expect.poll(() => lines).toHaveLength(1)
  expect(JSON.stringify(lines[0])).toContain('the reply of wrong fits: /a must be integer')
})

test('input is validated after all other checks, and says what is wrong', async () => {
  expect(JSON.parse((await send('input', { body: { n: 2 } })).body)).toEqual({ n: 2 })
  for (const body of [{ n: 4 }, { n: '1' }, {}, { n: 1, m: 1 }, [], undefined])
    expect(refusalOf(await send('input', { body }))).toBe('invalid_request')
})

test('the log line has the person and the account, and never the cookie', async () => {
  await send('json')
  await expect.poll(() => lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({
    route: 'json',
    status: 200,
    person_id: owner.person_id,
    account_id: expect.any(String),
  })
  expect(JSON.stringify(lines)).not.toContain(owner.cookie.split('=')[1])
})

test('a session that asks too often is refused with the time to wait', async () => {
  const answers = []
  for (let n = 0; n < 61; n += 1) answers.push(await send('json'))
  const last = answers.at(-1)
  expect([last?.status, refusalOf(last as never)]).toEqual([429, 'rate_limited'])
  expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0)
})
