import type { identityRoutes } from '@shopwire/contract/dashboard'
import type { Tx } from '../../platform/database/db.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { refuse } from '../../platform/trouble.ts'
import { mailNames, signInNames, tokenNames } from '../attempts.ts'
import {
  type AnyCall,
  findCaller,
  type IdentityContext,
  linkInvalid,
  recordForPerson,
  requireCaller,
  signInFailed,
  startSession,
  tellPerson,
} from '../context.ts'
import { COOKIES, clearCookie, csrfTokenOf, readCookie, setCookie } from '../cookies.ts'
import { factorChecks } from '../factor-checks.ts'
import type { IdentityArea } from '../identity-call.ts'
import { resetMail } from '../mails.ts'
import { findToken, forgetPending, issueToken, secondsValid, takeToken } from '../one-time-values.ts'
import {
  holdPassword,
  markEmailVerified,
  putPassword,
  selectAccountsOf,
  selectFactors,
  selectPerson,
  selectPersonByEmail,
  selectSignIn,
  tidyEmail,
  updatePasswordHash,
} from '../people.ts'
import { endSession, endSessionsOf, newToken } from '../session-store.ts'

type Routes = typeof identityRoutes
type Handled =
  | 'getSession'
  | 'signInWithPassword'
  | 'signInWithTotp'
  | 'signInWithRecoveryCode'
  | 'beginPasskeySignIn'
  | 'signInWithPasskey'
  | 'signOut'
  | 'signOutEverywhere'
  | 'forgotPassword'
  | 'resetPassword'

const DONE = { ok: true } as const
const VISITOR_S = 30 * 86_400

