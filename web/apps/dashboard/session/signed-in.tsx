import { useQuery } from '@tanstack/react-query'
import { Navigate, Outlet, useLocation } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useRef, useState } from 'react'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { WaitingShell } from '#kit/shell/waiting-shell.tsx'
import { sessionQuery } from '../api/session.ts'
import { paths } from '../paths.ts'
import { nav } from '../shell/nav.ts'
import { Shell } from '../shell/shell.tsx'
import { needsSecondFactor } from './enrolment.ts'
import { lastAccount } from './last-account.ts'
import { PublicPage } from './public-page.tsx'

// Once per person, and it draws QR codes.
const Enrol = lazy(async () => ({ default: (await import('./enrol.tsx')).Enrol }))

/** The shell with a screen in it, or the way to it: sign in, then set up a second factor. */
export function SignedIn({ children }: { readonly children?: ReactNode }) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const { href, pathname } = useLocation()
  const wasSignedIn = useRef(false)
  const [account] = useState(lastAccount)
  if (!session) {
    return error ? (
      <PublicPage title="">
        <ErrorState what="The dashboard" error={error} onRetry={() => void refetch()} />
      </PublicPage>
    ) : account === null ? null : (
      <WaitingShell nav={nav} name={account} pathname={pathname} />
    )
  }
  if (!session.person || session.is_second_factor_pending) {
    // Still here while the sign-in page loads: going there again would nest one address in the other.
    if (pathname === paths.signIn) return null
    const search = {
      ...(href === paths.home ? {} : { to: href }),
      ...(wasSignedIn.current ? { ended: '1' } : {}),
    }
    return <Navigate to={paths.signIn} search={search as never} replace />
  }
  wasSignedIn.current = true
  if (needsSecondFactor(session))
    return (
      <Suspense>
        <Enrol session={session} />
      </Suspense>
    )
  return <Shell session={session}>{children ?? <Outlet />}</Shell>
}
