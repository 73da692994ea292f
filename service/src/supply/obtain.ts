import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { LeaseLost } from '../platform/jobs.ts'
import { askSupplier, type SupplierReply } from './ask-supplier.ts'
import { createBreaker } from './breaker.ts'
import {
  type ItemSupply,
  recordAsking,
  recordEnd,
  recordFailure,
  SOLD_BEFORE,
  selectRequest,
} from './queries.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** What one line of an order still needs from suppliers. */
export interface Need {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  readonly supply: ItemSupply
  readonly missing: number
  /** Of the lease under which suppliers are asked. */
  readonly fencing_token: number
}

export type Obtained =
  | { readonly kind: 'given'; readonly links: readonly string[]; readonly supplier: string }
  | { readonly kind: 'not yet'; readonly note: string }

/** Whoever keeps the links records the request as given, in the same transaction. */
export type ObtainFromSuppliers = (need: Need) => Promise<Obtained>

/** How often the first supplier may leave us without an answer before the second is asked. */
const FAILURES_BEFORE_FALLBACK = 3

interface Asked {
  readonly reply: SupplierReply
  /** Whether to leave it at that and ask again later, rather than to ask the next one. */
  readonly isWorthWaiting: boolean
}

/**
 * Asks the item's supplier, then its fallback. The fallback is asked when the first one refuses, is paused, keeps failing or
 * has left several askings without an answer; whatever the first may still have made is on record as asked and not given.
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

  async function ask(need: Need, name: string): Promise<Asked> {
    const row = await getSupplier(db, name)
    if (row.is_paused) return next({ kind: 'refused', error: 'paused' })
    if (!breaker.allows(name, clock.nowMs())) return next({ kind: 'failed', error: 'keeps failing' })
    const { account_id, order_id, line, supply, fencing_token } = need
    const request = { account_id, order_id, line, supplier: name, fencing_token }
    // It would do it again. Without anybody else to ask, it gets another chance.
    const before = await selectRequest(db, request)
    if (before?.error === SOLD_BEFORE && supply.fallback !== null && name !== supply.fallback)
      return next({ kind: 'refused', error: SOLD_BEFORE })
    const wanted = { ...request, sku: supply.sku ?? supply.item_id, qty: need.missing }
    const asking = await recordAsking(db, wanted, new Date(clock.nowMs()))
    if (!asking) throw new LeaseLost(`request to ${name} for ${order_id}`)
    const { sku, qty, round, failures } = asking
    const id = `${order_id}-${line}${round > 1 ? `-${round}` : ''}`
    const secret = await openSupplierSecret(keyring, row)
    const address = { url: row.url, secret, timeout_ms: row.timeout_ms }
    const reply = await askSupplier(address, { id, sku, qty }, clock.nowMs(), deps.fetch)
    if (reply.kind === 'failed') breaker.failed(name, clock.nowMs())
    else breaker.succeeded(name)
    if (reply.kind !== 'given') {
      const written =
        reply.kind === 'refused'
          ? await recordEnd(db, request, 'refused', reply.error)
          : await recordFailure(db, request, reply.error, reply.kind === 'failed')
      // Another worker asks with the same id now, and what it is told counts.
      if (written === 0) throw new LeaseLost(`request to ${name} for ${order_id}`)
    }
    const isPatienceLeft = failures + 1 < FAILURES_BEFORE_FALLBACK
    const isWorthWaiting = reply.kind === 'later' || (reply.kind === 'failed' && isPatienceLeft)
    return { reply, isWorthWaiting }
  }

  async function askInTurn(need: Need, name: string): Promise<Asked> {
    const before = underWay.get(name) ?? 0
    if (before >= asksMax)
      return { reply: { kind: 'later', error: 'busy with other orders' }, isWorthWaiting: true }
    underWay.set(name, before + 1)
    try {
      return await ask(need, name)
    } finally {
      underWay.set(name, (underWay.get(name) ?? 1) - 1)
    }
  }

  return async (need) => {
    const notes: string[] = []
    const { supplier, fallback } = need.supply
    for (const name of [supplier, fallback]) {
      if (name === null) continue
      const { reply, isWorthWaiting } = await askInTurn(need, name)
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: name }
      notes.push(`supplier ${name}: ${reply.error}`)
      if (isWorthWaiting) break
    }
    return { kind: 'not yet', note: notes.join('; ') }
  }
}

function next(reply: SupplierReply): Asked {
  return { reply, isWorthWaiting: false }
}
