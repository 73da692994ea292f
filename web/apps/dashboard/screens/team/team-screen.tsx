import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconAlertTriangle, IconDots, IconUserPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { Facts } from '#kit/components/feedback/dialogs.tsx'
import { Page, Section } from '#kit/components/feedback/page.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import type { Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { roles } from '../../strings/roles.ts'
import { team } from '../../strings/team.ts'
import { MailSection } from './mail-section.tsx'
import classes from './team.module.css'
import { type TeamDecision, TeamDialogs } from './team-dialogs.tsx'

type Member = Reply<'getTeam'>['members'][number]
type Invitation = Reply<'getTeam'>['invitations'][number]

const ROLE_ORDER = ['owner', 'developer', 'finance', 'viewer']
const ROLES = ['owner', 'developer', 'finance', 'viewer'] as const

export function TeamScreen() {
  const { data, error, refetch } = useRead('getTeam', {})
  const isOwner = useMay(may.own)
  const [decision, setDecision] = useState<TeamDecision>()
  const members =
    data &&
    [...data.members].sort(
      (a, b) => ROLE_ORDER.indexOf(a.role) - ROLE_ORDER.indexOf(b.role) || a.name.localeCompare(b.name),
    )
  return (
    <Page
      title={team.title}
      meta={data ? team.meta(data.members.length, data.invitations.length) : ' '}
      actions={
        isOwner ? (
          <Button
            variant="filled"
            leftSection={<IconUserPlus size={15} aria-hidden />}
            onClick={() => setDecision({ kind: 'invite' })}
          >
            {team.invite}
          </Button>
        ) : undefined
      }
    >
      <DataTable
        caption={team.caption}
        what={team.what}
        columns={memberColumns(isOwner, setDecision)}
        rows={members}
        rowId={({ person_id }) => person_id}
        phone={(member) => ({
          top: [<Name key="name" member={member} />, roles[member.role]],
          bottom: [
            member.email,
            <MemberMenu key="menu" member={member} isOwner={isOwner} onDecide={setDecision} />,
          ],
        })}
        error={error}
        onRetry={() => void refetch()}
        empty={null}
        isTall
      />
      {data && data.invitations.length > 0 ? (
        <Section title={team.invitations}>
          <Invitations invitations={data.invitations} isOwner={isOwner} />
        </Section>
      ) : null}
      <MailSection />
      <Section title={team.roleTable}>
        <div className={classes.roles}>
          <Facts facts={ROLES.map((role) => ({ label: roles[role], value: team.roles[role] }))} />
        </div>
      </Section>
      <TeamDialogs decision={decision} onClose={() => setDecision(undefined)} />
    </Page>
  )
}

type Decide = (decision: TeamDecision) => void

const memberColumns = (isOwner: boolean, onDecide: Decide): readonly Column<Member>[] => [
  {
    id: 'person',
    header: team.columns.person,
    cell: (member) => (
      <>
        <Name member={member} />
        <div className="sw-meta">{member.email}</div>
      </>
    ),
    sortBy: ({ name }) => name.toLowerCase(),
  },
  {
    id: 'role',
    header: team.columns.role,
    cell: ({ role }) => roles[role],
    sortBy: ({ role }) => ROLE_ORDER.indexOf(role),
    width: '120px',
  },
  {
    id: 'factor',
    header: team.columns.factor,
    width: '150px',
    hideBelow: 'md',
    cell: ({ has_second_factor }) =>
      has_second_factor ? (
        <span className="sw-dim">{team.factorYes}</span>
      ) : (
        <span className={classes.missing}>
          <IconAlertTriangle size={15} stroke={1.75} aria-hidden /> {team.factorNo}
        </span>
      ),
  },
  {
    id: 'seen',
    header: team.columns.seen,
    align: 'right',
    width: '120px',
    cell: ({ last_seen_at }) => (
      <span className="sw-dim">{last_seen_at ? <Time at={last_seen_at} as="relative" /> : team.never}</span>
    ),
    sortBy: ({ last_seen_at }) => last_seen_at ?? '',
  },
  {
    id: 'joined',
    header: team.columns.joined,
    align: 'right',
    width: '120px',
    hideBelow: 'lg',
    cell: ({ joined_at }) => (
      <span className="sw-quiet">
        <Time at={joined_at} as="day" />
      </span>
    ),
    sortBy: ({ joined_at }) => joined_at,
  },
  {
    id: 'menu',
    header: team.columns.menu,
    isHeaderHidden: true,
    align: 'right',
    width: '44px',
    cell: (member) => <MemberMenu member={member} isOwner={isOwner} onDecide={onDecide} />,
  },
]

