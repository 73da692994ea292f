import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { COSEALG, decodeAttestationObject, isoBase64URL } from '@simplewebauthn/server/helpers'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { issueToken, takeToken } from './one-time-values.ts'
import type { Person } from './people.ts'

/** Sent to the browser at the start of a WebAuthn ceremony. */
export interface CeremonyStart {
  readonly options: object
  /** For a cookie: identifies the challenge, which is stored here. */
  readonly token: string
}

export interface StoredPasskey {
  readonly id: string
  readonly name: string | null
  readonly is_synced: boolean
  readonly created_at: Date
  readonly last_used_at: Date | null
}

export type Passkeys = ReturnType<typeof createPasskeys>

const WAIT_MS = 120_000
/** At most 1,023 bytes in base64url. */
const CREDENTIAL_ID = /^[A-Za-z0-9_-]{1,1364}$/
/** Named here, because the library's own list depends on what the version of Node can verify. */
const ALGORITHMS = [COSEALG.EdDSA, COSEALG.ES256, COSEALG.RS256]
/** All that WebAuthn defines today. A browser could send any text. */
const TRANSPORTS: readonly string[] = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/**
 * The two ceremonies of WebAuthn. A passkey counts as both factors, so it must have verified the person each time. The first answer
 * uses the challenge up, right or wrong: callers of `finish` commit the transaction even when the result is undefined.
 */
export function createPasskeys(origin: string) {
  const rpID = new URL(origin).hostname

  return {
    /** For an unknown person, or for one person whose passkeys are then listed. */
    async begin(db: Queryable, person_id: string | null, nowMs: number): Promise<CeremonyStart> {
      const own = person_id === null ? [] : await selectDescriptors(db, person_id)
      const options = await generateAuthenticationOptions({
        rpID,
        userVerification: 'required',
        timeout: WAIT_MS,
        ...(own.length > 0 && { allowCredentials: own }),
      })
      const about = { person_id, value: options.challenge }
      return { options, token: await issueToken(db, kindFor(person_id), about, nowMs) }
    },

    /** The owner of the passkey that answered. `person_id` as at the start. */
    async finish(
      tx: Tx,
      person_id: string | null,
      token: string,
      answer: object,
      nowMs: number,
    ): Promise<string | undefined> {
      const asked = await takeToken(tx, kindFor(person_id), token, nowMs)
      const response = answer as AuthenticationResponseJSON
      if (!asked || asked.value === null || asked.person_id !== person_id) return undefined
      const isId = typeof response.id === 'string' && CREDENTIAL_ID.test(response.id)
      const passkey = isId ? await lockPasskey(tx, response.id) : undefined
      if (!passkey || (person_id !== null && passkey.person_id !== person_id)) return undefined
      const checked = await orUndefined(
        verifyAuthenticationResponse({
          response,
          expectedChallenge: asked.value,
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
          credential: {
            id: response.id,
            publicKey: new Uint8Array(passkey.public_key),
            counter: passkey.counter,
          },
        }),
      )
      if (!checked?.verified || !isHandleOf(passkey.person_id, response)) return undefined
      const { newCounter, credentialBackedUp } = checked.authenticationInfo
      await tx.run(sql`
        update passkeys
           set counter = ${newCounter}, is_synced = ${credentialBackedUp}, last_used_at = ${new Date(nowMs)}
         where id = ${passkey.id}`)
      return passkey.person_id
    },

    async beginNew(
      db: Queryable,
      person: Pick<Person, 'id' | 'name' | 'email'>,
      nowMs: number,
    ): Promise<CeremonyStart> {
      const options = await generateRegistrationOptions({
        rpID,
        rpName: 'Shopwire',
        // The same for all passkeys of a person, so that a device replaces one that was removed here.
        userID: new TextEncoder().encode(person.id),
        userName: person.email,
        userDisplayName: person.name,
        timeout: WAIT_MS,
        attestationType: 'none',
        excludeCredentials: await selectDescriptors(db, person.id),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        supportedAlgorithmIDs: ALGORITHMS,
      })
      const about = { person_id: person.id, value: options.challenge }
      return { options, token: await issueToken(db, 'new-passkey', about, nowMs) }
    },

    /** Undefined: the answer is wrong or late, or this passkey is registered already. */
    async finishNew(
      tx: Tx,
      person_id: string,
      token: string,
      answer: object,
      name: string,
      nowMs: number,
    ): Promise<StoredPasskey | undefined> {
      const asked = await takeToken(tx, 'new-passkey', token, nowMs)
      const response = answer as RegistrationResponseJSON
      if (!asked || asked.value === null || asked.person_id !== person_id || isCertified(response))
        return undefined
      const checked = await orUndefined(
        verifyRegistrationResponse({
          response,
          expectedChallenge: asked.value,
          expectedOrigin: origin,
          expectedRPID: rpID,
          requireUserVerification: true,
          supportedAlgorithmIDs: ALGORITHMS,
        }),
      )
      if (!checked?.verified) return undefined
      const { credential, credentialDeviceType, credentialBackedUp } = checked.registrationInfo
      return tx.maybeOne<StoredPasskey>(sql`
        insert into passkeys (id, person_id, name, credential_id, public_key, counter, device_type, is_synced, transports, created_at)
        values (${newId('passkey', nowMs)}, ${person_id}, ${name}, ${credential.id}, ${Buffer.from(credential.publicKey)},
                ${credential.counter}, ${credentialDeviceType}, ${credentialBackedUp}, ${knownTransports(credential.transports)},
                ${new Date(nowMs)})
            on conflict (credential_id) do nothing
        returning id, name, is_synced, created_at, last_used_at`)
    },
  }
}

