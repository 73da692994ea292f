import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { changeUrls, databaseGrants, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { SCHEMA } from '../src/installation.ts'
import { settingsSql } from '../src/platform/schema/database-settings.ts'
import { migrate } from '../src/platform/schema/migrate.ts'
import { ordersSimulation } from './schedules/orders/lane.ts'
import { runSchedules, type ScheduleRun } from './schedules/run.ts'
import { suppliersSimulation } from './schedules/suppliers/lane.ts'

const TEMPLATE = 'schedules_template'
const SIMULATIONS: Readonly<Record<string, (run: ScheduleRun) => Promise<void>>> = {
  suppliers: (run) => runSchedules(suppliersSimulation, run),
  orders: (run) => runSchedules(ordersSimulation, run),
}
const USAGE = 'usage: npm run simulate -- orders|suppliers [--schedules 10000] [--seed 1] [--lanes 4]\n'
const REPORT_EVERY = 500

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    schedules: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '4' },
  },
})
const [schedules, seed, lanes] = [Number(values.schedules), Number(values.seed), Number(values.lanes)]
const simulation = positionals[0] ?? ''
const simulate = SIMULATIONS[simulation]
if (!simulate || ![schedules, seed, lanes].every((n) => Number.isInteger(n) && n > 0)) {
  process.stderr.write(USAGE)
  process.exit(2)
}

/** On a private PostgreSQL, which is removed at the end. */
const postgres = await startPostgres()
try {
  const template = await provisionDatabase(postgres, TEMPLATE)
  await migrate(template.ownerUrl, SCHEMA)
  const asSuperuser = async (text: string, database = 'postgres') => {
    const connectionString = postgres.superuserUrl.replace(/[^/]*$/, database)
    const client = new pg.Client({ connectionString })
    await client.connect()
    await client.query(text).finally(() => client.end())
  }
  const startedMs = performance.now()
  await simulate({
    schedules,
    seed,
    lanes,
    async newDatabase() {
      const name = `schedules_${randomBytes(6).toString('hex')}`
      await asSuperuser(`create database ${name} owner shopwire_owner template ${TEMPLATE}`)
      await asSuperuser([...databaseGrants(name), settingsSql(name)].join(';'))
      await asSuperuser('update shopwire.database_identity set copy = shopwire.database_copy()', name)
      return {
        ...changeUrls(template, (url) => url.replace(/[^/]*$/, name)),
        drop: () => asSuperuser(`drop database ${name} with (force)`),
      }
    },
    onProgress(done) {
      if (done % REPORT_EVERY === 0) process.stderr.write(`${done} schedules\n`)
    },
  })
  const seconds = Math.round((performance.now() - startedMs) / 1000)
  process.stdout.write(`${JSON.stringify({ simulation, schedules, seed, failed: 0, seconds })}\n`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
} finally {
  await postgres.stop()
}
