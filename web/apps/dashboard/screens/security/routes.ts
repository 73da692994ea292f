import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const securityScreens: readonly ScreenRoute[] = [
  screen(paths.security, () => import('./security-screen.tsx'), 'SecurityScreen'),
]
