import { Radio, Stack, TextInput } from '@mantine/core'
import type { Role } from '@shopwire/contract/dashboard'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { ConfirmDialog, Dialog } from '#kit/components/feedback/dialogs.tsx'
import { words } from '#kit/words.ts'
import type { Reply } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { refreshSession, useSession } from '../../api/session.ts'
import { identity } from '../../strings/identity.ts'
import { roles } from '../../strings/roles.ts'
import { team } from '../../strings/team.ts'

type Member = Reply<'getTeam'>['members'][number]

export type TeamDecision =
  | { readonly kind: 'invite' }
  | { readonly kind: 'role'; readonly member: Member }
  | { readonly kind: 'remove'; readonly member: Member }
  | { readonly kind: 'leave' }

interface TeamDialogsProps {
  readonly decision: TeamDecision | undefined
  readonly onClose: () => void
}

const ROLES: readonly Role[] = ['owner', 'developer', 'finance', 'viewer']

export function TeamDialogs({ decision, onClose }: TeamDialogsProps) {
  const kind = decision?.kind
  const member = decision && 'member' in decision ? decision.member : undefined
  return (
    <>
      <Dialog
        isOpen={kind === 'invite'}
        onClose={onClose}
        title={team.inviteTitle}
        lead={team.inviteLead}
        size={480}
      >
        <InviteForm onClose={onClose} />
      </Dialog>
      <Dialog
        isOpen={kind === 'role'}
        onClose={onClose}
        title={team.roleTitle(member?.name ?? '')}
        lead={team.roleLead}
        size={480}
      >
        {member ? <RoleForm member={member} onClose={onClose} /> : null}
      </Dialog>
      <RemoveDialog isOpen={kind === 'remove'} member={member} onClose={onClose} />
      <LeaveDialog isOpen={kind === 'leave'} onClose={onClose} />
    </>
  )
}

function InviteForm({ onClose }: { readonly onClose: () => void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const isAddress = /^\S+@\S+\.\S+$/.test(email.trim())
  const invite = useAct('invite', {
    refresh: ['getTeam'],
    done: (invitation) => [team.inviteSent(invitation.email), team.inviteSentMore],
    failed: null,
    onDone: onClose,
  })
  return (
    <ActForm
      act={invite}
      send={isAddress ? () => invite.mutate({ email: email.trim(), role }) : undefined}
      submit={team.sendInvitation}
      keep={words.cancel}
      onClose={onClose}
    >
      {(isTried) => (
        <Stack gap="md">
          <TextInput
            label={team.email}
            type="email"
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            error={isTried && !isAddress ? identity.emailWrong : undefined}
            data-autofocus
          />
          <RoleChoice value={role} onChange={setRole} />
        </Stack>
      )}
    </ActForm>
  )
}

function RoleForm({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) {
  const [role, setRole] = useState<Role>(member.role)
  const change = useAct('changeRole', {
    refresh: ['getTeam', 'getSession'],
    done: (_, body) => [team.roleSet(member.name, roles[body.role])],
    failed: null,
    onDone: onClose,
  })
  return (
    <ActForm
      act={change}
      send={() => change.mutate({ person_id: member.person_id, role })}
      submit={team.setRole}
      keep={team.keepRole}
      onClose={onClose}
      isUnchanged={role === member.role}
      isKeepFirst
    >
      {() => <RoleChoice value={role} onChange={setRole} />}
    </ActForm>
  )
}

function RoleChoice({ value, onChange }: { readonly value: Role; readonly onChange: (role: Role) => void }) {
  return (
    <Radio.Group label={team.role} value={value} onChange={(role) => onChange(role as Role)}>
      <Stack gap="xs" mt={4}>
        {ROLES.map((role) => (
          <Radio key={role} value={role} label={roles[role]} description={team.roles[role]} />
        ))}
      </Stack>
    </Radio.Group>
  )
}

function RemoveDialog({
  isOpen,
  member,
  onClose,
}: {
  readonly isOpen: boolean
  readonly member: Member | undefined
  readonly onClose: () => void
}) {
  const name = member?.name ?? ''
  const remove = useAct('removeMember', {
    refresh: ['getTeam'],
    done: () => [team.removed(name), team.removedMore],
    failed: team.notRemoved,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={team.removeTitle(name)}
      lead={team.removeLead}
      keep={team.keep}
      confirm={team.removeConfirm}
      isDestructive
      isBusy={remove.isPending}
      onConfirm={() => member && remove.mutate({ person_id: member.person_id })}
    />
  )
}

function LeaveDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const account = useSession()?.account?.name ?? ''
  const leave = useAct('leaveAccount', {
    done: () => [team.left(account)],
    failed: team.notLeft,
    onDone: () => {
      onClose()
      void refreshSession()
    },
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={team.leaveTitle(account)}
      lead={team.leaveLead}
      keep={team.stay}
      confirm={team.leaveConfirm}
      isDestructive
      typeName={account}
      isBusy={leave.isPending}
      onConfirm={() => leave.mutate({})}
    />
  )
}
