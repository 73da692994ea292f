import { Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type FormEvent, useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { showDone } from '#kit/components/feedback/toasts.tsx'
import { words as common } from '#kit/words.ts'
import { api, type Reply } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { useSession } from '../../api/session.ts'
import { deviceName } from '../../session/device-name.ts'
import { newPasswordError } from '../../session/new-password.ts'
import { addPasskey } from '../../session/passkeys.ts'
import { TotpSetup } from '../../session/totp-setup.tsx'
import { identity } from '../../strings/identity.ts'
import { security as words } from '../../strings/security.ts'

const NAME_LENGTH_MAX = 60

interface FormProps {
  readonly onDone: () => void
  readonly onClose: () => void
}

/** Somebody without a second factor gives the password instead. */
function useNeedsPassword(): boolean {
  const person = useSession()?.person
  return person?.has_password === true && !person.has_passkey && !person.has_totp
}

export function AddPasskeyForm({ onDone, onClose }: FormProps) {
  const [name, setName] = useState(deviceName())
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const needsPassword = useNeedsPassword()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const passkey = await addPasskey(name.trim() || deviceName(), needsPassword ? password : undefined)
      showDone(words.added(passkey.name), words.addedMore)
      onDone()
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="md">
        <TextInput
          label={words.passkeyName}
          description={words.passkeyNameNote}
          value={name}
          maxLength={NAME_LENGTH_MAX}
          onChange={(event) => setName(event.currentTarget.value)}
          error={error}
          data-autofocus
        />
        {needsPassword ? (
          <PasswordInput
            label={identity.enrol.password}
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        ) : null}
      </Stack>
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button type="submit" variant="filled" loading={isBusy}>
          {words.add}
        </Button>
      </DialogActions>
    </form>
  )
}

export function RenameForm({
  id,
  name,
  onDone,
  onClose,
}: FormProps & { readonly id: string; readonly name: string }) {
  const [text, setText] = useState(name)
  const rename = useAct('renamePasskey', { done: () => [words.renamed], failed: null, onDone })
  return (
    <ActForm
      act={rename}
      send={text.trim() ? () => rename.mutate({ id, name: text.trim() }) : undefined}
      submit={words.renameConfirm}
      keep={common.cancel}
      onClose={onClose}
      isUnchanged={text.trim() === name}
    >
      {() => (
        <TextInput
          label={words.passkeyName}
          value={text}
          maxLength={NAME_LENGTH_MAX}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
      )}
    </ActForm>
  )
}

export function TotpForm({ onCodes }: { readonly onCodes: (codes: readonly string[]) => void }) {
  const [setup, setSetup] = useState<Reply<'beginTotp'>>()
  const [password, setPassword] = useState('')
  // The service asks everybody who has one, with or without another factor.
  const needsPassword = useSession()?.person?.has_password === true
  const begin = useAct('beginTotp', { failed: null, onDone: setSetup })
  if (setup) {
    return (
      <TotpSetup
        uri={setup.otpauth_uri}
        secret={setup.secret}
        onConfirm={async (code) => {
          const { recovery_codes } = await api.act('confirmTotp', { code })
          showDone(words.totpDone, words.totpDoneMore)
          onCodes(recovery_codes)
        }}
      />
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        begin.mutate(needsPassword ? { password } : {})
      }}
    >
      <p className="sw-dim">{words.totpOff}</p>
      {needsPassword ? (
        <PasswordInput
          mt="md"
          label={identity.enrol.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          data-autofocus
        />
      ) : null}
      {begin.error ? (
        <p role="alert" className="sw-bad">
          {begin.error.message}
        </p>
      ) : null}
      <DialogActions>
        <Button
          type="submit"
          variant="filled"
          loading={begin.isPending}
          {...(needsPassword ? {} : { 'data-autofocus': true })}
        >
          {identity.enrol.next}
        </Button>
      </DialogActions>
    </form>
  )
}

export function PasswordForm({ onDone, onClose }: FormProps) {
  const change = useAct('changePassword', {
    done: () => [words.changed, words.changedMore],
    failed: null,
    onDone,
  })
  const form = useForm({
    initialValues: { current: '', next: '' },
    validate: { current: (value) => (value ? null : identity.required), next: newPasswordError },
  })
  return (
    <form noValidate onSubmit={form.onSubmit(({ current, next }) => change.mutate({ current, new: next }))}>
      <Stack gap="md">
        <PasswordInput
          label={words.current}
          autoComplete="current-password"
          {...form.getInputProps('current')}
          data-autofocus
        />
        <PasswordInput
          label={words.newPassword}
          description={identity.reset.note}
          autoComplete="new-password"
          {...form.getInputProps('next')}
        />
        {change.error ? (
          <p role="alert" className="sw-bad">
            {change.error.message}
          </p>
        ) : null}
      </Stack>
      <DialogActions>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button type="submit" variant="filled" loading={change.isPending}>
          {words.changeConfirm}
        </Button>
      </DialogActions>
    </form>
  )
}
