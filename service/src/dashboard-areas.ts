import type { DashboardConfig } from './config.ts'
import { createLive } from './dashboard/live.ts'
import { databaseSessions } from './dashboard/session.ts'
import type { DashboardHandlers } from './edge/dashboard/dashboard-family.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/db.ts'
import type { Keyring } from './platform/encryption.ts'
import type { Log } from './platform/log.ts'
import { readOwnKey } from './platform/own-key.ts'

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
  /** One line per area. */
  const handlers: Partial<DashboardHandlers> = {
    ...live.area,
  }
  return { sessions, live, handlers }
}
