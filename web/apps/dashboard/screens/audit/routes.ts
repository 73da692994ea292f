import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const auditScreens: readonly ScreenRoute[] = [
  screen(paths.audit, () => import('./audit-screen.tsx'), 'AuditScreen'),
]
