#!/usr/bin/env node
import { describeConfig } from '../src/config/config.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/platform/observability/metrics.ts'
import { onShutdown } from '../src/platform/process/shutdown.ts'
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

const config = startingConfig()
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const tracing = await openTracing(config, 'worker', log)
const metrics = createMetrics(VERSION, ['worker'])
const db = openDatabaseFrom(config, 'shopwire-worker', log, metrics)
const worker = createWorker(config, { log, metrics, db, tracing })
const health = openReadiness([db], metrics, { notReady: worker.notReady, warnings: worker.warnings })

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  { name: 'report not ready', run: () => health.report('shutting down') },
  ...worker.stops,
  ...tracingStops(tracing),
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await orCannotStart(log, () => health.listen(config))
await untilSchemaFits(db, log, health.report)
await worker.open((part, work) => untilAnswered(part, log, health.report, work))
health.report(undefined)
log.info({ health_port }, 'ready')