/** Signing in and out, and password resets. */
export function signInRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, keyring, origin, apps, passkeys, attempts, passwords, key } = context
  const { withCode } = factorChecks(context)

  /** The second step of a sign-in by password. The state in between is not a session and gives no access. */
  async function finish(
    call: AnyCall,
    how: string,
    takeCode: (tx: Tx, person_id: string) => Promise<boolean>,
    tellThem?: string,
  ) {
    const token = readCookie(call.cookie, COOKIES.pending) ?? ''
    const waiting = await findToken(db, 'second-factor', token, call.nowMs)
    const person = waiting?.person_id ? await selectPerson(db, waiting.person_id) : undefined
    if (person?.kind !== 'customer')
      throw refuse('sign_in_failed', 'Too much time has passed. Enter your address and password again.')
    const setCookie = await withCode(call, person.id, async (tx) => {
      // A wrong code puts it back, for the next attempt.
      const isFirst = (await takeToken(tx, 'second-factor', token, call.nowMs)) !== undefined
      if (!isFirst || !(await takeCode(tx, person.id))) return undefined
      if (tellThem !== undefined) await tellPerson(tx, context, call, person, tellThem)
      return startSession(tx, context, call, person, { isSteppedUp: true, how })
    })
    return { reply: { next: 'done' as const }, setCookie }
  }

  return {
    async getSession(call) {
      const caller = await findCaller(context, call)
      const [accounts, factors] = caller
        ? await Promise.all([selectAccountsOf(db, caller.person.id), selectFactors(db, caller.person.id)])
        : [[], undefined]
      const session = caller && readCookie(call.cookie, COOKIES.session)
      const visitor = session ?? readCookie(call.cookie, COOKIES.visitor) ?? newToken()
      const pending = caller ? undefined : readCookie(call.cookie, COOKIES.pending)
      const time = (ms: number | null | undefined) => (ms == null ? null : new Date(ms).toISOString())
      const steppedUpMs = caller?.stepped_up_until_ms ?? 0
      return {
        reply: {
          person: caller && factors ? { ...caller.person, ...factors } : null,
          accounts: [...accounts],
          account: caller?.account ?? null,
          csrf_token: csrfTokenOf(key, visitor),
          stepped_up_until: steppedUpMs > call.nowMs ? time(steppedUpMs) : null,
          expires_at: time(caller?.expires_at_ms),
          idle_expires_at: time(caller?.idle_expires_at_ms),
          is_second_factor_pending:
            pending !== undefined &&
            (await findToken(db, 'second-factor', pending, call.nowMs)) !== undefined,
          company_sign_in: context.company?.name ?? null,
        },
        ...(session === undefined && {
          setCookie: [
            setCookie(COOKIES.visitor, visitor, VISITOR_S),
            ...(readCookie(call.cookie, COOKIES.session) === undefined ? [] : [clearCookie(COOKIES.session)]),
          ],
        }),
      }
    },

    async signInWithPassword(call) {
      const [email, { password }] = [tidyEmail(call.body.email), call.body]
      const names = signInNames(email, call.address)
      await attempts.count(names, call.nowMs)
      const found = await selectSignIn(db, email)
      const isRight = await attempts.compared(names, () => passwords.verify(found?.password_hash, password))
      if (!isRight || !found?.password_hash || found.kind !== 'customer') throw signInFailed()
      const { password_hash, ...person } = found
      const [pair, from, everywhere] = names
      await attempts.forget(pair)
      await attempts.giveBack([from])
      await attempts.forget(everywhere)
      const renewed = passwords.isOutdated(password_hash) ? await passwords.hash(password) : undefined
      return db.transaction(async (tx) => {
        // Otherwise a sign-in that was started with the old password could continue after a reset.
        if (!(await holdPassword(tx, person.id, password_hash))) throw signInFailed()
        if (renewed !== undefined) await updatePasswordHash(tx, person.id, renewed, call.nowMs)
        const { has_totp, has_passkey } = await selectFactors(tx, person.id)
        if (has_totp) {
          const token = await issueToken(tx, 'second-factor', { person_id: person.id }, call.nowMs)
          const cookie = setCookie(COOKIES.pending, token, secondsValid('second-factor'))
          return { reply: { next: 'totp' }, setCookie: [cookie] }
        }
        // The passkey counts as both factors, so it signs in by itself; no state is needed in between.
        if (has_passkey) return { reply: { next: 'passkey' } }
        const how = { isSteppedUp: false, how: 'password' }
        return { reply: { next: 'enrol' }, setCookie: await startSession(tx, context, call, person, how) }
      })
    },

    async signInWithTotp(call) {
      return finish(call, 'password and authenticator app', (tx, person_id) =>
        apps.takeCode(tx, person_id, call.body.code),
      )
    },

    async signInWithRecoveryCode(call) {
      return finish(
        call,
        'password and recovery code',
        (tx, person_id) => apps.takeRecoveryCode(tx, person_id, call.body.code),
        'A recovery code was used to sign in as you.',
      )
    },

    async beginPasskeySignIn(call) {
      const { options, token } = await passkeys.begin(db, null, call.nowMs)
      return {
        reply: options,
        setCookie: [setCookie(COOKIES.challenge, token, secondsValid('passkey-sign-in'))],
      }
    },

    async signInWithPasskey(call) {
      const token = readCookie(call.cookie, COOKIES.challenge) ?? ''
      const cookies = await db.transaction(async (tx) => {
        const person_id = await passkeys.finish(tx, null, token, call.body.response, call.nowMs)
        const person = person_id === undefined ? undefined : await selectPerson(tx, person_id)
        return person && startSession(tx, context, call, person, { isSteppedUp: true, how: 'passkey' })
      })
      if (!cookies)
        throw refuse(
          'sign_in_failed',
          'This passkey is not known here, or too much time has passed. Try again, or use your password.',
        )
      return { reply: { next: 'done' }, setCookie: cookies }
    },

    async signOut(call) {
      const { person, session_id } = await requireCaller(context, call)
      await db.transaction(async (tx) => {
        await recordForPerson(tx, call, person, 'session.end', session_id)
        await endSession(tx, person.id, session_id)
      })
      return { reply: DONE, setCookie: [clearCookie(COOKIES.session)] }
    },

    async signOutEverywhere(call) {
      const { person, session_id } = await requireCaller(context, call)
      await db.transaction(async (tx) => {
        const others = await endSessionsOf(tx, person.id, session_id)
        await recordForPerson(tx, call, person, 'session.end_all', person.id, { sessions: others + 1 })
        await endSession(tx, person.id, session_id)
      })
      return { reply: DONE, setCookie: [clearCookie(COOKIES.session)] }
    },

    async forgotPassword(call) {
      const email = tidyEmail(call.body.email)
      await attempts.count(mailNames(email, call.address), call.nowMs)
      // After the answer, so that an unknown address gets the same answer, equally fast.
      context.later(async () => {
        const person = await selectPersonByEmail(db, email)
        if (person?.kind !== 'customer') return
        await db.transaction(async (tx) => {
          const token = await issueToken(tx, 'reset-password', { person_id: person.id }, call.nowMs)
          const letter = resetMail(`${origin}/reset-password#${token}`)
          await queueMail(tx, keyring, { to: person.email, letter }, call.nowMs)
        })
      })
      return { reply: DONE }
    },

    async resetPassword(call) {
      const names = tokenNames(call.address)
      await attempts.count(names, call.nowMs)
      const { token } = call.body
      const asked = await findToken(db, 'reset-password', token, call.nowMs)
      const person = asked?.person_id ? await selectPerson(db, asked.person_id) : undefined
      if (person?.kind !== 'customer') throw linkInvalid()
      await attempts.giveBack(names)
      const hash = await passwords.hash(call.body.password)
      // The link came by mail, so the mailbox is theirs. Anyone who knew the old password, or asked for another link, is signed
      // out.
      await db.transaction(async (tx) => {
        await markEmailVerified(tx, person.id, call.nowMs)
        await putPassword(tx, person.id, hash, call.nowMs)
        if (!(await takeToken(tx, 'reset-password', token, call.nowMs))) throw linkInvalid()
        await recordForPerson(tx, call, person, 'password.reset', person.id)
        await forgetPending(tx, person.id)
        await endSessionsOf(tx, person.id, null)
        await tellPerson(
          tx,
          context,
          call,
          person,
          'Your password was reset, and all your sessions have ended.',
        )
      })
      return { reply: DONE }
    },
  }
}
