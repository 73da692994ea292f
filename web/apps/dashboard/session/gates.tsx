import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { queryClient } from '#client/query-client.ts'
import { loadPart } from '#lib/missing-part.ts'
import { transport } from '../api/client.ts'
import { leaveAccount, refreshSession, renewSession, sessionQuery } from '../api/session.ts'
import { OtherAccountDialog } from './other-account-dialog.tsx'

// Asked for now and then, and it brings passkeys with it.
const StepUpDialog = lazy(async () => ({
  default: (await loadPart(() => import('./step-up-dialog.tsx'))).StepUpDialog,
}))

/** What is in the way of every screen alike: a second factor that is asked for, a session that has ended or was switched elsewhere. */
export function Gates() {
  const [isAsking, setAsking] = useState(false)
  const waiting = useRef<((isGiven: boolean) => void)[]>([])
  const answer = useCallback((isGiven: boolean) => {
    setAsking(false)
    for (const resolve of waiting.current.splice(0)) resolve(isGiven)
  }, [])
  useEffect(() => {
    transport.setGates({
      stepUp: () =>
        new Promise((resolve) => {
          waiting.current.push(resolve)
          setAsking(true)
        }),
      signedOut: () => {
        // The screens show who they belong to; none of it may stay for the next person.
        leaveAccount()
        // At once, without waiting for the service. SignedIn then leads to the sign-in page, and back here afterwards.
        queryClient.setQueryData(sessionQuery.queryKey, (session) =>
          session ? { ...session, person: null, accounts: [], account: null } : undefined,
        )
        // For the CSRF token of the visitor. What fails here is shown by the sign-in page.
        void refreshSession()
      },
      renew: async () => (await renewSession()).person !== null,
    })
  }, [])
  return (
    <>
      <Suspense>{isAsking ? <StepUpDialog onAnswer={answer} /> : null}</Suspense>
      <OtherAccountDialog />
    </>
  )
}
