import { expect, test } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { createDatabase } from '../../testing/database.ts'
import { ordersSimulation } from '../../testing/schedules/orders/lane.ts'
import { runSchedules } from '../../testing/schedules/run.ts'

const SCHEDULES = Number(process.env.SHOPWIRE_SCHEDULES ?? (IS_SHORT ? 30 : 120))
const SEED = Number(process.env.SHOPWIRE_SEED ?? 1)

test(`${SCHEDULES} seeded schedules of kills, pauses, wrong clocks, lost answers, cut, slow and full databases: each key bought once or not at all, as its caller was told, and every event arrived`, {
  timeout: 600_000,
}, async () => {
  let done = 0
  await runSchedules(ordersSimulation, {
    schedules: SCHEDULES,
    seed: SEED,
    lanes: 2,
    newDatabase: createDatabase,
    onProgress(n) {
      done = n
    },
  })
  expect(done).toBe(SCHEDULES)
})
