import { Button } from '@mantine/core'
import { Section } from '#kit/components/feedback/page.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { Time } from '#kit/components/values/time.tsx'
import type { Reply } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { security as words } from '../../strings/security.ts'
import classes from './security.module.css'

type Session = Reply<'getSecurity'>['sessions'][number]

interface SessionsProps {
  readonly sessions: readonly Session[]
  readonly onEverywhere: () => void
}

export function Sessions({ sessions, onEverywhere }: SessionsProps) {
  const end = useAct('endSession', {
    refresh: ['getSecurity'],
    done: () => [words.ended],
    failed: words.notEnded,
  })
  const endButton = (session: Session) =>
    session.is_current ? null : (
      <Button
        key="end"
        size="compact-sm"
        loading={end.isPending && end.variables.id === session.id}
        onClick={() => end.mutate({ id: session.id })}
        aria-label={`${words.end}: ${session.device}`}
      >
        {words.end}
      </Button>
    )
  const columns: readonly Column<Session>[] = [
    {
      id: 'device',
      header: words.columns.device,
      cell: (session) => <Device session={session} />,
    },
    {
      id: 'address',
      header: words.columns.address,
      width: '200px',
      hideBelow: 'md',
      cell: ({ address }) => <span className="sw-mono sw-dim">{address}</span>,
    },
    {
      id: 'seen',
      header: words.columns.seen,
      align: 'right',
      width: '120px',
      cell: ({ last_seen_at }) => (
        <span className="sw-dim">
          <Time at={last_seen_at} as="relative" />
        </span>
      ),
    },
    {
      id: 'since',
      header: words.columns.since,
      align: 'right',
      width: '170px',
      hideBelow: 'lg',
      cell: ({ created_at }) => (
        <span className="sw-quiet">
          <Time at={created_at} as="short" />
        </span>
      ),
    },
    {
      id: 'end',
      header: words.columns.action,
      isHeaderHidden: true,
      align: 'right',
      width: '100px',
      cell: endButton,
    },
  ]
  return (
    <Section title={words.sessions} aside={<Button onClick={onEverywhere}>{words.everywhere}</Button>}>
      <DataTable
        caption={words.sessionsCaption}
        what={words.sessions}
        columns={columns}
        rows={sessions}
        rowId={({ id }) => id}
        phone={(session) => ({
          top: [
            <Device key="device" session={session} />,
            <Time key="seen" at={session.last_seen_at} as="relative" />,
          ],
          bottom: [session.address, endButton(session)],
        })}
        empty={null}
      />
    </Section>
  )
}

const Device = ({ session }: { readonly session: Session }) => (
  <span className="sw-strong">
    {session.device}
    {session.is_current ? <span className={classes.current}>{words.thisOne}</span> : null}
  </span>
)
