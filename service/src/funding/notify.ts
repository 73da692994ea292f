import type { Tx } from '../platform/database/db.ts'
import type { Letter } from '../platform/mail/letter.ts'

/**
 * Writes to members of an account, in the transaction that makes the news true. The module that knows them is a layer above: the
 * programs connect it.
 */
export interface Notify {
  /** To those who may act on money: owners and finance. */
  treasurers(tx: Tx, account_id: string, letter: Letter): Promise<void>
  /** To this person, as long as they are a member. */
  member(tx: Tx, account_id: string, person_id: string, letter: Letter): Promise<void>
  /**
   * To these members, as long as they are members and have confirmed their address, and to these other addresses, which have
   * confirmed too. Each recipient gets one mail.
   */
  chosen(
    tx: Tx,
    account_id: string,
    to: { readonly person_ids: readonly string[]; readonly emails: readonly string[] },
    letters: { readonly toMembers: Letter; readonly toOthers: Letter },
  ): Promise<void>
}
