import type { DashboardRoute } from './route.ts'

export * from './errors.ts'
export * from './roles.ts'
export * from './route.ts'

/** Every route of the dashboard's API, one list per area. */
export const dashboardRoutes = [] as const satisfies readonly DashboardRoute[]

export type DashboardRouteName = (typeof dashboardRoutes)[number] extends { readonly name: infer Name }
  ? Name
  : never

export type DashboardRouteNamed<Name extends DashboardRouteName> = Extract<
  (typeof dashboardRoutes)[number],
  { readonly name: Name }
>
