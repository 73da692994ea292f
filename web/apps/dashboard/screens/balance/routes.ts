import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const balanceScreens: readonly ScreenRoute[] = [
  screen(paths.balance, () => import('./balance-screen.tsx'), 'BalanceScreen'),
  // The same screen with the dialog open, so that other screens can lead to it.
  screen(paths.topUp, () => import('./balance-screen.tsx'), 'TopUpScreen'),
]
