import { createHmac, hkdfSync, type KeyObject } from 'node:crypto'
import { passkey } from '@better-auth/passkey'
import { betterAuth } from 'better-auth'
import { APIError } from 'better-auth/api'
import { twoFactor } from 'better-auth/plugins'
import { LRUCache } from 'lru-cache'
import type { Db } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { refuse } from '../platform/trouble.ts'
import { kyselyOn } from './kysely-dialect.ts'
import type { Passwords } from './passwords.ts'
import { newRecoveryCodes, sealCodes, unsealCodes } from './recovery-codes.ts'

export interface BetterAuthDeps {
  readonly db: Db
  readonly log: Log
  readonly passwords: Passwords
  /** The dashboard's own key; everything Better Auth signs or encrypts is under keys derived from it. */
  readonly key: KeyObject
  /** `https://dashboard.example.com`: where passkeys are valid. */
  readonly origin: string
  sendReset(person: { id: string; name: string; email: string }, token: string): Promise<void>
}

/** Cookies that Better Auth reads. None of them reaches a browser under this name. */
export const INNER_COOKIES = {
  session: 'inner.session_token',
  secondFactor: 'inner.two_factor',
  challenge: 'inner.challenge',
} as const

const RESET_VALID_S = 3_600
const SECOND_FACTOR_VALID_S = 600
const MOMENT_MS = 60_000
const SECRET_BYTES = 32
const ID_PREFIXES: Record<string, string> = {
  user: 'person',
  account: 'cred',
  twoFactor: 'totp',
  passkey: 'passkey',
}

export type BetterAuth = ReturnType<typeof createBetterAuth>

/**
 * Better Auth does what is easy to get wrong: passwords, WebAuthn ceremonies, authenticator apps, recovery codes, one-time values.
 * It keeps no sessions: what it calls a session lives in this process for the moment of one call, and its cookies stay here. The
 * sessions of the dashboard are in session-store.ts.
 */
