import { auditRoutes } from './audit.ts'
import { catalogueRoutes } from './catalogue.ts'
import { deliveriesRoutes } from './deliveries.ts'
import { findRoutes } from './find.ts'
import { homeRoutes } from './home.ts'
import { identityRoutes } from './identity.ts'
import { keysRoutes } from './keys.ts'
import { liveRoutes } from './live.ts'
import { mailRoutes } from './mail.ts'
import { moneyRoutes } from './money.ts'
import { orderRoutes } from './orders.ts'
import type { DashboardRoute } from './route.ts'
import { teamRoutes } from './team.ts'
import { tokensRoutes } from './tokens.ts'
import { viewRoutes } from './views.ts'
import { webhookRoutes } from './webhook.ts'

export * from './audit.ts'
export * from './catalogue.ts'
export * from './deliveries.ts'
export * from './errors.ts'
export * from './find.ts'
export * from './home.ts'
export * from './identity.ts'
export * from './keys.ts'
export * from './live.ts'
export * from './mail.ts'
export * from './money.ts'
export * from './orders.ts'
export * from './roles.ts'
export * from './route.ts'
export * from './team.ts'
export * from './tokens.ts'
export * from './views.ts'
export * from './webhook.ts'

/** Every route of the dashboard's API, one list per area. */
export const dashboardRoutes = [
  ...auditRoutes,
  ...catalogueRoutes,
  ...deliveriesRoutes,
  ...findRoutes,
  ...homeRoutes,
  ...identityRoutes,
  ...keysRoutes,
  ...liveRoutes,
  ...mailRoutes,
  ...moneyRoutes,
  ...orderRoutes,
  ...teamRoutes,
  ...tokensRoutes,
  ...viewRoutes,
  ...webhookRoutes,
] as const satisfies readonly DashboardRoute[]

export type DashboardRouteName = (typeof dashboardRoutes)[number]['name']

export type DashboardRouteNamed<Name extends DashboardRouteName> = Extract<
  (typeof dashboardRoutes)[number],
  { readonly name: Name }
>
