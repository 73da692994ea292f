import type { Session } from '../api/session.ts'

/** Who signs in with a password must have a second factor, and who runs the store a passkey. A company's own sign-in brings its own. */
export const needsSecondFactor = ({ person }: Session): boolean =>
  person !== null &&
  !person.has_passkey &&
  (person.kind === 'operator' || (person.has_password && !person.has_totp))
