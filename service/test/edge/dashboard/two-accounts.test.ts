import { type DashboardRoute, dashboardRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEVELOPMENT_ENCRYPTION_KEY, loadDashboardConfig } from '../../../src/config.ts'
import { mountAreas } from '../../../src/dashboard-areas.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { createLog } from '../../../src/platform/log.ts'
import {
  ORIGIN,
  openDashboard,
  refusalOf,
  type SignedInBrowser,
  sendRoute,
  type TestDashboard,
} from '../../../testing/dashboard.ts'
import { type ForeignThings, routeExamples } from '../../../testing/dashboard-examples.ts'

/** The areas as the process mounts them, with an owner of one account who names things of another. */
const table: readonly DashboardRoute[] = dashboardRoutes
const exampleOf = ({ name }: DashboardRoute) => routeExamples[name as keyof typeof routeExamples]

let dashboard: TestDashboard
let owner: SignedInBrowser
let other: ForeignThings

beforeAll(async () => {
  dashboard = await openDashboard({
    handlers: async ({ db, keyring }) => {
      const config = loadDashboardConfig({
        SHOPWIRE_ENV: 'development',
        SHOPWIRE_DASHBOARD_ORIGIN: ORIGIN,
        SHOPWIRE_DASHBOARD_DATABASE_URL: 'postgres://not-used@localhost/x',
        SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
      })
      return (await mountAreas(config, { db, keyring, clock: systemClock, log: createLog('silent') }))
        .handlers
    },
  })
  const [one, two] = [
    await dashboard.operator.createAccount('One'),
    await dashboard.operator.createAccount('Two'),
  ]
  owner = await dashboard.signIn(one.id, 'owner', { isSteppedUp: true })
  const stranger = await dashboard.signIn(two.id, 'owner')
  const { key } = await dashboard.operator.createKey(two.id, 'theirs', ['account:read'])
  other = { account_id: two.id, person_id: stranger.person_id, key_id: key.id }
})
afterAll(() => dashboard.close())

test('every route that names something has an example that names something of another account', () => {
  const naming = table.filter(({ path, body }) => {
    const { properties = {} } = (body ?? {}) as { properties?: object }
    return path.endsWith('/{id}') || Object.keys(properties).some((name) => /^ids?$|_ids?$/.test(name))
  })
  expect(naming.filter((route) => exampleOf(route).foreign === undefined).map(({ name }) => name)).toEqual([])
})

describe('another account’s anything is not found, exactly as if it did not exist', () => {
  const naming = table.filter((route) => typeof exampleOf(route).foreign === 'function')
  test.each(naming.map((route) => [route.name, route] as const))('%s', async (name, route) => {
    const { foreign } = exampleOf(route)
    if (!(name in dashboard.handlers) || typeof foreign !== 'function') return
    const answer = await sendRoute(dashboard.port, route, owner, foreign(other))
    expect([answer.status, refusalOf(answer)]).toEqual([404, 'not_found'])
  })
})
