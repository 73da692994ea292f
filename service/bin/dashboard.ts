#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { describeConfig, loadDashboardConfig } from '../src/config/config.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { onShutdown } from '../src/platform/process/shutdown.ts'
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

const config = startingConfig(loadDashboardConfig)
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const tracing = await openTracing(config, 'dashboard', log)
const metrics = createMetrics(VERSION, ['dashboard'])
const db = openDatabaseFrom(config, 'shopwire-dashboard', log, metrics)
const health = openReadiness([db], metrics)
let dashboard: Dashboard | undefined

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // The load balancer has to notice before the port is closed.
    name: 'report not ready',
    run: () => {
      health.report('shutting down')
      dashboard?.drainConnections()
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  {
    name: 'stop the dashboard',
    async run() {
      for (const step of dashboard?.stops ?? []) await step.run()
    },
  },
  ...tracingStops(tracing),
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await orCannotStart(log, () => health.listen(config))
await untilSchemaFits(db, log, health.report)
const opened = await createDashboard(config, { log, metrics, db, tracing }, (part, work) =>
  untilAnswered(part, log, health.report, work),
)
dashboard = opened
const port = await orCannotStart(log, () => opened.listen())
health.report(undefined)
log.info({ port, health_port, origin: config.SHOPWIRE_DASHBOARD_ORIGIN }, 'ready')
