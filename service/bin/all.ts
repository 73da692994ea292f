#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type DashboardConfig,
  describeConfig,
  loadAllConfig,
  loadDashboardConfig,
} from '../src/config/config.ts'
import type { Db } from '../src/platform/database/db.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { onShutdown } from '../src/platform/process/shutdown.ts'
import { createApi } from '../src/programs/api-program.ts'
import { createDashboard, type Dashboard } from '../src/programs/dashboard-program.ts'
import { openTracing, tracingStops } from '../src/programs/open-tracing.ts'
import {
  openDatabaseFrom,
  openReadiness,
  orCannotStart,
  startingConfig,
  untilAnswered,
  untilSchemaFits,
  VERSION,
} from '../src/programs/wiring.ts'
import { createWorker } from '../src/programs/worker-program.ts'

/**
 * API and worker in one process, and the dashboard when it has an origin: for development and small machines. Each part signs in to the database with
 * its own login. They share the processor, so a store with work for more than one core runs them apart.
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
const dashboardConfig = config.SHOPWIRE_DASHBOARD_ORIGIN ? startingConfig(loadDashboardConfig) : undefined
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const tracing = await openTracing(config, 'all', log)
const metrics = createMetrics(VERSION, dashboardConfig ? ['api', 'worker', 'dashboard'] : ['api', 'worker'])
const workerConfig = { ...config, SHOPWIRE_DATABASE_URL: config.SHOPWIRE_WORKER_DATABASE_URL }
const apiDb = openDatabaseFrom(config, 'shopwire-api', log, metrics)
const workerDb = openDatabaseFrom(workerConfig, 'shopwire-worker', log, metrics)
const dashboardDb: Db | undefined =
  dashboardConfig && openDatabaseFrom(dashboardConfig, 'shopwire-dashboard', log, metrics)
const api = await createApi(config, { log, metrics, db: apiDb, tracing })
const worker = createWorker(workerConfig, { log, metrics, db: workerDb, tracing })
const dbs = [apiDb, workerDb, ...(dashboardDb ? [dashboardDb] : [])]
const health = openReadiness(dbs, metrics, {
  notReady: worker.notReady,
  degraded: api.problem,
  warnings: worker.warnings,
})
let dashboard: Dashboard | undefined

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // The load balancer has to notice before the port is closed.
    name: 'report not ready',
    run: () => {
      health.report('shutting down')
      api.drainConnections()
      dashboard?.drainConnections()
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  ...api.stops,
  {
    name: 'stop the dashboard',
    async run() {
      for (const step of dashboard?.stops ?? []) await step.run()
    },
  },
  ...worker.stops,
  ...tracingStops(tracing),
  {
    name: 'close database',
    async run() {
      await Promise.all(dbs.map((db) => db.close()))
    },
  },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const until = (part: string, work: () => Promise<void>) => untilAnswered(part, log, health.report, work)
const health_port = await orCannotStart(log, () => health.listen(config))
const port = await orCannotStart(log, () => api.listen())
await untilSchemaFits(apiDb, log, health.report)
await api.open(until)
await worker.open(until)
const dashboard_port = dashboardConfig && dashboardDb && (await startDashboard(dashboardConfig, dashboardDb))
health.report(undefined)
log.info({ port, dashboard_port, health_port }, 'ready')

async function startDashboard(own: DashboardConfig, ownDb: Db): Promise<number> {
  const opened = await createDashboard(own, { log, metrics, db: ownDb, tracing }, until)
  dashboard = opened
  return orCannotStart(log, () => opened.listen())
}
