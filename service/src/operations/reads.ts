import { getAccount, listAccounts } from '../accounts/account.ts'
import { listKeys } from '../accounts/api-key.ts'
import { compareCatalogue, type ImportOptions, objectionTo } from '../catalogue/import.ts'
import { everyItem, type ItemFacts, listItems, readRevision, showItem } from '../catalogue/item.ts'
import { SERVED_AT_ONCE_MAX, SERVED_WITHIN_MS } from '../catalogue/live-catalogue.ts'
import { listStoreWindows, readStoreState } from '../catalogue/store-state.ts'
import { selectOpenTopUps, selectReceivables, selectReviews } from '../funding/queries.ts'
import { selectReconciliation } from '../funding/reconcile-queries.ts'
import { selectBalances as selectBalancesOf } from '../ledger/queries.ts'
import { readBalance, readStatement } from '../ledger/transfer.ts'
import { readRefundRule } from '../orders/fulfilment/refund-rule.ts'
import { listWaiting } from '../orders/fulfilment/waiting.ts'
import { proveKey } from '../orders/placing/prove-key.ts'
import { findOrder, readWholeOrder } from '../orders/reading/find-order.ts'
import { type OrderFilter, selectOrdersBy } from '../orders/reading/orders-by.ts'
import { listOrdersOfItem } from '../orders/reading/orders-of-item.ts'
import { listActions } from '../platform/database/audit.ts'
import { readDatabaseState } from '../platform/database/database-identity.ts'
import { type Db, sql } from '../platform/database/db.ts'
import { selectDeadLetters } from '../platform/jobs/jobs.ts'
import { readRemovals } from '../platform/jobs/removal-limit.ts'
import { readSupplierStatement, selectBalances } from '../supply/house-ledger.ts'
import type { Journal } from '../supply/journal.ts'
import { requestId } from '../supply/obligation.ts'
import { countPoolLinks, selectSetAside, selectSupplies } from '../supply/queries.ts'
import { selectOpenRequests } from '../supply/request-queries.ts'
import { listSuppliers } from '../supply/suppliers.ts'
import { listAttempts, listDeliveries } from '../webhooks/delivery-log.ts'
import { readHealth } from '../webhooks/endpoint.ts'
import { listNotices } from '../webhooks/notices.ts'
import { countRecoverable } from '../webhooks/recover.ts'
import { listPeople } from './actions/people-actions.ts'
import { readRecovery } from './actions/recovery-actions.ts'
import { findAnything } from './find.ts'
import { listOperatorTokens } from './operator-tokens.ts'
import { findKey, readOrderEvidence } from './order-evidence.ts'
import { countSealed } from './sealed-columns.ts'
import type { PublishedDigest } from './seals/check.ts'
import { exportSealed } from './seals/export.ts'
import { selectDigests } from './seals/queries.ts'
import { readStoreStatus } from './store-status.ts'
import { type Finding, type Rule, recordVerifyRun, verifyData } from './verify.ts'

export type OperatorReads = ReturnType<typeof createReads>

/**
 * What an operator may look at. Nothing is changed and nothing secret is revealed, so no actor is named and nothing is audited. A
 * read that reveals a link is an action: `revealLinks` of the operator.
 */