export function createBetterAuth(deps: BetterAuthDeps) {
  const secret = Buffer.from(
    hkdfSync('sha256', deps.key, '', 'shopwire better-auth secret', SECRET_BYTES),
  ).toString('hex')
  const moments = new LRUCache<string, string>({ max: 10_000, ttl: MOMENT_MS })
  const auth = betterAuth({
    appName: 'Shopwire',
    baseURL: deps.origin,
    secret,
    database: { db: kyselyOn(deps.db), type: 'postgres', transaction: false },
    telemetry: { enabled: false },
    logger: {
      // Only that something failed: its arguments may hold what was sent.
      log: (level, message) => {
        if (level === 'error') deps.log.warn({ message }, 'better-auth reported an error')
      },
    },
    rateLimit: { enabled: false },
    // Sessions only; the one-time values go to the database, where every process finds them.
    secondaryStorage: {
      get: (key) => moments.get(key) ?? null,
      set(key, value) {
        if (!key.startsWith('verification:')) moments.set(key, value)
      },
      delete: (key) => void moments.delete(key),
      getAndDelete(key) {
        const value = moments.get(key) ?? null
        moments.delete(key)
        return value
      },
      increment: () => 1,
    },
    session: { storeSessionInDatabase: false, cookieCache: { enabled: false }, expiresIn: 60, freshAge: 60 },
    verification: {
      modelName: 'verifications',
      storeInDatabase: true,
      storeIdentifier: 'hashed',
      fields: { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
    },
    user: {
      modelName: 'people',
      fields: {
        emailVerified: 'email_verified',
        image: 'picture',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
      additionalFields: { kind: { type: 'string', required: false, input: false } },
    },
    account: {
      modelName: 'credentials',
      fields: {
        userId: 'person_id',
        accountId: 'subject',
        providerId: 'provider',
        password: 'password_hash',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
    emailAndPassword: {
      enabled: true,
      // People come by invitation.
      disableSignUp: true,
      minPasswordLength: 1,
      maxPasswordLength: 200,
      resetPasswordTokenExpiresIn: RESET_VALID_S,
      password: { hash: deps.passwords.hash, verify: deps.passwords.verify },
      sendResetPassword: ({ user, token }) => deps.sendReset(user, token),
    },
    plugins: [
      twoFactor({
        issuer: 'Shopwire',
        // Somebody without a password has a passkey, and steps up with it.
        allowPasswordless: true,
        twoFactorCookieMaxAge: SECOND_FACTOR_VALID_S,
        backupCodeOptions: {
          customBackupCodesGenerate: newRecoveryCodes,
          storeBackupCodes: {
            encrypt: (text) => sealCodes(secret, text),
            decrypt: (text) => unsealCodes(secret, text),
          },
        },
        schema: {
          user: { fields: { twoFactorEnabled: 'has_totp' } },
          twoFactor: {
            modelName: 'authenticator_apps',
            fields: {
              userId: 'person_id',
              secret: 'secret_encrypted',
              backupCodes: 'recovery_codes_encrypted',
              verified: 'is_confirmed',
              failedVerificationCount: 'failed_count',
              lockedUntil: 'locked_until',
            },
          },
        },
      }),
      passkey({
        rpID: new URL(deps.origin).hostname,
        rpName: 'Shopwire',
        origin: deps.origin,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        advanced: { webAuthnChallengeCookie: 'challenge' },
        // A passkey stands for both factors, so the person must have been verified by it.
        registration: {
          afterVerification: ({ verification }) => {
            if (!verification.registrationInfo?.userVerified) throw unverified()
          },
        },
        authentication: {
          afterVerification: ({ verification }) => {
            if (!verification.authenticationInfo.userVerified) throw unverified()
          },
        },
        schema: {
          passkey: {
            modelName: 'passkeys',
            fields: {
              userId: 'person_id',
              publicKey: 'public_key',
              credentialID: 'credential_id',
              deviceType: 'device_type',
              backedUp: 'is_synced',
              createdAt: 'created_at',
            },
          },
        },
      }),
    ],
    advanced: {
      cookiePrefix: 'inner',
      useSecureCookies: false,
      disableCSRFCheck: true,
      database: {
        // Its columns for tokens of other services do not exist here: none is kept.
        validateSchema: false,
        generateId: ({ model }) => newId(ID_PREFIXES[model] ?? 'once', Date.now()),
      },
    },
  })

  const signed = (value: string) =>
    encodeURIComponent(`${value}.${createHmac('sha256', secret).update(value).digest('base64')}`)

  return {
    api: auth.api,
    secret,
    inner: () => auth.$context,

    /** The value of a cookie that Better Auth signed; undefined when the signature does not fit. */
    readSigned(cookie: string): string | undefined {
      const text = safeDecode(cookie)
      const value = text.slice(0, text.lastIndexOf('.'))
      return safeDecode(signed(value)) === text ? value : undefined
    },

    /** Calls Better Auth as this person. What it takes for their session is gone when the call returns. */
    async as<Result>(person_id: string, call: (cookie: string) => Promise<Result>): Promise<Result> {
      const { internalAdapter } = await auth.$context
      const session = await internalAdapter.createSession(person_id)
      try {
        return await call(`${INNER_COOKIES.session}=${signed(session.token)}`)
      } finally {
        await internalAdapter.deleteSession(session.token)
      }
    },

    /** Ends what Better Auth takes for a session once it has told us who signed in. */
    async forget(token: string): Promise<void> {
      const { internalAdapter } = await auth.$context
      await internalAdapter.deleteSession(token)
    },
  }
}

/** Undefined where Better Auth refuses what a person gave it; other errors are ours or the database's. */
export async function orRefused<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof APIError && error.statusCode < 500) {
      if (error.statusCode === 429)
        throw refuse(
          'too_many_attempts',
          'Too many wrong codes. Wait a quarter of an hour, or sign in with a passkey.',
        )
      return undefined
    }
    throw error
  }
}

/** The value of one cookie among those that Better Auth sets, still encoded. */
export function innerCookie(headers: Headers, name: string): string | undefined {
  for (const line of headers.getSetCookie()) {
    const value = /^[^=]+=([^;]*)/.exec(line)?.[1]
    if (line.startsWith(`${name}=`) && value) return value
  }
  return undefined
}

const unverified = () =>
  new APIError('UNAUTHORIZED', { message: 'the authenticator did not verify the person' })

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
