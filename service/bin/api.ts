#!/usr/bin/env node
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKnownKeys } from '../src/access/known-keys.ts'
import { liveCatalogue } from '../src/catalogue/live-catalogue.ts'
import { describeConfig } from '../src/config.ts'
import { addressReader } from '../src/edge/connections.ts'
import { allEndpoints } from '../src/edge/endpoints/index.ts'
import { createHealthServer } from '../src/edge/health-server.ts'
import { createEdge } from '../src/edge/server.ts'
import { systemClock } from '../src/platform/clock.ts'
import { sql } from '../src/platform/db.ts'
import { createLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { onShutdown } from '../src/platform/shutdown.ts'
import { createThrottle } from '../src/platform/throttle.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import {
  openAdmissionFrom,
  openDatabaseFrom,
  openKeyringFrom,
  startingConfig,
  untilAnswered,
  untilSchemaFits,
  VERSION,
} from '../src/wiring.ts'

const BAD_SIGNATURES_PER_MINUTE_MAX = 60

const config = startingConfig()
const log = createLog(config.SHOPWIRE_LOG_LEVEL)
const metrics = createMetrics(VERSION)
const db = openDatabaseFrom(config, 'shopwire-api', log)
const keyring = openKeyringFrom(config)
const admission = openAdmissionFrom(config, db, log, metrics)
const catalogue = liveCatalogue(db, (error) =>
  log.warn({ err: error }, 'the catalogue could not be followed'),
)
metrics.gauge(
  'shopwire_database_connections_waiting',
  'Requests waiting for a database connection.',
  () => db.stats().waiting,
)

let notReady: string | undefined = 'starting'

const edge = createEdge(
  {
    log,
    metrics,
    clock: systemClock,
    addressOf: addressReader(config.SHOPWIRE_TRUSTED_PROXY_HOPS),
    connectionsPerAddressMax:
      config.SHOPWIRE_TRUSTED_PROXY_HOPS > 0 ? 0 : config.SHOPWIRE_CONNECTIONS_PER_ADDRESS,
    access: {
      keys: createKnownKeys(db, keyring),
      admission,
      metrics,
      failures: createThrottle({
        hitsMax: BAD_SIGNATURES_PER_MINUTE_MAX,
        windowMs: 60_000,
        namesMax: 100_000,
      }),
    },
  },
  allEndpoints({ db, catalogue, vault: createLinkVault(db, keyring), keyring }),
)
const health = createHealthServer(metrics, {
  async notReady() {
    if (notReady !== undefined) return notReady
    return db.one(sql`select 1 as ok`).then(
      () => undefined,
      () => 'the database does not answer',
    )
  },
})

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // Whoever balances the load learns first; only then is the door closed.
    name: 'tell the load balancer',
    run: () => {
      notReady = 'shutting down'
      // Callers on open connections learn it with their next answer, and send the one after it elsewhere.
      edge.server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  { name: 'finish requests', run: () => edge.close() },
  { name: 'leave the catalogue', run: () => catalogue.close() },
  { name: 'close admission', run: () => admission.close() },
  { name: 'close database', run: () => db.close() },
  {
    name: 'close health',
    run: () => {
      health.close()
      health.closeAllConnections()
    },
  },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
health.listen(config.SHOPWIRE_HEALTH_PORT, config.SHOPWIRE_HEALTH_HOST)
await once(health, 'listening')
await edge.listen({ port: config.SHOPWIRE_PORT, host: config.SHOPWIRE_HOST })
const tell = (why: string) => {
  notReady = why
}
await untilSchemaFits(db, log, tell)
await untilAnswered('admission', log, tell, () => admission.open())
await untilAnswered('database', log, tell, () => catalogue.open())
notReady = undefined
log.info(
  { port: (edge.server.address() as AddressInfo).port, health_port: (health.address() as AddressInfo).port },
  'ready',
)
