#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { createApi } from '../src/api-program.ts'
import { describeConfig } from '../src/config.ts'
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

const config = startingConfig()
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const metrics = createMetrics(VERSION)
const db = openDatabaseFrom(config, 'shopwire-api', log)
const api = await createApi(config, { log, metrics, db })
const health = openReadiness(db, metrics)

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // Whoever balances the load learns first; only then is the door closed.
    name: 'tell the load balancer',
    run: () => {
      health.tell('shutting down')
      // Callers on open connections learn it with their next answer, and send the one after it elsewhere.
      api.sayGoodbye()
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  ...api.stops,
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await orCannotStart(log, () => health.listen(config))
const port = await orCannotStart(log, () => api.listen())
await untilSchemaFits(db, log, health.tell)
await api.open((part, work) => untilAnswered(part, log, health.tell, work))
health.tell(undefined)
log.info({ port, health_port }, 'ready')
