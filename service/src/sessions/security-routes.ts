import type { identityRoutes } from '@shopwire/contract/dashboard'
import { PASSKEY_NAME_LENGTH_MAX } from '@shopwire/contract/dashboard'
import { assertPlain } from '../platform/plain-text.ts'
import { refuse } from '../platform/trouble.ts'
import { codeNames } from './attempts.ts'
import {
  type AnyCall,
  CHALLENGE_S,
  codeFailed,
  type IdentityContext,
  recordForPerson,
  requireCaller,
  sessionCookie,
  tellPerson,
} from './context.ts'
import { COOKIES, clearCookie, readCookie, setCookie } from './cookies.ts'
import { deviceOf } from './device.ts'
import type { IdentityArea } from './identity-call.ts'
import {
  assertPersonName,
  deletePasskey,
  markPasskeyUsed,
  removeTotp,
  renamePasskey,
  type StoredPasskey,
  selectAccountsOf,
  selectFactors,
  selectPasskeys,
  selectRecoveryCodes,
  updatePasswordHash,
  updatePersonName,
  updateRecoveryCodes,
} from './people.ts'
import { newRecoveryCodes, sealCodes, tidyRecoveryCode, unsealCodes } from './recovery-codes.ts'
import {
  endSession,
  endSessionsOf,
  endSessionsWithoutFactor,
  listSessions,
  rotateSession,
  setSessionAccount,
} from './session-store.ts'
import type { SignedIn } from './signed-in.ts'
import { burnCode } from './used-codes.ts'

type Routes = typeof identityRoutes
type Handled =
  | 'stepUpWithTotp'
  | 'stepUpWithRecoveryCode'
  | 'beginPasskeyStepUp'
  | 'stepUpWithPasskey'
  | 'switchAccount'
  | 'getSecurity'
  | 'beginTotp'
  | 'confirmTotp'
  | 'removeTotp'
  | 'beginPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
  | 'renewRecoveryCodes'
  | 'endSession'
  | 'changePassword'
  | 'renamePerson'

const DONE = { ok: true } as const
/** Somebody without password and factor has just come by an invitation or from their company. */
const FRESH_MS = 10 * 60_000

