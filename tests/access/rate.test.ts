import { setTimeout as sleep } from 'node:timers/promises'
import { RATE_WINDOW_S, REQUESTS_PER_WINDOW_MAX } from '@shopwire/contract'
import { type Answer, connect, exchange } from '@shopwire/test-kit/requests/connection'
import { type Outcome, startLoad, tally } from '@shopwire/test-kit/requests/load'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, test } from 'vitest'

/** Long enough to see two windows end. On a slow machine a flood lasts until they have been filled. */
const FLOOD_MS = 130_000
const FILLED_MS_MAX = 60_000
const BURSTS_SEEN = 1 + Math.floor(FLOOD_MS / 60_000)
/** Around the start and every end of a window, when requests are admitted, the flood is as fast as it can be. */
const FULL_SPEED_MS = 5_000
/** In between everything is refused; forty requests a second of each caller leave the processor to other tests. */
const PAUSE_MS = 200
/** Our clock and the server's are read a moment apart. */
const WINDOW_MS_MIN = RATE_WINDOW_S * 1000 - 100

const kinds = ['postgres', 'redis'] as const
const systems = new Map<string, System>()

beforeAll(async () => {
  const settings = {
    // A flood fills a log of every request with hundreds of megabytes, and keeps Redis waiting for the processor.
    SHOPWIRE_LOG_LEVEL: 'warn',
    SHOPWIRE_REDIS_TIMEOUT_MS: '10000',
    SHOPWIRE_DATABASE_CONNECT_MS: '10000',
  }
  await Promise.all(
    kinds.map(async (admission) => {
      systems.set(admission, await startSystem({ admission, apis: 2, settings }))
    }),
  )
}, START_MS_MAX)
afterAll(() => Promise.all([...systems.values()].map((system) => system.stop())))

test.concurrent.for(kinds)(
  'with admission in %s, a caller that floods two processes is admitted exactly 120 times in any 60 s',
  async (admission, { annotate, expect }) => {
    const { ports, createAccount } = systemOf(admission)
    const { key } = await createAccount()
    const startedMs = performance.now()
    const pauseMs = () => {
      const inWindowMs = (performance.now() - startedMs + FULL_SPEED_MS) % (RATE_WINDOW_S * 1000)
      return inWindowMs < 2 * FULL_SPEED_MS ? 0 : PAUSE_MS
    }
    const load = startLoad({ ports, connectionsPerPort: 4, request: () => ping(key), pauseMs })
    await sleep(FLOOD_MS)
    const isAdmitted = ({ status }: Outcome) => status === 200
    // The limit is also guaranteed: whatever the flood, every window is filled.
    await until(
      () => load.outcomes.filter(isAdmitted).length >= REQUESTS_PER_WINDOW_MAX * BURSTS_SEEN,
      FILLED_MS_MAX,
      () => `only ${load.outcomes.filter(isAdmitted).length} requests were admitted`,
    )
    const outcomes = await load.stop()
    const admitted = outcomes.filter(isAdmitted)
    expect(Object.keys(tally(outcomes)).sort()).toEqual(['200', '429 rate_limited'])
    const shortestMs = shortestTimeFor(REQUESTS_PER_WINDOW_MAX + 1, admitted)
    await annotate(
      `${outcomes.length} sent, ${admitted.length} admitted; 121 took ${shortestMs.toFixed(1)} ms`,
    )
    expect(shortestMs).toBeGreaterThanOrEqual(WINDOW_MS_MIN)
    expect(new Set(admitted.map(({ port }) => port)).size).toBe(ports.length)
  },
)

test.concurrent.for(kinds)(
  'with admission in %s, a caller that waits Retry-After after a 429 is admitted by the next request',
  async (admission, { annotate, expect }) => {
    const { ports, createAccount } = systemOf(admission)
    const { key } = await createAccount()
    const deadline = performance.now() + FLOOD_MS
    const afterWaits: number[] = []
    for (;;) {
      const port = ports[afterWaits.length % ports.length] ?? 0
      const refused = await callUntilRefused(port, key)
      const seconds = Number(refused.headers['retry-after'])
      expect(seconds).toBeOneOf(Array.from({ length: RATE_WINDOW_S }, (_, n) => n + 1))
      if (performance.now() + seconds * 1000 > deadline) break
      await sleep(seconds * 1000)
      afterWaits.push((await exchange(port, ping(key).bytes)).status)
    }
    await annotate(`${afterWaits.length} waits`)
    expect(afterWaits.length).toBeGreaterThanOrEqual(BURSTS_SEEN - 1)
    expect(afterWaits).toEqual(afterWaits.map(() => 200))
  },
)

