#!/usr/bin/env node
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMISSION_SEEN_EVERY_MS, noteAdmissionInUse } from '../src/access/admission-in-use.ts'
import { createKnownKeys } from '../src/access/known-keys.ts'
import { liveCatalogue } from '../src/catalogue/live-catalogue.ts'
import { describeConfig } from '../src/config.ts'
import { addressReader } from '../src/edge/connections.ts'
import { docsPortal } from '../src/edge/docs-portal.ts'
import { allEndpoints } from '../src/edge/endpoints/index.ts'
import { ownFiles } from '../src/edge/public-files.ts'
import { createEdge } from '../src/edge/server.ts'
import { systemClock } from '../src/platform/clock.ts'
import { every } from '../src/platform/every.ts'
import { createLog } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { onShutdown } from '../src/platform/shutdown.ts'
import { createThrottle } from '../src/platform/throttle.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import {
  openAdmissionFrom,
  openDatabaseFrom,
  openKeyringFrom,
  openReadiness,
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
const admission = await openAdmissionFrom(config, db, log, metrics)
const catalogue = liveCatalogue(db, (error) =>
  log.warn({ err: error }, 'the catalogue could not be followed'),
)
metrics.gauge(
  'shopwire_database_connections_waiting',
  'Requests waiting for a database connection.',
  () => db.stats().waiting,
)

const edge = createEdge(
  {
    log,
    metrics,
    clock: systemClock,
    addressOf: addressReader(config.SHOPWIRE_TRUSTED_PROXY_HOPS),
    connectionsPerAddressMax:
      config.SHOPWIRE_TRUSTED_PROXY_HOPS > 0 ? 0 : config.SHOPWIRE_CONNECTIONS_PER_ADDRESS,
    publicFiles: new Map([...ownFiles(), ...docsPortal(config.SHOPWIRE_DOCS_FOLDER)]),
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
const noteAdmission = () => noteAdmissionInUse(db, config.SHOPWIRE_ADMISSION)
const noting = every(
  ADMISSION_SEEN_EVERY_MS,
  async () => void (await noteAdmission()),
  (error) => log.warn({ err: error }, 'it could not be noted where admission is kept'),
)
const health = openReadiness(db, metrics)

onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
  {
    // Whoever balances the load learns first; only then is the door closed.
    name: 'tell the load balancer',
    run: () => {
      health.tell('shutting down')
      // Callers on open connections learn it with their next answer, and send the one after it elsewhere.
      edge.server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
      return sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
    },
  },
  { name: 'finish requests', run: () => edge.close() },
  { name: 'leave the catalogue', run: () => catalogue.close() },
  { name: 'stop noting', run: () => noting.stop() },
  { name: 'close admission', run: () => admission.close() },
  { name: 'close database', run: () => db.close() },
  { name: 'close health', run: () => health.close() },
])

log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
const health_port = await health.listen(config)
await edge.listen({ port: config.SHOPWIRE_PORT, host: config.SHOPWIRE_HOST })
await untilSchemaFits(db, log, health.tell)
await untilAnswered('admission', log, health.tell, () => admission.open())
await untilAnswered('database', log, health.tell, async () => void (await noteAdmission()))
noting.start()
await untilAnswered('database', log, health.tell, () => catalogue.open())
health.tell(undefined)
log.info({ port: (edge.server.address() as AddressInfo).port, health_port }, 'ready')
