import { timingSafeEqual } from 'node:crypto'
import { SIGNATURE_FORM } from '../headers.ts'

/**
 * The form is checked first: `Buffer.from(…, 'hex')` stops silently at the first bad character and also reads upper
 * case, and timingSafeEqual throws when lengths differ. The format is public, so the early refusal reveals nothing.
 */
export function sameSignature(presented: unknown, expected: () => Buffer): boolean {
  if (typeof presented !== 'string' || !SIGNATURE_FORM.test(presented)) return false
  return timingSafeEqual(Buffer.from(presented, 'hex'), expected())
}
