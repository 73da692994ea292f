import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const settingsScreens: readonly ScreenRoute[] = [
  screen(paths.settings, () => import('./settings-screen.tsx'), 'SettingsScreen'),
]
