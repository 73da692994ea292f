import { useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { renewSession, sessionQuery } from '../api/session.ts'
import { setGates } from '../api/transport.ts'
import { paths } from '../paths.ts'
import { StepUpDialog } from './step-up-dialog.tsx'

/** Gives the API client what it needs when a request asks for a second factor or the session has ended. */
export function Gates() {
  const router = useRouter()
  const [isAsking, setAsking] = useState(false)
  const waiting = useRef<((isGiven: boolean) => void)[]>([])
  const answer = useCallback((isGiven: boolean) => {
    setAsking(false)
    for (const resolve of waiting.current.splice(0)) resolve(isGiven)
  }, [])
  useEffect(() => {
    setGates({
      stepUp: () =>
        new Promise((resolve) => {
          waiting.current.push(resolve)
          setAsking(true)
        }),
      signedOut: () => {
        // The screens show who they belong to; none of it may stay for the next person.
        queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'getSession' })
        void queryClient.invalidateQueries(sessionQuery)
        const { pathname, href } = router.state.location
        if (pathname === paths.signIn) return
        void router.navigate({ to: paths.signIn, search: { to: href, ended: '1' } as never })
      },
      renew: renewSession,
    })
  }, [router])
  return <StepUpDialog isOpen={isAsking} onAnswer={answer} />
}
