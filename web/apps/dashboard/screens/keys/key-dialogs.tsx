import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { ConfirmDialog, Dialog, Facts } from '#kit/components/feedback/dialogs.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatCount } from '#lib/money.ts'
import { api } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { keys } from '../../strings/keys.ts'
import { canSpend, isQuiet, type Key, type NewKey } from './key-words.ts'
import classes from './keys.module.css'

interface KeyDialogProps {
  readonly subject: Key
  readonly onClose: () => void
}

export function RenameDialog({ subject, onClose }: KeyDialogProps) {
  const said = keys.rename
  const [name, setName] = useState(subject.name)
  const rename = useAct('renameKey', {
    refresh: ['listKeys', 'readKey'],
    done: ({ name: now }) => [said.done(now), said.doneMore],
    undo:
      (_, { id }) =>
      () =>
        api.act('renameKey', { id, name: subject.name }),
    failed: null,
    onDone: onClose,
  })
  return (
    <Dialog isOpen onClose={onClose} title={said.title}>
      <ActForm
        act={rename}
        send={name.trim() === '' ? undefined : () => rename.mutate({ id: subject.id, name: name.trim() })}
        submit={said.submit}
        keep={said.keep}
        onClose={onClose}
        isUnchanged={name.trim() === subject.name}
      >
        {() => (
          <TextInput
            label={said.name}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={name.trim() === '' ? keys.form.nameMissing : undefined}
            maxLength={100}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
      </ActForm>
    </Dialog>
  )
}

export function RotateDialog({
  subject,
  onClose,
  onMade,
}: KeyDialogProps & { readonly onMade: (made: NewKey) => void }) {
  const said = keys.rotate
  const rotate = useAct('rotateKey', {
    refresh: ['listKeys', 'readKey'],
    failed: said.failed,
    onDone: onMade,
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={said.title(subject.name)}
      lead={said.lead}
      confirm={said.confirm}
      keep={said.keep}
      isBusy={rotate.isPending}
      onConfirm={() => rotate.mutate({ id: subject.id })}
    >
      <ol className={classes.steps}>
        {said.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </ConfirmDialog>
  )
}

export function RevokeDialog({ subject, onClose }: KeyDialogProps) {
  const said = keys.revoke
  const revoke = useAct('revokeKey', {
    refresh: ['listKeys', 'readKey'],
    done: ({ in_force }) => [said.done(subject.name), in_force ? said.doneMore : said.doneSoon],
    failed: said.failed,
    onDone: onClose,
  })
  const { requests_24h, orders_24h, last_used_at } = subject
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={said.title(subject.name)}
      lead={said.lead}
      confirm={said.confirm}
      keep={said.keep}
      isDestructive
      typeName={isQuiet(subject) ? undefined : subject.name}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate({ id: subject.id })}
    >
      <Facts
        facts={[
          { label: said.calls, value: formatCount(requests_24h) },
          ...(canSpend(subject) ? [{ label: said.orders, value: formatCount(orders_24h) }] : []),
          {
            label: said.lastUsed,
            value: last_used_at === null ? keys.never : <Time at={last_used_at} as="relative" />,
          },
        ]}
      />
    </ConfirmDialog>
  )
}
