import { text } from 'node:stream/consumers'
import { openConsole } from '@shopwire/test-kit/pages/console-page'
import { blocksOf } from '@shopwire/test-kit/pages/runbook'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import type { Redis } from '@shopwire/test-kit/redis'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { type Outcome, tally } from '@shopwire/test-kit/requests/load'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import {
  type ApiProcess,
  ageMemory,
  readMetric,
  START_MS_MAX,
  type System,
  type SystemOptions,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'
import { describeAftermath, expectHeld, sufferLoss } from './loss.ts'

const SERVED_MS_MAX = 30_000
const UNLIMITED = { SHOPWIRE_REQUESTS_PER_MINUTE: '100000' }

/**
 * One database for all that spare it; each test has a Redis and API processes of its own. Those of the full form run one after the other:
 * five of them at once on two cores take longer to recover than they may.
 */
let base: System
let account: { account_id: string; key: Key }

beforeAll(async () => {
  base = await startSystem({ admission: 'postgres', apis: 0 })
  account = await base.createAccount()
}, START_MS_MAX)
afterAll(() => base?.stop())

test.concurrent('threat 14: a captured request is still refused after Redis was killed and restarted empty', async (context) => {
  const { system, redis, key } = await openSystem(context, { apis: 2 })
  const aftermath = await sufferLoss(system, key, {
    cause: () => redis.kill9(),
    restore: () => redis.start({ empty: true }),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.skipIf(IS_SHORT)(
  'threat 14: a request captured between two kills of Redis within two minutes is still refused',
  async (context) => {
    const { system, redis, key } = await openSystem(context)
    await redis.kill9()
    await redis.start({ empty: true })
    await until(
      async () => (await exchange(system.ports[0] ?? 0, sign(key, 'GET', '/v1/ping').bytes)).status === 200,
      SERVED_MS_MAX,
      () => 'fresh requests do not pass after the first loss',
    )
    const aftermath = await sufferLoss(system, key, {
      // What is dated before the first loss is refused from then on.
      datedS: [0, 1, 2, 3, 5, 8, 30, 55],
      cause: () => redis.kill9(),
      restore: () => redis.start({ empty: true }),
    })
    await context.annotate(describeAftermath(aftermath))
    expectHeld(aftermath, system)
  },
)

test.skipIf(IS_SHORT)(
  'threat 14: a captured request is still refused after Redis was restarted from its append-only file',
  async (context) => {
    const redisSettings = { appendonly: 'yes', appendfsync: 'everysec' }
    const { system, redis, key } = await openSystem(context, { redisSettings })
    const aftermath = await sufferLoss(system, key, {
      cause: () => redis.kill9(),
      restore: () => redis.start(),
    })
    await context.annotate(describeAftermath(aftermath))
    expectHeld(aftermath, system)
  },
)

test.concurrent('threat 14: a request captured since the snapshot is still refused after Redis was restarted from it', async (context) => {
  const { system, redis, key } = await openSystem(context)
  await redis.command('SAVE')
  const aftermath = await sufferLoss(system, key, {
    cause: () => redis.kill9(),
    restore: () => redis.start(),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('threat 14: a captured request is still refused after Redis and PostgreSQL were killed together', async (context) => {
  const { system, redis, key } = await openSystem(context, { sharing: undefined })
  const aftermath = await sufferLoss(system, key, {
    cause: () => Promise.all([redis.kill9(), system.postgres.kill9()]),
    restore: () => Promise.all([redis.start({ empty: true }), system.postgres.start()]),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.skipIf(IS_SHORT)('threat 14: a captured request is still refused after FLUSHALL', async (context) => {
  const { system, redis, key } = await openSystem(context)
  const aftermath = await sufferLoss(system, key, { cause: () => redis.command('FLUSHALL') })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.concurrent('threat 14: while Redis is frozen requests get 503, and a captured request is still refused afterwards', async (context) => {
  const { system, redis, key } = await openSystem(context)
  let seenFrozen: Outcome[] = []
  const aftermath = await sufferLoss(system, key, {
    cause: () => redis.pause(),
    restore: async (honest) => {
      await until(
        () => honest.length >= 3,
        SERVED_MS_MAX,
        () => 'requests get no answer while Redis is frozen',
      )
      seenFrozen = [...honest]
      redis.resume()
      await redis.command('PING')
    },
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
  expect(tally(seenFrozen)).toEqual({ '503 service_unavailable': seenFrozen.length })
})

test.concurrent('while Redis is down /readyz, /status, metric and log say so, the process stays in use, and the runbook ends it', async (context) => {
  const { expect } = context
  const { system, redis, key } = await openSystem(context)
  const api = system.apis[0] as ApiProcess
  const look = async () => {
    const ready = await fetch(`${api.healthUrl}/readyz`)
    const { status, api: serving } = (await (await fetch(`${api.url}/v1/status`)).json()) as {
      status: string
      api: string
    }
    const failing = await readMetric(api.healthUrl, 'shopwire_admission_failing')
    const said = (await ready.text()).split(':')[0]?.trim()
    return `${ready.status} ${said}, ${status}, ${serving}, ${failing}`
  }
  const untilSeen = (wanted: string) =>
    expect.poll(look, { timeout: SERVED_MS_MAX, interval: 200 }).toBe(wanted)
  await untilSeen('200 ok, operational, up, 0')
  await redis.kill9()
  await untilSeen('200 degraded, degraded, unavailable, 1')
  expect((await exchange(api.port, sign(key, 'GET', '/v1/ping').bytes)).status).toBe(503)
  await expect.poll(api.logs, { timeout: SERVED_MS_MAX }).toContain('degraded: Redis does not answer')

  // A stand-in for systemd, which would start Redis.
  const asked: string[] = []
  const systemd = await startHttpServer(async (request, response) => {
    asked.push(await text(request))
    await redis.start({ empty: true })
    response.end()
  })
  context.onTestFinished(() => systemd.close())
  const shell = await openConsole({ ...system.settingsOf('operator'), HEALTH: api.healthUrl })
  context.onTestFinished(() => shell.close())
  const page = async (kind: 'look' | 'repair') => {
    const systemctl = `systemctl() { curl --silent --data "$*" http://127.0.0.1:${systemd.port}/; }`
    const blocks = await blocksOf('alerts', 'ShopwireAdmissionFailing', kind)
    return shell.run([systemctl, ...blocks].join('\n'))
  }
  expect(await page('look')).toMatch(/^degraded: Redis does not answer[\s\S]*FAILED +Redis answers/)
  await page('repair')
  expect(asked).toEqual(['restart redis-server'])
  await untilSeen('200 ok, operational, up, 0')
  await until(
    async () => (await exchange(api.port, sign(key, 'GET', '/v1/ping').bytes)).status === 200,
    SERVED_MS_MAX,
    () => 'requests are not served after the repair',
  )
})

test.concurrent('threat 14: a captured request is still refused after the failover of a killed Redis Cluster master', async (context) => {
  const { system, key, slotKey, master } = await openCluster(context)
  const aftermath = await sufferLoss(system, key, {
    cause: () => master.kill9(),
    restore: () => servedElsewhere(system, slotKey, master.port),
  })
  await context.annotate(describeAftermath(aftermath))
  expectHeld(aftermath, system)
})

test.skipIf(IS_SHORT)(
  'threat 14: a captured request is still refused after a frozen Redis Cluster master was replaced and resumed',
  async (context) => {
    const { system, key, slotKey, master } = await openCluster(context)
    const aftermath = await sufferLoss(system, key, {
      cause: () => master.pause(),
      restore: async () => {
        await servedElsewhere(system, slotKey, master.port)
        master.resume()
      },
    })
    await context.annotate(describeAftermath(aftermath))
    expectHeld(aftermath, system)
  },
)

test.skipIf(IS_SHORT)(
  'threat 16: a request accepted before its API process was killed is still refused afterwards, with admission in Redis',
  async (context) => {
    const { system, key } = await openSystem(context, { apis: 2 })
    const [api] = system.apis
    const aftermath = await sufferLoss(system, key, {
      cause: () => api?.kill('SIGKILL'),
      restore: async () => api?.start(),
    })
    await context.annotate(describeAftermath(aftermath))
    expectHeld(aftermath, system)
  },
)

async function openSystem(context: TestContext, options: Partial<SystemOptions> = {}) {
  // On a busy machine a healthy Redis may need longer than the usual half second.
  const settings = { ...UNLIMITED, SHOPWIRE_REDIS_TIMEOUT_MS: '1500' }
  const opened = await open(context, { admission: 'redis', settings, ...options })
  return { ...opened, redis: opened.system.redis as Redis }
}

async function openCluster(context: TestContext) {
  const { system, key, account_id } = await open(context, {
    admission: 'redis-cluster',
    apis: 2,
    replicas: 1,
  })
  const cluster = clusterOf(system)
  const slotKey = `{${account_id}}:e2e`
  const slot = Number(await cluster.nodes[0]?.command('CLUSTER', 'KEYSLOT', slotKey))
  return { system, key, slotKey, master: await cluster.masterOf(slot) }
}

/** A system whose admission state has been complete for longer than the two minutes after which nonces are kept in Redis alone. */
async function open({ onTestFinished }: TestContext, options: SystemOptions) {
  const system = await startSystem({ sharing: base, settings: UNLIMITED, ...options })
  onTestFinished(() => system.stop())
  const { key, account_id } = system.database === base.database ? account : await system.createAccount()
  await ageMemory(system)
  return { system, key, account_id }
}

/** Until a node other than the lost one takes writes for the slot. */
async function servedElsewhere(system: System, slotKey: string, lostPort: number): Promise<void> {
  const others = clusterOf(system).nodes.filter(({ port }) => port !== lostPort)
  const takesWrites = async () => {
    const replies = await Promise.allSettled(others.map((node) => node.command('SET', slotKey, '1')))
    return replies.some(({ status }) => status === 'fulfilled')
  }
  await until(takesWrites, SERVED_MS_MAX, () => 'no replica took over the slot')
}

function clusterOf({ cluster }: System) {
  if (!cluster) throw new Error('this system has no Redis Cluster')
  return cluster
}
