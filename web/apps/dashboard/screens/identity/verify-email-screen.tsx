import { useEffect, useRef, useState } from 'react'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { dropToken, takeToken } from '#lib/token.ts'
import { useAct } from '../../api/hooks.ts'
import { refreshSession } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { PublicPage } from '../../session/public-page.tsx'
import { identity } from '../../strings/identity.ts'

const words = identity.verify

/** Opening the mailed link is enough: the page confirms by itself. */
export function VerifyEmailScreen() {
  const [token] = useState(() => takeToken('verify'))
  const { mutate, isSuccess, error } = useAct('verifyEmail', {
    failed: null,
    onDone: () => {
      dropToken('verify')
      void refreshSession()
    },
  })
  const isSent = useRef(false)
  useEffect(() => {
    if (!token || isSent.current) return
    isSent.current = true
    // Every POST carries the CSRF token, which comes with the session.
    void refreshSession().finally(() => mutate({ token }))
  }, [token, mutate])
  const goOn = <AppLink to={paths.home}>{words.goOn}</AppLink>
  if (!token) return <PublicPage title={words.title} lead={words.noToken} foot={goOn} />
  if (isSuccess) return <PublicPage title={words.done} lead={words.doneMore} foot={goOn} />
  if (error) return <PublicPage title={words.failed} lead={`${error.message} ${words.again}`} foot={goOn} />
  return <PublicPage title={words.title} lead={words.working} />
}
