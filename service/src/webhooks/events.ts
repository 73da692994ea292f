import type { WebhookEventName } from '@shopwire/contract'
import { sql, type Tx } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'

/** Written in the transaction that makes it true. An order has each kind of event at most once. */
export const recordOrderEvent = (
  tx: Tx,
  type: Extract<WebhookEventName, `order.${string}`>,
  { account_id, order_id }: { account_id: string; order_id: string },
  nowMs: number,
) =>
  tx.run(sql`
    insert into events (account_id, id, type, order_id, created_at)
    values (${account_id}, ${newId('evt', nowMs)}, ${type}, ${order_id}, ${new Date(nowMs)})`)