const Name = ({ member }: { readonly member: Member }) => (
  <span className="sw-strong">
    {member.name}
    {member.is_you ? <span className={classes.you}>{team.you}</span> : null}
  </span>
)

function MemberMenu({
  member,
  isOwner,
  onDecide,
}: {
  readonly member: Member
  readonly isOwner: boolean
  readonly onDecide: Decide
}) {
  if (!isOwner && !member.is_you) return null
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={team.menuOf(member.name)}>
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isOwner ? (
          <Menu.Item onClick={() => onDecide({ kind: 'role', member })}>{team.changeRole}</Menu.Item>
        ) : null}
        {member.is_you ? (
          <Menu.Item color="red" onClick={() => onDecide({ kind: 'leave' })}>
            {team.leave}
          </Menu.Item>
        ) : (
          <Menu.Item color="red" onClick={() => onDecide({ kind: 'remove', member })}>
            {team.remove}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function Invitations({
  invitations,
  isOwner,
}: {
  readonly invitations: readonly Invitation[]
  readonly isOwner: boolean
}) {
  const withdraw = useAct('withdrawInvitation', {
    refresh: ['getTeam'],
    done: (_, { id }) => [
      team.withdrawn(invitations.find((one) => one.id === id)?.email ?? id),
      team.withdrawnMore,
    ],
    failed: team.notWithdrawn,
  })
  const columns: readonly Column<Invitation>[] = [
    {
      id: 'email',
      header: team.email,
      cell: ({ email, inviter_name }) => (
        <>
          <span className="sw-strong">{email}</span>
          <div className="sw-meta">{team.invited(inviter_name)}</div>
        </>
      ),
    },
    { id: 'role', header: team.role, width: '120px', cell: ({ role }) => roles[role] },
    {
      id: 'state',
      header: 'State',
      width: '150px',
      cell: ({ is_expired }) => <Status kind={is_expired ? 'expired' : 'invited'} />,
    },
    {
      id: 'expires',
      header: team.expires,
      align: 'right',
      width: '120px',
      cell: ({ expires_at }) => (
        <span className="sw-quiet">
          <Time at={expires_at} as="relative" />
        </span>
      ),
    },
    {
      id: 'withdraw',
      header: team.withdraw,
      isHeaderHidden: true,
      align: 'right',
      // As wide as the last two columns of the people above.
      width: '164px',
      cell: ({ id, email }) =>
        isOwner ? (
          <Button
            size="compact-sm"
            onClick={() => withdraw.mutate({ id })}
            loading={withdraw.isPending && withdraw.variables.id === id}
            aria-label={`${team.withdraw}: ${email}`}
          >
            {team.withdraw}
          </Button>
        ) : null,
    },
  ]
  return (
    <DataTable
      caption={team.invitationsCaption}
      what={team.invitations}
      columns={columns}
      rows={invitations}
      rowId={({ id }) => id}
      phone={({ id, email, role, is_expired }) => ({
        top: [email, roles[role]],
        bottom: [
          <Status key="state" kind={is_expired ? 'expired' : 'invited'} />,
          isOwner ? (
            <Button key="withdraw" size="compact-sm" onClick={() => withdraw.mutate({ id })}>
              {team.withdraw}
            </Button>
          ) : null,
        ],
      })}
      empty={team.noInvitations}
      isTall
    />
  )
}
