import type { Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import { codeNames } from './attempts.ts'
import { type AnyCall, codeFailed, type IdentityContext, recordForPerson, sessionCookie } from './context.ts'
import { COOKIES, clearCookie, readCookie } from './cookies.ts'
import { selectFactors, selectPasswordHash } from './people.ts'
import { endSessionsWithoutFactor, rotateSession } from './session-store.ts'
import type { SignedIn } from './signed-in.ts'

/** Somebody without password and factor has just signed in by an invitation or through their company. */
const FRESH_MS = 10 * 60_000

/** What somebody signed in must confirm before they may do more, or change how they sign in. */
export function factorChecks(context: IdentityContext) {
  const { db, attempts, passwords, limits } = context

  /** A fresh factor: the session continues under a new token, so the old token cannot do what is allowed now. */
  async function steppedUp(tx: Tx, call: AnyCall, caller: SignedIn, how: string): Promise<readonly string[]> {
    const token = await rotateSession(tx, caller.session_id, { isSteppedUp: true }, call.nowMs)
    if (token === undefined) throw refuse('sign_in_required', 'This session has ended. Sign in.')
    // The first factor. Other sessions came in by the password alone, and are ended.
    if (caller.must_enrol) await endSessionsWithoutFactor(tx, caller.person.id, caller.session_id)
    await recordForPerson(tx, call, caller.person, 'session.step_up', caller.session_id, { how })
    return [sessionCookie(context, token), clearCookie(COOKIES.challenge)]
  }

  /**
   * `work` uses up a code and does what the code allows, in one transaction. It returns undefined for a wrong code: then everything
   * is rolled back.
   */
  async function withCode<Result>(
    call: AnyCall,
    person_id: string,
    work: (tx: Tx) => Promise<Result | undefined>,
  ): Promise<Result> {
    const names = codeNames(person_id, call.address)
    await attempts.count(names, call.nowMs)
    const result = await db.transaction(async (tx) => {
      const done = await work(tx)
      if (done === undefined) throw codeFailed()
      return done
    })
    await attempts.giveBack(names)
    return result
  }

  async function assertPassword(call: AnyCall, { person }: SignedIn, password: string | undefined) {
    const names = codeNames(person.id, call.address)
    await attempts.count(names, call.nowMs)
    const stored = await selectPasswordHash(db, person.id)
    const isRight =
      password !== undefined &&
      (await attempts.compared(names, () => passwords.verify(stored?.password_hash, password)))
    if (!isRight) throw refuse('sign_in_failed', 'This is not your password. Check it and try again.')
    await attempts.giveBack(names)
  }

  /**
   * Who may set up a factor: somebody with a factor who has just used it; without one, somebody who knows the password or has just
   * signed in.
   */
  async function assertMayAddFactor(call: AnyCall, caller: SignedIn, password: string | undefined) {
    const { has_password, has_passkey, has_totp } = await selectFactors(db, caller.person.id)
    if (has_passkey || has_totp) {
      if ((caller.stepped_up_until_ms ?? 0) <= call.nowMs)
        throw refuse('step_up_required', 'Confirm with the second factor you have, then try again.')
    } else if (!has_password) {
      if (call.nowMs > caller.expires_at_ms - limits.absoluteMs + FRESH_MS)
        throw refuse(
          'sign_in_required',
          'You signed in a while ago. Sign in again to set up a second factor.',
        )
    }
    if (has_password && (password !== undefined || !(has_passkey || has_totp)))
      await assertPassword(call, caller, password)
  }

  return { steppedUp, withCode, assertPassword, assertMayAddFactor }
}

/** The ceremony of this browser that a passkey answers. */
export function challengeOf(call: AnyCall): string {
  const challenge = readCookie(call.cookie, COOKIES.challenge)
  if (challenge === undefined)
    throw refuse(
      'sign_in_failed',
      'Too much time has passed since the browser asked for a passkey. Begin again.',
    )
  return challenge
}
