import type { identityRoutes } from '@shopwire/contract/dashboard'
import { enterAccount, inAccount } from '../../platform/database/account-scope.ts'
import { recordAction } from '../../platform/database/audit.ts'
import type { Tx } from '../../platform/database/db.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { refuse } from '../../platform/trouble.ts'
import { mailNames, tokenNames } from '../attempts.ts'
import {
  type AnyCall,
  findCaller,
  type IdentityContext,
  linkInvalid,
  recordForPerson,
  requireCaller,
  startSession,
} from '../context.ts'
import type { IdentityArea } from '../identity-call.ts'
import {
  claimInvitation,
  claimOperatorInvitation,
  findInvitation,
  findOperatorInvitation,
  type Invitation,
  isOperatorToken,
} from '../invitations.ts'
import { verificationMail } from '../mails.ts'
import { addMember } from '../members.ts'
import { findToken, issueToken, takeToken } from '../one-time-values.ts'
import {
  assertPersonName,
  CREDENTIAL,
  insertCredential,
  insertPerson,
  markEmailVerified,
  type Person,
  selectFactors,
  selectPerson,
  selectPersonByEmail,
} from '../people.ts'
import { setSessionAccount } from '../session-store.ts'

type Routes = typeof identityRoutes
type Handled = 'openInvitation' | 'acceptInvitation' | 'sendEmailVerification' | 'verifyEmail'

const DONE = { ok: true } as const
const BY_INVITATION = { isSteppedUp: false, how: 'invitation' }

