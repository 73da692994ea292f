import { Checkbox, Select, Stack, TextInput } from '@mantine/core'
import type { TokenRight } from '@shopwire/contract/dashboard'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { Dialog } from '#kit/components/feedback/dialogs.tsx'
import { useAct } from '../../api/hooks.ts'
import { tokens } from '../../strings/keys.ts'
import type { NewToken } from './key-words.ts'

const { form: said } = tokens
const RIGHTS = Object.keys(tokens.rights) as TokenRight[]
const DAYS = [7, 30, 90] as const

interface CreateTokenDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onMade: (made: NewToken) => void
}

export function CreateTokenDialog({ isOpen, onClose, onMade }: CreateTokenDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={said.title} lead={said.lead} size={480}>
      {isOpen ? <CreateForm onClose={onClose} onMade={onMade} /> : null}
    </Dialog>
  )
}

function CreateForm({ onClose, onMade }: Omit<CreateTokenDialogProps, 'isOpen'>) {
  const [name, setName] = useState('')
  const [rights, setRights] = useState<readonly TokenRight[]>(RIGHTS)
  const [withLinks, setWithLinks] = useState(false)
  const [days, setDays] = useState(30)
  const create = useAct('createToken', { refresh: ['listTokens'], failed: null, onDone: onMade })
  const problems = {
    name: name.trim() === '' ? said.nameMissing : undefined,
    rights: rights.length === 0 ? said.rightsMissing : undefined,
  }
  const canListen = rights.includes('events:listen')
  return (
    <ActForm
      act={create}
      send={
        problems.name || problems.rights
          ? undefined
          : () =>
              create.mutate({
                name: name.trim(),
                rights: [...rights],
                with_links: canListen && withLinks,
                days,
              })
      }
      submit={said.submit}
      keep={said.keep}
      onClose={onClose}
    >
      {(isTried) => (
        <Stack gap="md">
          <TextInput
            label={said.name}
            description={said.nameHint}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={isTried ? problems.name : undefined}
            maxLength={100}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
          <Checkbox.Group
            label={said.rights}
            value={[...rights]}
            onChange={(value) => setRights(value as TokenRight[])}
            error={isTried ? problems.rights : undefined}
          >
            <Stack gap={10} mt={6}>
              {RIGHTS.map((right) => (
                <Checkbox
                  key={right}
                  value={right}
                  label={tokens.rights[right][0]}
                  description={tokens.rights[right][1]}
                />
              ))}
            </Stack>
          </Checkbox.Group>
          <Checkbox
            label={said.links}
            description={said.linksHint}
            checked={canListen && withLinks}
            disabled={!canListen}
            onChange={(event) => setWithLinks(event.currentTarget.checked)}
          />
          <Select
            label={said.days}
            value={String(days)}
            onChange={(value) => setDays(Number(value ?? days))}
            data={DAYS.map((count) => ({ value: String(count), label: said.daysOf(count) }))}
            allowDeselect={false}
          />
        </Stack>
      )}
    </ActForm>
  )
}
