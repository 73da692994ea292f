import type { Tx } from '../platform/database/db.ts'
import { assert } from '../platform/trouble.ts'
import type { LinkVault } from './gift-link.ts'
import { costOf, expectedCost, makerOf, type Price, type RequestName } from './obligation.ts'
import { recordLinks } from './record-links.ts'
import { type FencedRequest, recordDelivery, recordRefusal, SOLD_BEFORE } from './request-queries.ts'

/** Of the links that a request brought, those that are new to this store. They are recorded as its links. */
export async function recordReceived(
  tx: Tx,
  vault: LinkVault,
  request: RequestName | undefined,
  links: readonly string[],
  nowMs: number,
): Promise<string[]> {
  const hashes = links.map((link) => vault.fingerprint(link))
  const isNew = await recordLinks(tx, hashes, nowMs, {
    made_by: request ? makerOf(request) : null,
    order: request,
  })
  return links.filter((_, n) => isNew[n])
}

/** How a request ended. */
export interface Ended {
  readonly stage: 'fulfilled' | 'collected' | 'refused'
  /** The booked cost; null when nothing was booked, or the cost was unknown. */
  readonly cost_cents: number | null
  readonly error: string | null
  readonly overCost: OverCost | undefined
}

/** The supplier asked more than was expected. It is booked all the same, and the statement marks it. */
export interface OverCost {
  readonly said_cents: number
  readonly expected_cents: number
}

/**
 * Ends a request whose links were stored in this transaction: fulfilled when one went to the order, collected when all went to the pool. When
 * this store had held every one of them before, nothing is owed for them and the request counts as refused.
 */
export async function endRequest(
  tx: Tx,
  request: FencedRequest & Price & { readonly said_cents: number | null },
  { isNew, pooled }: { readonly isNew: number; readonly pooled: number },
  nowMs: number,
): Promise<Ended> {
  const { said_cents } = request
  const at = new Date(nowMs)
  if (isNew === 0) {
    const refused = await recordRefusal(tx, request, { stage: 'refused', error: SOLD_BEFORE }, at)
    assert(refused === 1, 'a request whose links arrived was open or written off')
    return { stage: 'refused', cost_cents: null, error: SOLD_BEFORE, overCost: undefined }
  }
  const error = isNew < request.qty ? SOLD_BEFORE : null
  const cost_cents = costOf(request, said_cents, isNew)
  const stage = pooled < isNew ? 'fulfilled' : 'collected'
  const ended = await recordDelivery(tx, request, stage, { links: isNew, said_cents, cost_cents, error }, at)
  assert(ended === 1, 'a request whose links arrived was open or written off')
  const expected_cents = expectedCost(request)
  const isOver = said_cents !== null && expected_cents !== null && said_cents > expected_cents
  return { stage, cost_cents, error, overCost: isOver ? { said_cents, expected_cents } : undefined }
}
