import { dashboardRoutes } from '@shopwire/contract/dashboard'
import { DEVELOPMENT_ENCRYPTION_KEY, loadDashboardConfig } from '../src/config/config.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { mountAreas } from '../src/programs/dashboard-areas.ts'
import { type DashboardOptions, ORIGIN, openDashboard } from './dashboard.ts'
import type { Shop } from './shop.ts'

/** The dashboard of a shop with every area mounted as its process mounts them. */
export async function openWholeDashboard(shop: Shop) {
  const config = loadDashboardConfig({
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_DASHBOARD_ORIGIN: ORIGIN,
    SHOPWIRE_DASHBOARD_DATABASE_URL: 'postgres://not-used@localhost/x',
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
    SHOPWIRE_BANK_DETAILS: 'IBAN=GB33BUKB20201555555555',
  })
  const closing: (() => Promise<void>)[] = []
  const handlers: DashboardOptions['handlers'] = async ({ db, keyring }) => {
    const areas = await mountAreas(config, { db, keyring, clock: systemClock, log: createLog('silent') })
    closing.push(areas.close)
    return areas.handlers
  }
  const dashboard = await openDashboard({ shop, handlers, table: dashboardRoutes })
  return {
    ...dashboard,
    async close() {
      await dashboard.close()
      for (const close of closing) await close()
    },
  }
}
