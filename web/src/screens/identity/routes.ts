import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

/** For people who are not signed in: outside the shell. */
export const identityScreens: readonly ScreenRoute[] = [
  screen(paths.signIn, () => import('./sign-in-screen.tsx'), 'SignInScreen'),
]
