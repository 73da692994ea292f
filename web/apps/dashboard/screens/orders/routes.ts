import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const ordersScreens: readonly ScreenRoute[] = [
  screen(paths.orders, () => import('./orders-screen.tsx'), 'OrdersScreen'),
  screen('/orders/$id', () => import('./order-screen.tsx'), 'OrderScreen'),
]
