import type { Session } from '../api/session.ts'

/** Who signs in with a password must have a second factor. A company's own sign-in brings its own. */
export const needsSecondFactor = ({ person }: Session): boolean =>
  person?.has_password === true && !person.has_passkey && !person.has_totp
