import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exchange } from '@shopwire/test-kit/requests/connection'
import { nowS, sign } from '@shopwire/test-kit/requests/signed-request'
import {
  type ApiProcess,
  ageMemory,
  limitless,
  SHIFTED_CLOCK,
  START_MS_MAX,
  type System,
  startSystem,
  untilMetric,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const SKEW_S = 90
const TOLERANCE_S = 60
/** As the rule ShopwireClockOff has it; the clock is read every few seconds. */
const ALARM_S = 5
const SEEN_MS_MAX = 30_000

const systems: System[] = []
let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-skew-'))
  file = join(folder, 'shift-ms')
  await writeFile(file, String(SKEW_S * 1_000))
  const postgres = await startSystem({ admission: 'postgres', settings: limitless })
  systems.push(postgres, await startSystem({ admission: 'redis', settings: limitless, sharing: postgres }))
}, START_MS_MAX)
afterAll(async () => {
  for (const system of systems.reverse()) await system.stop()
  await rm(folder, { recursive: true })
})

describe.each(['postgres', 'redis'] as const)('with admission in %s', (admission) => {
  let system: System
  let right: ApiProcess
  let ahead: ApiProcess
  beforeAll(async () => {
    system = systems.find((each) => each.admission === admission) as System
    right = system.apis[0] as ApiProcess
    ahead = await system.startApi({ NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, TEST_CLOCK_FILE: file })
    // A new memory of nonces refuses everything that was signed before it.
    await ageMemory(system)
  }, START_MS_MAX)

  test('threat 19: with the clocks of two processes 90 s apart a request is accepted once or gets 401, whenever it was signed', async () => {
    const { key } = await system.createAccount()
    const results = await Promise.all(
      Array.from({ length: 21 }, async (_, n) => {
        const offsetS = -120 + n * 15
        const { bytes } = sign(key, 'GET', '/v1/ping', '', { timestamp: nowS() + offsetS })
        // Half of them reach the process that is ahead first.
        const ports = [right.port, ahead.port, right.port, ahead.port].map((port, at, all) =>
          n % 2 === 0 ? port : (all[3 - at] as number),
        )
        const first = await Promise.all(ports.slice(0, 2).map((port) => exchange(port, bytes)))
        const again = await Promise.all(ports.map((port) => exchange(port, bytes)))
        return { offsetS, statuses: [...first, ...again].map(({ status }) => status) }
      }),
    )
    for (const { offsetS, statuses } of results) {
      expect(new Set(statuses), String(offsetS)).toSatisfy((found: Set<number>) =>
        [...found].every((status) => status === 200 || status === 401),
      )
      const accepted = statuses.filter((status) => status === 200).length
      // A second either way is left out: it may pass between signing and checking.
      const isIn = (skewS: number) => Math.abs(offsetS - skewS) < TOLERANCE_S - 10
      const isNear = (skewS: number) => Math.abs(offsetS - skewS) <= TOLERANCE_S + 1
      expect(accepted, String(offsetS)).toBeLessThanOrEqual(1)
      if (isIn(0) || isIn(SKEW_S)) expect(accepted, String(offsetS)).toBe(1)
      if (!isNear(0) && !isNear(SKEW_S)) expect(accepted, String(offsetS)).toBe(0)
    }
  })

  test('threat 19: of 20 copies at once, dated so that both processes accept the time, one is accepted', async () => {
    const { key } = await system.createAccount()
    const { bytes } = sign(key, 'GET', '/v1/balance', '', { timestamp: nowS() + SKEW_S / 2 })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => exchange(n % 2 === 0 ? right.port : ahead.port, bytes)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error?.type === 'nonce_reused')).toHaveLength(19)
  })

  test('threat 19: the process that is off says so in its metrics, at 90 s and at 6 s', async () => {
    const offset = 'shopwire_database_clock_offset_seconds'
    const isOff = (seconds: number) => (value: number | undefined) => Math.abs(Number(value) + seconds) < 0.9
    await untilMetric(ahead, offset, isOff(SKEW_S), SEEN_MS_MAX)
    await writeFile(file, String((ALARM_S + 1) * 1_000))
    await untilMetric(ahead, offset, isOff(ALARM_S + 1), SEEN_MS_MAX)
    await untilMetric(right, offset, isOff(0), SEEN_MS_MAX)
    await writeFile(file, String(SKEW_S * 1_000))
  })
})
