import { refuse } from '../platform/trouble.ts'
import { type BetterAuth, INNER_COOKIES, innerCookie, orRefused } from './better-auth.ts'
import { newToken } from './session-store.ts'

/** What a browser keeps between the two halves of a sign-in or a WebAuthn ceremony, for a cookie. */
export type Handle = string

export type PasswordResult = { readonly person_id: string } | { readonly pending: Handle }

export interface CeremonyStart {
  readonly options: object
  readonly challenge: Handle
}

/** As Better Auth names the tokens of its mails. */
export const RESET = 'reset-password'
const SECOND_FACTOR_PREFIX = '2fa-'
const PASSKEY_WAIT_MS = 120_000

export type Authentication = ReturnType<typeof createAuthentication>

/** Better Auth behind functions of our own: who proved what. None of them makes a session. */
export function createAuthentication(auth: BetterAuth) {
  const cookieHeader = (...cookies: string[]) => new Headers({ cookie: cookies.join('; ') })
  const pendingCookie = (pending: Handle) => cookieHeader(`${INNER_COOKIES.secondFactor}=${pending}`)
  const adapter = async () => (await auth.inner()).internalAdapter

  /** Better Auth has made a session of its own, to tell us who it is. */
  async function whoSignedIn(answer: { token?: string | null; user?: { id: string } } | undefined) {
    if (!answer?.token || !answer.user) return undefined
    await auth.forget(answer.token)
    return answer.user.id
  }

  return {
    /** Takes as long for an address that nobody has. */
    async checkPassword(email: string, password: string): Promise<PasswordResult | undefined> {
      const answer = await orRefused(
        auth.api.signInEmail({ body: { email, password }, headers: new Headers(), returnHeaders: true }),
      )
      if (!answer) return undefined
      const pending = innerCookie(answer.headers, INNER_COOKIES.secondFactor)
      if ('twoFactorRedirect' in answer.response && pending !== undefined) return { pending }
      const person_id = await whoSignedIn(answer.response)
      return person_id === undefined ? undefined : { person_id }
    },

    /** Whose password was right; undefined when too much time has passed. */
    async personOfPending(pending: Handle): Promise<string | undefined> {
      const identifier = auth.readSigned(pending)
      if (!identifier?.startsWith(SECOND_FACTOR_PREFIX)) return undefined
      const found = await (await adapter()).findVerificationValue(identifier)
      return found && found.expiresAt > new Date() ? found.value : undefined
    },

    async finishWithTotp(pending: Handle, code: string): Promise<string | undefined> {
      return whoSignedIn(
        await orRefused(auth.api.verifyTOTP({ body: { code }, headers: pendingCookie(pending) })),
      )
    },

    async finishWithRecoveryCode(pending: Handle, code: string): Promise<string | undefined> {
      const answer = await orRefused(
        auth.api.verifyBackupCode({ body: { code }, headers: pendingCookie(pending) }),
      )
      return whoSignedIn(answer as { token?: string; user?: { id: string } } | undefined)
    },

    /** Of somebody signed in. The first right code confirms an app that was just set up. */
    async isTotpOf(person_id: string, code: string): Promise<boolean> {
      const answer = await auth.as(person_id, (cookie) =>
        orRefused(auth.api.verifyTOTP({ body: { code }, headers: cookieHeader(cookie) })),
      )
      return answer?.user.id === person_id
    },

    async isRecoveryCodeOf(person_id: string, code: string): Promise<boolean> {
      const answer = await auth.as(person_id, (cookie) =>
        orRefused(
          auth.api.verifyBackupCode({ body: { code, disableSession: true }, headers: cookieHeader(cookie) }),
        ),
      )
      return answer !== undefined
    },

    /** The secret for an authenticator app, unconfirmed until its first code. Undefined for a wrong password. */
    async beginTotp(person_id: string, password: string | undefined) {
      const answer = await auth.as(person_id, (cookie) =>
        orRefused(
          auth.api.enableTwoFactor({
            body: { ...(password !== undefined && { password }), method: 'totp' },
            headers: cookieHeader(cookie),
          }),
        ),
      )
      if (answer?.method !== 'totp') return undefined
      const secret = new URL(answer.totpURI).searchParams.get('secret') ?? ''
      return { otpauth_uri: answer.totpURI, secret, recovery_codes: answer.backupCodes }
    },

    /** For somebody unknown, or for one person whose passkeys are then named. */
    async beginPasskey(person_id?: string): Promise<CeremonyStart> {
      const ask = (cookie: string) =>
        auth.api.generatePasskeyAuthenticationOptions({ headers: cookieHeader(cookie), returnHeaders: true })
      const answer = person_id === undefined ? await ask('') : await auth.as(person_id, ask)
      return {
        options: { ...answer.response, userVerification: 'required', timeout: PASSKEY_WAIT_MS },
        challenge: innerCookie(answer.headers, INNER_COOKIES.challenge) ?? '',
      }
    },

    /** Whose passkey answered the challenge, which is used up by this. */
    async finishPasskey(challenge: Handle, response: object): Promise<string | undefined> {
      const answer = await orRefused(
        auth.api.verifyPasskeyAuthentication({
          body: { response: response as never },
          headers: cookieHeader(`${INNER_COOKIES.challenge}=${challenge}`),
        }),
      )
      return answer && whoSignedIn({ token: answer.session.token, user: answer.user })
    },

    async beginNewPasskey(person_id: string): Promise<CeremonyStart> {
      const answer = await auth.as(person_id, (cookie) =>
        auth.api.generatePasskeyRegistrationOptions({
          headers: cookieHeader(cookie),
          query: {},
          returnHeaders: true,
        }),
      )
      return {
        options: answer.response,
        challenge: innerCookie(answer.headers, INNER_COOKIES.challenge) ?? '',
      }
    },

    /** The id of the new passkey. */
    async finishNewPasskey(
      person_id: string,
      challenge: Handle,
      response: object,
      name: string,
    ): Promise<string> {
      const answer = await auth.as(person_id, (cookie) =>
        orRefused(
          auth.api
            .verifyPasskeyRegistration({
              body: { response, name },
              headers: cookieHeader(cookie, `${INNER_COOKIES.challenge}=${challenge}`),
            })
            // What an authenticator sends may be malformed in any way; Better Auth calls that an error of the server.
            .catch((error: { statusCode?: number; body?: { code?: string } }) => {
              if (error.body?.code === 'FAILED_TO_VERIFY_REGISTRATION') return undefined
              throw error
            }),
        ),
      )
      if (!answer)
        throw refuse(
          'invalid_request',
          'The passkey could not be checked, or too much time has passed. Begin again.',
        )
      return answer.id
    },

    async isPasswordOf(person_id: string, password: string): Promise<boolean> {
      const { password: passwords } = await auth.inner()
      const credential = await (await adapter()).findCredentialAccount(person_id)
      if (!credential?.password) {
        await passwords.hash(password)
        return false
      }
      return passwords.verify({ hash: credential.password, password })
    },

    /** Its token is taken as one of the purpose `RESET`. */
    async requestReset(email: string): Promise<void> {
      await auth.api.requestPasswordReset({ body: { email } })
    },

    /** A token for a mail; only its hash is stored. */
    async issueToken(purpose: string, value: string, validMs: number): Promise<string> {
      const token = newToken()
      await (await adapter()).createVerificationValue({
        identifier: `${purpose}:${token}`,
        value,
        expiresAt: new Date(Date.now() + validMs),
      })
      return token
    },

    /** Of a mail; used up by `useUpToken`, in the transaction of what it is for. */
    async findToken(purpose: string, token: string): Promise<{ id: string; value: string } | undefined> {
      const found = await (await adapter()).findVerificationValue(`${purpose}:${token}`)
      return found && found.expiresAt > new Date() ? { id: found.id, value: found.value } : undefined
    },

    /** Once: of two requests with the same token one gets the value. */
    async takeToken(purpose: string, token: string): Promise<string | undefined> {
      return (await (await adapter()).consumeVerificationValue(`${purpose}:${token}`))?.value
    },
  }
}
