import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import {
  type Answer,
  type Connection,
  ConnectionLost,
  connect,
  exchange,
} from '@shopwire/test-kit/requests/connection'
import { startLoad, tally } from '@shopwire/test-kit/requests/load'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { openSession, runProgram, type Settings, type System, startSystem } from '@shopwire/test-kit/systems'
import { expect, type TestContext, test } from 'vitest'

const SOON_MS = 20_000

test('threat 68: on SIGTERM /readyz fails first, old and new requests succeed until the listener closes, and the process exits with 0', async (context) => {
  const delayMs = 3_000
  const { system, key, port } = await openSystem(context, { SHOPWIRE_SHUTDOWN_DELAY_MS: String(delayMs) })
  const [api] = system.apis
  const load = startLoad({ ports: [port], connectionsPerPort: 4, request: () => ping(key) })
  await until(
    () => load.outcomes.length > 50,
    SOON_MS,
    () => 'the load does not run',
  )

  const askedMs = performance.now()
  const exited = api?.kill('SIGTERM')
  await until(
    async () => (await api?.readiness()) === 503,
    delayMs,
    () => '/readyz did not turn',
  )
  const late = await exchange(port, ping(key).bytes)
  expect(late.status).toBe(200)
  expect(late.sentMs).toBeGreaterThan(askedMs)

  expect(await exited).toBe(0)
  expect(performance.now() - askedMs).toBeGreaterThan(delayMs)
  const outcomes = await load.stop()
  await context.annotate(JSON.stringify({ ...tally(outcomes), lost: load.lost() }))
  const duringDelay = outcomes.filter(
    ({ sentMs, receivedMs }) => sentMs > askedMs && receivedMs < askedMs + delayMs,
  )
  expect(duringDelay.length).toBeGreaterThan(0)
  expect(tally(duringDelay)).toEqual({ '200': duringDelay.length })
  // Requests that arrived during shutdown were either answered as the contract says or not at all.
  expect(
    Object.keys(tally(outcomes)).filter((seen) => !['200', '503 service_unavailable'].includes(seen)),
  ).toEqual([])
  expect(load.lost()).toBeLessThanOrEqual(4)
})

test('threat 68: a request in flight when the listener closes is answered before the process exits with 0', async (context) => {
  const patient = { SHOPWIRE_DATABASE_LOCK_MS: '30000', SHOPWIRE_DATABASE_STATEMENT_MS: '30000' }
  const { system, key, port } = await openSystem(context, patient)
  const session = await openSession(system.superuserUrl)
  await session.run('begin; lock table balances in access exclusive mode;')
  const connection = await connect(port)
  const underWay = connection.send(sign(key, 'GET', '/v1/balance').bytes)
  const waitsForLock = "application_name = 'shopwire-api' and wait_event_type = 'Lock'"
  await until(
    async () => (await system.query(`select count(*) from pg_stat_activity where ${waitsForLock}`)) === '1',
    SOON_MS,
    () => 'the request does not wait for the lock',
  )

  const exited = system.apis[0]?.kill('SIGTERM')
  await until(
    () => isClosed(port),
    SOON_MS,
    () => 'the door does not close',
  )
  const tooLate = connection.send(ping(key).bytes).catch(unlessLost)
  await session.run('commit;')
  await session.end()
  expect(await underWay).toMatchObject({ status: 200, body: { balance_cents: 0, currency: 'USD' } })
  const last = await tooLate
  await context.annotate(
    `a request after the door closed: ${last ? JSON.stringify(last.body) : 'connection closed'}`,
  )
  expect(last).toSatisfy(isOfTheContract)
  expect(await exited).toBe(0)
})

test('threat 68: after SIGTERM every keep-alive connection gets Connection: close with an answer, and no request on it is lost', async (context) => {
  const { system, key, port } = await openSystem(context, { SHOPWIRE_SHUTDOWN_DELAY_MS: '3000' })
  const connections = await Promise.all(Array.from({ length: 8 }, () => connect(port)))
  const callUntilTold = async (connection: Connection) => {
    for (let answers = 1; ; answers += 1) {
      const { status, headers } = await connection.send(ping(key).bytes)
      expect(status).toBe(200)
      if (headers.connection === 'close') return answers
    }
  }
  const calling = connections.map(callUntilTold)
  await connections[0]?.send(ping(key).bytes)
  const exited = system.apis[0]?.kill('SIGTERM')
  const answers = await Promise.all(calling)
  await context.annotate(`${answers} answers`)
  expect(await exited).toBe(0)
})

test('threat 68: a request that arrives on an open connection just after the listener closed is answered, with Connection: close', async (context) => {
  const { system, key, port } = await openSystem(context)
  const connection = await connect(port)
  const exited = system.apis[0]?.kill('SIGTERM')
  await until(
    () => isClosed(port),
    SOON_MS,
    () => 'the door does not close',
  )
  const { status, headers } = await connection.send(ping(key).bytes)
  expect([status, headers.connection]).toEqual([200, 'close'])
  expect(await exited).toBe(0)
})