/** How people join, and how an address is confirmed. */
export function invitationRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, keyring, origin, attempts, passwords } = context

  async function counted<Found>(call: AnyCall, find: () => Promise<Found | undefined>): Promise<Found> {
    const names = tokenNames(call.address)
    await attempts.count(names, call.nowMs)
    const found = await find()
    if (found === undefined) throw linkInvalid()
    await attempts.giveBack(names)
    return found
  }

  async function sendVerification(tx: Tx, { id, email }: Pick<Person, 'id' | 'email'>, nowMs: number) {
    const token = await issueToken(tx, 'verify-email', { person_id: id, value: email }, nowMs)
    const letter = verificationMail(`${origin}/verify-email#${token}`)
    await queueMail(tx, keyring, { to: email, letter }, nowMs)
  }

  async function acceptAsOperator(call: AnyCall & { body: { token: string } }) {
    const invitation = await counted(call, () => findOperatorInvitation(db, call.body.token, call.nowMs))
    return db.transaction(async (tx) => {
      if ((await claimOperatorInvitation(tx, invitation.id, call.nowMs)) === 0) throw linkInvalid()
      const known = await selectPersonByEmail(tx, invitation.email)
      if (known && known.kind !== 'operator') throw linkInvalid()
      const { name, email } = invitation
      const id =
        known?.id ??
        (await insertPerson(tx, { name, email, kind: 'operator', is_email_verified: false }, call.nowMs))
      // A link never replaces a passkey. An operator who lost theirs has it reset on the server first.
      const { has_passkey } = await selectFactors(tx, id)
      if (has_passkey) return { reply: { next: 'passkey' as const } }
      const setCookie = await startSession(tx, context, call, { id, name }, BY_INVITATION)
      return { reply: { next: 'enrol' as const }, setCookie }
    })
  }

  return {
    async openInvitation(call) {
      const { token } = call.body
      if (isOperatorToken(token)) {
        const { email, expires_at } = await counted(call, () => findOperatorInvitation(db, token, call.nowMs))
        const shown = { email, account_name: 'Operators of this store', role: null, inviter_name: null }
        return { reply: { ...shown, expires_at: expires_at.toISOString(), is_known_person: false } }
      }
      const found = await counted(call, () => findInvitation(db, token, call.nowMs))
      const { account_name, role, email, inviter_name, expires_at } = found
      const is_known_person = (await selectPersonByEmail(db, email)) !== undefined
      return {
        reply: {
          account_name,
          role,
          email,
          inviter_name,
          expires_at: expires_at.toISOString(),
          is_known_person,
        },
      }
    },

    async acceptInvitation(call) {
      const { token, name, password } = call.body
      if (isOperatorToken(token)) return acceptAsOperator(call)
      const invitation = await counted(call, () => findInvitation(db, token, call.nowMs))
      const caller = await findCaller(context, call)
      if (caller) {
        if (caller.person.email !== invitation.email)
          throw refuse(
            'conflict',
            `This invitation is for ${invitation.email}, and you are signed in as ${caller.person.email}. Sign out, then open the link again.`,
          )
        if (caller.person.kind === 'operator')
          throw refuse(
            'conflict',
            'Operators belong to no account. Ask for an invitation to another of your addresses.',
          )
        await db.transaction(async (tx) => {
          await joinAccount(tx, call, caller.person, invitation)
          await setSessionAccount(tx, caller.session_id, invitation.account_id)
        })
        return { reply: { next: 'done' } }
      }
      if ((await selectPersonByEmail(db, invitation.email)) !== undefined)
        throw refuse(
          'conflict',
          `${invitation.email} has a sign-in already. Sign in, then open the link again.`,
        )
      if (name === undefined || password === undefined)
        throw refuse('invalid_request', 'Give your name and choose a password.')
      assertPersonName(name)
      const hash = await passwords.hash(password)
      const is_email_verified = invitation.is_mailed_only
      const setCookie = await inAccount(db, invitation.account_id, async (tx) => {
        const claimed = await claimInvitation(tx, invitation, call.nowMs)
        if (!claimed) throw linkInvalid()
        const { email, role } = claimed
        const id = await insertPerson(tx, { name, email, kind: 'customer', is_email_verified }, call.nowMs)
        const credential = { person_id: id, provider: CREDENTIAL, subject: id, password_hash: hash }
        await insertCredential(tx, credential, call.nowMs)
        await addMember(tx, { account_id: invitation.account_id, person_id: id, role }, call.nowMs)
        await recordJoin(tx, call, { id, name }, invitation)
        if (!is_email_verified) await sendVerification(tx, { id, email }, call.nowMs)
        return startSession(tx, context, call, { id, name }, BY_INVITATION)
      })
      return { reply: { next: 'enrol' }, setCookie }
    },

    async sendEmailVerification(call) {
      const { person } = await requireCaller(context, call)
      if (person.is_email_verified) return { reply: DONE }
      await attempts.count(mailNames(person.email, call.address), call.nowMs)
      await db.transaction((tx) => sendVerification(tx, person, call.nowMs))
      return { reply: DONE }
    },

    async verifyEmail(call) {
      const { token } = call.body
      const asked = await counted(call, () => findToken(db, 'verify-email', token, call.nowMs))
      const person = asked.person_id === null ? undefined : await selectPerson(db, asked.person_id)
      // The address may have changed since the mail was sent.
      if (!person || person.email !== asked.value) throw linkInvalid()
      await db.transaction(async (tx) => {
        await markEmailVerified(tx, person.id, call.nowMs)
        if (!(await takeToken(tx, 'verify-email', token, call.nowMs))) throw linkInvalid()
        await recordForPerson(tx, call, person, 'email.verify', person.id)
      })
      return { reply: DONE }
    },
  }
}

/** Somebody who has a sign-in accepts. Works once; a member keeps their role. */
export async function joinAccount(
  tx: Tx,
  call: AnyCall,
  person: Pick<Person, 'id' | 'name'>,
  invitation: Pick<Invitation, 'account_id' | 'id'>,
): Promise<void> {
  const { account_id } = invitation
  await enterAccount(tx, account_id)
  const claimed = await claimInvitation(tx, invitation, call.nowMs)
  if (!claimed) throw linkInvalid()
  await addMember(tx, { account_id, person_id: person.id, role: claimed.role }, call.nowMs)
  await recordJoin(tx, call, person, { ...invitation, role: claimed.role })
}

function recordJoin(
  tx: Parameters<typeof recordAction>[0],
  call: AnyCall,
  person: Pick<Person, 'id' | 'name'>,
  { account_id, id, role }: Pick<Invitation, 'account_id' | 'id' | 'role'>,
) {
  return recordAction(tx, {
    actor: `person:${person.id}`,
    action: 'team.join',
    target: person.id,
    account_id,
    address: call.address,
    request_id: call.request_id,
    details: { name: person.name, after: { role, invitation_id: id } },
  })
}
