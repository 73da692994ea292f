import { Button, PasswordInput } from '@mantine/core'
import { browserSupportsWebAuthn } from '@simplewebauthn/browser'
import { IconDeviceMobile, IconFingerprint } from '@tabler/icons-react'
import { useState } from 'react'
import { showDone } from '#kit/components/feedback/toasts.tsx'
import { api, type Reply } from '../api/client.ts'
import { renewSession, type Session } from '../api/session.ts'
import { useSignOut } from '../shell/use-sign-out.ts'
import { identity } from '../strings/identity.ts'
import { deviceName } from './device-name.ts'
import { dropPassword, heldPassword, holdPassword } from './held-password.ts'
import { addPasskey } from './passkeys.ts'
import { PublicPage } from './public-page.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import classes from './session.module.css'
import { TotpSetup } from './totp-setup.tsx'

const words = identity.enrol

type Stage =
  | { readonly at: 'password' }
  | { readonly at: 'choose' }
  | { readonly at: 'totp'; readonly setup: Reply<'beginTotp'> }
  | { readonly at: 'codes'; readonly codes: readonly string[] }

/** Nobody goes on with a password alone: a passkey, or an authenticator app with recovery codes. */
export function Enrol({ session }: { readonly session: Session }) {
  const [stage, setStage] = useState<Stage>({
    at: session.person?.has_password && !heldPassword() ? 'password' : 'choose',
  })
  const { busy, error, run } = useAttempt()
  const signOut = useSignOut()
  const finish = async () => {
    dropPassword()
    await renewSession()
    showDone(words.done, words.doneMore)
  }
  const tryPasskey = async () => {
    await addPasskey(deviceName(), heldPassword())
    await finish()
  }
  const tryApp = async () => {
    const password = heldPassword()
    setStage({ at: 'totp', setup: await api.act('beginTotp', password ? { password } : {}) })
  }
  const confirm = async (code: string) => {
    const { recovery_codes } = await api.act('confirmTotp', { code })
    setStage({ at: 'codes', codes: recovery_codes })
  }
  const foot = (
    <div className={classes.links}>
      <span>{session.person?.email}</span>
      <button type="button" className={classes.switch} onClick={signOut}>
        {words.signOut}
      </button>
    </div>
  )
  if (stage.at === 'codes') {
    return (
      <PublicPage title={identity.recovery.title} lead={identity.recovery.lead}>
        <RecoveryCodes codes={stage.codes} onDone={() => void finish()} />
      </PublicPage>
    )
  }
  if (stage.at === 'totp') {
    return (
      <PublicPage
        title={identity.totp.title}
        foot={
          <button type="button" className={classes.switch} onClick={() => setStage({ at: 'choose' })}>
            {words.back}
          </button>
        }
      >
        <TotpSetup uri={stage.setup.otpauth_uri} secret={stage.setup.secret} onConfirm={confirm} />
      </PublicPage>
    )
  }
  if (stage.at === 'password') {
    return (
      <PublicPage title={words.title} lead={words.lead} foot={foot}>
        <PasswordForm onNext={() => setStage({ at: 'choose' })} />
      </PublicPage>
    )
  }
  const isOperator = session.person?.kind === 'operator'
  return (
    <PublicPage title={words.title} lead={isOperator ? words.leadOperator : words.lead} foot={foot}>
      <FactorChoice
        isOperator={isOperator}
        busy={busy}
        error={error}
        onPasskey={() => void run('passkey', tryPasskey)}
        onApp={() => void run('totp', tryApp)}
      />
    </PublicPage>
  )
}

type Factor = 'passkey' | 'totp'

/** Which factor is being set up, and why the last attempt failed. */
function useAttempt() {
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState<Factor>()
  const run = async (which: Factor, work: () => Promise<unknown>) => {
    setBusy(which)
    setError(undefined)
    try {
      await work()
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
    } finally {
      setBusy(undefined)
    }
  }
  return { busy, error, run }
}

interface FactorChoiceProps {
  readonly isOperator: boolean
  readonly busy: Factor | undefined
  readonly error: string | undefined
  readonly onPasskey: () => void
  readonly onApp: () => void
}

/** A passkey or an authenticator app; for operators a passkey only. */
function FactorChoice({ isOperator, busy, error, onPasskey, onApp }: FactorChoiceProps) {
  const canUsePasskey = browserSupportsWebAuthn()
  return (
    <div>
      <div className={classes.choices}>
        <div className={classes.choice}>
          <IconFingerprint size={20} stroke={1.6} aria-hidden />
          <div>
            <h2 className="sw-strong">{words.choosePasskey}</h2>
            <p className={classes.choiceNote}>
              {canUsePasskey ? words.choosePasskeyNote : identity.passkey.unsupported}
            </p>
            <Button
              variant="filled"
              disabled={!canUsePasskey}
              loading={busy === 'passkey'}
              onClick={onPasskey}
            >
              {words.addPasskey}
            </Button>
          </div>
        </div>
        {isOperator ? null : (
          <div className={classes.choice}>
            <IconDeviceMobile size={20} stroke={1.6} aria-hidden />
            <div>
              <h2 className="sw-strong">{words.chooseTotp}</h2>
              <p className={classes.choiceNote}>{words.chooseTotpNote}</p>
              <Button loading={busy === 'totp'} onClick={onApp}>
                {words.useTotp}
              </Button>
            </div>
          </div>
        )}
      </div>
      {error ? (
        <p className={classes.error} role="alert">
          {error}
        </p>
      ) : null}
    </div>
  )
}

function PasswordForm({ onNext }: { readonly onNext: () => void }) {
  const [password, setPassword] = useState('')
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (!password) return
        holdPassword(password)
        onNext()
      }}
    >
      <PasswordInput
        label={words.password}
        description={words.passwordNote}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        autoFocus
        required
        withAsterisk={false}
      />
      <Button type="submit" variant="filled" fullWidth>
        {words.next}
      </Button>
    </form>
  )
}
