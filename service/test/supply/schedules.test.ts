import { expect, test } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { createDatabase } from '../../testing/database.ts'
import { runSchedules } from '../../testing/schedules/run.ts'
import { suppliersSimulation } from '../../testing/schedules/suppliers/lane.ts'

const SCHEDULES = Number(process.env.SHOPWIRE_SCHEDULES ?? (IS_SHORT ? 120 : 1_000))
const SEED = Number(process.env.SHOPWIRE_SEED ?? 1)

test(`${SCHEDULES} seeded schedules of faulty suppliers: every link and every cent is accounted for, no order is bought twice`, {
  timeout: 600_000,
}, async () => {
  let done = 0
  await runSchedules(suppliersSimulation, {
    schedules: SCHEDULES,
    seed: SEED,
    lanes: 3,
    newDatabase: createDatabase,
    onProgress(n) {
      done = n
    },
  })
  expect(done).toBe(SCHEDULES)
})
