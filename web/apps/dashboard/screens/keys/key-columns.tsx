import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { Sparkline } from '#kit/components/charts/sparkline.tsx'
import type { Column } from '#kit/components/lists/data-table.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { words } from '#kit/words.ts'
import { formatCount } from '#lib/money.ts'
import { keys } from '../../strings/keys.ts'
import { canSpend, type Key, rightsOf, rotationNote, statusOf } from './key-words.ts'
import classes from './keys.module.css'

export type KeyAction = 'rename' | 'rotate' | 'revoke'

type OnAct = (action: KeyAction, key: Key) => void

export function keyColumns(canBuild: boolean, onAct: OnAct): readonly Column<Key>[] {
  const { columns } = keys
  return [
    {
      id: 'key',
      header: columns.key,
      cell: (key) => (
        <span className={classes.two}>
          <span className={classes.name} title={key.name}>
            {key.name}
          </span>
          <Id id={key.id} as="short" />
        </span>
      ),
    },
    {
      id: 'rights',
      header: columns.rights,
      width: '186px',
      hideBelow: 'md',
      cell: ({ scopes }) => {
        const [name, which] = rightsOf(scopes)
        return (
          <span className={classes.two}>
            <span>{name}</span>
            <span className={`sw-meta ${classes.which}`}>{which}</span>
          </span>
        )
      },
    },
    {
      id: 'calls',
      header: columns.calls,
      width: '164px',
      hideBelow: 'lg',
      cell: ({ hours }) => (
        <Sparkline
          ticks={hours.map((value) => ({ value }))}
          label={keys.sparkline(hours.reduce((all, one) => all + one, 0))}
        />
      ),
    },
    {
      id: 'calls24',
      header: columns.calls24,
      align: 'right',
      width: '92px',
      cell: ({ requests_24h }) => formatCount(requests_24h),
    },
    {
      id: 'orders24',
      header: columns.orders24,
      align: 'right',
      width: '96px',
      hideBelow: 'md',
      cell: (key) => (canSpend(key) ? formatCount(key.orders_24h) : words.none),
    },
    {
      id: 'lastUsed',
      header: columns.lastUsed,
      width: '96px',
      hideBelow: 'md',
      cell: ({ last_used_at }) => (
        <span className="sw-dim">
          {last_used_at === null ? keys.never : <Time at={last_used_at} as="relative" />}
        </span>
      ),
    },
    {
      id: 'status',
      header: columns.status,
      width: 'clamp(140px, 21cqw, 232px)',
      cell: (key) => {
        const note = rotationNote(key)
        return (
          <span className={classes.two}>
            <Status kind={statusOf(key)} />
            {note ? (
              <span className={classes.note}>
                {note[0]}
                <span className={classes.why}>, {note[1]}</span>
              </span>
            ) : null}
          </span>
        )
      },
    },
    {
      id: 'actions',
      header: columns.actions,
      isHeaderHidden: true,
      align: 'right',
      width: '88px',
      cell: (key) =>
        canBuild && key.state !== 'revoked' ? <RowActions subject={key} onAct={onAct} /> : null,
    },
  ]
}

function RowActions({ subject, onAct }: { readonly subject: Key; readonly onAct: OnAct }) {
  if (subject.safe_to_revoke)
    return (
      <Button size="compact-sm" onClick={() => onAct('revoke', subject)}>
        {keys.revokeNow}
      </Button>
    )
  return (
    <Menu position="bottom-end" width={160}>
      <Menu.Target>
        <ActionIcon aria-label={keys.actionsOf(subject.name)}>
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onAct('rename', subject)}>{keys.menu.rename}</Menu.Item>
        {subject.replaced_by === null ? (
          <Menu.Item onClick={() => onAct('rotate', subject)}>{keys.menu.rotate}</Menu.Item>
        ) : null}
        <Menu.Item onClick={() => onAct('revoke', subject)}>{keys.menu.revoke}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
