import type { Admission } from './access/admission.ts'
import { withMismatchCheck } from './access/admission-in-use.ts'
import type { DashboardConfig } from './config.ts'
import { createMemberAct } from './dashboard/act.ts'
import { keysArea } from './dashboard/keys.ts'
import { createLive } from './dashboard/live.ts'
import { createMailOwners } from './dashboard/mail-owners.ts'
import { findArea } from './dashboard/find.ts'
import { homeArea } from './dashboard/home.ts'
import { homeSources } from './dashboard/home-sources.ts'
import { ordersArea } from './dashboard/orders.ts'
import { databaseSessions } from './dashboard/session.ts'
import { createTokenEvents } from './dashboard/token-events.ts'
import { tokensArea } from './dashboard/tokens.ts'
import type { DashboardHandlers } from './edge/dashboard/dashboard-family.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/db.ts'
import type { Keyring } from './platform/encryption.ts'
import type { Log } from './platform/log.ts'
import { readOwnKey } from './platform/own-key.ts'
import { createLinkVault } from './supply/gift-link.ts'
import { openAdmissionFrom, VERSION } from './wiring.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

export interface AreaDeps {
  /** As the dashboard's role. */
  readonly db: Db
  readonly clock: Clock
  readonly keyring: Keyring
  readonly log: Log
}

/** Everything that answers a route of the dashboard's API. */
export async function mountAreas(config: DashboardConfig, { db, clock, keyring, log }: AreaDeps) {
  const limits = {
    idleMs: config.SHOPWIRE_SESSION_IDLE_MINUTES * MINUTE_MS,
    absoluteMs: config.SHOPWIRE_SESSION_HOURS * HOUR_MS,
  }
  const sessions = databaseSessions(db, limits, await readOwnKey(db, keyring, 'dashboard'))
  const live = createLive({
    db,
    clock,
    sessions,
    onError: (error) => log.warn({ err: error }, 'changes for open pages could not be read; it is retried'),
  })
  const tokenEvents = createTokenEvents({
    db,
    keyring,
    clock,
    onError: (error) => log.warn({ err: error }, 'events for command lines could not be read; it is retried'),
  })
  let opened: Promise<Admission> | undefined
  const shared = {
    db,
    keyring,
    log,
    act: createMemberAct(db, clock),
    mailOwners: createMailOwners(keyring),
    vault: createLinkVault(db, keyring),
    version: VERSION,
    sources: homeSources,
    cell: config.SHOPWIRE_CELL,
    apiUrl: config.SHOPWIRE_API_URL,
    origin: config.SHOPWIRE_DASHBOARD_ORIGIN,
    /** Opened when the first key is revoked: API processes keep their own. */
    async admission() {
      opened ??= openAdmissionFrom(config, db, log)
      return withMismatchCheck(await opened, db, config.SHOPWIRE_ADMISSION)
    },
  }
  /** One line per area. */
  const handlers: Partial<DashboardHandlers> = {
    ...findArea(shared),
    ...homeArea(shared),
    ...keysArea(shared),
    ...live.area,
    ...ordersArea(shared),
    ...tokensArea(shared),
  }
  return {
    sessions,
    live,
    tokenEvents,
    handlers,
    async close() {
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}