test.concurrent.for(kinds)(
  'threat 23: with admission in %s, 200 requests with a wrong signature consume nothing of the limit of 120 that the key has',
  async (admission, { expect }) => {
    const { ports, createAccount } = systemOf(admission)
    const { key } = await createAccount()
    const thief = { id: key.id, secret: 'sk_not-the-secret' }
    const stolen = await callTimes(200, ports[0] ?? 0, thief)
    expect(stolen.every(({ status }) => status === 401)).toBe(true)
    expect(stolen.some(({ headers }) => headers.ratelimit !== undefined)).toBe(false)
    const own = await callTimes(REQUESTS_PER_WINDOW_MAX + 1, ports[0] ?? 0, key)
    expect(own.map(({ status }) => status)).toEqual([...Array(REQUESTS_PER_WINDOW_MAX).fill(200), 429])
  },
)

test.concurrent.for(kinds)(
  'with admission in %s, the RateLimit headers count down to the refusal and agree with its Retry-After',
  async (admission, { expect }) => {
    const { ports, createAccount } = systemOf(admission)
    const { key } = await createAccount()
    const answers = await callTimes(REQUESTS_PER_WINDOW_MAX + 1, ports[1] ?? 0, key)
    const refused = answers.at(-1)
    const left = answers.map(({ headers }) => readRateLimit(headers.ratelimit))
    const countdown = Array.from(
      { length: REQUESTS_PER_WINDOW_MAX },
      (_, n) => REQUESTS_PER_WINDOW_MAX - 1 - n,
    )
    expect(left.map(({ requests }) => requests)).toEqual([...countdown, 0])
    expect(left.map(({ seconds }) => seconds)).toEqual(
      left.map(({ seconds }) => seconds).sort((a, b) => b - a),
    )
    expect(left[0]?.seconds).toBe(RATE_WINDOW_S)
    expect(refused).toMatchObject({ status: 429, body: { error: { type: 'rate_limited' } } })
    expect(Number(refused?.headers['retry-after'])).toBe(left.at(-1)?.seconds)
    const policies = new Set(answers.map(({ headers }) => headers['ratelimit-policy']))
    expect([...policies]).toEqual(['"req";q=120;w=60, "orders";q=20;w=60'])
  },
)

function systemOf(admission: string): System {
  const system = systems.get(admission)
  if (!system) throw new Error(`no system with admission in ${admission}`)
  return system
}

function ping(key: Key) {
  return sign(key, 'GET', '/v1/ping')
}

/** Each was admitted after it was sent and before it was answered, so `count` of them took at most this long. */
function shortestTimeFor(count: number, admitted: readonly Outcome[]): number {
  const byReceipt = admitted.toSorted((a, b) => a.receivedMs - b.receivedMs)
  let shortest = Number.POSITIVE_INFINITY
  for (let first = 0; first + count <= byReceipt.length; first += 1) {
    const some = byReceipt.slice(first, first + count)
    const begun = Math.min(...some.map(({ sentMs }) => sentMs))
    shortest = Math.min(shortest, (some.at(-1)?.receivedMs ?? 0) - begun)
  }
  return shortest
}

async function callTimes(count: number, port: number, key: Key): Promise<Answer[]> {
  const connection = await connect(port)
  const answers: Answer[] = []
  while (answers.length < count) answers.push(await connection.send(ping(key).bytes))
  connection.close()
  return answers
}

async function callUntilRefused(port: number, key: Key): Promise<Answer> {
  const connection = await connect(port)
  for (;;) {
    const answer = await connection.send(ping(key).bytes)
    if (answer.status === 200) continue
    connection.close()
    if (answer.status !== 429) throw new Error(`neither admitted nor limited: ${answer.status}`)
    return answer
  }
}

function readRateLimit(header: string | undefined): { requests: number; seconds: number } {
  const [, requests, seconds] = /^"req";r=(\d+);t=(\d+), "orders";r=20;t=0$/.exec(header ?? '') ?? []
  return { requests: Number(requests), seconds: Number(seconds) }
}
