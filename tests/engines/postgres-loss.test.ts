import { type Answer, exchange } from '@shopwire/test-kit/requests/connection'
import { type Key, requestBytes, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { ageMemory, type System, startSystem } from '@shopwire/test-kit/systems'
import { expect, type TestContext, test } from 'vitest'
import { describeAftermath, expectHeld, sufferLoss } from './loss.ts'

const ANSWERS_MS_MAX = 30_000
const STATUS_MS_MAX = 20_000

test.concurrent('threat 16: a captured request is still refused after PostgreSQL was killed and restarted', async (context) => {
  const { system, key } = await openSystem(context, 2)
  const aftermath = await sufferLoss(system, key, {
    cause: () => system.postgres.kill9(),
    restore: async () => {
      await system.postgres.start()
      await answers(system)
    },
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('threat 16: a request captured between two kills of PostgreSQL within two minutes is still refused', async (context) => {
  const { system, key } = await openSystem(context)
  await system.postgres.restart('kill9')
  await until(
    async () => (await exchange(system.ports[0] ?? 0, ping(key))).status === 200,
    ANSWERS_MS_MAX,
    () => 'fresh requests do not pass after the first loss',
  )
  const aftermath = await sufferLoss(system, key, {
    // What is dated before the first loss is refused from then on.
    datedS: [0, 1, 2, 3, 5, 8, 30, 55],
    cause: () => system.postgres.kill9(),
    restore: async () => {
      await system.postgres.start()
      await answers(system)
    },
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('threat 16: a captured request is still refused after a clean restart of PostgreSQL', async (context) => {
  const { system, key } = await openSystem(context)
  const aftermath = await sufferLoss(system, key, {
    cause: () => system.postgres.restart('fast'),
    restore: () => answers(system),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('threats 7 and 16: a captured request is still refused after one PostgreSQL backend was killed', async (context) => {
  const { system, key } = await openSystem(context)
  const backend = await system.query(
    "select pid from pg_stat_activity where application_name = 'shopwire-api' limit 1",
  )
  const aftermath = await sufferLoss(system, key, {
    cause: () => process.kill(Number(backend), 'SIGKILL'),
    restore: () => answers(system),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
  // Otherwise nothing was lost: one backend takes all the others and the unlogged tables with it.
  expect(aftermath.replays.some(({ type }) => type === 'timestamp_out_of_range')).toBe(true)
})

test.concurrent('threat 16: a request accepted before its API process was killed is still refused afterwards, with admission in PostgreSQL', async (context) => {
  const { system, key } = await openSystem(context, 2)
  const [api] = system.apis
  const aftermath = await sufferLoss(system, key, {
    cause: () => api?.kill('SIGKILL'),
    restore: async () => api?.start(),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('while PostgreSQL is down, signed requests get 503 with Retry-After and /status answers 200 with degraded', async (context) => {
  const { system, key } = await openSystem(context)
  const port = system.ports[0] ?? 0
  expect((await exchange(port, ping(key))).status).toBe(200)
  expect((await status(port)).body).toMatchObject({ status: 'operational', api: 'up' })

  await system.postgres.kill9()
  const refused = await exchange(port, ping(key))
  expect(refused).toMatchObject({ status: 503, body: { error: { type: 'service_unavailable' } } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
  expect(refused.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(refused.headers['x-request-id']).toMatch(/^req_/)
  const degraded = await statusOf(port, 'unavailable')
  expect(degraded).toMatchObject({ status: 200, body: { status: 'degraded', api: 'unavailable' } })
  expect(await system.apis[0]?.readiness()).toBe(503)

  await system.postgres.start()
  const better = await statusOf(port, 'up')
  expect(better).toMatchObject({ status: 200, body: { status: 'operational', api: 'up' } })
  expect(await system.apis[0]?.readiness()).toBe(200)
})

/** A system whose admission state has been complete for longer than the two minutes after which nonces are unlogged alone. */
async function openSystem({ onTestFinished }: TestContext, apis = 1) {
  const system = await startSystem({
    admission: 'postgres',
    apis,
    settings: { SHOPWIRE_REQUESTS_PER_MINUTE: '100000' },
  })
  onTestFinished(() => system.stop())
  const { key } = await system.createAccount()
  await ageMemory(system)
  return { system, key }
}

async function answers({ query }: System): Promise<void> {
  const isThere = () =>
    query('select 1').then(
      () => true,
      () => false,
    )
  await until(isThere, ANSWERS_MS_MAX, () => 'PostgreSQL does not answer')
}

function ping(key: Key): Buffer {
  return sign(key, 'GET', '/v1/ping').bytes
}

function status(port: number): Promise<Answer> {
  return exchange(port, requestBytes('GET', '/v1/status'))
}

/** The answer is at most a second old, so a change shows a little later. */
async function statusOf(port: number, api: string): Promise<Answer> {
  let last: Answer | undefined
  const isSeen = async () => {
    last = await status(port)
    return last.body.api === api
  }
  await until(isSeen, STATUS_MS_MAX, () => `the api is never ${api}: ${JSON.stringify(last?.body)}`)
  return last as Answer
}
