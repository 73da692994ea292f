import { useQueryClient } from '@tanstack/react-query'
import { SecretOnce } from '#kit/components/feedback/dialogs.tsx'
import { SnippetTabs } from '#kit/components/values/code-well.tsx'
import { webhook as text } from '../../strings/webhook.ts'

interface NewSecretProps {
  readonly secret: string | undefined
  readonly isFirst: boolean
  readonly onClose: () => void
}

/** The secret, once, with the code that checks events with it. */
export function NewSecret({ secret, isFirst, onClose }: NewSecretProps) {
  const client = useQueryClient()
  const words = isFirst ? text.firstSecret : { title: text.rotate.newTitle, lead: text.rotate.newLead }
  return (
    <SecretOnce
      isOpen={secret !== undefined}
      onClose={() => {
        onClose()
        void client.invalidateQueries({ queryKey: ['getWebhook'] })
      }}
      title={words.title}
      lead={words.lead}
      values={[{ label: text.secretLabel, value: secret ?? '', isSecret: true }]}
      warning={text.secretWarning}
      stored={text.secretStored}
    >
      <SnippetTabs
        label={text.secretLabel}
        snippets={[
          {
            name: '.env',
            code: `SHOPWIRE_WEBHOOK_SECRET=${secret ?? ''}`,
            language: 'env',
            what: '.env line',
          },
          { name: 'SDK', code: SDK, language: 'ts', what: 'snippet' },
        ]}
      />
    </SecretOnce>
  )
}

const SDK = `import { webhooks } from '@shopwire/sdk'

const event = await webhooks.unwrap(rawBody, headers, {
  secrets: [process.env.SHOPWIRE_WEBHOOK_SECRET],
})`
