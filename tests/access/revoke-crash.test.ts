import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type Connection, connect } from '@shopwire/test-kit/requests/connection'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { START_MS_MAX, type System, spawnProgram, startSystem } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

/**
 * The command that revokes is killed after its commit and before the change reaches Redis. Its Redis is a socket that accepts
 * connections and never answers; a connection there means that the commit is done.
 */
const KILLS = process.env.SHOPWIRE_LONG === '1' ? 200 : 10
const AT_ONCE = 5
const REFUSED_MS_MAX = 2_000
const GIVEN_UP_MS = 10_000
const ASK_EVERY_MS = 20

let system: System
beforeAll(async () => {
  system = await startSystem({
    admission: 'redis',
    apis: 2,
    settings: { SHOPWIRE_REQUESTS_PER_MINUTE: '1000000', SHOPWIRE_REDIS_TIMEOUT_MS: '5000' },
  })
}, START_MS_MAX)
afterAll(() => system.stop())

test(`threat 31: a key is refused by every process within ${REFUSED_MS_MAX} ms when the revoking command was killed before it updated Redis, ${KILLS} times`, {
  timeout: KILLS * 20_000,
}, async ({ annotate }) => {
  const times: number[] = []
  for (let done = 0; done < KILLS; done += AT_ONCE) {
    times.push(...(await Promise.all(Array.from({ length: AT_ONCE }, killOnce))).flat())
  }
  const sorted = times.toSorted((a, b) => a - b)
  await annotate(
    `${KILLS} kills, 2 processes each: median ${sorted[times.length >> 1]?.toFixed(0)} ms, worst ${sorted.at(-1)?.toFixed(0)} ms`,
  )
  expect(times).toHaveLength(2 * KILLS)
  expect(sorted.at(-1)).toBeLessThan(REFUSED_MS_MAX)
})

/** How long after the end of the command each process still admitted the key. */
async function killOnce(): Promise<number[]> {
  const { key } = await system.createAccount()
  const first = await withConnections((connection) => statusOf(connection, key))
  expect(first).toEqual([200, 200])

  const silent = await startSilentRedis()
  const command = spawnProgram('admin', ['keys', 'revoke', key.id], {
    ...system.settingsOf('operator'),
    SHOPWIRE_REDIS_URLS: `redis://127.0.0.1:${silent.port}`,
    SHOPWIRE_REDIS_TIMEOUT_MS: '60000',
  })
  const ended = once(command, 'exit')
  await Promise.race([
    silent.connected,
    ended.then(() => Promise.reject(new Error('the command ended by itself'))),
  ])
  expect(await system.query(`select revoked_at is not null from api_keys where id = '${key.id}'`)).toBe('t')
  command.kill('SIGKILL')
  await ended
  const endedMs = performance.now()
  silent.stop()
  const refusedMs = await withConnections((connection) => untilRefused(connection, key))
  return refusedMs.map((ms) => ms - endedMs)
}

/** One to each process. Not kept while the command starts: a process ends connections that are idle that long. */
async function withConnections<T>(use: (connection: Connection) => Promise<T>): Promise<T[]> {
  const connections = await Promise.all(system.ports.map((port) => connect(port)))
  try {
    return await Promise.all(connections.map(use))
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function untilRefused(connection: Connection, key: Key): Promise<number> {
  const givenUpMs = performance.now() + GIVEN_UP_MS
  while (performance.now() < givenUpMs) {
    if ((await statusOf(connection, key)) === 401) return performance.now()
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
  }
  return performance.now()
}

async function statusOf(connection: Connection, key: Key): Promise<number> {
  return (await connection.send(sign(key, 'GET', '/v1/ping').bytes)).status
}

/** Accepts connections and sends nothing. */
async function startSilentRedis() {
  const server = createServer()
  const connected = once(server, 'connection')
  server.on('connection', (socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, connected, stop: () => void server.close() }
}
