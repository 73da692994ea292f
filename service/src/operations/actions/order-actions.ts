import type { OrderRequest } from '@shopwire/contract'
import { assertOpen, getAccount } from '../../accounts/account.ts'
import { cancelOrder, deliverByHand } from '../../orders/fulfilment/finish.ts'
import { type RefundRule, releaseRefundRule, setRefundRule } from '../../orders/fulfilment/refund-rule.ts'
import { retryOrder } from '../../orders/fulfilment/waiting.ts'
import { assertOwnJournal } from '../../orders/journal/keep-position.ts'
import { hashCart, type Outcome, placeOrder } from '../../orders/placing/place-order.ts'
import { callPlaceOrder, lockOrder, type NewOrder } from '../../orders/queries.ts'
import { findOrder, readWholeOrder, revealLinks } from '../../orders/reading/find-order.ts'
import type { Db } from '../../platform/database/db.ts'
import { refuse } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { Journal } from '../../supply/journal.ts'
import type { Act } from './act.ts'

/** Recorded in place of the id of the buying key. */
const OPERATOR = 'operator'

/** What an operator may do to orders. The audit log records the number of links, never a link. */
export function orderActions(db: Db, vault: LinkVault, journal: Journal | undefined, act: Act) {
  return {
    /** Buys for an account, by the same rules and with the same statement as a caller. */
    placeOrder: (account_id: string, request: OrderRequest): Promise<Outcome> =>
      act('order.place', async (tx, nowMs) => {
        const account = await getAccount(tx, account_id)
        assertOpen(account)
        const { status, access_version } = account
        if (status !== 'active')
          throw refuse('account_suspended', `Account ${account_id} is ${status}. Resume it first.`)
        const buyer = { account_id, key_id: OPERATOR, access_version }
        const changed = async () => {
          throw refuse(
            'account_suspended',
            'The account changed during the purchase. Check it, then try again.',
          )
        }
        const attempt = { request_hash: hashCart(request.items), request_id: null, client_address: null }
        const place = (order: NewOrder) => callPlaceOrder({ commit: tx.one }, order)
        const result = await placeOrder(place, buyer, request, attempt, nowMs, changed)
        const id = result.kind === 'bought' ? result.order.id : result.order_id
        return { result, target: id, details: { account_id, kind: result.kind } }
      }),

    revealLinks: (id: string): Promise<string[]> =>
      act('order.reveal_links', async (tx) => {
        const order = await findOrder(tx, id)
        const { status } = await readWholeOrder(tx, order)
        // Before delivery a cancellation puts them back on sale, so they must stay unseen.
        if (status !== 'delivered')
          throw refuse('invalid_request', `Order ${id} is ${status}; it has no links to show.`)
        const links = await revealLinks(tx, vault, order)
        return { result: links, target: id, details: { account_id: order.account_id, links: links.length } }
      }),

    async cancelOrder(id: string, reason: string, options: { readonly althoughDelivered?: boolean } = {}) {
      await vault.open()
      return act('order.cancel', async (tx, nowMs) => {
        const order = await findOrder(tx, id)
        const result = await cancelOrder(tx, vault, order, reason, nowMs, options)
        return {
          result,
          target: id,
          details: { account_id: order.account_id, reason, isNew: result.isNew, ...options },
        }
      })
    },

    async deliverOrder(id: string, links: readonly string[]) {
      await vault.open()
      await assertOwnJournal(db, journal)
      const delivered = await act('order.deliver', async (tx, nowMs) => {
        const order = await findOrder(tx, id)
        const result = await deliverByHand(tx, { vault, journal }, order, links, nowMs)
        const details = { account_id: order.account_id, links: links.length, isNew: result.isNew }
        return { result, target: id, details }
      })
      const { account_id, delivered_at } = delivered.order
      if (delivered.isNew) journal?.acknowledge({ account_id, order_id: id, at: delivered_at ?? new Date() })
      return delivered
    },

    retryOrder: (id: string) =>
      act('order.retry', async (tx) => {
        const order = await findOrder(tx, id)
        // Locked, because an order that ends meanwhile would otherwise keep a job that does nothing.
        const row = (await lockOrder(tx, order.account_id, id)) ?? (await readWholeOrder(tx, order))
        if (row.status !== 'paid')
          throw refuse('invalid_request', `Order ${id} is ${row.status}; there is nothing to retry.`)
        await retryOrder(tx, order.account_id, id)
        return { result: row, target: id, details: { account_id: order.account_id } }
      }),

    setRefundRule: (wanted: Parameters<typeof setRefundRule>[1]): Promise<RefundRule> =>
      act('refunds.rule', async (tx, nowMs) => {
        const result = await setRefundRule(tx, wanted, new Date(nowMs))
        return { result, target: 'refunds', details: wanted }
      }),

    releaseRefundRule: (): Promise<RefundRule> =>
      act('refunds.release', async (tx) => {
        const before = await releaseRefundRule(tx)
        if (before.held_at === null)
          throw refuse('invalid_request', 'The refund rule is not stopped; there is nothing to release.')
        const { held_at, per_hour_max } = before
        return { result: { ...before, held_at: null }, target: 'refunds', details: { held_at, per_hour_max } }
      }),
  }
}
