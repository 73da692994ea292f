import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Page, Section } from '#kit/components/feedback/page.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import type { Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { security as words } from '../../strings/security.ts'
import { Passkeys } from './passkeys.tsx'
import classes from './security.module.css'
import { type SecurityDecision, SecurityDialogs } from './security-dialogs.tsx'
import { Sessions } from './sessions.tsx'

/** How this person signs in, and where they are signed in. */
export function SecurityScreen() {
  const { data, error, refetch } = useRead('getSecurity')
  const [decision, setDecision] = useState<SecurityDecision>()
  return (
    <Page title={words.title} meta={words.meta}>
      {error && !data ? <ErrorState what={words.what} error={error} onRetry={() => void refetch()} /> : null}
      {data ? (
        <>
          <Passkeys passkeys={data.passkeys} onDecide={setDecision} />
          <Ways state={data} onDecide={setDecision} />
          <Sessions sessions={data.sessions} onEverywhere={() => setDecision({ kind: 'everywhere' })} />
        </>
      ) : null}
      <SecurityDialogs decision={decision} onClose={() => setDecision(undefined)} />
    </Page>
  )
}

interface WaysProps {
  readonly state: Reply<'getSecurity'>
  readonly onDecide: (decision: SecurityDecision) => void
}

function Ways({ state, onDecide }: WaysProps) {
  const person = useSession()?.person
  const verify = useAct('sendEmailVerification', {
    done: () => [words.verificationSent, words.verificationSentMore],
    failed: words.verificationNotSent,
  })
  return (
    <Section title="Other ways in" hasLine>
      <ul>
        <Way
          title={words.totp}
          state={state.has_totp ? words.totpOn : words.totpOff}
          action={
            state.has_totp ? (
              <Button onClick={() => onDecide({ kind: 'remove-totp' })} aria-label={words.removeTotpTitle}>
                {words.removeTotp}
              </Button>
            ) : (
              <Button onClick={() => onDecide({ kind: 'totp' })}>{words.setUp}</Button>
            )
          }
        />
        <Way
          title={words.recovery}
          state={state.has_totp ? words.recoveryLeft(state.recovery_codes_left) : words.recoveryNone}
          isWarning={state.has_totp && state.recovery_codes_left === 0}
          action={
            state.has_totp ? (
              <Button onClick={() => onDecide({ kind: 'renew-codes' })}>{words.renew}</Button>
            ) : null
          }
        />
        <Way
          title={words.password}
          state={state.has_password ? words.passwordOn : words.passwordOff(state.company_sign_in)}
          action={
            state.has_password ? (
              <Button onClick={() => onDecide({ kind: 'password' })} aria-label={words.changeTitle}>
                {words.change}
              </Button>
            ) : null
          }
        />
        <Way
          title={words.email}
          state={`${person?.email}, ${person?.is_email_verified ? words.emailVerified : words.emailNotVerified}`}
          isWarning={person?.is_email_verified === false}
          action={
            person?.is_email_verified === false ? (
              <Button onClick={() => verify.mutate({})} loading={verify.isPending}>
                {words.sendVerification}
              </Button>
            ) : null
          }
        />
      </ul>
    </Section>
  )
}

function Way({
  title,
  state,
  action,
  isWarning = false,
}: {
  readonly title: string
  readonly state: string
  readonly action: ReactNode
  readonly isWarning?: boolean
}) {
  return (
    <li className={classes.way}>
      <div className={classes.wayWords}>
        <div className="sw-strong">{title}</div>
        <div className={classes.wayState} data-warning={isWarning || undefined}>
          {state}
        </div>
      </div>
      {action}
    </li>
  )
}
