import type { identityRoutes } from '@shopwire/contract/dashboard'
import { PASSKEY_NAME_LENGTH_MAX } from '@shopwire/contract/dashboard'
import { assertPlain } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import { type IdentityContext, recordForPerson, requireCaller, tellPerson } from '../context.ts'
import { COOKIES, setCookie } from '../cookies.ts'
import { challengeOf, factorChecks } from '../factor-checks.ts'
import type { IdentityArea } from '../identity-call.ts'
import { secondsValid } from '../one-time-values.ts'
import { deletePasskey, renamePasskey, type StoredPasskey, selectPasskeys } from '../passkeys.ts'
import { removeTotp, selectFactors } from '../people.ts'

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

/** Setting up and removing second factors. Each change is one transaction with its audit row and its mail. */
export function factorRoutes(context: IdentityContext): Pick<IdentityArea<Routes>, Handled> {
  const { db, apps, passkeys } = context
  const { steppedUp, withCode, assertPassword, assertMayAddFactor } = factorChecks(context)

  return {
    async beginTotp(call) {
      const caller = await requireCaller(context, call)
      if (caller.person.kind === 'operator')
        throw refuse('conflict', 'Operators sign in by passkey alone. Add a second passkey instead.')
      await assertMayAddFactor(call, caller, call.body.password)
      const { has_password } = await selectFactors(db, caller.person.id)
      // From then on the app's codes follow the password, so a person with a passkey and a password has to enter the password
      // too. A password that was sent is checked above.
      if (has_password && call.body.password === undefined) await assertPassword(call, caller, undefined)
      const begun = await apps.begin(db, caller.person, call.nowMs)
      if (!begun)
        throw refuse('conflict', 'You have an authenticator app. Remove it first, then set up another.')
      return { reply: begun }
    },

    async confirmTotp(call) {
      const caller = await requireCaller(context, call)
      const { has_totp } = await selectFactors(db, caller.person.id)
      if (has_totp) throw refuse('conflict', 'Your authenticator app is confirmed already.')
      return withCode(call, caller.person.id, async (tx) => {
        const recovery_codes = await apps.confirm(tx, caller.person.id, call.body.code, call.nowMs)
        if (!recovery_codes) return undefined
        const setCookie = await steppedUp(tx, call, caller, 'authenticator app')
        await recordForPerson(tx, call, caller.person, 'totp.add', caller.person.id)
        await tellPerson(
          tx,
          context,
          call,
          caller.person,
          'An authenticator app was set up for your sign-in.',
        )
        return { reply: { recovery_codes }, setCookie }
      })
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
      const { options, token } = await passkeys.beginNew(db, caller.person, call.nowMs)
      return {
        reply: options,
        setCookie: [setCookie(COOKIES.challenge, token, secondsValid('new-passkey'))],
      }
    },

    async addPasskey(call) {
      const caller = await requireCaller(context, call)
      const { name, response } = call.body
      assertPlain('A name', name, PASSKEY_NAME_LENGTH_MAX)
      const token = challengeOf(call)
      const { person } = caller
      const answer = await db.transaction(async (tx) => {
        const added = await passkeys.finishNew(tx, person.id, token, response, name, call.nowMs)
        if (!added) return undefined
        const setCookie = await steppedUp(tx, call, caller, 'new passkey')
        await recordForPerson(tx, call, person, 'passkey.add', added.id, { name })
        await tellPerson(tx, context, call, person, 'A passkey was added to your sign-in.')
        return { reply: shownPasskey(added), setCookie }
      })
      if (!answer)
        throw refuse(
          'invalid_request',
          'The passkey could not be checked, or too much time has passed. Begin again.',
        )
      return answer
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
      const own = await selectPasskeys(db, person.id)
      if (!own.some((one) => one.id === id)) throw noPasskey()
      if (person.kind === 'operator' && own.length === 1)
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
      const recovery_codes = await db.transaction(async (tx) => {
        const codes = await apps.renewRecoveryCodes(tx, person.id)
        if (!codes)
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
        return codes
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
