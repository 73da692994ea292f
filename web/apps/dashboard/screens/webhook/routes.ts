import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

export const webhookScreens: readonly ScreenRoute[] = [
  screen(paths.webhook, () => import('./webhook-screen.tsx'), 'WebhookScreen'),
]
