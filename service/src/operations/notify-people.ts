import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { Letter } from '../platform/mail/letter.ts'
import { queueMail } from '../platform/mail/mail.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { readersOf, selectMailMembers } from '../sessions/mail-choices.ts'

/** Former members get no more mail, whatever they chose before. */
export function notifyPeople(keyring: Keyring, clock: Clock): Notify {
  async function write(tx: Tx, account_id: string, addresses: readonly string[], letter: Letter) {
    for (const to of addresses) await queueMail(tx, keyring, { to, letter, account_id }, clock.nowMs())
  }
  return async (tx, account_id, kind, letter, outside) => {
    const members = await selectMailMembers(tx, account_id)
    const own = readersOf(kind, members).goesTo.map(({ email }) => email)
    await write(tx, account_id, own, letter)
    if (outside) {
      const others = outside.emails.filter((email) => !own.includes(email))
      await write(tx, account_id, others, outside.letter)
    }
  }
}
