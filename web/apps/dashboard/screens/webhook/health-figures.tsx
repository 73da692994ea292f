import { Figure, Figures } from '#kit/components/charts/figures.tsx'
import { Sparkline } from '#kit/components/charts/sparkline.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatCount } from '#lib/money.ts'
import { paths } from '../../paths.ts'
import { webhook as text } from '../../strings/webhook.ts'
import { errorWord } from '../deliveries/diagnosis.ts'
import type { Webhook } from './webhook-types.ts'

const { figures } = text

/** Exactly the fields that GET /webhook has, in words. */
export function HealthFigures({ webhook }: { readonly webhook: Webhook }) {
  const { health, retrying, recent } = webhook
  return (
    <Figures>
      <Figure
        label={figures.waiting}
        value={formatCount(health.pending)}
        note={figures.waitingNote(retrying)}
      />
      <Figure
        label={figures.failed}
        value={formatCount(health.failed)}
        note={
          health.failed === 0 ? (
            figures.failedNote
          ) : (
            <AppLink to={`${paths.deliveries}?state=failed`}>{figures.recover}</AppLink>
          )
        }
      />
      <Figure
        label={figures.lastAccepted}
        value={
          health.last_delivered_at === null ? (
            figures.never
          ) : (
            <Time at={health.last_delivered_at} as="relative" />
          )
        }
        note={health.last_delivered_at === null ? undefined : <Time at={health.last_delivered_at} />}
      />
      <Figure
        label={figures.lastFailure}
        value={
          health.last_failure_at === null ? figures.never : <Time at={health.last_failure_at} as="relative" />
        }
        note={health.last_error === null ? undefined : errorWord(health.last_error)}
      />
      <Figure
        label={figures.recent}
        value={recent.attempts === 0 ? '–' : formatCount(recent.attempts)}
        picture={
          recent.attempts === 0 ? undefined : (
            <Sparkline
              as="ticks"
              label={figures.recentPicture(recent.failed, recent.attempts)}
              ticks={Array.from({ length: recent.attempts }, (_, n) => ({
                value: 1,
                tone: n >= recent.attempts - recent.failed ? ('bad' as const) : ('quiet' as const),
              }))}
            />
          )
        }
        note={recent.attempts === 0 ? figures.recentNone : figures.recentNote(recent.failed, recent.attempts)}
      />
    </Figures>
  )
}
