import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const keysScreens: readonly ScreenRoute[] = [
  screen(paths.keys, () => import('./keys-screen.tsx'), 'KeysScreen'),
]
