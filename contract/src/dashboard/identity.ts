import Type, { type Static } from 'typebox'
import { Count, closed, DateTime, nullable } from '../shapes.ts'
import type { DashboardRoute } from './route.ts'

// Who is signed in, and how. Tokens of invitations, resets and verifications arrive in the body: a mailed link has its token behind
// the `#`, which browsers never send, so that no token is ever in a request line or a log.

export const EMAIL_LENGTH_MAX = 254
export const PASSWORD_LENGTH_MIN = 12
export const PASSWORD_LENGTH_MAX = 200
export const PERSON_NAME_LENGTH_MAX = 100
export const PASSKEY_NAME_LENGTH_MAX = 60

/** The header that carries the CSRF token, in every POST. */
export const CSRF_HEADER = 'x-shopwire-csrf'

export const RoleName = Type.Union([
  Type.Literal('owner'),
  Type.Literal('developer'),
  Type.Literal('finance'),
  Type.Literal('viewer'),
])

/** At a name, never at an address: no top-level domain begins with a digit, and mail to an address of our network is nobody's business. */
export const EMAIL_PATTERN =
  '^[^\\s@<>()",;:\\\\]+@[^\\s@<>()",;:\\\\\\[\\]]+\\.[^\\s@<>()",;:\\\\\\[\\].0-9][^\\s@<>()",;:\\\\\\[\\].]*$'
