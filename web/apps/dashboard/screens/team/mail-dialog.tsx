import { Button, Checkbox, Stack } from '@mantine/core'
import type { ChosenMail } from '@shopwire/contract/dashboard'
import { Dialog, DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { api } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { mail as text } from '../../strings/mail.ts'
import { roles } from '../../strings/roles.ts'
import { isReader, type Preferences } from './mail-readers.ts'

interface MailDialogProps {
  readonly kind: ChosenMail
  readonly preferences: Preferences
  readonly onClose: () => void
}

/** Who of the members gets one kind of mail. Each box is a change of its own, so that each can be undone. */
export function MailDialog({ kind: name, preferences, onClose }: MailDialogProps) {
  const { members, kinds } = preferences
  const kind = kinds.find((one) => one.kind === name)
  const nameOf = (id: string) => members.find(({ person_id }) => person_id === id)?.name ?? id
  const title = kind?.title ?? ''
  const choose = useAct('setMemberMail', {
    refresh: ['getMailPreferences', 'getBalanceAlert'],
    done: (_, { person_id, is_on }) => [
      is_on ? text.turnedOnFor(nameOf(person_id), title) : text.turnedOffFor(nameOf(person_id), title),
    ],
    undo:
      (_, { person_id, is_on }) =>
      () =>
        api.act('setMemberMail', { person_id, kind: name, is_on: !is_on }),
    failed: text.notChanged,
  })
  if (!kind) return null
  return (
    <Dialog isOpen onClose={onClose} title={text.changeTitle(title)} lead={text.changeLead}>
      <Stack gap={8}>
        {members.map(({ person_id, name: label, role, is_confirmed }) => (
          <Checkbox
            key={person_id}
            label={label}
            description={text.role(roles[role], is_confirmed)}
            checked={isReader(kind, person_id)}
            disabled={choose.isPending}
            onChange={(event) => choose.mutate({ person_id, kind: name, is_on: event.currentTarget.checked })}
          />
        ))}
      </Stack>
      <DialogActions>
        <Button variant="filled" onClick={onClose} data-autofocus>
          {text.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
