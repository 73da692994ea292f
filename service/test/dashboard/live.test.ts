import { type IncomingMessage, request } from 'node:http'
import { liveTopics } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLive, type Live } from '../../src/dashboard/live/live.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { openDashboard, type SignedInBrowser, type TestDashboard } from '../../testing/dashboard.ts'

/** For two looks at a busy database, which is looked at every five seconds only. */
const LOOKS_MS = 20_000

let dashboard: TestDashboard
let live: Live
let account: { id: string }
let other: { id: string }
let lines: Record<string, unknown>[] = []
const errors: unknown[] = []

beforeAll(async () => {
  dashboard = await openDashboard({
    log: { write: (line) => void lines.push(JSON.parse(line)) },
    table: [
      {
        name: 'live',
        method: 'GET',
        path: '/api/live',
        access: ['owner'],
        reply: null,
        stream: 'text/event-stream',
      },
    ],
    handlers: ({ db, sessions }) => {
      live = createLive({ db, clock: systemClock, sessions, onError: (error) => void errors.push(error) })
      live.start()
      return live.area
    },
  })
  account = await dashboard.operator.createAccount('One')
  other = await dashboard.operator.createAccount('Two')
})
afterAll(async () => {
  await live.stop()
  await dashboard.close()
  expect(errors).toEqual([])
})

async function listen({ cookie, account_id }: SignedInBrowser, headers: Record<string, string> = {}) {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { port: dashboard.port, host: '127.0.0.1', path: `/api/live?account=${account_id}` }
    request({ ...options, headers: { cookie, ...headers } }, resolve)
      .on('error', reject)
      .end()
  })
  let text = ''
  let isEnded = false
  let hintedMs: number | undefined
  answer.on('data', (chunk) => {
    text += chunk
    if (String(chunk).includes('event: hint')) hintedMs ??= performance.now()
  })
  answer.on('end', () => {
    isEnded = true
  })
  answer.on('error', () => {})
  return {
    answer,
    text: () => text,
    isEnded: () => isEnded,
    hints: () =>
      [...text.matchAll(/event: hint\ndata: (.*)\n/g)].map(([, data = '']) => JSON.parse(data).topics),
    firstHintMs: () => hintedMs,
    lastId: () => [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1],
    close: () => answer.destroy(),
  }
}

const fund = (account_id: string, reference: string) =>
  dashboard.operator.fundAccount(account_id, { amount_cents: 100, reference })

test('a page is told what has changed in its account, and nothing of another account', async () => {
  const [mine, theirs] = [
    await listen(await dashboard.signIn(account.id)),
    await listen(await dashboard.signIn(other.id)),
  ]
  expect(mine.answer.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  })
  await expect.poll(() => [mine.lastId(), theirs.lastId()]).toEqual([expect.any(String), expect.any(String)])
  await fund(account.id, 'a')
  await expect.poll(() => mine.hints()).toEqual([['balance']])
  await dashboard.operator.createKey(account.id, 'k', ['account:read'])
  await expect.poll(() => mine.hints()).toEqual([['balance'], ['keys']])
  expect(theirs.hints()).toEqual([])
  expect(mine.text()).not.toContain('100')
  mine.close()
  theirs.close()
  await expect.poll(() => live.open()).toBe(0)
})

test('a page of an account that changes all the time is told a few times at once, then now and then, and of the last change too', async () => {
  const page = await listen(await dashboard.signIn(account.id))
  await expect.poll(() => page.lastId()).toBeDefined()
  const startedMs = performance.now()
  for (let n = 0; performance.now() - startedMs < 4_000; n += 1) await fund(account.id, `busy-${n}`)
  expect(page.hints().length).toBeGreaterThan(0)
  expect(page.hints().length).toBeLessThanOrEqual(3 + Math.floor((performance.now() - startedMs) / 5_000))
  await fund(account.id, 'last')
  const later = await listen(await dashboard.signIn(account.id))
  await expect.poll(() => later.lastId()).toBeDefined()
  await expect.poll(() => page.lastId(), { timeout: 10_000 }).toBe(later.lastId())
  later.close()
  page.close()
}, 30_000)

test('twenty pages are told at a time, and the others the next time', async ({ onTestFinished }) => {
  const people = [await dashboard.signIn(account.id), await dashboard.signIn(account.id)]
  const pages = await Promise.all(people.flatMap((one) => Array.from({ length: 15 }, () => listen(one))))
  onTestFinished(() => {
    for (const page of pages) page.close()
  })
  await expect.poll(() => pages.filter((page) => page.lastId() === undefined)).toEqual([])
  await fund(account.id, 'many')
  await expect
    .poll(() => pages.filter((page) => page.hints().length === 0), { timeout: LOOKS_MS })
    .toEqual([])
  const times = pages.map((page) => page.firstHintMs() ?? 0).sort((a, b) => a - b)
  expect((times[20] ?? 0) - (times[19] ?? 0)).toBeGreaterThan(300)
  expect(pages.every((page) => page.hints().length === 1)).toBe(true)
  for (const page of pages) page.close()
  await expect.poll(() => live.open()).toBe(0)
}, 30_000)

