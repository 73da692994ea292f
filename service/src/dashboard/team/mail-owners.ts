import type { Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { queueMail } from '../../platform/outbound/mail.ts'
import { selectOwners } from '../../sessions/members.ts'
import type { Member } from '../member.ts'

export interface OwnerMail {
  readonly subject: string
  /** Plain text. Never a secret or a link to one. */
  readonly text: string
}

/** Writes to every owner of the member's account, in the transaction of what it reports, so that both happen or neither does. */
export type MailOwners = (tx: Tx, member: Member, mail: OwnerMail, nowMs: number) => Promise<void>

/** Also to the owner who acted: it may have been somebody else with their session. */
export function createMailOwners(keyring: Keyring): MailOwners {
  return async (tx, { account_id }, mail, nowMs) => {
    for (const { email } of await selectOwners(tx, account_id))
      await queueMail(tx, keyring, { to: email, account_id, ...mail }, nowMs)
  }
}