export function createReads(db: Db) {
  return {
    async listAccounts(limit: number, after: string) {
      const accounts = await listAccounts(db, limit, after)
      const ids = accounts.map(({ id }) => id)
      const balances = new Map(
        (await selectBalancesOf(db, ids)).map((one) => [one.account_id, one.balance_cents]),
      )
      return accounts.map((account) => ({ ...account, balance_cents: balances.get(account.id) ?? 0 }))
    },

    /** What an id, a part of one, a name, an idempotency key, a reference or a fingerprint means. */
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

    /** Top-ups that wait for their money, and payments that wait for a person. */
    async listTopUps(limit: number) {
      return { top_ups: await selectOpenTopUps(db, limit), reviews: await selectReviews(db, limit) }
    },
    readReconciliation: async () => (await selectReconciliation(db)) ?? null,
    listReceivables: (limit: number) => selectReceivables(db, limit),

    /** What an import would change, and why it would be refused. */
    async compareCatalogue(items: ReadonlyMap<string, ItemFacts>, options: ImportOptions) {
      const difference = await compareCatalogue(db, items, options)
      return { difference, refused: objectionTo(difference, options) ?? null }
    },

    readRevision: async () => (await readRevision(db)).revision,
    everyItem: () => everyItem(db),
    listItems: (filter: Parameters<typeof listItems>[1], limit: number, after: string) =>
      listItems(db, filter, limit, after),
    showItem: (item_id: string) => showItem(db, item_id),

    readStoreStatus: () => readStoreStatus(db),

    async showStore() {
      const [state, windows, { journal_id }] = await Promise.all([
        readStoreState(db),
        listStoreWindows(db),
        readDatabaseState(db),
      ])
      return { state, windows, journal_id }
    },

    listSupplies: (limit: number, after: string) => selectSupplies(db, after, limit),
    listSetAside: (limit: number) => selectSetAside(db, limit),
    countPoolLinks: (item_id: string, isSetAside: boolean) => countPoolLinks(db, item_id, isSetAside),
    listSuppliers: () => listSuppliers(db),

    /** Requests that were sent to a supplier and have no final answer. */
    async listOpenRequests(limit: number) {
      const requests = await selectOpenRequests(db, limit)
      return requests.map((request) => ({ id: requestId(request), ...request }))
    },

    /** What we owe to whom. */
    listSupplierBalances: () => selectBalances(db, null),
    /** In one snapshot, so that the sums are those of the rows. */
    readSupplierStatement: (name: string, month: string) =>
      db.transaction(async (tx) => {
        await tx.run(sql`set transaction isolation level repeatable read, read only`)
        return readSupplierStatement(tx, name, month)
      }),

    /** Newest first, of one account or of all. Without an account or a time it may read the whole table. */
    async listOrders(filter: OrderFilter, limit: number) {
      if (filter.account_id !== undefined) await getAccount(db, filter.account_id)
      return selectOrdersBy(db, filter, limit)
    },

    listOrdersOfItem: (item_id: string, filter: Parameters<typeof listOrdersOfItem>[2]) =>
      listOrdersOfItem(db, item_id, filter),

    async listWaiting(limit: number) {
      const [orders, refund_rule] = await Promise.all([listWaiting(db, limit), readRefundRule(db)])
      return { orders, refund_rule }
    },

    listDeadLetters: (limit: number) => selectDeadLetters(db, limit),

    showOrder: async (order_id: string) => readWholeOrder(db, await findOrder(db, order_id)),
    readOrderEvidence: async (order_id: string) => readOrderEvidence(db, await findOrder(db, order_id)),
    /** Without an account all of them are searched, which reads whole tables: give it a long-running connection. */
    findKey: (named: string, account_id: string | undefined) => findKey(db, named, account_id),
    proveKey: (account_id: string, idempotency_key: string) => proveKey(db, account_id, idempotency_key),
    readRefundRule: () => readRefundRule(db),
    readRemovals: () => readRemovals(db),

    async showWebhook(account_id: string) {
      await getAccount(db, account_id)
      return readHealth(db, account_id)
    },

    async listDeliveries(account_id: string, limit: number) {
      await getAccount(db, account_id)
      return listDeliveries(db, account_id, limit)
    },

    listAttempts: (account_id: string, event_id: string) => listAttempts(db, account_id, event_id),
    listNotices: (account_id: string, limit: number) => listNotices(db, account_id, limit),

    async countRecoverable(account_id: string, { from, until }: { from: Date; until: Date }) {
      await getAccount(db, account_id)
      return countRecoverable(db, account_id, { from, until })
    },

    /** With the journal of sold links, if there is one. */
    systemIdentifier: async () => (await readDatabaseState(db)).present.system_identifier,
    showRecovery: (journal: Journal | undefined) => readRecovery(db, journal),
    listActions: (target: string | undefined, limit: number) => listActions(db, target, limit),
    countSealed: () => countSealed(db),
    /** Kept for the metrics of workers; it changes nothing that an audit would ask about. */
    recordVerifyRun: (findings: readonly Finding[], nowMs: number) => recordVerifyRun(db, findings, nowMs),
    verify: (
      rules: readonly Rule[],
      progress: (rule: Rule) => void,
      published: readonly PublishedDigest[] = [],
    ) => verifyData(db, rules, progress, published),
    /** The newest digests, or all; when everything was last sealed, and what waits for it. */
    async showSeals(limit?: number) {
      const state = await db.one<{ sealed_at: Date; waiting: number }>(sql`
        select p.finished_at as sealed_at, (select count(*) from seal_waiting) as waiting
          from seal_progress p`)
      return { digests: await selectDigests(db, limit), ...state }
    },
    exportSealed: (path: string, progress: (segments: number, total: number) => void) =>
      exportSealed(db, path, progress),
  }
}

/** How long it takes until every API process serves a change of so many items. Undefined: too long for a command to wait. */
export function servedWithinMs(changes: number): number | undefined {
  if (changes >= SERVED_AT_ONCE_MAX) return undefined
  return changes > 0 ? SERVED_WITHIN_MS : 0
}
