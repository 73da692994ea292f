import { SecretOnce } from '#kit/components/feedback/dialogs.tsx'
import { SnippetTabs } from '#kit/components/values/code-well.tsx'
import { keys } from '../../strings/keys.ts'
import { canSpend, type NewKey, presetOf } from './key-words.ts'
import { snippetsOf } from './snippets.ts'

const { made: said } = keys

interface NewKeyDialogProps {
  readonly made: NewKey
  readonly isRotation: boolean
  readonly onClose: () => void
}

/** The only time that the secret is on a screen. */
export function NewKeyDialog({ made, isRotation, onClose }: NewKeyDialogProps) {
  const { key, secret } = made
  return (
    <SecretOnce
      isOpen
      onClose={onClose}
      title={isRotation ? said.rotatedTitle(key.name) : said.title(key.name)}
      lead={isRotation ? said.rotatedLead : leadOf(made)}
      values={[
        { label: said.id, value: key.id },
        { label: said.secret, value: secret, isSecret: true },
      ]}
      warning={said.warning}
      stored={said.stored}
    >
      <SnippetTabs label={said.snippets} snippets={snippetsOf(made)} />
    </SecretOnce>
  )
}

function leadOf({ key }: NewKey): string {
  const preset = presetOf(key.scopes)
  if (preset) return preset.meaning
  const lead = said.customLead(key.scopes.join(', '))
  return canSpend(key) ? `${lead} ${said.spends}` : lead
}
