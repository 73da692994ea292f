import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const deliveriesScreens: readonly ScreenRoute[] = [
  screen(paths.deliveries, () => import('./deliveries-screen.tsx'), 'DeliveriesScreen'),
]
