import { selectBought } from '../../orders/placing/attempts.ts'
import { type Proof, proveKey, summaryOf } from '../../orders/placing/prove-key.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { refuse } from '../../platform/trouble.ts'

/** What an idempotency key, or the key of an order, bought, and what it cost. `named` is a raw path segment. */
export function proofFor(
  db: Db,
  account_id: string,
  named: string,
): Promise<Proof & { readonly summary: string }> {
  const text = decoded(named)
  return inAccount(db, account_id, async (tx) => {
    const [order] = await selectBought(tx, account_id, { order_id: text })
    const proof = await proveKey(tx, account_id, order?.idempotency_key ?? text)
    if (proof.orders.length === 0 && proof.attempts.length === 0)
      throw refuse(
        'not_found',
        'This account has no order with this id or idempotency key, and no attempt with that key is recorded. Compare it with your own log: keys are case-sensitive.',
      )
    return { ...proof, summary: summaryOf(proof) }
  })
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw refuse('invalid_request', 'The last part of the path is not percent-encoded UTF-8.')
  }
}
