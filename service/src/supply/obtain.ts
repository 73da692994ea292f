import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { askSupplier, type SupplierReply } from './ask-supplier.ts'
import { createBreaker } from './breaker.ts'
import { type ItemSupply, recordAsking, recordReply } from './queries.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** What one line of an order still needs from suppliers. */
export interface Need {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  readonly supply: ItemSupply
  readonly missing: number
}

export type Obtained =
  | { readonly kind: 'given'; readonly links: readonly string[]; readonly supplier: string }
  | { readonly kind: 'not yet'; readonly note: string }

export type ObtainFromSuppliers = (need: Need) => Promise<Obtained>

/** How often the first supplier may leave us without an answer before the second is asked. */
const ASKS_BEFORE_FALLBACK = 3

/**
 * Asks the item's supplier, then its fallback. The fallback is asked when the first one refuses, is paused, keeps failing or
 * has not answered several times; whatever the first may still have made is on record as asked and not given.
 */
export function createObtainer(deps: { db: Db; keyring: Keyring; clock: Clock }): ObtainFromSuppliers {
  const { db, keyring, clock } = deps
  const breaker = createBreaker()

  async function ask(need: Need, name: string): Promise<{ reply: SupplierReply; attempts: number }> {
    const row = await getSupplier(db, name)
    if (row.is_paused) return { reply: { kind: 'refused', error: 'paused' }, attempts: 0 }
    if (!breaker.allows(name, clock.nowMs()))
      return { reply: { kind: 'failed', error: 'keeps failing' }, attempts: ASKS_BEFORE_FALLBACK }
    const { account_id, order_id, line, supply } = need
    const place = { account_id, order_id, line, supplier: name }
    const { qty, attempts } = await recordAsking(db, { ...place, qty: need.missing }, new Date(clock.nowMs()))
    const reply = await askSupplier(
      { url: row.url, secret: await openSupplierSecret(keyring, row), timeout_ms: row.timeout_ms },
      { id: `${order_id}-${line}`, sku: supply.sku ?? supply.item_id, qty },
      clock.nowMs(),
    )
    if (reply.kind === 'failed') breaker.failed(name, clock.nowMs())
    else breaker.succeeded(name)
    const state = reply.kind === 'given' || reply.kind === 'refused' ? reply.kind : 'asked'
    await recordReply(db, { ...place, state, error: reply.kind === 'given' ? null : reply.error })
    return { reply, attempts }
  }

  return async (need) => {
    const notes: string[] = []
    const { supplier, fallback } = need.supply
    for (const name of [supplier, fallback]) {
      if (name === null) continue
      const { reply, attempts } = await ask(need, name)
      if (reply.kind === 'given') return { kind: 'given', links: reply.links, supplier: name }
      notes.push(`supplier ${name}: ${reply.error}`)
      const isWorthWaiting = reply.kind !== 'refused' && attempts < ASKS_BEFORE_FALLBACK
      if (isWorthWaiting) break
    }
    return { kind: 'not yet', note: notes.join('; ') }
  }
}
