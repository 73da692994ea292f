import { exchange } from '@shopwire/test-kit/requests/connection'
import { type Load, type Outcome, startLoad, tally } from '@shopwire/test-kit/requests/load'
import { type Key, sign } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { runProgram, START_MS_MAX, type System, type Systems, startSystems } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kindsInThisForm } from './admission-kinds.ts'

const CONNECTIONS_PER_API = 8
/** How many requests each process must have answered before the change, and after it. */
const ANSWERED_MIN = 100
const ANSWERED_MS_MAX = 30_000

let systems: Systems

beforeAll(async () => {
  const settings = { SHOPWIRE_REQUESTS_PER_MINUTE: '1000000', SHOPWIRE_REDIS_TIMEOUT_MS: '5000' }
  systems = await startSystems({ apis: 2, settings }, kindsInThisForm)
}, START_MS_MAX)
afterAll(() => systems?.stop())

describe.each(kindsInThisForm)('with admission in %s', (admission) => {
  let system: System

  beforeAll(() => {
    system = systems.of(admission)
  })

  test('threat 31: no request sent after a key was revoked succeeds, and the other key of the account still works', async ({
    annotate,
  }) => {
    const { account_id, key } = await system.createAccount()
    const other = await system.createKey(account_id)
    const load = flood(system, key, CONNECTIONS_PER_API)
    const otherLoad = flood(system, other, 1)
    await answered(load, system, ({ status }) => status === 200)

    await system.admin('keys', 'revoke', key.id)
    const revokedMs = performance.now()
    await answered(load, system, ({ sentMs }) => sentMs > revokedMs)
    await answered(otherLoad, system, ({ sentMs }) => sentMs > revokedMs, 10)

    const { before, after } = split(await load.stop(), revokedMs)
    await annotate(JSON.stringify({ before: tally(before), after: tally(after), lost: load.lost() }))
    expect(kindsOf(before)).toSatisfy(onlyOf('200', REFUSED))
    expect(kindsOf(after)).toSatisfy(onlyOf(REFUSED))
    const others = await otherLoad.stop()
    expect(tally(others)).toEqual({ '200': others.length })
    expect(load.lost() + otherLoad.lost()).toBe(0)
  })

  test('no request sent after an account was suspended succeeds, and the first one after it was resumed does', async ({
    annotate,
  }) => {
    const { account_id, key } = await system.createAccount()
    const load = flood(system, key, CONNECTIONS_PER_API)
    await answered(load, system, ({ status }) => status === 200)

    await system.admin('accounts', 'suspend', account_id, '--reason', 'e2e')
    const suspendedMs = performance.now()
    await answered(load, system, ({ sentMs }) => sentMs > suspendedMs)
    const { before, after } = split(await load.stop(), suspendedMs)
    await annotate(JSON.stringify({ before: tally(before), after: tally(after) }))
    expect(kindsOf(before)).toSatisfy(onlyOf('200', '403 account_suspended'))
    expect(kindsOf(after)).toEqual(['403 account_suspended'])

    await system.admin('accounts', 'resume', account_id)
    const first = await Promise.all(
      system.ports.map((port) => exchange(port, sign(key, 'GET', '/v1/ping').bytes)),
    )
    expect(first.map(({ status }) => status)).toEqual([200, 200])
  })

  test.runIf(admission === 'redis')(
    'a revocation that did not reach Redis exits with 7 and says so; running it again completes it',
    async () => {
      const { key } = await system.createAccount()
      const call = () =>
        Promise.all(system.ports.map((port) => exchange(port, sign(key, 'GET', '/v1/ping').bytes)))
      expect((await call()).map(({ status }) => status)).toEqual([200, 200])

      system.redis?.pause()
      const impatient = { ...system.settingsOf('operator'), SHOPWIRE_REDIS_TIMEOUT_MS: '500' }
      const unheard = await runProgram('admin', ['keys', 'revoke', key.id], impatient)
      system.redis?.resume()
      expect(unheard.code).toBe(7)
      expect(unheard.stderr).toContain('it is saved but may not be in force yet: run it again')
      await system.admin('keys', 'revoke', key.id)
      expect((await call()).map(({ status }) => status)).toEqual([401, 401])
    },
  )
})

const REFUSED = '401 authentication_failed'

const kindsOf = (outcomes: readonly Outcome[]) => Object.keys(tally(outcomes))
const onlyOf =
  (...allowed: string[]) =>
  (seen: string[]) =>
    seen.every((kind) => allowed.includes(kind))

function flood({ ports }: System, key: Key, connectionsPerPort: number): Load {
  return startLoad({ ports, connectionsPerPort, request: () => sign(key, 'GET', '/v1/ping') })
}

/** Until every process has given enough answers of this kind. */
async function answered(
  { outcomes }: Load,
  { ports }: System,
  isMeant: (outcome: Outcome) => boolean,
  count = ANSWERED_MIN,
): Promise<void> {
  const given = (port: number) =>
    outcomes.filter((outcome) => outcome.port === port && isMeant(outcome)).length
  await until(
    () => ports.every((port) => given(port) >= count),
    ANSWERED_MS_MAX,
    () => `too few answers: ${JSON.stringify(tally(outcomes))}`,
  )
}

function split(outcomes: readonly Outcome[], atMs: number) {
  return {
    before: outcomes.filter(({ sentMs }) => sentMs <= atMs),
    after: outcomes.filter(({ sentMs }) => sentMs > atMs),
  }
}