/** A person's own sign-in: the second factor, passkeys, the password, sessions. */
export function securityRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, authentication, attempts, passwords, key, limits, secret } = context

  /** A fresh factor: the session goes on under a new token, so the old one cannot be used for what is allowed now. */
  async function steppedUp(call: AnyCall, caller: SignedIn, how: string): Promise<readonly string[]> {
    const token = await rotateSession(db, caller.session_id, { isSteppedUp: true }, call.nowMs)
    if (token === undefined) throw refuse('sign_in_required', 'This session has ended. Sign in.')
    // The first factor. Who else came in by the password alone has not given it.
    if (caller.must_enrol) await endSessionsWithoutFactor(db, caller.person.id, caller.session_id)
    await recordForPerson(context, call, caller.person, 'session.step_up', caller.session_id, { how })
    return [sessionCookie(context, token), clearCookie(COOKIES.challenge)]
  }

  async function checkCode(
    call: AnyCall,
    { person }: SignedIn,
    isRight: () => Promise<boolean>,
  ): Promise<void> {
    const names = codeNames(person.id)
    await attempts.assertAllowed(names, call.nowMs)
    if (await isRight()) return
    await attempts.recordFailure(names, call.nowMs)
    throw codeFailed()
  }

  /** Who may set up a factor: with one, who has just used it; without, who knows the password or has just come in. */
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

  async function assertPassword(call: AnyCall, { person }: SignedIn, password: string | undefined) {
    const names = codeNames(person.id)
    await attempts.assertAllowed(names, call.nowMs)
    if (password !== undefined && (await authentication.isPasswordOf(person.id, password))) return
    await attempts.recordFailure(names, call.nowMs)
    throw refuse('sign_in_failed', 'This is not your password. Check it and try again.')
  }

  const challengeOf = (call: AnyCall) => {
    const challenge = readCookie(call.cookie, COOKIES.challenge)
    if (challenge === undefined)
      throw refuse(
        'sign_in_failed',
        'Too much time has passed since the browser asked for a passkey. Begin again.',
      )
    return challenge
  }

  return {
    async stepUpWithTotp(call) {
      const caller = await requireCaller(context, call)
      const { has_totp } = await selectFactors(db, caller.person.id)
      if (!has_totp)
        throw refuse('conflict', 'You have no authenticator app. Set one up, or confirm with a passkey.')
      await checkCode(call, caller, async () => {
        const isNew = await burnCode(db, key, caller.person.id, call.body.code, call.nowMs)
        return isNew && authentication.isTotpOf(caller.person.id, call.body.code)
      })
      return { reply: DONE, setCookie: await steppedUp(call, caller, 'authenticator app') }
    },

    async stepUpWithRecoveryCode(call) {
      const caller = await requireCaller(context, call)
      await checkCode(call, caller, () =>
        authentication.isRecoveryCodeOf(caller.person.id, tidyRecoveryCode(call.body.code)),
      )
      await tellPerson(context, call, caller.person, 'A recovery code was used in your session.')
      return { reply: DONE, setCookie: await steppedUp(call, caller, 'recovery code') }
    },

    async beginPasskeyStepUp(call) {
      const { person } = await requireCaller(context, call)
      const { options, challenge } = await authentication.beginPasskey(person.id)
      return { reply: options, setCookie: [setCookie(COOKIES.challenge, challenge, CHALLENGE_S)] }
    },

    async stepUpWithPasskey(call) {
      const caller = await requireCaller(context, call)
      const response = call.body.response as { id?: unknown }
      await checkCode(call, caller, async () => {
        // Another person's passkey is a valid passkey, and no factor of this one.
        return (await authentication.finishPasskey(challengeOf(call), response)) === caller.person.id
      })
      await markPasskeyUsed(db, String(response.id), call.nowMs)
      return { reply: DONE, setCookie: await steppedUp(call, caller, 'passkey') }
    },

    async switchAccount(call) {
      const caller = await requireCaller(context, call)
      const accounts = await selectAccountsOf(db, caller.person.id)
      if (!accounts.some(({ id }) => id === call.body.account_id))
        throw refuse('not_found', 'You are in no such account. Reload the page for the list of yours.')
      await setSessionAccount(db, caller.session_id, call.body.account_id)
      return { reply: DONE }
    },

    async getSecurity(call) {
      const { person, session_id } = await requireCaller(context, call)
      const [factors, passkeys, sessions, codes] = await Promise.all([
        selectFactors(db, person.id),
        selectPasskeys(db, person.id),
        listSessions(db, person.id, limits, call.nowMs),
        selectRecoveryCodes(db, person.id),
      ])
      const left = codes
        ? (JSON.parse(await unsealCodes(secret, codes.recovery_codes_encrypted)) as string[])
        : []
      return {
        reply: {
          has_password: factors.has_password,
          has_totp: factors.has_totp,
          recovery_codes_left: left.length,
          passkeys: passkeys.map(shownPasskey),
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

    async beginTotp(call) {
      const caller = await requireCaller(context, call)
      if (caller.person.kind === 'operator')
        throw refuse('conflict', 'Operators sign in by passkey alone. Add a second passkey instead.')
      await assertMayAddFactor(call, caller, call.body.password)
      const { has_password, has_totp } = await selectFactors(db, caller.person.id)
      if (has_totp)
        throw refuse('conflict', 'You have an authenticator app. Remove it first, then set up another.')
      // Better Auth asks for the password of everybody who has one.
      if (has_password) await assertPassword(call, caller, call.body.password)
      const begun = await authentication.beginTotp(caller.person.id, call.body.password)
      if (!begun) throw refuse('conflict', 'The authenticator app could not be set up. Try again.')
      return { reply: { otpauth_uri: begun.otpauth_uri, secret: begun.secret } }
    },

    async confirmTotp(call) {
      const caller = await requireCaller(context, call)
      const { has_totp } = await selectFactors(db, caller.person.id)
      if (has_totp) throw refuse('conflict', 'Your authenticator app is confirmed already.')
      await checkCode(call, caller, async () => {
        const isNew = await burnCode(db, key, caller.person.id, call.body.code, call.nowMs)
        return isNew && authentication.isTotpOf(caller.person.id, call.body.code)
      })
      const recovery_codes = newRecoveryCodes()
      await updateRecoveryCodes(db, caller.person.id, await sealCodes(secret, JSON.stringify(recovery_codes)))
      const cookies = await steppedUp(call, caller, 'authenticator app')
      await recordForPerson(context, call, caller.person, 'totp.add', caller.person.id)
      await tellPerson(context, call, caller.person, 'An authenticator app was set up for your sign-in.')
      return { reply: { recovery_codes }, setCookie: cookies }
    },

    async removeTotp(call) {
      const { person } = await requireCaller(context, call)
      await db.transaction((tx) => removeTotp(tx, person.id, call.nowMs))
      await recordForPerson(context, call, person, 'totp.remove', person.id)
      await tellPerson(context, call, person, 'Your authenticator app and its recovery codes were removed.')
      return { reply: DONE }
    },

    async beginPasskey(call) {
      const caller = await requireCaller(context, call)
      await assertMayAddFactor(call, caller, call.body.password)
      const { options, challenge } = await authentication.beginNewPasskey(caller.person.id)
      return { reply: options, setCookie: [setCookie(COOKIES.challenge, challenge, CHALLENGE_S)] }
    },

    async addPasskey(call) {
      const caller = await requireCaller(context, call)
      assertPlain('A name', call.body.name, PASSKEY_NAME_LENGTH_MAX)
      const id = await authentication.finishNewPasskey(
        caller.person.id,
        challengeOf(call),
        call.body.response,
        call.body.name,
      )
      const cookies = await steppedUp(call, caller, 'new passkey')
      await recordForPerson(context, call, caller.person, 'passkey.add', id, { name: call.body.name })
      await tellPerson(context, call, caller.person, 'A passkey was added to your sign-in.')
      const added = (await selectPasskeys(db, caller.person.id)).find((one) => one.id === id)
      if (!added) throw refuse('conflict', 'The passkey was removed meanwhile. Reload the page.')
      return { reply: shownPasskey(added), setCookie: cookies }
    },

    async renamePasskey(call) {
      const { person } = await requireCaller(context, call)
      assertPlain('A name', call.body.name, PASSKEY_NAME_LENGTH_MAX)
      if ((await renamePasskey(db, person.id, call.body.id, call.body.name)) === 0) throw noPasskey()
      await recordForPerson(context, call, person, 'passkey.rename', call.body.id, { name: call.body.name })
      return { reply: DONE }
    },

    async removePasskey(call) {
      const { person } = await requireCaller(context, call)
      const passkeys = await selectPasskeys(db, person.id)
      if (!passkeys.some(({ id }) => id === call.body.id)) throw noPasskey()
      if (person.kind === 'operator' && passkeys.length === 1)
        throw refuse('conflict', 'An operator signs in by passkey alone. Add another passkey first.')
      await deletePasskey(db, person.id, call.body.id)
      await recordForPerson(context, call, person, 'passkey.remove', call.body.id)
      await tellPerson(context, call, person, 'A passkey was removed from your sign-in.')
      return { reply: DONE }
    },

    async renewRecoveryCodes(call) {
      const { person } = await requireCaller(context, call)
      const recovery_codes = newRecoveryCodes()
      const sealed = await sealCodes(secret, JSON.stringify(recovery_codes))
      if ((await updateRecoveryCodes(db, person.id, sealed)) === 0)
        throw refuse(
          'conflict',
          'Recovery codes stand in for an authenticator app, and you have none. Set one up first.',
        )
      await recordForPerson(context, call, person, 'recovery_codes.renew', person.id)
      await tellPerson(context, call, person, 'New recovery codes were made. The old ones no longer work.')
      return { reply: { recovery_codes } }
    },

    async endSession(call) {
      const { person, session_id } = await requireCaller(context, call)
      if ((await endSession(db, person.id, call.body.id)) === 0)
        throw refuse('not_found', 'This session has ended already. Reload the list.')
      await recordForPerson(context, call, person, 'session.end', call.body.id)
      return {
        reply: DONE,
        ...(call.body.id === session_id && { setCookie: [clearCookie(COOKIES.session)] }),
      }
    },

    async changePassword(call) {
      const caller = await requireCaller(context, call)
      await assertPassword(call, caller, call.body.current)
      await updatePasswordHash(db, caller.person.id, await passwords.hash(call.body.new), call.nowMs)
      // Whoever else knew the old one is out; this browser stays, under a new token.
      await endSessionsOf(db, caller.person.id, caller.session_id)
      const token = await rotateSession(db, caller.session_id, { isSteppedUp: false }, call.nowMs)
      await recordForPerson(context, call, caller.person, 'password.change', caller.person.id)
      await tellPerson(
        context,
        call,
        caller.person,
        'Your password was changed, and your other sessions have ended.',
      )
      return { reply: DONE, ...(token && { setCookie: [sessionCookie(context, token)] }) }
    },

    async renamePerson(call) {
      const { person } = await requireCaller(context, call)
      assertPersonName(call.body.name)
      await updatePersonName(db, person.id, call.body.name, call.nowMs)
      await recordForPerson(context, call, person, 'person.rename', person.id, { name: call.body.name })
      return { reply: DONE }
    },
  }
}

const noPasskey = () => refuse('not_found', 'You have no such passkey. Reload the list.')

function shownPasskey({ id, name, is_synced, created_at, last_used_at }: StoredPasskey) {
  return {
    id,
    name: name ?? 'Passkey',
    is_synced,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
