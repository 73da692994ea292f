import Type, { type Static } from 'typebox'
import { closed, DateTime, nullable } from '../shapes.ts'
import { EmailAddress, RoleName } from './identity.ts'
import { ownersOnly, roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

const Id = Type.String({ minLength: 1, maxLength: 64 })
const AccountName = Type.String({ minLength: 1, maxLength: 100 })
const Done = closed({ ok: Type.Literal(true) })

export const TeamMember = closed({
  person_id: Type.String(),
  name: Type.String(),
  email: Type.String(),
  role: RoleName,
  joined_at: DateTime,
  is_you: Type.Boolean(),
  /** Whether they could do what asks for a second factor. */
  has_second_factor: Type.Boolean(),
  last_seen_at: nullable(DateTime),
})

export const TeamInvitation = closed({
  id: Type.String(),
  email: Type.String(),
  role: RoleName,
  inviter_name: nullable(Type.String()),
  created_at: DateTime,
  expires_at: DateTime,
  is_expired: Type.Boolean(),
})

export const Team = closed({ members: Type.Array(TeamMember), invitations: Type.Array(TeamInvitation) })
export type Team = Static<typeof Team>

export const teamRoutes = [
  { name: 'getTeam', method: 'GET', path: '/api/team', access: roles, reply: Team },
  {
    name: 'invite',
    method: 'POST',
    path: '/api/team/invite',
    access: ownersOnly,
    isStepUp: true,
    body: closed({ email: EmailAddress, role: RoleName }),
    reply: TeamInvitation,
  },
  {
    name: 'withdrawInvitation',
    method: 'POST',
    path: '/api/team/invitation/withdraw',
    access: ownersOnly,
    body: closed({ id: Id }),
    reply: Done,
  },
  {
    name: 'changeRole',
    method: 'POST',
    path: '/api/team/role',
    access: ownersOnly,
    isStepUp: true,
    body: closed({ person_id: Id, role: RoleName }),
    reply: Done,
  },
  {
    name: 'removeMember',
    method: 'POST',
    path: '/api/team/remove',
    access: ownersOnly,
    isStepUp: true,
    body: closed({ person_id: Id }),
    reply: Done,
  },
  {
    name: 'leaveAccount',
    method: 'POST',
    path: '/api/team/leave',
    access: roles,
    body: closed({}),
    reply: Done,
  },
  {
    name: 'renameAccount',
    method: 'POST',
    path: '/api/account/rename',
    access: ownersOnly,
    body: closed({ name: AccountName }),
    reply: Done,
  },
] as const satisfies readonly DashboardRoute[]
