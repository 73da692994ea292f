import type { Scope } from '@shopwire/contract'
import type { Admission } from '../access/admission.ts'
import { type Account, createAccount, getAccount, setAccountStatus } from '../accounts/account.ts'
import { type ApiKey, createKey, listKeys, revokeKey } from '../accounts/api-key.ts'
import { type Imported, type ImportOptions, importCatalogue } from '../catalogue/import.ts'
import type { ItemTexts } from '../catalogue/import-file.ts'
import { type ChangedOne, type ItemFacts, setItem } from '../catalogue/item.ts'
import {
  cancelStoreWindow,
  planStoreWindow,
  type StoreState,
  type StoreWindow,
  setStoreState,
} from '../catalogue/store-state.ts'
import { adjust, type Funding, fund, type Recorded, readBalance, readStatement } from '../ledger/transfer.ts'
import { recordAction } from '../platform/audit.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { type RewrapReport, rewrapColumn } from '../platform/rewrap.ts'
import { createLinkVault } from '../supply/gift-link.ts'
import type { Act } from './act.ts'
import { databaseActions } from './database-actions.ts'
import { orderActions } from './order-actions.ts'
import { SEALED_COLUMNS } from './sealed-columns.ts'
import { supplyActions } from './supply-actions.ts'
import { webhookActions } from './webhook-actions.ts'

export interface OperatorDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly clock: Clock
  readonly cell: string
  /** Opened only by actions that must hold on the very next request. */
  admission(): Promise<Admission>
}

export type Operator = ReturnType<typeof createOperator>

/** What an operator may do. Every action is one transaction with its audit row, whoever asks for it: command or console. */
export function createOperator(deps: OperatorDeps, actor: string) {
  const { db, clock, keyring } = deps
  const vault = createLinkVault(db, keyring)

  const act: Act = (action, work) =>
    db.transaction(async (tx) => {
      const nowMs = clock.nowMs()
      const { result, target, details } = await work(tx, nowMs)
      await recordAction(tx, { actor, action, target, ...(details && { details }) }, nowMs)
      return result
    })

  /** Returns only when no process lets the old access version in any more. */
  async function announce(account_id: string, access_version: number) {
    await (await deps.admission()).announce(account_id, access_version)
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
    ...databaseActions(db, actor, act),
    ...orderActions(vault, act),
    ...supplyActions(db, keyring, vault, clock, act),
    ...webhookActions(keyring, act),

    createAccount: (name: string): Promise<Account> =>
      act('account.create', async (tx, nowMs) => {
        const result = await createAccount(tx, name, nowMs)
        return { result, target: result.id, details: { name } }
      }),

    showAccount: (account_id: string) => showAccount(db, account_id),

    suspendAccount: (account_id: string, reason: string) => changeStatus(account_id, 'suspended', reason),
    resumeAccount: (account_id: string) => changeStatus(account_id, 'active', null),

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
        const result = await createKey(tx, deps.keyring, { account_id, cell: deps.cell, name, scopes }, nowMs)
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

    setStore: (is_open: boolean, reason: string | null): Promise<StoreState> =>
      act(is_open ? 'store.open' : 'store.close', async (tx, nowMs) => {
        const result = await setStoreState(tx, is_open, reason, new Date(nowMs))
        return { result, target: 'store', details: { reason } }
      }),

    importCatalogue: (
      items: ReadonlyMap<string, ItemFacts>,
      source: string,
      options: ImportOptions,
    ): Promise<Imported> =>
      act('catalogue.import', async (tx, nowMs) => {
        const result = await importCatalogue(tx, items, options, nowMs)
        const { added, changed, taken_from_sale, back_on_sale, unchanged } = result.difference
        return {
          result,
          target: 'catalogue',
          details: {
            source,
            is_partial: options.isPartial,
            revision: result.revision,
            added: added.length,
            changed: changed.length,
            taken_from_sale: taken_from_sale.length,
            back_on_sale: back_on_sale.length,
            unchanged,
          },
        }
      }),

    setItem: (item_id: string, wanted: ItemTexts): Promise<ChangedOne> =>
      act('catalogue.set', async (tx, nowMs) => {
        const result = await setItem(tx, item_id, wanted, nowMs)
        return { result, target: item_id, details: { changes: result.changes, revision: result.revision } }
      }),

    planWindow: (window: Omit<StoreWindow, 'id'>): Promise<StoreWindow> =>
      act('store.plan', async (tx, nowMs) => {
        const result = await planStoreWindow(tx, window, nowMs)
        return { result, target: 'store', details: { ...result } }
      }),

    cancelWindow: (id: string): Promise<StoreWindow> =>
      act('store.cancel_window', async (tx, nowMs) => {
        const result = await cancelStoreWindow(tx, id, nowMs)
        return { result, target: 'store', details: { id } }
      }),

    /** Goes on past rows that do not open; the report names each of them. */
    async rewrapSecrets(report: RewrapReport): Promise<{ rewrapped: number; unopened: number }> {
      let rewrapped = 0
      let unopened = 0
      for (const column of SEALED_COLUMNS) {
        const before = rewrapped
        rewrapped += await rewrapColumn(db, keyring, column, {
          onProgress: (done) => report.onProgress?.(before + done),
          onUnopened(row) {
            unopened += 1
            report.onUnopened(row)
          },
        })
      }
      return act('encryption.rewrap', async () => ({
        result: { rewrapped, unopened },
        target: keyring.activeKekId,
        details: { rewrapped, unopened },
      }))
    },
  }
}

/** Changes nothing, so nobody has to be named for it. */
export async function showAccount(db: Db, account_id: string) {
  const account = await getAccount(db, account_id)
  const [balance_cents, keys, transfers] = await Promise.all([
    readBalance(db, account_id),
    listKeys(db, account_id),
    readStatement(db, account_id, 10),
  ])
  return { account, balance_cents, keys, transfers }
}
