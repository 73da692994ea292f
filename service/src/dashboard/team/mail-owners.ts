import type { Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import type { Fact, Letter } from '../../platform/mail/letter.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { day } from '../../platform/text/format.ts'
import { isolated } from '../../platform/text/plain-text.ts'
import { selectOwners } from '../../sessions/members.ts'
import type { Member } from '../member.ts'

/**
 * Writes to every owner of the member's account, in the transaction of what it reports, so that both happen or neither does. Who did it
 * is added to the letter, which never has a secret or a link to one.
 */
export type MailOwners = (tx: Tx, member: Member, letter: Letter, nowMs: number) => Promise<void>

/** Also to the owner who acted: it may have been somebody else with their session. */
export function createMailOwners(keyring: Keyring): MailOwners {
  return async (tx, member, letter, nowMs) => {
    const { account_id } = member
    for (const { email } of await selectOwners(tx, account_id))
      await queueMail(tx, keyring, { to: email, account_id, letter: withActor(letter, member, nowMs) }, nowMs)
  }
}

export function withActor(
  letter: Letter,
  { person_name, email, address }: Pick<Member, 'person_name' | 'email' | 'address'>,
  nowMs: number,
): Letter {
  const actor: readonly Fact[] = [
    ['Done by', `${isolated(person_name)} (${email})`],
    ['From address', address],
    ['At', `${day(new Date(nowMs))} UTC`],
  ]
  return { ...letter, facts: [...(letter.facts ?? []), ...actor] }
}
