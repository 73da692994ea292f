import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { systemClock } from '../platform/clock.ts'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { newId } from '../platform/text/ids.ts'
import type { Person } from './people.ts'

export type AuthenticatorApps = ReturnType<typeof createAuthenticatorApps>

const SECRET_BYTES = 20
const STEP_S = 30
/** Clocks differ, so the previous and the next code are accepted too. */
const STEPS_AROUND = 1
const CODES = 10
const HALF = 5
/** Without letters that are easily mistaken for digits or for each other. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

/**
 * Authenticator apps, and the recovery codes that can replace one. Checking a code also uses it up, under a lock of the row: of two
 * requests with the same code only one gets true. The caller counts wrong codes (attempts.ts).
 */
export function createAuthenticatorApps(keyring: Keyring) {
  /** The codes exist only in the answer to the person who asked for them. */
  async function putRecoveryCodes(tx: Tx, person_id: string, codes: readonly string[]): Promise<boolean> {
    const sealed = await keyring.seal(JSON.stringify(codes), bindingOf('recovery_codes', person_id))
    const count = await tx.run(sql`
      update authenticator_apps
         set recovery_codes_sealed = ${sealed.bytes}, recovery_codes_kek_id = ${sealed.kek_id}, is_confirmed = true
       where person_id = ${person_id}`)
    return count === 1
  }

  const openRecoveryCodes = async (person_id: string, sealed: Buffer) =>
    JSON.parse(await keyring.open(sealed, bindingOf('recovery_codes', person_id))) as string[]

  /** Uses up the code of an app. Also false for a code that is as old as the last one used, or older. */
  async function takeCodeOf(tx: Tx, person_id: string, app: LockedApp, code: string): Promise<boolean> {
    const secret = await keyring.open(app.secret_sealed, bindingOf('secret', person_id))
    const step = stepOfCode(secret, code)
    if (step === undefined || step <= app.last_used_step) return false
    await tx.run(sql`
      update authenticator_apps
         set last_used_step = ${step}
       where person_id = ${person_id}`)
    return true
  }

  return {
    /** The secret for an app, which is active only after its first code. Undefined: this person has an app. */
    async begin(db: Queryable, person: Pick<Person, 'id' | 'email'>, nowMs: number) {
      const secret = new Secret({ size: SECRET_BYTES }).base32
      const sealed = await keyring.seal(secret, bindingOf('secret', person.id))
      const count = await db.run(sql`
        insert into authenticator_apps as a (id, person_id, secret_sealed, secret_kek_id)
        values (${newId('totp', nowMs)}, ${person.id}, ${sealed.bytes}, ${sealed.kek_id})
            on conflict (person_id) do update
           set secret_sealed = excluded.secret_sealed, secret_kek_id = excluded.secret_kek_id, last_used_step = 0
         where not a.is_confirmed`)
      return count === 1 ? { secret, otpauth_uri: appOf(secret, person.email).toString() } : undefined
    },

    /** Returns the recovery codes. Undefined when the code is wrong: the caller then rolls the transaction back. */
    async confirm(tx: Tx, person_id: string, code: string, nowMs: number): Promise<string[] | undefined> {
      await tx.run(
        sql`update people set has_totp = true, updated_at = ${new Date(nowMs)} where id = ${person_id}`,
      )
      const app = await lockApp(tx, person_id)
      if (!app || app.is_confirmed || !(await takeCodeOf(tx, person_id, app, code))) return undefined
      const codes = newRecoveryCodes()
      await putRecoveryCodes(tx, person_id, codes)
      return codes
    },

    async takeCode(tx: Tx, person_id: string, code: string): Promise<boolean> {
      const app = await lockApp(tx, person_id)
      return app?.is_confirmed === true && takeCodeOf(tx, person_id, app, code)
    },

    async takeRecoveryCode(tx: Tx, person_id: string, code: string): Promise<boolean> {
      const app = await lockApp(tx, person_id)
      if (!app?.recovery_codes_sealed) return false
      const codes = await openRecoveryCodes(person_id, app.recovery_codes_sealed)
      const given = digestOf(tidyRecoveryCode(code))
      // Compares all of them, so that the time does not reveal which one matched.
      const left = codes.filter((one) => !timingSafeEqual(digestOf(one), given))
      return left.length < codes.length && putRecoveryCodes(tx, person_id, left)
    },

    /** Undefined: this person has no app. */
    async renewRecoveryCodes(tx: Tx, person_id: string): Promise<string[] | undefined> {
      const app = await lockApp(tx, person_id)
      if (!app?.is_confirmed) return undefined
      const codes = newRecoveryCodes()
      await putRecoveryCodes(tx, person_id, codes)
      return codes
    },

    async countRecoveryCodes(db: Queryable, person_id: string): Promise<number> {
      const app = await db.maybeOne<{ recovery_codes_sealed: Buffer }>(sql`
        select recovery_codes_sealed
          from authenticator_apps
         where person_id = ${person_id}
           and is_confirmed`)
      return app ? (await openRecoveryCodes(person_id, app.recovery_codes_sealed)).length : 0
    },
  }
}

interface LockedApp {
  readonly secret_sealed: Buffer
  readonly recovery_codes_sealed: Buffer | null
  readonly is_confirmed: boolean
  readonly last_used_step: number
}

const lockApp = (tx: Tx, person_id: string) =>
  tx.maybeOne<LockedApp>(sql`
    select secret_sealed, recovery_codes_sealed, is_confirmed, last_used_step
      from authenticator_apps
     where person_id = ${person_id}
       for no key update`)

type Column = 'secret' | 'recovery_codes'

/** For re-encryption. */
export const authenticatorSecrets: SealedColumn = sealedColumn('secret')
export const recoveryCodes: SealedColumn = sealedColumn('recovery_codes')

function sealedColumn(column: Column): SealedColumn {
  return {
    table: 'authenticator_apps',
    keys: ['id', 'person_id'],
    column,
    bindingOf: ({ person_id }) => bindingOf(column, String(person_id)),
  }
}

function bindingOf(column: Column, person_id: string): RowBinding {
  return { column: `authenticator_apps.${column}`, account_id: '', row_id: person_id }
}

const appOf = (secret: string, label: string) =>
  new TOTP({ issuer: 'Shopwire', label, secret: Secret.fromBase32(secret), period: STEP_S })

/** The 30-second step that a code belongs to. By the system's clock, because people's devices use no other. */
function stepOfCode(secret: string, code: string): number | undefined {
  const nowMs = systemClock.nowMs()
  const delta = appOf(secret, '').validate({ token: code, timestamp: nowMs, window: STEPS_AROUND })
  return delta === null ? undefined : Math.floor(nowMs / 1000 / STEP_S) + delta
}

/** Ten codes of 49 random bits each, each good for one sign-in without the authenticator app. */
function newRecoveryCodes(): string[] {
  const half = () => Array.from({ length: HALF }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return Array.from({ length: CODES }, () => `${half()}-${half()}`)
}

/** In the form in which it is stored, however it was typed. */
function tidyRecoveryCode(code: string): string {
  const letters = code.toLowerCase().replaceAll('-', '')
  return `${letters.slice(0, HALF)}-${letters.slice(HALF)}`
}

/** Makes texts of any length comparable in constant time. */
const digestOf = (text: string) => createHash('sha256').update(text).digest()
