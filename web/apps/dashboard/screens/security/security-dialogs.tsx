import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog, Dialog } from '#kit/components/feedback/dialogs.tsx'
import { useAct } from '../../api/hooks.ts'
import { refreshSession } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { RecoveryCodes } from '../../session/recovery-codes.tsx'
import { identity } from '../../strings/identity.ts'
import { security as words } from '../../strings/security.ts'
import { AddPasskeyForm, PasswordForm, RenameForm, TotpForm } from './security-forms.tsx'

export type SecurityDecision =
  | { readonly kind: 'add-passkey' | 'totp' | 'remove-totp' | 'renew-codes' | 'password' | 'everywhere' }
  | { readonly kind: 'rename-passkey' | 'remove-passkey'; readonly id: string; readonly name: string }

interface SecurityDialogsProps {
  readonly decision: SecurityDecision | undefined
  readonly onClose: () => void
}

export function SecurityDialogs({ decision, onClose }: SecurityDialogsProps) {
  const [codes, setCodes] = useState<readonly string[]>()
  const client = useQueryClient()
  const kind = decision?.kind
  const passkey = decision && 'id' in decision ? decision : { id: '', name: '' }
  const changed = () => {
    void client.invalidateQueries({ queryKey: ['getSecurity'] })
    // Whether there is a passkey or an app is part of the session.
    void refreshSession()
    onClose()
  }
  const showCodes = (recovery_codes: readonly string[]) => {
    setCodes(recovery_codes)
    changed()
  }
  return (
    <>
      <Dialog
        isOpen={kind === 'add-passkey'}
        onClose={onClose}
        title={words.addPasskeyTitle}
        lead={words.addPasskeyLead}
      >
        <AddPasskeyForm onDone={changed} onClose={onClose} />
      </Dialog>
      <Dialog isOpen={kind === 'rename-passkey'} onClose={onClose} title={words.renameTitle}>
        <RenameForm id={passkey.id} name={passkey.name} onDone={changed} onClose={onClose} />
      </Dialog>
      <Dialog isOpen={kind === 'totp'} onClose={onClose} title={identity.totp.title}>
        <TotpForm onCodes={showCodes} />
      </Dialog>
      <Dialog isOpen={kind === 'password'} onClose={onClose} title={words.changeTitle}>
        <PasswordForm onDone={changed} onClose={onClose} />
      </Dialog>
      <RemovePasskeyDialog
        isOpen={kind === 'remove-passkey'}
        onClose={onClose}
        passkey={passkey}
        onDone={changed}
      />
      <RemoveTotpDialog isOpen={kind === 'remove-totp'} onClose={onClose} onDone={changed} />
      <RenewCodesDialog isOpen={kind === 'renew-codes'} onClose={onClose} onCodes={showCodes} />
      <SignOutEverywhereDialog isOpen={kind === 'everywhere'} onClose={onClose} />
      <Dialog
        isOpen={codes !== undefined}
        onClose={() => setCodes(undefined)}
        title={identity.recovery.title}
        lead={identity.recovery.lead}
        isFirm
      >
        <RecoveryCodes codes={codes ?? []} onDone={() => setCodes(undefined)} />
      </Dialog>
    </>
  )
}

interface ConfirmProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

function RemovePasskeyDialog({
  isOpen,
  onClose,
  passkey,
  onDone,
}: ConfirmProps & {
  readonly passkey: { readonly id: string; readonly name: string }
  readonly onDone: () => void
}) {
  const remove = useAct('removePasskey', {
    done: () => [words.removed],
    failed: words.notRemoved,
    onDone,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={words.removeTitle(passkey.name)}
      lead={words.removeLead}
      keep={words.keepPasskey}
      confirm={words.removeConfirm}
      isDestructive
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ id: passkey.id })}
    />
  )
}

function RemoveTotpDialog({ isOpen, onClose, onDone }: ConfirmProps & { readonly onDone: () => void }) {
  const remove = useAct('removeTotp', {
    done: () => [words.totpRemoved, words.totpRemovedMore],
    failed: words.totpNotRemoved,
    onDone,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={words.removeTotpTitle}
      lead={words.removeTotpLead}
      keep={words.keepTotp}
      confirm={words.removeTotpConfirm}
      isDestructive
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({})}
    />
  )
}

function RenewCodesDialog({
  isOpen,
  onClose,
  onCodes,
}: ConfirmProps & { readonly onCodes: (codes: readonly string[]) => void }) {
  const renew = useAct('renewRecoveryCodes', {
    failed: words.notRenewed,
    onDone: ({ recovery_codes }) => onCodes(recovery_codes),
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={words.renewTitle}
      lead={words.renewLead}
      keep={words.keepCodes}
      confirm={words.renewConfirm}
      isBusy={renew.isPending}
      onConfirm={() => renew.mutate({})}
    />
  )
}

function SignOutEverywhereDialog({ isOpen, onClose }: ConfirmProps) {
  const signOut = useAct('signOutEverywhere', {
    failed: words.notEverywhere,
    onDone: () => window.location.assign(paths.signIn),
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={words.everywhereTitle}
      lead={words.everywhereLead}
      keep={words.staySignedIn}
      confirm={words.everywhereConfirm}
      isDestructive
      isBusy={signOut.isPending}
      onConfirm={() => signOut.mutate({})}
    />
  )
}
