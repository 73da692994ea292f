import { randomBytes } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { asSuperuser, TEMPLATE_DATABASE } from '../../testing/database.ts'
import { runSchedules } from '../../testing/supplier-schedules/run.ts'

const SCHEDULES = Number(
  process.env.SHOPWIRE_SCHEDULES ?? (process.env.SHOPWIRE_E2E_SHORT === '1' ? 250 : 1_000),
)
const SEED = Number(process.env.SHOPWIRE_SEED ?? 1)

async function newDatabase() {
  const name = `schedules_${randomBytes(6).toString('hex')}`
  await asSuperuser((client) =>
    client.query(`create database ${name} owner shopwire_owner template ${TEMPLATE_DATABASE}`),
  )
  const url = new URL(inject('appUrl'))
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () =>
      asSuperuser(async (client) => void (await client.query(`drop database ${name} with (force)`))),
  }
}

test(`${SCHEDULES} seeded schedules of faulty suppliers: every link and every cent is accounted for, no order is bought twice`, {
  timeout: 600_000,
}, async () => {
  let done = 0
  await runSchedules({
    schedules: SCHEDULES,
    seed: SEED,
    lanes: 3,
    newDatabase,
    onProgress(n) {
      done = n
    },
  })
  expect(done).toBe(SCHEDULES)
})
