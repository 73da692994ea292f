import type { teamRoutes } from '@shopwire/contract/dashboard'
import { getAccount, renameAccount } from '../../accounts/account.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { isolated } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import {
  assertMayInvite,
  createInvitation,
  type Invitation,
  selectOpenInvitations,
  withdrawInvitation,
} from '../../sessions/invitations.ts'
import { teamMail } from '../../sessions/mails.ts'
import { changeRole, lockForRemoval, removeMember, selectMembers } from '../../sessions/members.ts'
import { type Person, ROLE_NAMES, selectPerson } from '../../sessions/people.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import type { Member } from '../member.ts'
import type { MailOwners } from './mail-owners.ts'

export interface TeamDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly keyring: Keyring
  readonly mailOwners: MailOwners
  /** The origin of the dashboard's pages. */
  readonly origin: string
  /** Called after somebody was removed or has left. */
  onLeft(account_id: string, person_id: string): void
}

const DONE = { ok: true } as const

/** The members of the account, and their roles. */
export function teamArea({
  db,
  act,
  keyring,
  mailOwners,
  origin,
  onLeft,
}: TeamDeps): Area<typeof teamRoutes> {
  async function tellOwners(tx: Tx, member: Member, what: string, nowMs: number) {
    const account = await getAccount(tx, member.account_id)
    await mailOwners(tx, member, teamMail(what, account.name, origin), nowMs)
  }

  async function leave(member: Member, person_id: string, action: string) {
    const done = await act(member, action, async (tx, nowMs) => {
      const person = await selectPerson(tx, person_id)
      const role = await lockForRemoval(tx, member.account_id, person_id, member.person_id)
      const how = person_id === member.person_id ? 'left' : `was removed by ${isolated(member.person_name)}`
      await tellOwners(tx, member, `${shownPerson(person)}, ${ROLE_NAMES[role]}, ${how}.`, nowMs)
      return {
        result: DONE,
        target: person_id,
        before: { role, email: person?.email ?? null },
        last: () => removeMember(tx, member.account_id, person_id),
      }
    })
    onLeft(member.account_id, person_id)
    return done
  }

  return {
    getTeam: ({ member, nowMs }) =>
      inAccount(db, member.account_id, async (tx) => {
        const members = await selectMembers(tx, member.account_id)
        const invitations = await selectOpenInvitations(tx, member.account_id)
        return {
          members: members.map(({ joined_at, last_seen_at, ...row }) => ({
            ...row,
            joined_at: joined_at.toISOString(),
            last_seen_at: last_seen_at?.toISOString() ?? null,
            is_you: row.person_id === member.person_id,
          })),
          invitations: invitations.map((one) => shown(one, one.inviter_name, nowMs)),
        }
      }),

    invite: ({ member, body, nowMs }) =>
      act(member, 'team.invite', async (tx) => {
        await assertMayInvite(tx, member.account_id, nowMs)
        const account = await getAccount(tx, member.account_id)
        const { invitation } = await createInvitation(
          tx,
          { keyring, origin },
          {
            account_id: account.id,
            account_name: account.name,
            ...body,
            inviter: { id: member.person_id, name: member.person_name },
            is_mailed_only: true,
          },
          nowMs,
        )
        const { id, email, role } = invitation
        await tellOwners(
          tx,
          member,
          `${isolated(member.person_name)} invited ${email} as ${ROLE_NAMES[role]}.`,
          nowMs,
        )
        return { result: shown(invitation, member.person_name, nowMs), target: id, after: { email, role } }
      }),

    withdrawInvitation: ({ member, body }) =>
      act(member, 'team.withdraw_invitation', async (tx, nowMs) => {
        const { email, role } = await withdrawInvitation(tx, member.account_id, body.id, nowMs)
        return { result: DONE, target: body.id, before: { email, role } }
      }),

    changeRole: ({ member, body }) =>
      act(member, 'team.change_role', async (tx, nowMs) => {
        const { person_id, role } = body
        const before = await changeRole(tx, member.account_id, person_id, role, member.person_id)
        const person = await selectPerson(tx, person_id)
        const change = `from ${ROLE_NAMES[before]} to ${ROLE_NAMES[role]}`
        await tellOwners(
          tx,
          member,
          `${isolated(member.person_name)} changed the role of ${shownPerson(person)} ${change}.`,
          nowMs,
        )
        return { result: DONE, target: person_id, before: { role: before }, after: { role } }
      }),

    async removeMember({ member, body }) {
      if (body.person_id === member.person_id)
        throw refuse('conflict', 'This is you. To leave the account yourself, use "Leave account".')
      return leave(member, body.person_id, 'team.remove')
    },

    leaveAccount: ({ member }) => leave(member, member.person_id, 'team.leave'),

    renameAccount: ({ member, body: { name } }) =>
      act(member, 'account.rename', async (tx) => {
        const before = await renameAccount(tx, member.account_id, name)
        return { result: DONE, target: member.account_id, before: { name: before }, after: { name } }
      }),
  }
}

const shownPerson = (person: Person | undefined) =>
  person ? `${isolated(person.name)} (${person.email})` : 'somebody'

function shown(
  { id, email, role, created_at, expires_at }: Invitation,
  inviter_name: string | null,
  nowMs: number,
) {
  return {
    id,
    email,
    role,
    inviter_name,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    is_expired: expires_at.getTime() <= nowMs,
  }
}
