import { Button } from '@mantine/core'
import { Facts } from '#kit/components/feedback/dialogs.tsx'
import { Section } from '#kit/components/feedback/page.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatDuration } from '#lib/time.ts'
import { useNow } from '#lib/use-now.ts'
import { webhook as text } from '../../strings/webhook.ts'
import classes from './webhook.module.css'
import type { Decision } from './webhook-dialogs.tsx'
import type { Webhook } from './webhook-types.ts'

const { secret: words } = text

interface SecretSectionProps {
  readonly webhook: Webhook
  readonly canBuild: boolean
  readonly onDecide: (decision: Decision) => void
}

export function SecretSection({ webhook: { secret }, canBuild, onDecide }: SecretSectionProps) {
  const endsAt = secret?.previous_ends_at ?? null
  const now = useNow(endsAt !== null)
  if (!secret) return null
  const leftMs = endsAt === null ? 0 : Date.parse(endsAt) - now
  const left = formatDuration(Math.max(0, leftMs))
  return (
    <Section
      title={words.title}
      aside={
        canBuild ? (
          <Button size="compact-sm" onClick={() => onDecide('rotate')}>
            {words.rotate}
          </Button>
        ) : null
      }
    >
      <Facts
        facts={[
          { label: words.secret, value: <span className="sw-mono">{words.hidden(secret.hint)}</span> },
          { label: words.since, value: <Time at={secret.created_at} /> },
          ...(leftMs > 0
            ? [
                {
                  label: words.previous,
                  value: (
                    <span className={classes.value}>
                      <span className="sw-mono">{words.hidden(secret.previous_hint ?? '')}</span>{' '}
                      {words.signsFor(left)}
                      {canBuild ? (
                        <Button size="compact-xs" onClick={() => onDecide('end')}>
                          {words.end}
                        </Button>
                      ) : null}
                    </span>
                  ),
                },
              ]
            : []),
        ]}
      />
      {leftMs > 0 ? (
        <div className={classes.overlap} role="status" aria-live="off">
          <strong>{words.bothTitle}</strong>
          <p>{words.bothBody(left)}</p>
          <div className={classes.meter} aria-hidden>
            <span style={{ width: `${Math.min(100, (leftMs / 86_400_000) * 100)}%` }} />
          </div>
        </div>
      ) : null}
    </Section>
  )
}
