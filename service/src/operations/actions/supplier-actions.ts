import { retryOrder } from '../../orders/fulfilment/waiting.ts'
import { lockOrder } from '../../orders/queries.ts'
import { findOrder } from '../../orders/reading/find-order.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import { askWrittenOff, type Collected, recordCollected } from '../../supply/collect.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import { type Payment, payOnce } from '../../supply/house-ledger.ts'
import { expectedCost, parseRequestId, requestId } from '../../supply/obligation.ts'
import { selectRequestsOfLine, writeOffRequests } from '../../supply/request-queries.ts'
import {
  createSupplier,
  getSupplier,
  limitSupplier,
  type NewSupplier,
  pauseSupplier,
  type Supplier,
} from '../../supply/suppliers.ts'
import type { Act } from './act.ts'

export { SUPPLIER_TIMEOUT_MS_DEFAULT } from '../../supply/suppliers.ts'

export interface SupplierActionDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly vault: LinkVault
  readonly clock: Clock
  readonly fetch: typeof globalThis.fetch
}

/** What an operator may do about suppliers and the requests to them. */
export function supplierActions(deps: SupplierActionDeps, act: Act) {
  const { db, keyring, vault } = deps
  return {
    createSupplier: (wanted: NewSupplier): Promise<{ supplier: Supplier; secret: string }> =>
      act('supplier.create', async (tx, nowMs) => {
        const result = await createSupplier(tx, keyring, wanted, nowMs)
        const { url, hourly_limit_cents } = result.supplier
        return { result, target: wanted.name, details: { url, hourly_limit_cents } }
      }),

    pauseSupplier: (name: string, is_paused: boolean): Promise<Supplier> =>
      act(is_paused ? 'supplier.pause' : 'supplier.resume', async (tx) => ({
        result: await pauseSupplier(tx, name, is_paused),
        target: name,
      })),

    limitSupplier: (name: string, hourly_limit_cents: number | null): Promise<Supplier> =>
      act('supplier.limit', async (tx, nowMs) => {
        const before = await getSupplier(tx, name)
        const result = await limitSupplier(tx, name, hourly_limit_cents, nowMs)
        return {
          result,
          target: name,
          details: { before: before.hourly_limit_cents, after: hourly_limit_cents },
        }
      }),

    /** Records a payment; with a reference that was recorded before, nothing is booked. */
    paySupplier: (name: string, payment: Payment) =>
      act('supplier.pay', async (tx, nowMs) => {
        await getSupplier(tx, name)
        const result = await payOnce(tx, name, payment, nowMs)
        return { result, target: name, details: { ...payment, is_new: result.isNew } }
      }),

    /** Writes off a line's open requests: they are no longer waited for, and other suppliers may be called. */
    giveUpRequests: (order_id: string, line: number) =>
      act('supplier.give_up', async (tx, nowMs) => {
        const { account_id } = await findOrder(tx, order_id)
        await lockOrder(tx, account_id, order_id)
        const given = await writeOffRequests(tx, account_id, order_id, line, new Date(nowMs))
        if (given.length === 0) {
          throw refuse(
            'not_found',
            `Order ${order_id} has no open request for line ${line}. "suppliers unsettled" lists all there are.`,
          )
        }
        await retryOrder(tx, account_id, order_id)
        const result = given.map((request) => ({
          id: requestId(request),
          supplier: request.supplier,
          qty: request.qty,
          expected_cents: expectedCost(request),
        }))
        return { result, target: order_id, details: { account_id, line, requests: result } }
      }),

    /** Repeats a written-off request once, under the same id. Links that come go to the item's pool. */
    async collectRequest(id: string): Promise<Collected & { id: string; supplier: string }> {
      const named = parseRequestId(id)
      if (!named) {
        throw refuse(
          'invalid_request',
          `"${id}" is not the id of a request, such as ord_01m7evcqc1fjdv5d2cs5b99qzw-1.`,
        )
      }
      const { account_id } = await findOrder(db, named.order_id)
      const requests = await selectRequestsOfLine(db, { ...named, account_id })
      const ofId = requests.filter(({ round }) => round === named.round)
      const request = ofId.find(({ stage }) => stage === 'written_off')
      if (!request) throw refuse('not_found', whyNot(id, ofId))
      await vault.open()
      const reply = await askWrittenOff(deps, request)
      return act('supplier.collect', async (tx, nowMs) => {
        await lockOrder(tx, account_id, named.order_id)
        const collected = await recordCollected(tx, vault, request, reply, nowMs)
        const result = { id, supplier: request.supplier, ...collected }
        return { result, target: named.order_id, details: { account_id, ...result } }
      })
    },
  }
}

function whyNot(
  id: string,
  requests: readonly { readonly stage: string; readonly is_open: boolean }[],
): string {
  const [request] = requests
  if (!request) return `There is no request ${id}. "suppliers statement" lists those of a month.`
  return request.is_open
    ? `Request ${id} is open: workers retry it automatically. "suppliers unsettled" shows when they last did.`
    : `Request ${id} is ${request.stage}: there is nothing to collect. Only written-off requests can be collected.`
}
