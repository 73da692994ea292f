import { lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { loadPart } from '#lib/missing-part.ts'

/** One screen of an area: where it is, and the module that is loaded when somebody goes there. */
export interface ScreenRoute {
  /** `/orders`, `/orders/$id` */
  readonly path: string
  readonly component: RouteComponent
}

/** `screen('/orders', () => import('./orders-screen.tsx'), 'OrdersScreen')` */
export function screen<Module extends Record<string, unknown>, Name extends string & keyof Module>(
  path: string,
  load: () => Promise<Module>,
  name: Name,
): ScreenRoute {
  const component = lazyRouteComponent(() => loadPart(load as () => Promise<Record<string, never>>), name)
  return { path, component: component as RouteComponent }
}
