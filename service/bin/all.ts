#!/usr/bin/env node
import { loadAllConfig, loadDashboardConfig } from '../src/config/config.ts'
import { createApi } from '../src/programs/api-program.ts'
import { createDashboard } from '../src/programs/dashboard-program.ts'
import { plan, runProgram } from '../src/programs/run-program.ts'
import { startingConfig } from '../src/programs/wiring.ts'
import { createWorker } from '../src/programs/worker-program.ts'

/**
 * API and worker in one process, and the dashboard when it has an origin: for development and small machines. Each part signs in to
 * the database with its own login. They share the processor, so a store that needs more than one core runs them separately.
 */
const HELP = `usage: shopwire all

API and worker in one process, and the dashboard when SHOPWIRE_DASHBOARD_ORIGIN is set. Each signs in to PostgreSQL with a login of its
own: SHOPWIRE_DATABASE_URL is the API's, SHOPWIRE_WORKER_DATABASE_URL the worker's, SHOPWIRE_DASHBOARD_DATABASE_URL the
dashboard's.

The process has all three logins in its memory. Whoever breaks into one part has the rights of all three: run api, worker and
dashboard apart where that matters.
`
if (process.argv.includes('--help')) {
  process.stdout.write(HELP)
  process.exit(0)
}
const config = startingConfig(loadAllConfig)
const workerConfig = { ...config, SHOPWIRE_DATABASE_URL: config.SHOPWIRE_WORKER_DATABASE_URL }
const dashboardConfig = config.SHOPWIRE_DASHBOARD_ORIGIN ? startingConfig(loadDashboardConfig) : undefined
await runProgram('all', config, [
  plan('api', config, createApi),
  ...(dashboardConfig ? [plan('dashboard', dashboardConfig, createDashboard)] : []),
  plan('worker', workerConfig, createWorker),
])
