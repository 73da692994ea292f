import { get } from 'node:http'
import { Readable } from 'node:stream'
import { type DashboardRoute, dashboardRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DASHBOARD_LOAD } from '../../../src/edge/dashboard/dashboard-family.ts'
import {
  openDashboard,
  refusalOf,
  type SignedInBrowser,
  sendRoute,
  type TestDashboard,
} from '../../../testing/dashboard.ts'
import type { RawAnswer } from '../../../testing/raw-http.ts'

const { session: OF_SESSION = 0, address: OF_ADDRESS = 0 } = DASHBOARD_LOAD.ownMax ?? {}
const OBJECT = { type: 'object' }

/** Routes whose answer waits until the test lets it go, beside the real sign-in. */
const table = [
  { name: 'held', method: 'GET', path: '/api/held', access: 'anyone', reply: OBJECT },
  { name: 'read', method: 'GET', path: '/api/read', access: ['owner'], reply: OBJECT },
  { name: 'slow', method: 'GET', path: '/api/slow', access: ['owner'], reply: OBJECT },
  { name: 'file', method: 'GET', path: '/api/file', access: ['owner'], reply: null, download: 'text/csv' },
  {
    name: 'stream',
    method: 'GET',
    path: '/api/stream',
    access: ['owner'],
    reply: null,
    stream: 'text/event-stream',
  },
  ...dashboardRoutes.filter(({ name }) => name === 'signInWithPassword'),
] as const satisfies readonly DashboardRoute[]
const route = (name: string) => table.find((one) => one.name === name) as DashboardRoute

let dashboard: TestDashboard
let owner: SignedInBrowser
let other: SignedInBrowser
let begun = 0
let held = Promise.withResolvers<void>()

beforeAll(async () => {
  const wait = async () => {
    begun += 1
    await held.promise
  }
  dashboard = await openDashboard({
    table,
    load: DASHBOARD_LOAD,
    handlers: ({ sessions }) =>
      ({
        held: async () => ({ reply: (await wait()) ?? {} }),
        slow: async () => (await wait()) ?? {},
        read: async () => ({}),
        file: async () => ({ filename: 'a.csv', content: rows() }),
        stream: async () => openStream(),
        signInWithPassword: sessions.area.signInWithPassword,
      }) as never,
  })
  const { id } = await dashboard.operator.createAccount('One')
  owner = await dashboard.signIn(id)
  other = await dashboard.signIn(id)
})
afterAll(() => dashboard.close())

async function* rows(): AsyncGenerator<string> {
  yield 'first\n'
  await held.promise
  yield 'last\n'
}

function openStream(): Readable {
  const stream = new Readable({ read() {} })
  stream.push('retry: 1000\n\n')
  return stream
}

/** Answers are collected, and the work that waits is let go once all others are answered. */
async function sendAtOnce(count: number, send: (n: number) => Promise<RawAnswer>, mayBegin: number) {
  begun = 0
  held = Promise.withResolvers()
  let refused = 0
  const answers = Array.from({ length: count }, async (_, n) => {
    const answer = await send(n)
    if (answer.status === 503) refused += 1
    return answer
  })
  await expect.poll(() => [begun, refused], { timeout: 10_000 }).toEqual([mayBegin, count - mayBegin])
  return {
    async finish() {
      held.resolve()
      return Promise.all(answers)
    },
  }
}

const statuses = (answers: readonly RawAnswer[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([k, v]) => [k, v?.length]),
  )

