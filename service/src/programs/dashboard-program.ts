import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { dashboardRoutes } from '@shopwire/contract/dashboard'
import type { DashboardConfig } from '../config/config.ts'
import { assertOwnRole } from '../dashboard/team/own-role.ts'
import { addressReader } from '../edge/connections.ts'
import { DASHBOARD_LOAD, dashboardFamily } from '../edge/dashboard/dashboard-family.ts'
import { paymentsFamily } from '../edge/payments/payments-family.ts'
import { createEdge } from '../edge/server.ts'
import { tokensFamily } from '../edge/tokens/tokens-family.ts'
import { webFamily } from '../edge/web/web-family.ts'
import { readWebFolder, type WebFiles } from '../edge/web/web-files.ts'
import { createLoadShedding, watchLoopLag } from '../platform/batching/load-shedding.ts'
import { systemClock } from '../platform/clock.ts'
import { compareEncryptionKeys } from '../platform/encryption/key-checks.ts'
import { mountAreas } from './dashboard-areas.ts'
import { stripeEventsOf } from './money-wiring.ts'
import type { Part, ProgramDeps } from './run-program.ts'
import { listening, openKeyringFrom, type UntilAnswered } from './wiring.ts'

/** The whole dashboard except its process: the API for its pages, and the pages. It listens only once all of it works. */
export function createDashboard(config: DashboardConfig, deps: ProgramDeps): Part {
  let opened: Opened | undefined
  return {
    async open(until) {
      opened = await openDashboard(config, deps, until)
    },
    async listen() {
      if (opened === undefined) throw new Error('opened before it listens')
      return opened.listen()
    },
    drainConnections: () => opened?.drainConnections(),
    stops: [
      {
        name: 'stop the dashboard',
        async run() {
          for (const step of opened?.stops ?? []) await step.run()
        },
      },
    ],
  }
}

interface Opened extends Pick<Part, 'stops'> {
  listen(): Promise<number>
  drainConnections(): void
}

async function openDashboard(
  config: DashboardConfig,
  { log, metrics, db, tracing }: ProgramDeps,
  until: UntilAnswered,
): Promise<Opened> {
  const clock = systemClock
  const origin = config.SHOPWIRE_DASHBOARD_ORIGIN
  const addressOf = addressReader(config.SHOPWIRE_TRUSTED_PROXY_HOPS)
  const keyring = openKeyringFrom(config)
  await until('database', () => assertOwnRole(db))
  await until('first API or worker with these encryption keys', () => compareEncryptionKeys(db, keyring))
  const { sessions, live, tokenEvents, handlers, pictureOrigins, close } = await mountAreas(config, {
    db,
    clock,
    keyring,
    log,
  })
  metrics.liveStreams.from(live.open)
  const loop = watchLoopLag()
  const load = createLoadShedding({
    ...DASHBOARD_LOAD,
    lagMs: loop.lagMs,
    onShed: (reason) => metrics.requestsShed.inc({ reason }),
  })
  const edge = createEdge(
    {
      log,
      metrics,
      tracing,
      connectionsMax: config.SHOPWIRE_CONNECTIONS_MAX,
      connectionsPerAddressMax:
        config.SHOPWIRE_TRUSTED_PROXY_HOPS > 0 ? 0 : config.SHOPWIRE_CONNECTIONS_PER_ADDRESS,
    },
    [
      dashboardFamily(
        {
          clock,
          metrics,
          load,
          sessions,
          origin,
          isStrict: config.SHOPWIRE_ENV === 'development',
          addressOf,
        },
        handlers,
        dashboardRoutes,
      ),
      tokensFamily({ db, clock, metrics, events: tokenEvents, addressOf }),
      paymentsFamily({ db, clock, stripe: stripeEventsOf(config) }),
      webFamily({ origin, files: webFilesOf(config), pictureOrigins }),
    ],
  )
  live.start()
  tokenEvents.start()
  return {
    async listen() {
      const { SHOPWIRE_DASHBOARD_PORT: port, SHOPWIRE_DASHBOARD_HOST: host } = config
      await listening('SHOPWIRE_DASHBOARD', config, edge.listen({ port, host }))
      return (edge.server.address() as AddressInfo).port
    },
    drainConnections() {
      edge.server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
    },
    stops: [
      // Before the requests: a stream would not end on its own.
      { name: 'end live streams', run: () => live.stop() },
      { name: 'end streams of command lines', run: () => tokenEvents.stop() },
      { name: 'finish requests', run: () => edge.close() },
      { name: 'stop watching the event loop', run: () => loop.stop() },
      { name: 'close admission', run: () => close() },
    ],
  }
}

const BESIDE_THE_SERVICE = fileURLToPath(new URL('../../../web/dist/dashboard', import.meta.url))

function webFilesOf({ SHOPWIRE_WEB_FOLDER: given }: DashboardConfig): WebFiles {
  const folder = given ?? (existsSync(BESIDE_THE_SERVICE) ? BESIDE_THE_SERVICE : undefined)
  return folder === undefined ? new Map() : readWebFolder(folder)
}
