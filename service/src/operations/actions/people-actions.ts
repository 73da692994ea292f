import { EMAIL_PATTERN, type Role, roles } from '@shopwire/contract/dashboard'
import { assertOpen, getAccount } from '../../accounts/account.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import {
  createInvitation,
  createOperatorInvitation,
  selectOpenInvitations,
} from '../../sessions/invitations.ts'
import { lockForRemoval, removeMember, selectMembers } from '../../sessions/members.ts'
import { assertPersonName, removeFactors, selectPersonByEmail, tidyEmail } from '../../sessions/people.ts'
import { endSessionsOf } from '../../sessions/session-store.ts'
import type { Act } from './act.ts'

export interface PeopleActionDeps {
  readonly keyring: Keyring
  /** The origin of the dashboard's pages, for links in invitations; undefined if there is no dashboard. */
  readonly dashboardOrigin?: string | undefined
}

const EMAIL = new RegExp(EMAIL_PATTERN)

/** What an operator may do to the people of accounts, and to other operators. */
export function peopleActions({ keyring, dashboardOrigin }: PeopleActionDeps, act: Act) {
  const inviteDeps = () => {
    if (dashboardOrigin === undefined)
      throw refuse(
        'invalid_request',
        'An invitation is a link to the dashboard: set SHOPWIRE_DASHBOARD_ORIGIN to its address first.',
      )
    return { keyring, origin: dashboardOrigin }
  }

  return {
    /** The link is shown to the operator too, so accepting it does not confirm the address. */
    invitePerson: (account_id: string, wanted: { email: string; role: string }) =>
      act('people.invite', async (tx, nowMs) => {
        assertEmail(wanted.email)
        const role = assertRole(wanted.role)
        const account = await getAccount(tx, account_id)
        assertOpen(account)
        const { invitation, link } = await createInvitation(
          tx,
          inviteDeps(),
          {
            account_id,
            account_name: account.name,
            email: wanted.email,
            role,
            inviter: null,
            is_mailed_only: false,
          },
          nowMs,
        )
        const { id, email, expires_at } = invitation
        return {
          result: { id, email, role, expires_at, link },
          target: account_id,
          details: { after: { email, role, invitation_id: id } },
        }
      }),

    removePerson: (account_id: string, email: string, reason: string) =>
      act('people.remove', async (tx) => {
        await getAccount(tx, account_id)
        const person = await selectPersonByEmail(tx, email)
        if (!person) throw refuse('not_found', `Nobody has the address ${tidyEmail(email)}.`)
        const role = await lockForRemoval(tx, account_id, person.id, undefined)
        await removeMember(tx, account_id, person.id)
        const result = { person_id: person.id, email: person.email, role }
        return { result, target: account_id, details: { before: result, reason } }
      }),

    /** For a person who lost every factor. All their sessions end, and they set up a new factor after the next sign-in. */
    resetFactors: (email: string, reason: string) =>
      act('people.reset_factors', async (tx, nowMs) => {
        const person = await selectPersonByEmail(tx, email)
        if (!person) throw refuse('not_found', `Nobody has the address ${tidyEmail(email)}.`)
        await removeFactors(tx, person.id, nowMs)
        const sessions = await endSessionsOf(tx, person.id, null)
        const result = { person_id: person.id, kind: person.kind, sessions_ended: sessions }
        return { result, target: person.id, details: { reason, sessions_ended: sessions } }
      }),

    inviteOperator: (wanted: { email: string; name: string }) =>
      act('operators.invite', async (tx, nowMs) => {
        assertEmail(wanted.email)
        assertPersonName(wanted.name)
        const { id, link } = await createOperatorInvitation(tx, inviteDeps(), wanted, nowMs)
        return { result: { id, link }, target: id, details: { email: tidyEmail(wanted.email) } }
      }),
  }
}

/** Members and open invitations of an account. */
export async function listPeople(db: Db, account_id: string) {
  await getAccount(db, account_id)
  return {
    members: await selectMembers(db, account_id),
    invitations: await selectOpenInvitations(db, account_id),
  }
}

export function assertEmail(email: string): void {
  if (!EMAIL.test(email) || email.length > 254)
    throw refuse('invalid_request', `"${email}" is not an e-mail address such as name@example.com.`)
}

function assertRole(role: string): Role {
  const known = roles.find((one) => one === role)
  if (!known) throw refuse('invalid_request', `"${role}" is not a role. Use ${roles.join(', ')}.`)
  return known
}
