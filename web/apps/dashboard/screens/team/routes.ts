import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const teamScreens: readonly ScreenRoute[] = [
  screen(paths.team, () => import('./team-screen.tsx'), 'TeamScreen'),
]
