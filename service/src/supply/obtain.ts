import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { LeaseLostError } from '../platform/jobs.ts'
import { askSupplier, type SupplierReply } from './ask-supplier.ts'
import { createBreaker } from './breaker.ts'
import {
  type Asking,
  type FencedRequest,
  GIVEN_UP,
  type ItemSupply,
  recordAsking,
  recordAskingAgain,
  recordEnd,
  recordFailure,
  requestId,
  SOLD_BEFORE,
  type SupplierRequest,
  type SupplierRow,
  selectRequest,
} from './queries.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** What one line of an order still needs from suppliers. */
export interface Need {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  /** Requests of the line that were sent and have no final answer. */
  readonly open: readonly Pick<SupplierRequest, 'supplier'>[]
  /** Whom to ask for what is missing; nobody when undefined. */
  readonly supply: ItemSupply | undefined
  readonly missing: number
  /** Of the lease under which suppliers are asked. */
  readonly fencing_token: number
}

export type Obtained =
  | { readonly kind: 'given'; readonly links: readonly string[]; readonly supplier: string }
  | { readonly kind: 'not yet'; readonly note: string }

/** Whoever keeps the links records the request as given, in the same transaction. */
export type ObtainFromSuppliers = (need: Need) => Promise<Obtained>

/**
 * Settles the line's open requests, each with its own supplier, whatever the configuration and the circuit breaker say
 * meanwhile; a supplier that may have received a request may have sold. Only when none is open is the item's supplier asked,
 * then its fallback: after a refusal of the first, or when it is certain that the first received nothing.
 */
export function createObtainer(deps: {
  db: Db
  keyring: Keyring
  clock: Clock
  /** Of one supplier at a time: a slow one must not take every hand there is. */
  asksMax: number
  /** How suppliers are reached. */
  fetch: typeof globalThis.fetch
}): ObtainFromSuppliers {
  const { db, keyring, clock, asksMax } = deps
  const breaker = createBreaker()
  const underWay = new Map<string, number>()

  /** Also while it is paused: a pause is about new requests, and this one may be paid for. */
  async function askAgain(need: Need, name: string): Promise<SupplierReply> {
    if (!breaker.allows(name, clock.nowMs())) return { kind: 'later', error: KEEPS_FAILING }
    return send(need, await getSupplier(db, name), (request, at) => recordAskingAgain(db, request, at))
  }

  async function askFirst(need: Need, supply: ItemSupply, name: string): Promise<SupplierReply> {
    const row = await getSupplier(db, name)
    if (row.is_paused) return { kind: 'unsent', error: 'paused' }
    if (!breaker.allows(name, clock.nowMs())) return { kind: 'unsent', error: KEEPS_FAILING }
    const before = await selectRequest(db, { ...need, supplier: name })
    if (isPassedOver(before, supply, name)) return { kind: 'refused', error: String(before?.error) }
    const wanted = { sku: supply.sku ?? supply.item_id, qty: need.missing }
    return send(need, row, (request, at) => recordAsking(db, { ...request, ...wanted }, at))
  }

  async function send(
    need: Need,
    row: SupplierRow,
    record: (request: FencedRequest, at: Date) => Promise<Asking | undefined>,
  ): Promise<SupplierReply> {
    const { account_id, order_id, line, fencing_token } = need
    const { name, url, timeout_ms } = row
    const request = { account_id, order_id, line, supplier: name, fencing_token }
    const secret = await openSupplierSecret(keyring, row)
    const asking = await record(request, new Date(clock.nowMs()))
    if (!asking) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    const { sku, qty, attempts } = asking
    const answer = await askSupplier(
      { url, secret, timeout_ms },
      { id: requestId(asking), sku, qty },
      clock.nowMs(),
      deps.fetch,
    )
    // An earlier asking with this id may have arrived.
    const reply = answer.kind === 'unsent' && attempts > 1 ? { ...answer, kind: 'failed' as const } : answer
    if (reply.kind === 'failed' || reply.kind === 'unsent') breaker.failed(name, clock.nowMs())
    else breaker.succeeded(name)
    if (reply.kind === 'given') return reply
    const written =
      reply.kind === 'refused' || reply.kind === 'unsent'
        ? await recordEnd(db, request, reply.kind, reply.error)
        : await recordFailure(db, request, reply.error, reply.kind === 'failed')
    // Another worker asks with the same id now, and what it is told counts.
    if (written === 0) throw new LeaseLostError(`request to ${name} for ${order_id}`)
    return reply
  }

  async function withinShare(name: string, ask: () => Promise<SupplierReply>): Promise<SupplierReply> {
    const before = underWay.get(name) ?? 0
    if (before >= asksMax) return { kind: 'later', error: 'busy with other orders' }
    underWay.set(name, before + 1)
    try {
      return await ask()
    } finally {
      underWay.set(name, (underWay.get(name) ?? 1) - 1)
    }
  }

  return async (need) => {
    const notes: string[] = []
    const isFinal = (reply: SupplierReply) => reply.kind === 'refused' || reply.kind === 'unsent'
    let isOpen = false
    for (const open of need.open) {
      const reply = await withinShare(open.supplier, () => askAgain(need, open.supplier))
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: open.supplier }
      notes.push(`supplier ${open.supplier}: ${reply.error}`)
      isOpen ||= !isFinal(reply)
    }
    const { supply } = need
    const refusers = need.open.map(({ supplier }) => supplier)
    for (const name of isOpen || !supply ? [] : [supply.supplier, supply.fallback]) {
      if (!supply || name === null || refusers.includes(name)) continue
      const reply = await withinShare(name, () => askFirst(need, supply, name))
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: name }
      notes.push(`supplier ${name}: ${reply.error}`)
      if (!isFinal(reply)) break
    }
    return { kind: 'not yet', note: notes.join('; ') }
  }
}

const KEEPS_FAILING = 'keeps failing'

/** It would do it again, or is gone for good. Without anybody else to ask, it gets another chance. */
function isPassedOver(before: SupplierRequest | undefined, supply: ItemSupply, name: string): boolean {
  if (supply.fallback === null || before?.state !== 'refused') return false
  return before.error === GIVEN_UP || (before.error === SOLD_BEFORE && name !== supply.fallback)
}