export const EmailAddress = Type.String({ maxLength: EMAIL_LENGTH_MAX, pattern: EMAIL_PATTERN })
const Password = Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX })
const NewPassword = Type.String({ minLength: PASSWORD_LENGTH_MIN, maxLength: PASSWORD_LENGTH_MAX })
const PersonName = Type.String({ minLength: 1, maxLength: PERSON_NAME_LENGTH_MAX })
const PasskeyName = Type.String({ minLength: 1, maxLength: PASSKEY_NAME_LENGTH_MAX })
const Token = Type.String({ minLength: 20, maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' })
const TotpCode = Type.String({ pattern: '^[0-9]{6}$' })
const RecoveryCode = Type.String({ minLength: 8, maxLength: 20, pattern: '^[A-Za-z0-9-]+$' })
const Id = Type.String({ minLength: 1, maxLength: 64 })

/** WebAuthn's own JSON forms (PublicKeyCredentialCreationOptionsJSON and so on), passed to and from the browser as they are. */
const WebAuthnJson = Type.Object({})

const Done = closed({ ok: Type.Literal(true) })

export const SignedInPerson = closed({
  id: Type.String(),
  name: Type.String(),
  email: Type.String(),
  is_email_verified: Type.Boolean(),
  kind: Type.Union([Type.Literal('customer'), Type.Literal('operator')]),
  has_password: Type.Boolean(),
  has_passkey: Type.Boolean(),
  has_totp: Type.Boolean(),
})

const AccountOfPerson = closed({ id: Type.String(), name: Type.String(), role: RoleName })

export const SessionState = closed({
  /** Null: nobody is signed in. The other fields of a person are then null or empty. */
  person: nullable(SignedInPerson),
  accounts: Type.Array(AccountOfPerson),
  /** The account that this session acts in; null for a person without one. */
  account: nullable(AccountOfPerson),
  /** For the header of every POST, signed in or not. Changes when the session does. */
  csrf_token: Type.String(),
  /** A second factor was given, and actions that ask for one pass until then. */
  stepped_up_until: nullable(DateTime),
  /** When the session ends at the latest, and when it ends if nothing is done. */
  expires_at: nullable(DateTime),
  idle_expires_at: nullable(DateTime),
  /** A password was right, and its second factor is still to be given. */
  is_second_factor_pending: Type.Boolean(),
  /** The name of the company's own sign-in, where one is set up. */
  company_sign_in: nullable(Type.String()),
})
export type SessionState = Static<typeof SessionState>

/**
 * `done`: signed in. `totp`: give a code. `passkey`: not signed in yet; sign in with the passkey, which is this person's only second
 * factor. `enrol`: signed in, and nothing opens until a second factor is set up.
 */
const SignInStep = closed({
  next: Type.Union([
    Type.Literal('done'),
    Type.Literal('totp'),
    Type.Literal('passkey'),
    Type.Literal('enrol'),
  ]),
})

export const InvitationShown = closed({
  account_name: Type.String(),
  /** Null: an invitation to run the store. It is accepted without a password, and a passkey follows. */
  role: nullable(RoleName),
  email: Type.String(),
  inviter_name: nullable(Type.String()),
  expires_at: DateTime,
  /** This address has an account already: sign in as it, then accept without name and password. */
  is_known_person: Type.Boolean(),
})

export const Passkey = closed({
  id: Type.String(),
  name: Type.String(),
  created_at: DateTime,
  last_used_at: nullable(DateTime),
  is_synced: Type.Boolean(),
})

export const SessionRow = closed({
  id: Type.String(),
  is_current: Type.Boolean(),
  /** In words, from the browser's own description of itself: "Firefox on Windows". */
  device: Type.String(),
  address: Type.String(),
  created_at: DateTime,
  last_seen_at: DateTime,
})

export const SecurityState = closed({
  has_password: Type.Boolean(),
  has_totp: Type.Boolean(),
  recovery_codes_left: Count,
  passkeys: Type.Array(Passkey),
  sessions: Type.Array(SessionRow),
  company_sign_in: nullable(Type.String()),
})
export type SecurityState = Static<typeof SecurityState>

/** Somebody with a second factor steps up before changing it; somebody without one gives the password. */
const withPassword = { password: Type.Optional(Password) }

const RecoveryCodes = closed({ recovery_codes: Type.Array(Type.String()) })

export const identityRoutes = [
  { name: 'getSession', method: 'GET', path: '/api/session', access: 'anyone', reply: SessionState },
  {
    name: 'signInWithPassword',
    method: 'POST',
    path: '/api/sign-in/password',
    access: 'anyone',
    body: closed({ email: EmailAddress, password: Password }),
    reply: SignInStep,
  },
  {
    name: 'signInWithTotp',
    method: 'POST',
    path: '/api/sign-in/totp',
    access: 'anyone',
    body: closed({ code: TotpCode }),
    reply: SignInStep,
  },
  {
    name: 'signInWithRecoveryCode',
    method: 'POST',
    path: '/api/sign-in/recovery',
    access: 'anyone',
    body: closed({ code: RecoveryCode }),
    reply: SignInStep,
  },
  {
    name: 'beginPasskeySignIn',
    method: 'POST',
    path: '/api/sign-in/passkey/options',
    access: 'anyone',
    body: closed({}),
    reply: WebAuthnJson,
  },
  {
    name: 'signInWithPasskey',
    method: 'POST',
    path: '/api/sign-in/passkey',
    access: 'anyone',
    body: closed({ response: WebAuthnJson }),
    reply: SignInStep,
  },
  // Both answer with a redirect.
  {
    name: 'beginCompanySignIn',
    method: 'GET',
    path: '/api/sign-in/company',
    access: 'anyone',
    query: closed({ invitation: Type.Optional(Type.Literal('1')) }),
    reply: closed({}),
  },
  {
    name: 'finishCompanySignIn',
    method: 'GET',
    path: '/api/sign-in/company/callback',
    access: 'anyone',
    query: Type.Object({}),
    reply: closed({}),
  },
  {
    name: 'signOut',
    method: 'POST',
    path: '/api/sign-out',
    access: 'signed-in',
    isEnrolment: true,
    body: closed({}),
    reply: Done,
  },
  {
    name: 'signOutEverywhere',
    method: 'POST',
    path: '/api/sign-out/everywhere',
    access: 'signed-in',
    isEnrolment: true,
    body: closed({}),
    reply: Done,
  },
  {
    name: 'forgotPassword',
    method: 'POST',
    path: '/api/password/forgot',
    access: 'anyone',
    body: closed({ email: EmailAddress }),
    reply: Done,
  },
  {
    name: 'resetPassword',
    method: 'POST',
    path: '/api/password/reset',
    access: 'anyone',
    body: closed({ token: Token, password: NewPassword }),
    reply: Done,
  },
  {
    name: 'sendEmailVerification',
    method: 'POST',
    path: '/api/email/send-verification',
    access: 'signed-in',
    body: closed({}),
    reply: Done,
  },
  {
    name: 'verifyEmail',
    method: 'POST',
    path: '/api/email/verify',
    access: 'anyone',
    body: closed({ token: Token }),
    reply: Done,
  },
  // By whoever has the mailbox, who need not be anybody here.
  {
    name: 'confirmAlertAddress',
    method: 'POST',
    path: '/api/balance/alert/confirm',
    access: 'anyone',
    body: closed({ token: Token }),
    reply: closed({ email: Type.String() }),
  },
  // A read, but its token must not be in a path.
  {
    name: 'openInvitation',
    method: 'POST',
    path: '/api/invitations/open',
    access: 'anyone',
    body: closed({ token: Token }),
    reply: InvitationShown,
  },
  {
    name: 'acceptInvitation',
    method: 'POST',
    path: '/api/invitations/accept',
    access: 'anyone',
    body: closed({
      token: Token,
      /** Both for a new person; neither when signed in as the invited address. */
      name: Type.Optional(PersonName),
      password: Type.Optional(NewPassword),
    }),
    reply: SignInStep,
  },
  {
    name: 'stepUpWithTotp',
    method: 'POST',
    path: '/api/step-up/totp',
    access: 'signed-in',
    body: closed({ code: TotpCode }),
    reply: Done,
  },
  {
    name: 'stepUpWithRecoveryCode',
    method: 'POST',
    path: '/api/step-up/recovery',
    access: 'signed-in',
    body: closed({ code: RecoveryCode }),
    reply: Done,
  },
  {
    name: 'beginPasskeyStepUp',
    method: 'POST',
    path: '/api/step-up/passkey/options',
    access: 'signed-in',
    body: closed({}),
    reply: WebAuthnJson,
  },
  {
    name: 'stepUpWithPasskey',
    method: 'POST',
    path: '/api/step-up/passkey',
    access: 'signed-in',
    body: closed({ response: WebAuthnJson }),
    reply: Done,
  },
  {
    name: 'switchAccount',
    method: 'POST',
    path: '/api/account/switch',
    access: 'signed-in',
    body: closed({ account_id: Id }),
    reply: Done,
  },
  { name: 'getSecurity', method: 'GET', path: '/api/security', access: 'signed-in', reply: SecurityState },
  {
    name: 'beginTotp',
    method: 'POST',
    path: '/api/security/totp/begin',
    access: 'signed-in',
    isEnrolment: true,
    body: closed(withPassword),
    /** The same secret twice: for a QR code, and to type. Shown once. */
    reply: closed({ otpauth_uri: Type.String(), secret: Type.String() }),
  },
  {
    name: 'confirmTotp',
    method: 'POST',
    path: '/api/security/totp/confirm',
    access: 'signed-in',
    isEnrolment: true,
    body: closed({ code: TotpCode }),
    reply: RecoveryCodes,
  },
  {
    name: 'removeTotp',
    method: 'POST',
    path: '/api/security/totp/remove',
    access: 'signed-in',
    isStepUp: true,
    body: closed({}),
    reply: Done,
  },
  {
    name: 'beginPasskey',
    method: 'POST',
    path: '/api/security/passkeys/options',
    access: 'signed-in',
    isEnrolment: true,
    body: closed(withPassword),
    reply: WebAuthnJson,
  },
  {
    name: 'addPasskey',
    method: 'POST',
    path: '/api/security/passkeys/add',
    access: 'signed-in',
    isEnrolment: true,
    body: closed({ name: PasskeyName, response: WebAuthnJson }),
    reply: Passkey,
  },
  {
    name: 'renamePasskey',
    method: 'POST',
    path: '/api/security/passkeys/rename',
    access: 'signed-in',
    body: closed({ id: Id, name: PasskeyName }),
    reply: Done,
  },
  {
    name: 'removePasskey',
    method: 'POST',
    path: '/api/security/passkeys/remove',
    access: 'signed-in',
    isStepUp: true,
    body: closed({ id: Id }),
    reply: Done,
  },
  {
    name: 'renewRecoveryCodes',
    method: 'POST',
    path: '/api/security/recovery-codes',
    access: 'signed-in',
    isStepUp: true,
    body: closed({}),
    reply: RecoveryCodes,
  },
  {
    name: 'endSession',
    method: 'POST',
    path: '/api/security/sessions/end',
    access: 'signed-in',
    body: closed({ id: Id }),
    reply: Done,
  },
  {
    name: 'changePassword',
    method: 'POST',
    path: '/api/security/password',
    access: 'signed-in',
    body: closed({ current: Password, new: NewPassword }),
    reply: Done,
  },
  {
    name: 'renamePerson',
    method: 'POST',
    path: '/api/security/name',
    access: 'signed-in',
    body: closed({ name: PersonName }),
    reply: Done,
  },
] as const satisfies readonly DashboardRoute[]
