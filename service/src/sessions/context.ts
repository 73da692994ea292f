import type { KeyObject } from 'node:crypto'
import { recordAction } from '../platform/database/audit.ts'
import type { Db, Queryable, Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import { queueMail } from '../platform/mail/mail.ts'
import type { Log } from '../platform/observability/log.ts'
import { refuse } from '../platform/trouble.ts'
import type { Attempts } from './attempts.ts'
import type { AuthenticatorApps } from './authenticator-apps.ts'
import type { Company } from './company.ts'
import { COOKIES, clearCookie, readCookie, setCookie } from './cookies.ts'
import type { IdentityCall } from './identity-call.ts'
import { securityMail } from './mails.ts'
import type { Passkeys } from './passkeys.ts'
import type { Passwords } from './passwords.ts'
import { type Person, selectAccountsOf } from './people.ts'
import { createSession, endSession, findSession, type SessionLimits } from './session-store.ts'
import type { SignedIn } from './signed-in.ts'

/** What all handlers of identity share. */
export interface IdentityContext {
  readonly db: Db
  readonly keyring: Keyring
  readonly log: Log
  readonly key: KeyObject
  readonly attempts: Attempts
  readonly passwords: Passwords
  readonly passkeys: Passkeys
  readonly apps: AuthenticatorApps
  readonly limits: SessionLimits
  readonly origin: string
  readonly company: Company | undefined
  /** Work whose duration must not show in the answer. Failures are logged. */
  later(work: () => Promise<void>): void
}

/** Any call, whatever its route. */
export type AnyCall = Pick<IdentityCall, 'cookie' | 'address' | 'user_agent' | 'request_id' | 'nowMs'>

export function findCaller(
  context: IdentityContext,
  call: AnyCall,
  db: Queryable = context.db,
): Promise<SignedIn | undefined> {
  const token = readCookie(call.cookie, COOKIES.session)
  return token === undefined ? Promise.resolve(undefined) : findSession(db, token, context.limits, call.nowMs)
}

export async function requireCaller(context: IdentityContext, call: AnyCall): Promise<SignedIn> {
  const caller = await findCaller(context, call)
  if (!caller) throw refuse('sign_in_required', 'Nobody is signed in, or the session has ended. Sign in.')
  return caller
}

/** The same words for every failed sign-in, whatever the cause. */
export const signInFailed = () =>
  refuse('sign_in_failed', 'The address and the password do not belong together. Check both and try again.')

export const codeFailed = () =>
  refuse('sign_in_failed', 'This code is wrong, has expired or was used before. Wait for the next one.')

export const linkInvalid = () =>
  refuse('link_invalid', 'This link was used, has expired or was withdrawn. Ask for a new one.')

/**
 * Signs a person in, in the transaction that proved who they are: a new session under a new token. A session that this browser had
 * before is ended, so that a planted token is useless.
 */
export async function startSession(
  tx: Tx,
  context: IdentityContext,
  call: AnyCall,
  person: Pick<Person, 'id' | 'name'>,
  { isSteppedUp, how }: { isSteppedUp: boolean; how: string },
): Promise<readonly string[]> {
  const accounts = await selectAccountsOf(tx, person.id)
  const before = await findCaller(context, call, tx)
  const session = {
    person_id: person.id,
    account_id: accounts[0]?.id ?? null,
    address: call.address,
    user_agent: call.user_agent,
    isSteppedUp,
  }
  const created = await createSession(tx, session, context.limits, call.nowMs)
  if (before) await endSession(tx, before.person.id, before.session_id)
  await recordForPerson(tx, call, person, 'session.start', created.id, { how })
  return [
    sessionCookie(context, created.token),
    clearCookie(COOKIES.pending),
    clearCookie(COOKIES.challenge),
    clearCookie(COOKIES.visitor),
  ]
}

export const sessionCookie = ({ limits }: IdentityContext, token: string) =>
  setCookie(COOKIES.session, token, Math.floor(limits.absoluteMs / 1000))

/**
 * An audit row in every account of the person, or one without an account if they have none. Must be in the transaction of what it
 * reports, before that transaction ends the person's session.
 */
export async function recordForPerson(
  tx: Tx,
  call: AnyCall,
  person: Pick<Person, 'id' | 'name'>,
  action: string,
  target: string,
  after?: Record<string, unknown>,
  before?: Record<string, unknown>,
): Promise<void> {
  const entry = {
    actor: `person:${person.id}`,
    action,
    target,
    address: call.address,
    request_id: call.request_id,
    details: { name: person.name, ...(before && { before }), ...(after && { after }) },
  }
  const accounts = await selectAccountsOf(tx, person.id)
  if (accounts.length === 0) await recordAction(tx, entry)
  for (const { id: account_id } of accounts) await recordAction(tx, { ...entry, account_id })
}

/** Tells a person by mail that their sign-in methods have changed. */
export async function tellPerson(
  tx: Tx,
  { keyring, origin }: Pick<IdentityContext, 'keyring' | 'origin'>,
  call: AnyCall,
  person: { readonly email: string },
  what: string,
): Promise<void> {
  await queueMail(
    tx,
    keyring,
    { to: person.email, letter: securityMail(what, origin, call.address) },
    call.nowMs,
  )
}
