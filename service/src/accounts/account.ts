import { openBalance } from '../ledger/transfer.ts'
import type { Queryable, Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { assertPlain } from '../platform/text/plain-text.ts'
import { refuse } from '../platform/trouble.ts'
import {
  type Account,
  type AccountStatus,
  insertAccount,
  selectAccount,
  selectAccounts,
  updateAccountName,
  updateAccountStatus,
} from './queries.ts'

export type { Account, AccountStatus } from './queries.ts'

export const NAME_LENGTH_MAX = 100

export async function createAccount(
  tx: Tx,
  name: string,
  nowMs: number,
  id = newId('acct', nowMs),
): Promise<Account> {
  assertName(name)
  const account = await insertAccount(tx, id, name, new Date(nowMs))
  await openBalance(tx, account.id)
  return account
}

/** In force when the transaction commits; the caller then announces the new access version to the admission store. */
export async function setAccountStatus(tx: Tx, id: string, status: AccountStatus): Promise<Account> {
  assertOpen(await getAccount(tx, id))
  const account = await updateAccountStatus(tx, id, status)
  if (!account) throw refuse('not_found', `There is no account ${id}.`)
  return account
}

/** Returns the previous name. */
export async function renameAccount(tx: Tx, id: string, name: string): Promise<string> {
  assertName(name)
  const renamed = await updateAccountName(tx, id, name)
  if (!renamed) throw refuse('not_found', `There is no account ${id}.`)
  return renamed.before
}

export async function getAccount(db: Queryable, id: string): Promise<Account> {
  const account = await selectAccount(db, id)
  if (!account) throw refuse('not_found', `There is no account ${id}.`)
  return account
}

/** For actions that a closed account no longer allows. */
export function assertOpen({ id, closed_at }: Account): void {
  if (closed_at)
    throw refuse(
      'conflict',
      `Account ${id} was closed on ${closed_at.toISOString().slice(0, 10)}, which is final. Nothing was changed. A customer who comes ` +
        'back gets a new account: shopwire-admin accounts create <name>',
    )
}

/** In order of creation. `afterId` continues a list: the last id of the previous page. */
export function listAccounts(db: Queryable, limit: number, afterId = '') {
  return selectAccounts(db, afterId, limit)
}

export function assertName(name: string) {
  assertPlain('A name', name, NAME_LENGTH_MAX)
}
