import { createRootRoute, createRoute, createRouter, Outlet } from '@tanstack/react-router'
import { Crashed } from '#kit/shell/crashed.tsx'
import { parseSearch, stringifySearch } from '#lib/url-state.ts'
import type { ScreenRoute } from './screen-route.ts'
import { auditScreens } from './screens/audit/routes.ts'
import { balanceScreens } from './screens/balance/routes.ts'
import { catalogueScreens } from './screens/catalogue/routes.ts'
import { deliveriesScreens } from './screens/deliveries/routes.ts'
import { homeScreens } from './screens/home/routes.ts'
import { identityScreens } from './screens/identity/routes.ts'
import { keysScreens } from './screens/keys/routes.ts'
import { ordersScreens } from './screens/orders/routes.ts'
import { securityScreens } from './screens/security/routes.ts'
import { settingsScreens } from './screens/settings/routes.ts'
import { teamScreens } from './screens/team/routes.ts'
import { webhookScreens } from './screens/webhook/routes.ts'
import { Gates } from './session/gates.tsx'
import { SignedIn } from './session/signed-in.tsx'
import { NotFound } from './shell/not-found.tsx'

/** Screens inside the shell. An area adds its list here. */
const screens: readonly ScreenRoute[] = [
  ...auditScreens,
  ...balanceScreens,
  ...catalogueScreens,
  ...deliveriesScreens,
  ...homeScreens,
  ...keysScreens,
  ...ordersScreens,
  ...securityScreens,
  ...settingsScreens,
  ...teamScreens,
  ...webhookScreens,
]

const root = createRootRoute({
  component: () => (
    <>
      <Gates />
      <Outlet />
    </>
  ),
  notFoundComponent: NotFound,
  errorComponent: Crashed,
})
const app = createRoute({ getParentRoute: () => root, id: 'app', component: SignedIn })

export const router = createRouter({
  routeTree: root.addChildren([
    app.addChildren(
      screens.map(({ path, component }) => createRoute({ getParentRoute: () => app, path, component })),
    ),
    ...identityScreens.map(({ path, component }) =>
      createRoute({ getParentRoute: () => root, path, component }),
    ),
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPreloadDelay: 50,
  defaultErrorComponent: Crashed,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
  // What was opened or revealed for one order does not stay on the screen of another.
  defaultRemountDeps: ({ params }) => params,
})
