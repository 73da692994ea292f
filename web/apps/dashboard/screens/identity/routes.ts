import { paths } from '../../paths.ts'
import { type ScreenRoute, screen } from '../../screen-route.ts'

/** For people who are not signed in: outside the shell. */
export const identityScreens: readonly ScreenRoute[] = [
  screen(paths.signIn, () => import('./sign-in-screen.tsx'), 'SignInScreen'),
  screen(paths.forgotPassword, () => import('./forgot-password-screen.tsx'), 'ForgotPasswordScreen'),
  screen(paths.resetPassword, () => import('./reset-password-screen.tsx'), 'ResetPasswordScreen'),
  screen(paths.verifyEmail, () => import('./verify-email-screen.tsx'), 'VerifyEmailScreen'),
  screen(paths.confirmAlerts, () => import('./confirm-alerts-screen.tsx'), 'ConfirmAlertsScreen'),
  screen(paths.invitation, () => import('./invitation-screen.tsx'), 'InvitationScreen'),
]