/** A challenge of one ceremony cannot be used in the other. */
const kindFor = (person_id: string | null) => (person_id === null ? 'passkey-sign-in' : 'passkey-step-up')

/** What a browser sends may be wrong or malformed in any way, and the library fails with plain errors for all of them. */
const orUndefined = <Result>(work: Promise<Result>) => work.catch(() => undefined)

/**
 * Whether an answer contains its maker's certificates, which we never request. To check them the library would fetch revocation
 * lists, from addresses that the certificates name. An answer that cannot be read counts as well.
 */
function isCertified(response: RegistrationResponseJSON): boolean {
  try {
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.response.attestationObject))
    const format = attestation.get('fmt')
    if (format === 'none') return false
    return format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined
  } catch {
    return true
  }
}

/** A device that names the owner of the passkey must name the person who registered it here. */
function isHandleOf(person_id: string, { response }: AuthenticationResponseJSON): boolean {
  const { userHandle } = response
  return userHandle == null || Buffer.from(userHandle, 'base64url').toString() === person_id
}

const knownTransports = (given: unknown) =>
  Array.isArray(given) ? TRANSPORTS.filter((one) => given.includes(one)) : []

async function selectDescriptors(db: Queryable, person_id: string) {
  const rows = await db.many<{ credential_id: string; transports: AuthenticatorTransport[] }>(sql`
    select credential_id, transports
      from passkeys
     where person_id = ${person_id}
     order by created_at, id`)
  return rows.map(({ credential_id, transports }) => ({ id: credential_id, transports }))
}

/** Two answers of one passkey are checked in sequence, each against the counter that the previous one left. */
const lockPasskey = (tx: Tx, credential_id: string) =>
  tx.maybeOne<{ id: string; person_id: string; public_key: Buffer; counter: number }>(sql`
    select id, person_id, public_key, counter
      from passkeys
     where credential_id = ${credential_id}
       for no key update`)

export const selectPasskeys = (db: Queryable, person_id: string) =>
  db.many<StoredPasskey>(sql`
    select id, name, is_synced, created_at, last_used_at
      from passkeys
     where person_id = ${person_id}
     order by created_at, id`)

/** Undefined: this person has no such passkey. */
export const renamePasskey = (tx: Queryable, person_id: string, id: string, name: string) =>
  tx.maybeOne<{ before: string | null }>(sql`
    update passkeys k
       set name = ${name}
      from (select id, name from passkeys where id = ${id} and person_id = ${person_id} for no key update) old
     where k.id = old.id
    returning old.name as before`)

export const deletePasskey = (tx: Queryable, person_id: string, id: string) =>
  tx.maybeOne<{ name: string | null }>(sql`
    delete from passkeys
     where id = ${id}
       and person_id = ${person_id}
    returning name`)