test('threat 69: of 200 requests of one address without a session a few are begun, and whoever is signed in at that address is answered', async () => {
  const visitor = dashboard.visitor()
  const flood = await sendAtOnce(200, () => sendRoute(dashboard.port, route('held'), visitor), OF_ADDRESS)
  for (let n = 0; n < 20; n += 1)
    expect((await sendRoute(dashboard.port, route('read'), owner)).status).toBe(200)
  const answers = await flood.finish()
  expect(statuses(answers)).toEqual({ 200: OF_ADDRESS, 503: 200 - OF_ADDRESS })
  const refused = answers.find(({ status }) => status === 503) as RawAnswer
  expect([refusalOf(refused), refused.headers['retry-after']]).toEqual(['service_unavailable', '2'])
  expect(JSON.parse(refused.body).error.message).toContain('try again')
  expect(await dashboard.metrics.registry.metrics()).toContain(
    `shopwire_requests_shed_total{reason="address"} ${200 - OF_ADDRESS}`,
  )
  expect((await sendRoute(dashboard.port, route('held'), visitor)).status).toBe(200)
})

test('threat 69: one session that floods is refused, and another one of the same account is answered', async () => {
  const flood = await sendAtOnce(50, () => sendRoute(dashboard.port, route('slow'), owner), OF_SESSION)
  expect((await sendRoute(dashboard.port, route('read'), owner)).status).toBe(503)
  expect((await sendRoute(dashboard.port, route('read'), other)).status).toBe(200)
  expect(statuses(await flood.finish())).toEqual({ 200: OF_SESSION, 503: 50 - OF_SESSION })
})

test('open streams are not in flight; a download is until it was read', async () => {
  const open = (name: string) =>
    new Promise<{ status: number; close(): void }>((resolve, reject) => {
      const options = {
        port: dashboard.port,
        path: `/api/${name}?account=${owner.account_id}`,
        headers: { cookie: owner.cookie },
        agent: false,
      }
      const asked = get(options, (response) => {
        response.on('data', () => {}).on('error', () => {})
        resolve({ status: response.statusCode ?? 0, close: () => asked.destroy() })
      }).on('error', reject)
    })
  const read = async () => (await sendRoute(dashboard.port, route('read'), owner)).status
  const streams = await Promise.all(Array.from({ length: OF_SESSION + 4 }, () => open('stream')))
  expect(await read()).toBe(200)
  held = Promise.withResolvers()
  const downloads = await Promise.all(Array.from({ length: OF_SESSION }, () => open('file')))
  expect(new Set([...streams, ...downloads].map(({ status }) => status))).toEqual(new Set([200]))
  expect(await read()).toBe(503)
  held.resolve()
  await expect.poll(read).toBe(200)
  for (const one of [...streams, ...downloads]) one.close()
})

test('threat 69: 200 sign-ins of one address with real hashes: a signed-in user beside them is answered every time', async ({
  annotate,
}) => {
  const read = async () => {
    const startedMs = performance.now()
    const { status } = await sendRoute(dashboard.port, route('read'), owner)
    return { status, ms: performance.now() - startedMs }
  }
  const quiet = []
  for (let n = 0; n < 30; n += 1) quiet.push(await read())
  const visitor = dashboard.visitor()
  let isOver = false
  const flood = Promise.all(
    Array.from({ length: 200 }, (_, n) => {
      const body = { email: `nobody${n}@example.com`, password: `wrong password ${n}` }
      return sendRoute(dashboard.port, route('signInWithPassword'), visitor, { body })
    }),
  ).finally(() => {
    isOver = true
  })
  const beside = []
  while (!isOver) beside.push(await read())
  const answers = await flood
  // 401 is a password that was compared. Nobody else asked for a hash, so none of the others got as far as the queue of hashes.
  const { 401: compared = 0, 503: refused = 0 } = statuses(answers)
  expect(compared + refused).toBe(200)
  expect(compared).toBeGreaterThanOrEqual(OF_ADDRESS)
  expect(beside.every(({ status }) => status === 200)).toBe(true)
  const median = (all: readonly { ms: number }[]) =>
    all.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
  await annotate(
    `median ${median(quiet).toFixed(1)} ms quiet, ${median(beside).toFixed(1)} ms beside ${compared} hashes and ${refused} refusals`,
  )
})
