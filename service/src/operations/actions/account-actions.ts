import type { Scope } from '@shopwire/contract'
import type { Admission } from '../../access/admission.ts'
import {
  type Account,
  assertOpen,
  createAccount,
  getAccount,
  setAccountStatus,
} from '../../accounts/account.ts'
import { type ApiKey, createKey, revokeKey } from '../../accounts/api-key.ts'
import { sumOwed } from '../../funding/reversal-queries.ts'
import { adjust, type Funding, fund, type Recorded } from '../../ledger/transfer.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import type { Act } from './act.ts'
import { type Closed, closeAccount, eraseAccountRows, eraseAccountTexts } from './close-account.ts'

export interface AccountActionDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly cell: string
  /** Opened only for actions that must take effect on the next request. */
  admission(): Promise<Admission>
}

/** What an operator may do to accounts, their keys and their money. */
export function accountActions({ db, keyring, cell, admission }: AccountActionDeps, act: Act) {
  /** Returns only when no process admits a request under the old access version any more. */
  async function announce(account_id: string, access_version: number) {
    await (await admission()).announce(account_id, access_version)
  }

  async function changeStatus(
    account_id: string,
    status: Account['status'],
    reason: string | null,
  ): Promise<Account> {
    const action = status === 'suspended' ? 'account.suspend' : 'account.resume'
    const account = await act(action, async (tx) => {
      const result = await setAccountStatus(tx, account_id, status)
      return { result, target: account_id, details: { reason } }
    })
    await announce(account_id, account.access_version)
    return account
  }

  return {
    createAccount: (name: string): Promise<Account> =>
      act('account.create', async (tx, nowMs) => {
        const result = await createAccount(tx, name, nowMs)
        return { result, target: result.id, details: { name } }
      }),

    suspendAccount: (account_id: string, reason: string) => changeStatus(account_id, 'suspended', reason),
    async resumeAccount(account_id: string): Promise<Account & { owed_cents: number }> {
      const account = await changeStatus(account_id, 'active', null)
      return { ...account, ...(await sumOwed(db, account_id)) }
    },

    /** Final. Returns only when no process admits a request of the account any more. */
    async closeAccount(account_id: string, reason: string): Promise<Closed> {
      const result = await act('account.close', async (tx, nowMs) => {
        const result = await closeAccount(tx, keyring, account_id, reason, nowMs)
        return { result, target: account_id, details: { reason, isNew: result.isNew } }
      })
      await announce(account_id, result.account.access_version)
      return result
    },

    async eraseAccount(account_id: string): Promise<{ people: number }> {
      await eraseAccountRows(db, account_id)
      return act('account.erase', async (tx, nowMs) => {
        const result = await eraseAccountTexts(tx, account_id, nowMs)
        return { result, target: account_id, details: result }
      })
    },

    fundAccount: (account_id: string, wanted: Funding): Promise<Recorded> =>
      act('account.fund', async (tx, nowMs) => {
        const result = await fund(tx, account_id, wanted, nowMs)
        const { transfer, isNew, alsoBookedAs } = result
        const details = { ...wanted, transfer_id: transfer.id, isNew, ...(alsoBookedAs && { alsoBookedAs }) }
        return { result, target: account_id, details }
      }),

    adjustAccount: (
      account_id: string,
      wanted: { change_cents: number; reference: string; note: string },
    ): Promise<Recorded> =>
      act('account.adjust', async (tx, nowMs) => {
        const result = await adjust(tx, account_id, wanted, nowMs)
        // Negative, to pay out money that came in after the closing, such as from a dispute that was won.
        if (wanted.change_cents > 0) assertOpen(await getAccount(tx, account_id))
        return {
          result,
          target: account_id,
          details: { ...wanted, transfer_id: result.transfer.id, isNew: result.isNew },
        }
      }),

    createKey: (
      account_id: string,
      name: string,
      scopes: readonly (Scope | string)[],
    ): Promise<{ key: ApiKey; secret: string }> =>
      act('key.create', async (tx, nowMs) => {
        const result = await createKey(tx, keyring, { account_id, cell, name, scopes }, nowMs)
        return { result, target: result.key.id, details: { account_id, name, scopes: result.key.scopes } }
      }),

    async revokeKey(key_id: string): Promise<ApiKey> {
      const { key, access_version } = await act('key.revoke', async (tx, nowMs) => {
        const result = await revokeKey(tx, key_id, nowMs)
        return { result, target: key_id, details: { account_id: result.key.account_id } }
      })
      await announce(key.account_id, access_version)
      return key
    },
  }
}