test('an API process that starts before its database reports not ready, and is ready once the database is', async (context) => {
  const { system, key, port } = await openSystem(context)
  const [api] = system.apis
  await api?.kill('SIGKILL')
  await system.postgres.kill9()
  const started = api?.start()
  await until(
    async () => (await api?.readiness()) === 503,
    SOON_MS,
    () => '/readyz does not answer',
  )
  expect(await exchange(port, ping(key).bytes)).toMatchObject({
    status: 503,
    body: { error: { type: 'service_unavailable' } },
  })
  await system.postgres.start()
  await started
  await until(
    async () => (await exchange(port, ping(key).bytes)).status === 200,
    SOON_MS,
    () => 'requests do not pass',
  )
})

test('an invalid configuration exits with 2 and lists every error at once, without secrets', async () => {
  const wrong = {
    SHOPWIRE_ENV: 'staging',
    SHOPWIRE_PORT: '80a',
    SHOPWIRE_ADMISSION: 'redis',
    SHOPWIRE_ENCRYPTION_KEYS: 'a:c2hvcnQ=',
    SHOPWIRE_DATABASE_CONNECTIONS: '0',
    SHOPWIRE_HSOT: '1',
  }
  const problems = [
    'SHOPWIRE_ENV',
    'SHOPWIRE_PORT',
    'SHOPWIRE_DATABASE_URL is required',
    'SHOPWIRE_DATABASE_CONNECTIONS',
    'SHOPWIRE_REDIS_URLS is required',
    'SHOPWIRE_ENCRYPTION_KEYS: entry 1',
    'SHOPWIRE_HSOT is not a setting: did you mean SHOPWIRE_HOST',
  ]
  const ofMigrate = [
    'SHOPWIRE_ENV',
    'SHOPWIRE_DATABASE_OWNER_URL is required',
    'SHOPWIRE_HSOT is not a setting',
  ]
  for (const [name, all] of [
    ['api', problems],
    ['migrate', ofMigrate],
  ] as const) {
    const { code, stderr } = await runProgram(name, [], wrong)
    expect(code).toBe(2)
    expect(all.filter((problem) => !stderr.includes(problem))).toEqual([])
    expect(stderr).toContain(`${all.length} problem(s)`)
    expect(stderr).not.toContain('c2hvcnQ')
  }
})

test('a port in use or not allowed exits with 1, with a message that names the setting', async (context) => {
  const { system } = await openSystem(context)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  context.onTestFinished(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const free = { SHOPWIRE_PORT: '0', SHOPWIRE_HEALTH_PORT: '0' }
  for (const [name, setting, value, words] of [
    ['api', 'SHOPWIRE_PORT', String(port), `Port ${port} on 127.0.0.1 is in use by another program.`],
    ['api', 'SHOPWIRE_HEALTH_PORT', String(port), `Port ${port} on 127.0.0.1 is in use by another program.`],
    [
      'worker',
      'SHOPWIRE_HEALTH_PORT',
      String(port),
      `Port ${port} on 127.0.0.1 is in use by another program.`,
    ],
    ['api', 'SHOPWIRE_HOST', '192.0.2.1', 'This machine has no address 192.0.2.1.'],
  ] as const) {
    const { code, stdout, stderr } = await runProgram(name, [], {
      ...system.settingsOf(name),
      ...free,
      [setting]: value,
    })
    const printed = stdout + stderr
    expect(code, printed).toBe(1)
    expect(printed).toContain(words)
    expect(printed).toMatch(new RegExp(`\\bset ${setting} to`, 'i'))
    expect(printed).not.toMatch(/\bat .*(node:|\.(ts|mjs|js):\d)/)
  }
})

test('production refuses the published development key and passwords', async () => {
  const { code, stderr } = await runProgram('api', [], {
    SHOPWIRE_ENV: 'production',
    SHOPWIRE_DATABASE_URL: 'postgres://shopwire:shopwire@127.0.0.1:1/shopwire',
    SHOPWIRE_ENCRYPTION_KEYS: `zero:${Buffer.alloc(32).toString('base64')}`,
  })
  expect(code).toBe(2)
  expect(stderr).toContain('the password is a well-known one')
  expect(stderr).toContain('not random')
})

async function openSystem({ onTestFinished }: TestContext, settings: Settings = {}) {
  const system: System = await startSystem({
    admission: 'postgres',
    settings: { SHOPWIRE_REQUESTS_PER_MINUTE: '100000', ...settings },
  })
  onTestFinished(() => system.stop())
  const { key } = await system.createAccount()
  return { system, key, port: system.ports[0] ?? 0 }
}

function ping(key: Key) {
  return sign(key, 'GET', '/v1/ping')
}

async function isClosed(port: number): Promise<boolean> {
  const connection = await connect(port).catch(unlessLost)
  connection?.close()
  return connection === undefined
}

function unlessLost(error: unknown): undefined {
  if (!(error instanceof ConnectionLost)) throw error
}

function isOfTheContract(answer: Answer | undefined): boolean {
  return answer === undefined || answer.status === 200 || answer.body.error?.type === 'service_unavailable'
}
