import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useState } from 'react'
import { type RetryState, RetryStrip } from '#kit/components/feedback/retry-strip.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { DetailPanel } from '#kit/components/lists/detail-panel.tsx'
import { Key } from '#kit/components/lists/pager.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatDuration, zoneName } from '#lib/time.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { deliveries } from '../../strings/deliveries.ts'
import { AttemptTabs } from './attempt-tabs.tsx'
import { Countdown } from './countdown.tsx'
import classes from './deliveries.module.css'
import { errorWord } from './diagnosis.ts'
import { Outcome, RowState } from './outcome.tsx'
import { type Attempt, curlOf, type Delivery } from './snippets.ts'

const { panel } = deliveries
type Sent = Delivery['deliveries'][number]

interface DeliveryPanelProps {
  /** Of the event. */
  readonly id: string
  readonly onClose: () => void
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** One event: how far its attempts are, what was sent, what came back, and how to check the signature. */
export function DeliveryPanel({ id, onClose, onPrevious, onNext }: DeliveryPanelProps) {
  const { data, error, refetch } = useRead('getDelivery', { id })
  const [chosen, choose] = useState<string>()
  const canBuild = useMay(may.build)
  const resend = useAct('resendEvent', {
    refresh: ['getDelivery', 'listDeliveries', 'getWebhook'],
    done: () => [panel.resent, panel.resentMore],
    failed: panel.notResent,
    onDone: () => choose(undefined),
  })
  const attempt = data?.attempts.find((one) => keyOf(one) === chosen) ?? data?.attempts[0]
  const current = data?.deliveries[0]
  const canResend = canBuild && data?.deliveries.some(({ is_current }) => is_current) !== false
  return (
    <DetailPanel
      title={<span className="sw-mono">{data?.event.type ?? ''}</span>}
      chip={current ? <RowState row={current} isChip /> : null}
      meta={
        <>
          <Id id={id} canCopy what="event id" />
          {data?.event.order_id ? (
            <>
              {' '}
              {panel.for} <Id id={data.event.order_id} as="short" to={paths.order(data.event.order_id)} />
            </>
          ) : null}
        </>
      }
      onClose={onClose}
      onPrevious={onPrevious}
      onNext={onNext}
      footer={
        data ? (
          <>
            {canResend ? (
              <Button
                variant="filled"
                leftSection={<IconRefresh size={14} aria-hidden />}
                loading={resend.isPending}
                onClick={() => resend.mutate({ event_id: id })}
              >
                {panel.resend}
              </Button>
            ) : null}
            {attempt && attempt.request_headers.length > 0 ? (
              <CopyButton text={curlOf(data, attempt)} what="curl command" label={panel.copyCurl} />
            ) : null}
            <span className={classes.hint}>
              <Key>j</Key> <Key>k</Key> {panel.nextEvent}
            </span>
          </>
        ) : null
      }
    >
      {error && !data ? <ErrorState what={panel.gone} error={error} onRetry={() => void refetch()} /> : null}
      {data ? (
        <>
          {current ? <Progress sent={current} attempts={data.attempts} /> : null}
          <Attempts
            attempts={data.attempts}
            chosen={attempt && keyOf(attempt)}
            onChoose={(one) => choose(keyOf(one))}
          />
          <AttemptTabs delivery={data} attempt={attempt} />
        </>
      ) : null}
    </DetailPanel>
  )
}

const keyOf = ({ endpoint_id, round, n }: Attempt): string => `${endpoint_id} ${round} ${n}`

/** Where the twelve attempts of the present round are. */
function Progress({ sent, attempts }: { readonly sent: Sent; readonly attempts: readonly Attempt[] }) {
  const made = attempts.filter(
    ({ endpoint_id, round }) => endpoint_id === sent.endpoint_id && round === sent.round,
  )
  const byNumber = new Map(made.map((attempt) => [attempt.n, attempt]))
  const states = Array.from({ length: 12 }, (_, index): RetryState => {
    const attempt = byNumber.get(index + 1)
    if (attempt) return attempt.error === null ? 'accepted' : 'failed'
    return sent.state === 'retrying' && index === sent.attempts ? 'next' : 'later'
  })
  return (
    <section className={classes.block}>
      <div className={classes.blockHead}>
        <h3 className={classes.blockTitle}>
          <Headline sent={sent} />
        </h3>
        <span className="sw-quiet">
          {sent.gives_up_at === null ? (
            sent.round > 1 ? (
              panel.round(sent.round)
            ) : null
          ) : (
            <>
              {panel.givesUp} <Time at={sent.gives_up_at} as="short" /> {zoneName()}
            </>
          )}
        </span>
      </div>
      <RetryStrip states={states} />
    </section>
  )
}

function Headline({ sent }: { readonly sent: Sent }) {
  if (sent.state === 'accepted') return panel.acceptedAfter(sent.attempts)
  if (sent.state === 'failed') return panel.failedAfter(sent.attempts)
  if (sent.state === 'cancelled') return panel.cancelled
  if (sent.attempts === 0) return panel.first
  return (
    <>
      {panel.attempt(sent.attempts + 1)}{' '}
      {sent.next_at === null ? null : <Countdown at={sent.next_at} isSpelled />}
    </>
  )
}

function Attempts({
  attempts,
  chosen,
  onChoose,
}: {
  readonly attempts: readonly Attempt[]
  readonly chosen: string | undefined
  readonly onChoose: (attempt: Attempt) => void
}) {
  if (attempts.length === 0) return <p className={classes.nothing}>{panel.noAttempt}</p>
  return (
    <section className={classes.block}>
      <h3 className={classes.blockTitle}>{panel.attempts}</h3>
      <ul className={classes.attempts} aria-label={panel.attemptsCaption}>
        {attempts.map((attempt) => (
          <li key={keyOf(attempt)}>
            <button
              type="button"
              className={classes.attempt}
              aria-pressed={keyOf(attempt) === chosen}
              onClick={() => onChoose(attempt)}
            >
              <span className={classes.number}>{attempt.n}</span>
              <span className={classes.when}>
                <Time at={attempt.started_at} as="short" />
              </span>
              <span className={classes.code} data-bad={attempt.error !== null || undefined}>
                <Outcome status={attempt.status} error={attempt.error} />
              </span>
              <span className={classes.said}>{saidOf(attempt)}</span>
              <span className={classes.took}>{formatDuration(attempt.ms)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The first line of the answer, or that there was none. */
function saidOf({ answer, error, status }: Attempt): string {
  const [line = ''] = answer?.text.trim().split('\n') ?? []
  if (line !== '') return line
  if (error === null || status !== null) return ''
  return error === 'timeout' ? panel.noAnswer : errorWord(error)
}
