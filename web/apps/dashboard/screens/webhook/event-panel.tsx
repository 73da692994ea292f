import { Button } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from '#kit/components/feedback/dialogs.tsx'
import { Section } from '#kit/components/feedback/page.tsx'
import { DetailPanel } from '#kit/components/lists/detail-panel.tsx'
import { CodeWell } from '#kit/components/values/code-well.tsx'
import { useAct } from '../../api/hooks.ts'
import { webhook as text } from '../../strings/webhook.ts'
import type { EventKind } from './event-kind.ts'
import { TestOutcome } from './test-outcome.tsx'

const { events } = text
const CODE_HEIGHT_MAX = 360

interface EventPanelProps extends Pick<EventKind, 'kind'> {
  /** Null: there is nowhere to send an example to. */
  readonly url: string | null
  readonly canBuild: boolean
  readonly onClose: () => void
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** One type of event: when it is sent, its schema, and an example that can be copied or sent. */
export function EventPanel({ kind, url, canBuild, ...panel }: EventPanelProps) {
  const [isAsking, setAsking] = useState(false)
  const [sent, setSent] = useState<string>()
  const send = useAct('sendExampleEvent', {
    refresh: ['getWebhook', 'listDeliveries'],
    failed: events.notSent,
    onDone: ({ event_id }) => {
      setAsking(false)
      setSent(event_id)
    },
  })
  return (
    <DetailPanel
      title={<span className="sw-mono">{kind.type}</span>}
      meta={kind.summary}
      {...panel}
      footer={
        canBuild && url !== null ? (
          <Button
            variant="filled"
            leftSection={<IconSend size={14} aria-hidden />}
            onClick={() => setAsking(true)}
          >
            {events.send}
          </Button>
        ) : (
          <span className="sw-dim">{url === null ? events.noUrl : events.noRole}</span>
        )
      }
    >
      {sent === undefined ? null : <TestOutcome key={sent} id={sent} />}
      <p>{coded(kind.description)}</p>
      <Section title={events.yours}>{coded(kind.yours)}</Section>
      <Section title={events.example}>
        <CodeWell code={pretty(kind.example)} language="json" what="example" heightMax={CODE_HEIGHT_MAX} />
      </Section>
      <Section title={events.schema}>
        <CodeWell code={pretty(kind.schema)} language="json" what="schema" heightMax={CODE_HEIGHT_MAX} />
      </Section>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={events.sendTitle(kind.type)}
        lead={url === null ? null : events.sendLead(new URL(url).host)}
        confirm={events.sendConfirm}
        keep={events.sendKeep}
        isBusy={send.isPending}
        onConfirm={() => send.mutate({ type: kind.type })}
      />
    </DetailPanel>
  )
}

const pretty = (value: object) => JSON.stringify(value, null, 2)

/** What stands between backticks is code. */
function coded(words: string): ReactNode {
  return words.split('`').map((part, n) =>
    n % 2 === 0 ? (
      part
    ) : (
      <span key={part} className="sw-mono">
        {part}
      </span>
    ),
  )
}