test('a change right after the stream was opened is told, though nobody has looked at the account yet', async () => {
  const stream = await listen(await dashboard.signIn(account.id))
  await fund(account.id, 'at once')
  await expect.poll(() => stream.hints(), { timeout: LOOKS_MS }).toEqual([['balance']])
  stream.close()
  await expect.poll(() => live.open()).toBe(0)
})

test('a browser that connects again reads everything again if anything has changed, and nothing if not', async () => {
  const person = await dashboard.signIn(account.id)
  const first = await listen(person)
  await expect.poll(() => first.lastId()).toBeDefined()
  const last = first.lastId() ?? ''
  first.close()
  const same = await listen(person, { 'Last-Event-ID': last })
  await expect.poll(() => same.lastId()).toBe(last)
  expect(same.hints()).toEqual([])
  same.close()
  await fund(account.id, 'b')
  const later = await listen(person, { 'Last-Event-ID': last })
  await expect.poll(() => later.hints()).toEqual([[...liveTopics]])
  later.close()
})

test('the stream ends within a second of a removed membership, and says that it must not be opened again', async () => {
  const person = await dashboard.signIn(account.id)
  const stream = await listen(person)
  await expect.poll(() => stream.lastId()).toBeDefined()
  const startedMs = performance.now()
  await dashboard.database.asOwner(`delete from memberships where person_id = '${person.person_id}'`)
  await expect.poll(() => stream.isEnded(), { interval: 20 }).toBe(true)
  expect(performance.now() - startedMs).toBeLessThan(1_000)
  expect(stream.text()).toContain('event: ended\n')
})

test('somebody who leaves in the same process is out at once, on every page and in this account only', async () => {
  const [gone, stays] = [await dashboard.signIn(account.id), await dashboard.signIn(account.id)]
  const [one, two, theirs] = [await listen(gone), await listen(gone), await listen(stays)]
  live.endOf(other.id, gone.person_id)
  live.endOf(account.id, gone.person_id)
  await expect.poll(() => [one.isEnded(), two.isEnded()]).toEqual([true, true])
  expect(one.text()).toContain('event: ended\n')
  expect(theirs.isEnded()).toBe(false)
  theirs.close()
  await expect.poll(() => live.open()).toBe(0)
})

test('threat 73: the stream of a window ends within a second of a switch in another one, and tells nothing of that account', async () => {
  const person = await dashboard.signIn(account.id)
  await dashboard.database.asOwner(`insert into memberships (account_id, person_id, role, created_at)
                                    values ('${other.id}', '${person.person_id}', 'owner', now())`)
  const first = await listen(person)
  await expect.poll(() => first.lastId()).toBeDefined()
  const startedMs = performance.now()
  await dashboard.database.asOwner(
    `update sessions set account_id = '${other.id}' where id = '${person.session_id}'`,
  )
  await expect.poll(() => first.isEnded(), { interval: 20 }).toBe(true)
  expect(performance.now() - startedMs).toBeLessThan(1_000)
  expect(first.text()).toContain('event: ended\n')
  expect((await listen(person)).answer.statusCode).toBe(409)

  const second = await listen({ ...person, account_id: other.id })
  await expect.poll(() => second.lastId()).toBeDefined()
  await fund(other.id, 'of the other')
  await expect.poll(() => second.hints(), { timeout: LOOKS_MS }).toEqual([['balance']])
  expect(first.hints()).toEqual([])
  second.close()
  await expect.poll(() => live.open()).toBe(0)
})

test('a person has twenty streams at most; closing one makes room', async () => {
  const person = await dashboard.signIn(account.id)
  const streams = await Promise.all(Array.from({ length: 20 }, () => listen(person)))
  expect(streams.map(({ answer }) => answer.statusCode)).toEqual(Array.from({ length: 20 }, () => 200))
  expect((await listen(person)).answer.statusCode).toBe(429)
  const before = live.open()
  streams[0]?.close()
  await expect.poll(() => live.open()).toBe(before - 1)
  const again = await listen(person)
  expect(again.answer.statusCode).toBe(200)
  for (const { close } of [...streams, again]) close()
  await expect.poll(() => live.open()).toBe(0)
})

test('the log line of a stream has the status it was answered with, and its time is not measured', async () => {
  lines = []
  const stream = await listen(await dashboard.signIn(account.id))
  stream.close()
  await expect.poll(() => lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ route: 'live', status: 200 })
  expect(await dashboard.metrics.registry.metrics()).not.toContain('route="live",status="200"')
})

test('a stream lives longer than the time after which the edge closes a quiet connection', async () => {
  const stream = await listen(await dashboard.signIn(account.id))
  await expect.poll(() => stream.text(), { timeout: 25_000, interval: 500 }).toContain('event: heartbeat')
  await new Promise((resolve) => setTimeout(resolve, 7_000))
  expect(stream.isEnded()).toBe(false)
  await fund(account.id, 'c')
  await expect.poll(() => stream.hints()).toEqual([['balance']])
  stream.close()
}, 60_000)
