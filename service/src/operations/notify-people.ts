import type { Notify } from '../funding/notify.ts'
import type { Clock } from '../platform/clock.ts'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { Letter } from '../platform/mail/letter.ts'
import { queueMail } from '../platform/mail/mail.ts'

/** Mail about an account's money to its members. Former members get no more mail, whatever was chosen before. */
export function notifyPeople(keyring: Keyring, clock: Clock): Notify {
  async function write(tx: Tx, account_id: string, addresses: readonly string[], letter: Letter) {
    for (const to of new Set(addresses))
      await queueMail(tx, keyring, { to, letter, account_id }, clock.nowMs())
  }
  return {
    async treasurers(tx, account_id, letter) {
      const rows = await selectTreasurers(tx, account_id)
      await write(tx, account_id, rows.map(emailOf), letter)
    },
    async member(tx, account_id, person_id, letter) {
      const rows = await selectMembers(tx, account_id, [person_id])
      await write(tx, account_id, rows.map(emailOf), letter)
    },
    async chosen(tx, account_id, { person_ids, emails }, { toMembers, toOthers }) {
      const rows = await selectMembers(tx, account_id, person_ids)
      const members = rows.filter(({ email_verified }) => email_verified).map(emailOf)
      const others = emails.filter((email) => !members.includes(email))
      await write(tx, account_id, members, toMembers)
      await write(tx, account_id, others, toOthers)
    },
  }
}

const emailOf = ({ email }: { readonly email: string }) => email

const selectTreasurers = (tx: Queryable, account_id: string) =>
  tx.many<{ email: string }>(sql`
    select p.email
      from memberships m
      join people p on p.id = m.person_id
     where m.account_id = ${account_id}
       and m.role in ('owner', 'finance')
     order by p.email`)

const selectMembers = (tx: Queryable, account_id: string, person_ids: readonly string[]) =>
  tx.many<{ email: string; email_verified: boolean }>(sql`
    select p.email, p.email_verified
      from memberships m
      join people p on p.id = m.person_id
     where m.account_id = ${account_id}
       and m.person_id = any(${person_ids})
     order by p.email`)
