import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const catalogueScreens: readonly ScreenRoute[] = [
  screen(paths.catalogue, () => import('./catalogue-screen.tsx'), 'CatalogueScreen'),
]
