#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { describeConfig, loadDashboardConfig } from '../src/config.ts'
import { createDashboard } from '../src/dashboard-program.ts'
import { createLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { onShutdown } from '../src/platform/shutdown.ts'
import {
  openDatabaseFrom,
  openReadiness,
  orCannotStart,
  startingConfig,
  untilAnswered,
  untilSchemaFits,
  VERSION,
} from '../src/wiring.ts'

const config = startingConfig(loadDashboardConfig)
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const metrics = createMetrics(VERSION, ['dashboard'])
const db = openDatabaseFrom(config, 'shopwire-dashboard', log, metrics)
const dashboard = createDashboard(config, { log, metrics, db })
const health = openReadiness(db, metrics)

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // The load balancer has to notice before the port is closed.
    name: 'report not ready',
    run: () => {
      health.report('shutting down')
      dashboard.drainConnections()
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  ...dashboard.stops,
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await orCannotStart(log, () => health.listen(config))
const port = await orCannotStart(log, () => dashboard.listen())
await untilSchemaFits(db, log, health.report)
await dashboard.open((part, work) => untilAnswered(part, log, health.report, work))
health.report(undefined)
log.info({ port, health_port, origin: config.SHOPWIRE_DASHBOARD_ORIGIN }, 'ready')
