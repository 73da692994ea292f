import { Button } from '@mantine/core'
import { useState } from 'react'
import { dropToken, takeToken } from '#lib/token.ts'
import { useAct } from '../../api/hooks.ts'
import { refreshSession } from '../../api/session.ts'
import { PublicPage } from '../../session/public-page.tsx'
import { identity } from '../../strings/identity.ts'

const words = identity.confirmAlerts

/**
 * For whoever has a mailbox that an account wants its low-balance mail sent to. Confirming takes a click: some mail servers open every link, and
 * a stranger must not agree by that.
 */
export function ConfirmAlertsScreen() {
  const [token] = useState(() => takeToken('alerts'))
  const { mutate, data, error, isPending } = useAct('confirmAlertAddress', {
    failed: null,
    onDone: () => dropToken('alerts'),
  })
  if (!token) return <PublicPage title={words.title} lead={words.noToken} />
  if (data) return <PublicPage title={words.done} lead={words.doneMore(data.email)} />
  if (error) return <PublicPage title={words.failed} lead={`${error.message} ${words.again}`} />
  return (
    <PublicPage title={words.title} lead={words.lead}>
      <Button
        variant="filled"
        fullWidth
        loading={isPending}
        // Every POST carries the CSRF token, which comes with the session.
        onClick={() => void refreshSession().finally(() => mutate({ token }))}
      >
        {words.confirm}
      </Button>
    </PublicPage>
  )
}
