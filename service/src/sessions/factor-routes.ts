import type { identityRoutes } from '@shopwire/contract/dashboard'
import { PASSKEY_NAME_LENGTH_MAX } from '@shopwire/contract/dashboard'
import { assertPlain } from '../platform/plain-text.ts'
import { refuse } from '../platform/trouble.ts'
import { CHALLENGE_S, type IdentityContext, recordForPerson, requireCaller, tellPerson } from './context.ts'
import { COOKIES, setCookie } from './cookies.ts'
import { challengeOf, factorChecks } from './factor-checks.ts'
import type { IdentityArea } from './identity-call.ts'
import {
  deletePasskey,
  removeTotp,
  renamePasskey,
  type StoredPasskey,
  selectFactors,
  selectPasskeys,
  updateRecoveryCodes,
} from './people.ts'
import { newRecoveryCodes, sealCodes } from './recovery-codes.ts'

type Routes = typeof identityRoutes
type Handled =
  | 'beginTotp'
  | 'confirmTotp'
  | 'removeTotp'
  | 'beginPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
  | 'renewRecoveryCodes'

const DONE = { ok: true } as const

/**
 * Setting up and removing second factors. Each change is one transaction with its audit row and its mail. Better Auth stores a new passkey
 * and the confirmation of an app on connections of its own, so there the transaction follows at once.
 */
export function factorRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, authentication, secret } = context
  const { steppedUp, checkTotp, assertPassword, assertMayAddFactor } = factorChecks(context)

  return {
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
      await checkTotp(call, caller, call.body.code)
      const recovery_codes = newRecoveryCodes()
      const sealed = await sealCodes(secret, JSON.stringify(recovery_codes))
      const cookies = await db.transaction(async (tx) => {
        await updateRecoveryCodes(tx, caller.person.id, sealed)
        const renewed = await steppedUp(tx, call, caller, 'authenticator app')
        await recordForPerson(tx, call, caller.person, 'totp.add', caller.person.id)
        await tellPerson(
          tx,
          context,
          call,
          caller.person,
          'An authenticator app was set up for your sign-in.',
        )
        return renewed
      })
      return { reply: { recovery_codes }, setCookie: cookies }
    },

    async removeTotp(call) {
      const { person } = await requireCaller(context, call)
      await db.transaction(async (tx) => {
        await removeTotp(tx, person.id, call.nowMs)
        await recordForPerson(tx, call, person, 'totp.remove', person.id)
        await tellPerson(
          tx,
          context,
          call,
          person,
          'Your authenticator app and its recovery codes were removed.',
        )
      })
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
      const { name } = call.body
      assertPlain('A name', name, PASSKEY_NAME_LENGTH_MAX)
      const id = await authentication.finishNewPasskey(
        caller.person.id,
        challengeOf(call),
        call.body.response,
        name,
      )
      const cookies = await db.transaction(async (tx) => {
        const renewed = await steppedUp(tx, call, caller, 'new passkey')
        await recordForPerson(tx, call, caller.person, 'passkey.add', id, { name })
        await tellPerson(tx, context, call, caller.person, 'A passkey was added to your sign-in.')
        return renewed
      })
      const added = (await selectPasskeys(db, caller.person.id)).find((one) => one.id === id)
      if (!added) throw refuse('conflict', 'The passkey was removed meanwhile. Reload the page.')
      return { reply: shownPasskey(added), setCookie: cookies }
    },

    async renamePasskey(call) {
      const { person } = await requireCaller(context, call)
      const { id, name } = call.body
      assertPlain('A name', name, PASSKEY_NAME_LENGTH_MAX)
      await db.transaction(async (tx) => {
        const renamed = await renamePasskey(tx, person.id, id, name)
        if (!renamed) throw noPasskey()
        await recordForPerson(tx, call, person, 'passkey.rename', id, { name }, { name: renamed.before })
      })
      return { reply: DONE }
    },

    async removePasskey(call) {
      const { person } = await requireCaller(context, call)
      const { id } = call.body
      const passkeys = await selectPasskeys(db, person.id)
      if (!passkeys.some((one) => one.id === id)) throw noPasskey()
      if (person.kind === 'operator' && passkeys.length === 1)
        throw refuse('conflict', 'An operator signs in by passkey alone. Add another passkey first.')
      await db.transaction(async (tx) => {
        const removed = await deletePasskey(tx, person.id, id)
        if (!removed) throw noPasskey()
        await recordForPerson(tx, call, person, 'passkey.remove', id, undefined, removed)
        await tellPerson(tx, context, call, person, 'A passkey was removed from your sign-in.')
      })
      return { reply: DONE }
    },

    async renewRecoveryCodes(call) {
      const { person } = await requireCaller(context, call)
      const recovery_codes = newRecoveryCodes()
      const sealed = await sealCodes(secret, JSON.stringify(recovery_codes))
      await db.transaction(async (tx) => {
        if ((await updateRecoveryCodes(tx, person.id, sealed)) === 0)
          throw refuse(
            'conflict',
            'Recovery codes stand in for an authenticator app, and you have none. Set one up first.',
          )
        await recordForPerson(tx, call, person, 'recovery_codes.renew', person.id)
        await tellPerson(
          tx,
          context,
          call,
          person,
          'New recovery codes were made. The old ones no longer work.',
        )
      })
      return { reply: { recovery_codes } }
    },
  }
}

const noPasskey = () => refuse('not_found', 'You have no such passkey. Reload the list.')

export function shownPasskey({ id, name, is_synced, created_at, last_used_at }: StoredPasskey) {
  return {
    id,
    name: name ?? 'Passkey',
    is_synced,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
