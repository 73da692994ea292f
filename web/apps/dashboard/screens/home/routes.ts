import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const homeScreens: readonly ScreenRoute[] = [
  screen(paths.home, () => import('./home-screen.tsx'), 'HomeScreen'),
]
