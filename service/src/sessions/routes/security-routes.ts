import type { identityRoutes } from '@shopwire/contract/dashboard'
import { refuse } from '../../platform/trouble.ts'
import {
  type IdentityContext,
  recordForPerson,
  requireCaller,
  sessionCookie,
  tellPerson,
} from '../context.ts'
import { COOKIES, clearCookie, setCookie } from '../cookies.ts'
import { deviceOf } from '../device.ts'
import { challengeOf, factorChecks } from '../factor-checks.ts'
import type { IdentityArea } from '../identity-call.ts'
import { forgetPending, secondsValid } from '../one-time-values.ts'
import { selectPasskeys } from '../passkeys.ts'
import {
  assertPersonName,
  selectAccountsOf,
  selectFactors,
  updatePasswordHash,
  updatePersonName,
} from '../people.ts'
import {
  endSession,
  endSessionsOf,
  listSessions,
  rotateSession,
  setSessionAccount,
} from '../session-store.ts'
import { shownPasskey } from './factor-routes.ts'

type Routes = typeof identityRoutes
type Handled =
  | 'stepUpWithTotp'
  | 'stepUpWithRecoveryCode'
  | 'beginPasskeyStepUp'
  | 'stepUpWithPasskey'
  | 'switchAccount'
  | 'getSecurity'
  | 'endSession'
  | 'changePassword'
  | 'renamePerson'

const DONE = { ok: true } as const

const passkeyFailed = () =>
  refuse('sign_in_failed', 'This passkey is not yours, or too much time has passed. Try again.')

/** A person's own sign-in: stepping up, sessions, the password, the name. */
export function securityRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, apps, passkeys, passwords, limits } = context
  const { steppedUp, withCode, assertPassword } = factorChecks(context)

  return {
    async stepUpWithTotp(call) {
      const caller = await requireCaller(context, call)
      const { has_totp } = await selectFactors(db, caller.person.id)
      if (!has_totp)
        throw refuse('conflict', 'You have no authenticator app. Set one up, or confirm with a passkey.')
      const setCookie = await withCode(call, caller.person.id, async (tx) =>
        (await apps.takeCode(tx, caller.person.id, call.body.code))
          ? steppedUp(tx, call, caller, 'authenticator app')
          : undefined,
      )
      return { reply: DONE, setCookie }
    },

    async stepUpWithRecoveryCode(call) {
      const caller = await requireCaller(context, call)
      const setCookie = await withCode(call, caller.person.id, async (tx) => {
        if (!(await apps.takeRecoveryCode(tx, caller.person.id, call.body.code))) return undefined
        const renewed = await steppedUp(tx, call, caller, 'recovery code')
        await tellPerson(tx, context, call, caller.person, 'A recovery code was used in your session.')
        return renewed
      })
      return { reply: DONE, setCookie }
    },

    async beginPasskeyStepUp(call) {
      const { person } = await requireCaller(context, call)
      const { options, token } = await passkeys.begin(db, person.id, call.nowMs)
      return {
        reply: options,
        setCookie: [setCookie(COOKIES.challenge, token, secondsValid('passkey-step-up'))],
      }
    },

    async stepUpWithPasskey(call) {
      const caller = await requireCaller(context, call)
      const token = challengeOf(call)
      // A passkey cannot be guessed, so attempts are not counted: wrong codes entered by somebody who has the password do not
      // lock it.
      const setCookie = await db.transaction(async (tx) =>
        (await passkeys.finish(tx, caller.person.id, token, call.body.response, call.nowMs)) === undefined
          ? undefined
          : steppedUp(tx, call, caller, 'passkey'),
      )
      if (!setCookie) throw passkeyFailed()
      return { reply: DONE, setCookie }
    },

    async switchAccount(call) {
      const caller = await requireCaller(context, call)
      const accounts = await selectAccountsOf(db, caller.person.id)
      if (!accounts.some(({ id }) => id === call.body.account_id))
        throw refuse(
          'not_found',
          'You are not a member of that account. Reload the page for the list of your accounts.',
        )
      await setSessionAccount(db, caller.session_id, call.body.account_id)
      return { reply: DONE }
    },

    async getSecurity(call) {
      const { person, session_id } = await requireCaller(context, call)
      const [factors, own, sessions, recovery_codes_left] = await Promise.all([
        selectFactors(db, person.id),
        selectPasskeys(db, person.id),
        listSessions(db, person.id, limits, call.nowMs),
        apps.countRecoveryCodes(db, person.id),
      ])
      return {
        reply: {
          has_password: factors.has_password,
          has_totp: factors.has_totp,
          recovery_codes_left,
          passkeys: own.map(shownPasskey),
          sessions: sessions.map(({ user_agent, created_at, last_seen_at, ...session }) => ({
            ...session,
            is_current: session.id === session_id,
            device: deviceOf(user_agent),
            created_at: created_at.toISOString(),
            last_seen_at: last_seen_at.toISOString(),
          })),
          company_sign_in: context.company?.name ?? null,
        },
      }
    },

    async endSession(call) {
      const { person, session_id } = await requireCaller(context, call)
      const { id } = call.body
      await db.transaction(async (tx) => {
        await recordForPerson(tx, call, person, 'session.end', id)
        if ((await endSession(tx, person.id, id)) === 0)
          throw refuse('not_found', 'This session has ended already. Reload the list.')
      })
      return { reply: DONE, ...(id === session_id && { setCookie: [clearCookie(COOKIES.session)] }) }
    },

    async changePassword(call) {
      const caller = await requireCaller(context, call)
      const { person, session_id } = caller
      await assertPassword(call, caller, call.body.current)
      const hash = await passwords.hash(call.body.new)
      const token = await db.transaction(async (tx) => {
        await updatePasswordHash(tx, person.id, hash, call.nowMs)
        await forgetPending(tx, person.id)
        // Anyone else who knew the old password is signed out; this browser stays, under a new token.
        await endSessionsOf(tx, person.id, session_id)
        const renewed = await rotateSession(tx, session_id, { isSteppedUp: false }, call.nowMs)
        await recordForPerson(tx, call, person, 'password.change', person.id)
        await tellPerson(
          tx,
          context,
          call,
          person,
          'Your password was changed, and your other sessions have ended.',
        )
        return renewed
      })
      return { reply: DONE, ...(token && { setCookie: [sessionCookie(context, token)] }) }
    },

    async renamePerson(call) {
      const { person } = await requireCaller(context, call)
      const { name } = call.body
      assertPersonName(name)
      await db.transaction(async (tx) => {
        await updatePersonName(tx, person.id, name, call.nowMs)
        await recordForPerson(tx, call, person, 'person.rename', person.id, { name }, { name: person.name })
      })
      return { reply: DONE }
    },
  }
}
