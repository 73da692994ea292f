import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import { refuse } from '../platform/trouble.ts'
import { askSupplier, type SupplierReply } from './ask-supplier.ts'
import type { LinkVault } from './gift-link.ts'
import { requestId } from './obligation.ts'
import { markPools, returnToPool } from './pool.ts'
import { lockItemSupply } from './queries.ts'
import { endRequest, recordReceived } from './receive.ts'
import { lockWrittenOff, recordCollecting, recordRefusal, type SupplierRequest } from './request-queries.ts'
import { getSupplier, openSupplierSecret } from './suppliers.ts'

/** Sends a written-off request once more. No transaction is open while the supplier answers. */
export async function askWrittenOff(
  { db, keyring, clock, fetch }: { db: Db; keyring: Keyring; clock: Clock; fetch: typeof globalThis.fetch },
  request: SupplierRequest,
): Promise<SupplierReply> {
  const row = await getSupplier(db, request.supplier)
  const secret = await openSupplierSecret(keyring, row)
  const asking = await recordCollecting(db, request, new Date(clock.nowMs()))
  if (!asking) {
    throw refuse(
      'idempotency_conflict',
      `Request ${requestId(request)} was not sent: it has ended meanwhile, or the store is closed on this database ("recover status").`,
    )
  }
  const { url, timeout_ms } = row
  const ask = { id: requestId(asking), sku: asking.sku, qty: asking.qty }
  return askSupplier({ url, secret, timeout_ms }, ask, clock.nowMs(), fetch)
}

export interface Collected {
  readonly outcome: 'collected' | 'refused' | 'not yet'
  readonly item_id: string
  /** Links that went to the pool of the item. */
  readonly links: number
  readonly cost_cents: number | null
  /** Why there are none, or fewer than requested. */
  readonly error: string | null
}

/**
 * Stores what the supplier answered. The links go to the pool even if the order needs them; it then takes them from there. The
 * order must be locked.
 */
export async function recordCollected(
  tx: Tx,
  vault: LinkVault,
  name: SupplierRequest,
  reply: SupplierReply,
  nowMs: number,
): Promise<Collected> {
  const request = await lockWrittenOff(tx, name)
  if (!request) {
    throw refuse(
      'idempotency_conflict',
      `Request ${requestId(name)} was ended by another operator meanwhile.`,
    )
  }
  const { item_id } = request
  const nothing = { item_id, links: 0, cost_cents: null }
  if (reply.kind === 'refused') {
    const { error } = reply
    await recordRefusal(tx, request, { stage: 'refused', error }, new Date(nowMs))
    return { ...nothing, outcome: 'refused', error }
  }
  if (reply.kind !== 'given') return { ...nothing, outcome: 'not yet', error: reply.error }
  const { said_cents } = reply
  await lockItemSupply(tx, [item_id])
  const fresh = await recordReceived(tx, vault, request, reply.links, nowMs)
  const links = fresh.length
  await returnToPool(tx, vault, item_id, fresh, nowMs)
  const ended = await endRequest(tx, { ...request, said_cents }, { isNew: links, pooled: links }, nowMs)
  await markPools(tx, [item_id], nowMs)
  const { cost_cents, error } = ended
  return { outcome: ended.stage === 'refused' ? 'refused' : 'collected', item_id, links, cost_cents, error }
}
