import { identity } from '../strings/identity.ts'

/** The contract's minimum; the service decides, and also refuses passwords that are known from leaks. */
const LENGTH_MIN = 12

export const newPasswordError = (password: string): string | null =>
  password.length < LENGTH_MIN ? identity.passwordTooShort : null
