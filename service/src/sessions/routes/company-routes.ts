import type { identityRoutes } from '@shopwire/contract/dashboard'
import { PERSON_NAME_LENGTH_MAX } from '@shopwire/contract/dashboard'
import type { Tx } from '../../platform/database/db.ts'
import { objectionToText } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import { COMPANY_CALLBACK, type CompanyChecks, type CompanyIdentity } from '../company.ts'
import { type AnyCall, type IdentityContext, recordForPerson, startSession, tellPerson } from '../context.ts'
import { COOKIES, clearCookie, readCookie, setCookie } from '../cookies.ts'
import type { IdentityArea } from '../identity-call.ts'
import { selectInvitationsFor } from '../invitations.ts'
import { issueToken, secondsValid, takeToken } from '../one-time-values.ts'
import {
  insertCredential,
  insertPerson,
  selectPersonByEmail,
  selectPersonBySubject,
  tidyEmail,
} from '../people.ts'
import { joinAccount } from './invitation-routes.ts'

type Routes = typeof identityRoutes

const HOW = { isSteppedUp: false, how: 'company' }

/** Signing in at a company. Both answer with a redirect; a failure is explained by the sign-in page. */
export function companyRoutes(
  context: IdentityContext,
): Pick<IdentityArea<Routes>, 'beginCompanySignIn' | 'finishCompanySignIn'> {
  const { db, company, origin, log } = context
  const toSignIn = (why: string) => ({
    reply: {},
    redirect: `${origin}/sign-in?company=${why}`,
    setCookie: [clearCookie(COOKIES.company)],
  })

  return {
    async beginCompanySignIn(call) {
      if (!company)
        throw refuse('not_found', 'Signing in at a company is not set up here. Use your password or passkey.')
      const begun = await company.begin().catch((error: unknown) => {
        log.warn({ err: error }, 'the OpenID Connect issuer did not answer')
        return undefined
      })
      if (!begun) return toSignIn('unavailable')
      const value = JSON.stringify(begun.checks)
      const token = await issueToken(db, 'company-sign-in', { value }, call.nowMs)
      const cookie = setCookie(COOKIES.company, token, secondsValid('company-sign-in'))
      return { reply: {}, redirect: begun.url, setCookie: [cookie] }
    },

    async finishCompanySignIn(call) {
      const token = readCookie(call.cookie, COOKIES.company)
      // This uses it up, so the same answer of the company cannot be sent twice.
      const asked = token && (await takeToken(db, 'company-sign-in', token, call.nowMs))
      if (!company || !asked || asked.value === null) return toSignIn('expired')
      const callback = new URL(COMPANY_CALLBACK, origin)
      for (const [name, value] of Object.entries(call.query)) callback.searchParams.set(name, String(value))
      const identity = await company
        .finish(callback, JSON.parse(asked.value) as CompanyChecks)
        .catch((error: unknown) => {
          // Its message may repeat parts of the answer; the code names the check that failed.
          log.warn({ code: (error as { code?: string }).code }, 'a sign-in at a company was refused')
          return undefined
        })
      if (!identity) return toSignIn('refused')
      const signIn = await signInOf(context, call, identity)
      if (!signIn) return toSignIn('unknown')
      const cookies = await db.transaction(signIn)
      return { reply: {}, redirect: `${origin}/`, setCookie: [...cookies, clearCookie(COOKIES.company)] }
    },
  }
}

/**
 * Signs in the person behind a company's subject. The first time, a verified address links it: to the person who has that address,
 * or to a new one who is invited. An address that the company has not verified links nothing, because it may be anyone's, and
 * neither does an address outside the company's domains.
 */
async function signInOf(
  context: IdentityContext,
  call: AnyCall,
  identity: CompanyIdentity,
): Promise<((tx: Tx) => Promise<readonly string[]>) | undefined> {
  const { db } = context
  const provider = `oidc:${identity.issuer}`
  const linked = await selectPersonBySubject(db, provider, identity.subject)
  if (linked)
    return linked.kind === 'customer' ? (tx) => startSession(tx, context, call, linked, HOW) : undefined
  if (identity.email === undefined || !identity.is_email_verified) return undefined
  const email = tidyEmail(identity.email)
  // Otherwise one company's issuer could sign in as a person of another.
  if (!context.company?.isOwnAddress(email)) return undefined
  const known = await selectPersonByEmail(db, email)
  const credential = { provider, subject: identity.subject, password_hash: null }
  if (known) {
    // Whoever created an unconfirmed sign-in with this address may not be the person the company means.
    if (known.kind !== 'customer' || !known.email_verified) return undefined
    return async (tx) => {
      const cookies = await startSession(tx, context, call, known, HOW)
      await insertCredential(tx, { ...credential, person_id: known.id }, call.nowMs)
      await recordForPerson(tx, call, known, 'company.link', known.id, { issuer: identity.issuer })
      await tellPerson(tx, context, call, known, `Signing in at ${context.company?.name} was linked to you.`)
      return cookies
    }
  }
  const invitations = await selectInvitationsFor(db, email, call.nowMs)
  if (invitations.length === 0) return undefined
  const given = identity.name ?? ''
  const name = objectionToText(given, PERSON_NAME_LENGTH_MAX) === undefined ? given : email.slice(0, 100)
  return async (tx) => {
    const id = await insertPerson(tx, { name, email, kind: 'customer', is_email_verified: true }, call.nowMs)
    await insertCredential(tx, { ...credential, person_id: id }, call.nowMs)
    for (const invitation of invitations) await joinAccount(tx, call, { id, name }, invitation)
    return startSession(tx, context, call, { id, name }, HOW)
  }
}
