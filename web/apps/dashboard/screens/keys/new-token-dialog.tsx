import { SecretOnce } from '#kit/components/feedback/dialogs.tsx'
import { SnippetTabs } from '#kit/components/values/code-well.tsx'
import { formatDay } from '#lib/time.ts'
import { tokens } from '../../strings/keys.ts'
import type { NewToken } from './key-words.ts'

const { made: said } = tokens

/** The only time that the token is on a screen. */
export function NewTokenDialog({ made, onClose }: { readonly made: NewToken; readonly onClose: () => void }) {
  const { token, secret, dashboard_url } = made
  const login = [
    '# Asks for the token without showing it, and stores it for you alone.',
    `npx shopwire login --dashboard-url ${dashboard_url}`,
    'npx shopwire listen --forward-to localhost:3000/hooks',
  ].join('\n')
  const env = [
    '# For this machine only. Never in a repository.',
    `SHOPWIRE_DASHBOARD_URL=${dashboard_url}`,
    `SHOPWIRE_TOKEN=${secret}`,
  ].join('\n')
  return (
    <SecretOnce
      isOpen
      onClose={onClose}
      title={said.title(token.name)}
      lead={said.lead(formatDay(token.expires_at))}
      values={[{ label: said.token, value: secret, isSecret: true }]}
      warning={said.warning}
      stored={said.stored}
    >
      <SnippetTabs
        label={said.snippets}
        snippets={[
          { name: 'Terminal', code: login, language: 'sh' },
          { name: 'Environment', code: env, language: 'env' },
        ]}
      />
    </SecretOnce>
  )
}
