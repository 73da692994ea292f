import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Facts } from '#kit/components/feedback/dialogs.tsx'
import { Section } from '#kit/components/feedback/page.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { paths } from '../../paths.ts'
import { webhook as text } from '../../strings/webhook.ts'
import classes from './webhook.module.css'
import type { Decision } from './webhook-dialogs.tsx'
import type { Webhook } from './webhook-types.ts'

const { endpoint } = text

interface EndpointSectionProps {
  readonly webhook: Webhook
  readonly canBuild: boolean
  readonly onDecide: (decision: Decision) => void
}

export function EndpointSection({ webhook, canBuild, onDecide }: EndpointSectionProps) {
  const { health, set_at, set_by, alerted_percent } = webhook
  const warning = set_by?.is_revoked
    ? endpoint.revoked
    : set_by?.lacks_orders_read
      ? endpoint.lostScope
      : undefined
  return (
    <Section
      title={endpoint.title}
      aside={
        canBuild ? (
          <Button size="compact-sm" onClick={() => onDecide('stop')}>
            {endpoint.stop}
          </Button>
        ) : null
      }
    >
      <Facts
        facts={[
          {
            label: endpoint.url,
            value: (
              <span className={classes.value}>
                <span className={classes.url}>{health.webhook_url}</span>
                <CopyButton text={health.webhook_url ?? ''} what="URL" />
              </span>
            ),
          },
          {
            label: endpoint.set,
            value:
              set_at === null || set_by === null ? (
                '–'
              ) : (
                <span>
                  <Time at={set_at} /> {endpoint.by[set_by.kind]}{' '}
                  {set_by.kind === 'key' ? (
                    <>
                      {set_by.name} <Id id={set_by.id} as="short" to={paths.key(set_by.id)} />
                    </>
                  ) : (
                    set_by.name
                  )}
                </span>
              ),
          },
        ]}
      />
      {warning === undefined ? null : <Warning>{warning}</Warning>}
      {alerted_percent === null ? null : <Warning>{endpoint.alert(alerted_percent)}</Warning>}
    </Section>
  )
}

const Warning = ({ children }: { readonly children: string }) => (
  <p className={classes.warning}>
    <IconAlertTriangle size={15} stroke={1.75} aria-hidden />
    {children}
  </p>
)
