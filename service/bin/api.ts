#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { describeConfig } from '../src/config/config.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { onShutdown } from '../src/platform/process/shutdown.ts'
import { createApi } from '../src/programs/api-program.ts'
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

const config = startingConfig()
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const tracing = await openTracing(config, 'api', log)
const metrics = createMetrics(VERSION, ['api'])
const db = openDatabaseFrom(config, 'shopwire-api', log, metrics)
const api = await createApi(config, { log, metrics, db, tracing })
const health = openReadiness([db], metrics, { degraded: api.problem })

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // The load balancer has to notice before the port is closed.
    name: 'report not ready',
    run: () => {
      health.report('shutting down')
      // Callers on open connections get Connection: close with their next answer and reconnect to another process.
      api.drainConnections()
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  ...api.stops,
  ...tracingStops(tracing),
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await orCannotStart(log, () => health.listen(config))
const port = await orCannotStart(log, () => api.listen())
await untilSchemaFits(db, log, health.report)
await api.open((part, work) => untilAnswered(part, log, health.report, work))
health.report(undefined)
log.info({ port, health_port }, 'ready')
