import { Button } from '@mantine/core'
import { IconFingerprint } from '@tabler/icons-react'
import { useState } from 'react'
import { Dialog, DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { api } from '../api/client.ts'
import { renewSession, useSession } from '../api/session.ts'
import { paths } from '../paths.ts'
import { identity } from '../strings/identity.ts'
import { CodeForm } from './code-form.tsx'
import { stepUpWithPasskey } from './passkeys.ts'
import classes from './session.module.css'

interface StepUpDialogProps {
  readonly onAnswer: (isGiven: boolean) => void
}

const words = identity.stepUp

/** Asks for a second factor; the request that needed it then goes on by itself. */
export function StepUpDialog({ onAnswer }: StepUpDialogProps) {
  return (
    <Dialog isOpen onClose={() => onAnswer(false)} title={words.title} lead={words.lead} size={400} isOnTop>
      <Factors onAnswer={onAnswer} />
    </Dialog>
  )
}

function Factors({ onAnswer }: Pick<StepUpDialogProps, 'onAnswer'>) {
  const person = useSession()?.person
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const finish = async () => {
    // The session id and the CSRF token have changed with it.
    await renewSession()
    onAnswer(true)
  }
  const tryPasskey = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await stepUpWithPasskey()
      await finish()
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : words.failed)
    } finally {
      setBusy(false)
    }
  }
  if (!person?.has_passkey && !person?.has_totp) {
    return (
      <>
        <p>{words.none}</p>
        <DialogActions>
          <AppLink to={paths.security} onClick={() => onAnswer(false)}>
            Security
          </AppLink>
        </DialogActions>
      </>
    )
  }
  return (
    <div className={classes.form}>
      {person.has_passkey ? (
        <Button
          variant="filled"
          fullWidth
          data-autofocus
          loading={isBusy}
          onClick={() => void tryPasskey()}
          leftSection={<IconFingerprint size={16} aria-hidden />}
        >
          {words.passkey}
        </Button>
      ) : null}
      {error ? (
        <p className={classes.error} role="alert">
          {error}
        </p>
      ) : null}
      {person.has_passkey && person.has_totp ? <div className={classes.or}>{identity.signIn.or}</div> : null}
      {person.has_totp ? (
        <CodeForm
          isSecondary={person.has_passkey}
          onTotp={async (code) => {
            await api.act('stepUpWithTotp', { code })
            await finish()
          }}
          onRecovery={async (code) => {
            await api.act('stepUpWithRecoveryCode', { code })
            await finish()
          }}
        />
      ) : null}
    </div>
  )
}
