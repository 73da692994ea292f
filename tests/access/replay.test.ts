import { connect } from '@shopwire/test-kit/requests/connection'
import { outcomeOf, tally } from '@shopwire/test-kit/requests/load'
import { type Key, nowS, type SignedRequest, sign } from '@shopwire/test-kit/requests/signed-request'
import { ageMemory, START_MS_MAX, type System, type Systems, startSystems } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kindsInThisForm } from './admission-kinds.ts'

const COPIES = 200

let systems: Systems

beforeAll(async () => {
  // Two hundred at once wait for ten connections: on a busy machine longer than the usual two seconds.
  const settings = { SHOPWIRE_DATABASE_CONNECT_MS: '20000', SHOPWIRE_REDIS_TIMEOUT_MS: '20000' }
  systems = await startSystems({ apis: 2, settings }, kindsInThisForm)
}, START_MS_MAX)
afterAll(() => systems?.stop())

describe.each(kindsInThisForm)('with admission in %s', (admission) => {
  let system: System
  let key: Key

  beforeAll(async () => {
    system = systems.of(admission)
    key = (await system.createAccount()).key
  })

  test('threat 17: of 200 copies of one request at once, on two processes that have not cached the key, one is accepted', async () => {
    expect(await sendCopies(system, sign(key, 'GET', '/v1/ping'))).toEqual(ONE_PASSED)
  })

  test('threat 17: of 200 copies of one request at once, on two processes that have cached the key, one is accepted', async () => {
    await ageMemory(system)
    expect(await sendCopies(system, sign(key, 'GET', '/v1/ping'))).toEqual(ONE_PASSED)
  })

  test('threat 17: of 200 copies of a request dated 30 s ahead, one is accepted', async () => {
    const ahead = sign(key, 'GET', '/v1/ping', '', { timestamp: nowS() + 30 })
    expect(await sendCopies(system, ahead)).toEqual(ONE_PASSED)
  })
})

const ONE_PASSED = { '200': 1, '401 nonce_reused': COPIES - 1 }

/** All connections stand open before the first byte goes out, so that the copies truly race. */
async function sendCopies({ ports }: System, { bytes }: SignedRequest): Promise<Record<string, number>> {
  const portOf = (n: number) => ports[n % ports.length] ?? 0
  const connections = await Promise.all(Array.from({ length: COPIES }, (_, n) => connect(portOf(n))))
  const answers = await Promise.all(connections.map((connection) => connection.send(bytes)))
  for (const connection of connections) connection.close()
  return tally(answers.map((answer, n) => outcomeOf(portOf(n), answer)))
}
