import type { identityRoutes } from '@shopwire/contract/dashboard'
import type { Tx } from '../platform/db.ts'
import { refuse } from '../platform/trouble.ts'
import { codeNames, mailNames, signInNames, tokenNames } from './attempts.ts'
import { RESET } from './authentication.ts'
import {
  type AnyCall,
  CHALLENGE_S,
  codeFailed,
  findCaller,
  type IdentityContext,
  linkInvalid,
  PENDING_S,
  recordForPerson,
  requireCaller,
  signInFailed,
  startSession,
  tellPerson,
} from './context.ts'
import { COOKIES, clearCookie, csrfTokenOf, readCookie, setCookie } from './cookies.ts'
import type { IdentityArea } from './identity-call.ts'
import {
  forgetPending,
  markEmailVerified,
  markPasskeyUsed,
  type Person,
  putPassword,
  selectAccountsOf,
  selectFactors,
  selectPasswordHash,
  selectPerson,
  selectPersonByEmail,
  tidyEmail,
  updatePasswordHash,
  useUpToken,
} from './people.ts'
import { tidyRecoveryCode } from './recovery-codes.ts'
import { endSession, endSessionsOf, newToken } from './session-store.ts'
import { burnCode } from './used-codes.ts'

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
const DUMMY_PERSON = 'nobody'

/** Signing in and out, and getting back in. */
export function signInRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, authentication, attempts, passwords, key } = context

  /** The second half of a sign-in by password. The state in between is no session and opens nothing. */
  async function finish(
    call: AnyCall,
    check: (pending: string, person_id: string) => Promise<string | undefined>,
    how: string,
    also?: (tx: Tx, person: Person) => Promise<unknown>,
  ) {
    const pending = readCookie(call.cookie, COOKIES.pending)
    const person_id = pending && (await authentication.personOfPending(pending))
    if (!pending || !person_id)
      throw refuse('sign_in_failed', 'Too much time has passed. Enter your address and password again.')
    const names = codeNames(person_id, call.address)
    await attempts.count(names, call.nowMs)
    const proven = await check(pending, person_id)
    const person = proven === person_id ? await selectPerson(db, person_id) : undefined
    if (person?.kind !== 'customer') throw codeFailed()
    await attempts.giveBack(names)
    const setCookie = await startSession(context, call, person, {
      isSteppedUp: true,
      how,
      ...(also && { also: (tx) => also(tx, person) }),
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
            pending !== undefined && (await authentication.personOfPending(pending)) !== undefined,
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
      const result = await attempts.compared(names, () => authentication.checkPassword(email, password))
      const person_id =
        result && 'pending' in result
          ? await authentication.personOfPending(result.pending)
          : result?.person_id
      const person = await selectPerson(db, person_id ?? DUMMY_PERSON)
      if (!result || !person || person.kind !== 'customer') throw signInFailed()
      const [pair, from, everywhere] = names
      await attempts.forget(pair)
      await attempts.giveBack([from])
      await attempts.forget(everywhere)
      const stored = await selectPasswordHash(db, person.id)
      if (stored?.password_hash && passwords.isOutdated(stored.password_hash))
        await updatePasswordHash(db, person.id, await passwords.hash(password), call.nowMs)
      if ('pending' in result)
        return {
          reply: { next: 'totp' },
          setCookie: [setCookie(COOKIES.pending, result.pending, PENDING_S)],
        }
      // The passkey stands for both factors, so it signs in by itself; nothing has to be remembered in between.
      const { has_passkey } = await selectFactors(db, person.id)
      if (has_passkey) return { reply: { next: 'passkey' } }
      const cookies = await startSession(context, call, person, { isSteppedUp: false, how: 'password' })
      return { reply: { next: 'enrol' }, setCookie: cookies }
    },

    async signInWithTotp(call) {
      const check = async (pending: string, person_id: string) =>
        (await burnCode(db, key, person_id, call.body.code, call.nowMs))
          ? authentication.finishWithTotp(pending, call.body.code)
          : undefined
      return finish(call, check, 'password and authenticator app')
    },

    async signInWithRecoveryCode(call) {
      const check = (pending: string) =>
        authentication.finishWithRecoveryCode(pending, tidyRecoveryCode(call.body.code))
      return finish(call, check, 'password and recovery code', (tx, person) =>
        tellPerson(tx, context, call, person, 'A recovery code was used to sign in as you.'),
      )
    },

    async beginPasskeySignIn() {
      const { options, challenge } = await authentication.beginPasskey()
      return { reply: options, setCookie: [setCookie(COOKIES.challenge, challenge, CHALLENGE_S)] }
    },

    async signInWithPasskey(call) {
      const challenge = readCookie(call.cookie, COOKIES.challenge)
      const response = call.body.response as { id?: unknown }
      const person_id = challenge && (await authentication.finishPasskey(challenge, response))
      const person = person_id ? await selectPerson(db, person_id) : undefined
      if (!person)
        throw refuse(
          'sign_in_failed',
          'This passkey is not known here, or too much time has passed. Try again, or use your password.',
        )
      const setCookie = await startSession(context, call, person, {
        isSteppedUp: true,
        how: 'passkey',
        also: (tx) => markPasskeyUsed(tx, String(response.id), call.nowMs),
      })
      return { reply: { next: 'done' }, setCookie }
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
      // After the answer: it is the same, and as fast, for an address that nobody has.
      context.later(async () => {
        const person = await selectPersonByEmail(db, email)
        if (person?.kind === 'customer') await authentication.requestReset(email)
      })
      return { reply: DONE }
    },

    async resetPassword(call) {
      const names = tokenNames(call.address)
      await attempts.count(names, call.nowMs)
      const asked = await authentication.findToken(RESET, call.body.token)
      const person: Person | undefined = asked && (await selectPerson(db, asked.value))
      if (!asked || person?.kind !== 'customer') throw linkInvalid()
      await attempts.giveBack(names)
      const hash = await passwords.hash(call.body.password)
      // The link came by mail, so the mailbox is theirs. Whoever knew the old password, or asked for another link, is out.
      await db.transaction(async (tx) => {
        await markEmailVerified(tx, person.id, call.nowMs)
        await putPassword(tx, person.id, hash, call.nowMs)
        if ((await useUpToken(tx, asked.id)) === 0) throw linkInvalid()
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
