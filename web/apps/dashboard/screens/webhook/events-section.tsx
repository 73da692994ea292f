import { Section } from '#kit/components/feedback/page.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { useOpenRow } from '#kit/components/lists/open-row.ts'
import { Time } from '#kit/components/values/time.tsx'
import { useRead } from '../../api/hooks.ts'
import { webhook as text } from '../../strings/webhook.ts'
import type { EventKind } from './event-kind.ts'
import { EventPanel } from './event-panel.tsx'
import type { Webhook } from './webhook-types.ts'

const { events } = text

interface EventsSectionProps {
  readonly webhook: Webhook
  readonly canBuild: boolean
}

/** Which events there are, what each looks like, and which of them have happened. */
export function EventsSection({ webhook, canBuild }: EventsSectionProps) {
  const { data, error, refetch } = useRead('listEventKinds')
  const seen = new Map(webhook.events_seen.map(({ type, last_at }) => [type, last_at]))
  const rows = data?.kinds.map((kind) => ({ kind, lastAt: seen.get(kind.type) }))
  const open = useOpenRow(rows, typeOf)
  return (
    <Section title={events.title}>
      <DataTable
        caption={events.caption}
        what={events.title}
        columns={columns}
        rows={rows}
        rowId={typeOf}
        onOpen={open.show}
        openId={open.row && typeOf(open.row)}
        phone={(row) => ({
          top: [<Type key="type" {...row} />, <Last key="last" {...row} />],
          bottom: [row.kind.summary],
        })}
        error={error}
        onRetry={() => void refetch()}
        empty={null}
      />
      {open.row ? (
        <EventPanel
          key={open.row.kind.type}
          kind={open.row.kind}
          url={webhook.health.webhook_url}
          canBuild={canBuild}
          {...open.panel}
        />
      ) : null}
    </Section>
  )
}

const typeOf = ({ kind }: EventKind) => kind.type

const Type = ({ kind }: EventKind) => <span className="sw-mono">{kind.type}</span>

const Last = ({ lastAt }: EventKind) =>
  lastAt === undefined ? (
    <span className="sw-quiet">{events.notYet}</span>
  ) : (
    <Time at={lastAt} as="relative" />
  )

const columns: readonly Column<EventKind>[] = [
  { id: 'type', header: events.type, width: '180px', cell: (row) => <Type {...row} /> },
  { id: 'when', header: events.when, cell: ({ kind }) => <span className="sw-dim">{kind.summary}</span> },
  { id: 'last', header: events.last, align: 'right', width: '120px', cell: (row) => <Last {...row} /> },
]
