import type { Tx } from '../platform/db.ts'
import type { Member } from './member.ts'

export interface OwnerMail {
  readonly subject: string
  /** Plain text. Never a secret or a link to one. */
  readonly text: string
}

/** Writes to every owner of the member's account, in the transaction of what it reports: both happen, or neither. */
export type MailOwners = (tx: Tx, member: Member, mail: OwnerMail, nowMs: number) => Promise<void>
