import { Checkbox, Radio, Stack, TextInput } from '@mantine/core'
import type { Scope } from '@shopwire/contract'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { Dialog } from '#kit/components/feedback/dialogs.tsx'
import { useAct } from '../../api/hooks.ts'
import { keys, presets, scopeMeanings } from '../../strings/keys.ts'
import { type NewKey, presetOf } from './key-words.ts'
import classes from './keys.module.css'

const { form: said } = keys
const SCOPES = Object.keys(scopeMeanings) as Scope[]

interface CreateKeyDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onMade: (made: NewKey) => void
}

export function CreateKeyDialog({ isOpen, onClose, onMade }: CreateKeyDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={said.title} lead={said.lead} size={520}>
      {isOpen ? <CreateForm onClose={onClose} onMade={onMade} /> : null}
    </Dialog>
  )
}

function CreateForm({ onClose, onMade }: Omit<CreateKeyDialogProps, 'isOpen'>) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>(presets[1].scopes)
  const [isCustom, setCustom] = useState(false)
  const create = useAct('createKey', { refresh: ['listKeys'], failed: null, onDone: onMade })
  const chosen = isCustom ? keys.custom : (presetOf(scopes)?.name ?? keys.custom)
  const problems = {
    name: name.trim() === '' ? said.nameMissing : undefined,
    scopes: scopes.length === 0 ? said.scopesMissing : undefined,
  }
  const hasWarning = scopes.includes('webhooks:write') && !scopes.includes('orders:read')
  const choose = (preset: string) => {
    const found = presets.find((one) => one.name === preset)
    setCustom(!found)
    if (found) setScopes(found.scopes)
  }
  return (
    <ActForm
      act={create}
      send={
        problems.name || problems.scopes
          ? undefined
          : () => create.mutate({ name: name.trim(), scopes: SCOPES.filter((one) => scopes.includes(one)) })
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
          <Radio.Group label={said.preset} value={chosen} onChange={choose}>
            <Stack gap={10} mt={6}>
              {presets.map(({ name: preset, meaning }) => (
                <Radio key={preset} value={preset} label={preset} description={meaning} />
              ))}
              <Radio value={keys.custom} label={keys.custom} description={said.customMeaning} />
            </Stack>
          </Radio.Group>
          {chosen === keys.custom ? (
            <ScopeChoice scopes={scopes} onChange={setScopes} error={isTried ? problems.scopes : undefined} />
          ) : null}
          {hasWarning ? (
            <p className={classes.warning} role="status">
              <IconAlertTriangle size={15} stroke={1.75} aria-hidden />
              {said.warning}
            </p>
          ) : null}
        </Stack>
      )}
    </ActForm>
  )
}

interface ScopeChoiceProps {
  readonly scopes: readonly Scope[]
  readonly onChange: (scopes: readonly Scope[]) => void
  readonly error: string | undefined
}

function ScopeChoice({ scopes, onChange, error }: ScopeChoiceProps) {
  return (
    <Checkbox.Group
      label={said.scopes}
      value={[...scopes]}
      onChange={(value) => onChange(value as Scope[])}
      error={error}
    >
      <div className={classes.scopes}>
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            value={scope}
            label={<span className="sw-mono">{scope}</span>}
            description={scopeMeanings[scope]}
          />
        ))}
      </div>
    </Checkbox.Group>
  )
}
