import type { Role } from '@shopwire/contract/dashboard'
import { inAccount } from '../platform/database/account-scope.ts'
import { type Db, type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import { queueMail } from '../platform/mail/mail.ts'
import { newId } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'
import { invitationMail, operatorInvitationMail } from './mails.ts'
import { tidyEmail } from './people.ts'
import { hashToken, newToken } from './session-store.ts'

export interface Invitation {
  readonly account_id: string
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly is_mailed_only: boolean
  readonly created_at: Date
  readonly expires_at: Date
}

export interface OpenInvitation extends Invitation {
  readonly account_name: string
  readonly inviter_name: string | null
}

export interface InviteDeps {
  readonly keyring: Keyring
  /** Of the dashboard's pages. */
  readonly origin: string
}

const VALID_MS = 7 * 86_400_000
const OPERATOR_VALID_MS = 86_400_000
const OPERATOR_MARK = 'op_'

/**
 * Invites an address to an account and queues the mail. An earlier open invitation of the same address is withdrawn. The link is
 * returned for an operator who delivers it; a caller that shows it passes `is_mailed_only: false`.
 */
export async function createInvitation(
  tx: Tx,
  { keyring, origin }: InviteDeps,
  wanted: {
    readonly account_id: string
    readonly account_name: string
    readonly email: string
    readonly role: Role
    readonly inviter: { readonly id: string; readonly name: string } | null
    readonly is_mailed_only: boolean
  },
  nowMs: number,
): Promise<{ invitation: Invitation; link: string }> {
  const email = tidyEmail(wanted.email)
  const { account_id, role, inviter, is_mailed_only } = wanted
  const known = await tx.maybeOne<{ is_member: boolean; kind: string }>(sql`
    select p.kind, exists (select from memberships m
                            where m.account_id = ${account_id}
                              and m.person_id = p.id) as is_member
      from people p
     where p.email = ${email}`)
  if (known?.is_member)
    throw refuse('conflict', `${email} is a member of this account already. Change their role instead.`)
  // The member who invites is not told why: it would reveal whose addresses operate the store. The invitation is not sent.
  if (known?.kind === 'operator' && inviter === null)
    throw refuse('conflict', `${email} cannot be invited. Use another address of this person.`)
  await tx.run(sql`
    update invitations
       set withdrawn_at = ${new Date(nowMs)}
     where account_id = ${account_id}
       and email = ${email}
       and accepted_at is null
       and withdrawn_at is null`)
  // The token contains the account, so only that account is searched.
  const token = `${account_id}-${newToken()}`
  const invitation: Invitation = {
    account_id,
    id: newId('inv', nowMs),
    email,
    role,
    is_mailed_only,
    created_at: new Date(nowMs),
    expires_at: new Date(nowMs + VALID_MS),
  }
  await tx.run(sql`
    insert into invitations (account_id, id, email, role, token_hash, inviter_id, is_mailed_only, created_at, expires_at)
    values (${account_id}, ${invitation.id}, ${email}, ${role}, ${hashToken(token)}, ${inviter?.id ?? null}, ${is_mailed_only},
            ${invitation.created_at}, ${invitation.expires_at})`)
  const link = `${origin}/invitation#${token}`
  const letter = invitationMail(link, {
    account_name: wanted.account_name,
    role,
    inviter_name: inviter?.name ?? null,
  })
  await queueMail(tx, keyring, { to: email, account_id, letter }, nowMs)
  return { invitation, link }
}

/** Of a mailed token that names its account. */
export const accountOf = (token: string) => /^(acct_[0-9a-z]{26})-/.exec(token)?.[1]

export const INVITATIONS_PER_DAY_MAX = 50
const DAY_MS = 86_400_000

/** Every invitation is a mail to an address that somebody chose: an account must not become a way to write to strangers. */
export async function assertMayInvite(tx: Tx, account_id: string, nowMs: number): Promise<void> {
  const { sent } = await tx.one<{ sent: number }>(sql`
    select count(*) as sent
      from invitations
     where account_id = ${account_id}
       and created_at > ${new Date(nowMs - DAY_MS)}`)
  if (sent < INVITATIONS_PER_DAY_MAX) return
  throw refuse(
    'conflict',
    `${INVITATIONS_PER_DAY_MAX} people were invited to this account in the last 24 hours, which is the limit. Invite the others tomorrow.`,
  )
}

/** The open invitation of a token; undefined when it was used, withdrawn, has expired or never was. */
export async function findInvitation(
  db: Db,
  token: string,
  nowMs: number,
): Promise<OpenInvitation | undefined> {
  const account_id = accountOf(token)
  if (account_id === undefined) return undefined
  return inAccount(db, account_id, (tx) =>
    tx.maybeOne<OpenInvitation>(sql`
      select i.account_id, i.id, i.email, i.role, i.is_mailed_only, i.created_at, i.expires_at, a.name as account_name,
             p.name as inviter_name
        from invitations i
        join accounts a on a.id = i.account_id
        left join people p on p.id = i.inviter_id
       where i.account_id = ${account_id}
         and i.token_hash = ${hashToken(token)}
         and i.accepted_at is null
         and i.withdrawn_at is null
         and i.expires_at > ${new Date(nowMs)}`),
  )
}

/** Accepts an invitation, once: of two acceptances at the same moment one gets false. */
export async function claimInvitation(
  tx: Tx,
  { account_id, id }: Pick<Invitation, 'account_id' | 'id'>,
  nowMs: number,
): Promise<Pick<Invitation, 'role' | 'email'> | undefined> {
  return tx.maybeOne<Pick<Invitation, 'role' | 'email'>>(sql`
    update invitations
       set accepted_at = ${new Date(nowMs)}
     where account_id = ${account_id}
       and id = ${id}
       and accepted_at is null
       and withdrawn_at is null
       and expires_at > ${new Date(nowMs)}
 returning role, email`)
}

export const selectInvitationsFor = (db: Queryable, email: string, nowMs: number) =>
  db.many<{ account_id: string; id: string }>(sql`
    select account_id, id
      from open_invitations_for(${tidyEmail(email)}, ${new Date(nowMs)})`)

export const selectOpenInvitations = (tx: Queryable, account_id: string) =>
  tx.many<Invitation & { readonly inviter_name: string | null }>(sql`
    select i.account_id, i.id, i.email, i.role, i.is_mailed_only, i.created_at, i.expires_at, p.name as inviter_name
      from invitations i
      left join people p on p.id = i.inviter_id
     where i.account_id = ${account_id}
       and i.accepted_at is null
       and i.withdrawn_at is null
     order by i.created_at desc, i.id desc
     limit 200`)

export async function withdrawInvitation(
  tx: Tx,
  account_id: string,
  id: string,
  nowMs: number,
): Promise<Pick<Invitation, 'email' | 'role'>> {
  const withdrawn = await tx.maybeOne<Pick<Invitation, 'email' | 'role'>>(sql`
    update invitations
       set withdrawn_at = ${new Date(nowMs)}
     where account_id = ${account_id}
       and id = ${id}
       and accepted_at is null
       and withdrawn_at is null
 returning email, role`)
  if (!withdrawn) throw refuse('not_found', 'There is no such open invitation. Reload the list.')
  return withdrawn
}

/** Invites somebody to operate the store. For the server's own command. */
export async function createOperatorInvitation(
  tx: Tx,
  { keyring, origin }: InviteDeps,
  wanted: { readonly email: string; readonly name: string },
  nowMs: number,
): Promise<{ id: string; link: string }> {
  const email = tidyEmail(wanted.email)
  const known = await tx.maybeOne<{ id: string; kind: string }>(
    sql`select id, kind from people where email = ${email}`,
  )
  if (known?.kind === 'customer')
    throw refuse(
      'conflict',
      `${email} belongs to a customer. An operator cannot be a customer: use another address of this person.`,
    )
  const [token, id] = [`${OPERATOR_MARK}${newToken()}`, newId('inv', nowMs)]
  await tx.run(sql`
    insert into operator_invitations (id, email, name, token_hash, created_at, expires_at)
    values (${id}, ${email}, ${wanted.name}, ${hashToken(token)}, ${new Date(nowMs)}, ${new Date(nowMs + OPERATOR_VALID_MS)})`)
  const link = `${origin}/invitation#${token}`
  await queueMail(tx, keyring, { to: email, letter: operatorInvitationMail(link) }, nowMs)
  return { id, link }
}

export interface OperatorInvitation {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly expires_at: Date
}

export const isOperatorToken = (token: string) => token.startsWith(OPERATOR_MARK)

export const findOperatorInvitation = (db: Queryable, token: string, nowMs: number) =>
  db.maybeOne<OperatorInvitation>(sql`
    select id, email, name, expires_at
      from operator_invitations
     where token_hash = ${hashToken(token)}
       and accepted_at is null
       and expires_at > ${new Date(nowMs)}`)

export const claimOperatorInvitation = (tx: Tx, id: string, nowMs: number) =>
  tx.run(sql`
    update operator_invitations
       set accepted_at = ${new Date(nowMs)}
     where id = ${id}
       and accepted_at is null`)
