import { Button } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Page, Section } from '#kit/components/feedback/page.tsx'
import { RetryStrip } from '#kit/components/feedback/retry-strip.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Chip, Status, type StatusKind, type Tone } from '#kit/components/values/status.tsx'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { webhook } from '../../strings/webhook.ts'
import { EndpointSection } from './endpoint-section.tsx'
import { EventsSection } from './events-section.tsx'
import { HealthFigures } from './health-figures.tsx'
import { NewSecret } from './new-secret.tsx'
import { SecretSection } from './secret-section.tsx'
import { SetUp } from './set-up.tsx'
import { TestOutcome } from './test-outcome.tsx'
import classes from './webhook.module.css'
import { type Decision, WebhookDialogs } from './webhook-dialogs.tsx'
import type { Webhook } from './webhook-types.ts'

/** The endpoint, how it does, and what signs its events. */
export function WebhookScreen() {
  const { data, error, refetch } = useRead('getWebhook')
  const canBuild = useMay(may.build)
  const [decision, decide] = useState<Decision>()
  const [tested, setTested] = useState<string>()
  const [firstSecret, setFirstSecret] = useState<string>()
  const test = useAct('testWebhook', {
    refresh: ['getWebhook', 'listDeliveries'],
    failed: webhook.test.notSent,
    onDone: ({ event_id }) => setTested(event_id),
  })
  if (!data) {
    return (
      <Page title={webhook.titles.none}>
        {error ? <ErrorState what={webhook.what} error={error} onRetry={() => void refetch()} /> : null}
      </Page>
    )
  }
  const isSet = data.state !== 'none'
  return (
    <Page
      title={webhook.titles[data.state]}
      tab={webhook.tab}
      chip={<State state={data.state} />}
      meta={isSet ? sentenceOf(data) : webhook.setup.lead}
      actions={
        canBuild && isSet ? (
          <>
            <Button onClick={() => decide('url')}>{webhook.changeUrl}</Button>
            <Button
              variant="filled"
              leftSection={<IconSend size={14} aria-hidden />}
              loading={test.isPending}
              onClick={() => test.mutate({})}
            >
              {webhook.sendTest}
            </Button>
          </>
        ) : null
      }
    >
      {isSet ? (
        <>
          {tested === undefined ? null : <TestOutcome id={tested} />}
          <HealthFigures webhook={data} />
          <div className={classes.sections}>
            <EndpointSection webhook={data} canBuild={canBuild} onDecide={decide} />
            <SecretSection webhook={data} canBuild={canBuild} onDecide={decide} />
            <Section title={webhook.retries.title}>
              <div className={classes.strip}>
                <RetryStrip states={[]} />
              </div>
              <p className={classes.explained}>{webhook.retries.body}</p>
            </Section>
          </div>
        </>
      ) : (
        <SetUp canBuild={canBuild} onSecret={setFirstSecret} />
      )}
      <div className={classes.sections}>
        <EventsSection webhook={data} canBuild={canBuild} />
      </div>
      <WebhookDialogs decision={decision} webhook={data} onDecide={decide} onSecret={setFirstSecret} />
      <NewSecret secret={firstSecret} isFirst onClose={() => setFirstSecret(undefined)} />
    </Page>
  )
}

const KINDS = {
  healthy: ['active', 'ok'],
  retrying: ['retrying', 'warn'],
  failing: ['failed', 'bad'],
  unused: ['unused', 'quiet'],
  suspended: ['closed', 'warn'],
} as const satisfies Readonly<Record<string, readonly [StatusKind, Tone]>>

function State({ state }: Pick<Webhook, 'state'>) {
  if (state === 'none') return <Chip tone="quiet">{webhook.states.none}</Chip>
  return <Status kind={KINDS[state][0]} word={webhook.states[state]} isChip />
}

function sentenceOf({ state, retrying, recent }: Webhook): ReactNode {
  const { sentences } = webhook
  const words =
    state === 'retrying'
      ? sentences.retrying(Math.max(1, retrying))
      : state === 'failing'
        ? sentences.failing(recent.failed, recent.attempts)
        : state === 'none'
          ? ''
          : sentences[state]
  return (
    <>
      {words} <AppLink to={paths.deliveries}>{webhook.seeDeliveries}</AppLink>
    </>
  )
}
