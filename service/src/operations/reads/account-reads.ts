import { getAccount, listAccounts } from '../../accounts/account.ts'
import { listKeys } from '../../accounts/api-key.ts'
import { selectBalances as selectBalancesOf } from '../../ledger/queries.ts'
import { readBalance, readStatement } from '../../ledger/transfer.ts'
import { listActions } from '../../platform/database/audit.ts'
import type { Db } from '../../platform/database/db.ts'
import { listPeople } from '../actions/people-actions.ts'
import { findAnything } from '../find.ts'
import { listOperatorTokens } from '../operator-tokens.ts'

/** Accounts, their keys, people and money. */
export function accountReads(db: Db) {
  return {
    async listAccounts(limit: number, after: string) {
      const accounts = await listAccounts(db, limit, after)
      const ids = accounts.map(({ id }) => id)
      const balances = new Map(
        (await selectBalancesOf(db, ids)).map((one) => [one.account_id, one.balance_cents]),
      )
      return accounts.map((account) => ({ ...account, balance_cents: balances.get(account.id) ?? 0 }))
    },

    /** What an id, a part of one, a name, an idempotency key, a reference or a fingerprint refers to. */
    findAnything: (text: string) => findAnything(db, text),

    async showAccount(account_id: string) {
      const account = await getAccount(db, account_id)
      const [balance_cents, keys, transfers] = await Promise.all([
        readBalance(db, account_id),
        listKeys(db, account_id),
        readStatement(db, account_id, 10),
      ])
      return { account, balance_cents, keys, transfers }
    },

    async readStatement(account_id: string, { limit, before }: { limit: number; before: number }) {
      await getAccount(db, account_id)
      const transfers = await readStatement(db, account_id, limit, before)
      return { balance_cents: await readBalance(db, account_id), transfers }
    },

    listKeys: (account_id: string) => listKeys(db, account_id),

    listPeople: (account_id: string) => listPeople(db, account_id),

    listOperatorTokens: () => listOperatorTokens(db),

    listActions: (target: string | undefined, limit: number) => listActions(db, target, limit),
  }
}
