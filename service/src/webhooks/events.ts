import type { WebhookEventName } from '@shopwire/contract'
import { sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'

export interface NewEvent {
  readonly account_id: string
  readonly type: WebhookEventName
  readonly order_id?: string
}

/** Writes an event, and its delivery if the account has an endpoint, in the transaction of the change that it reports. */
export async function recordEvent(tx: Tx, event: NewEvent, nowMs: number): Promise<string> {
  const id = newId('evt', nowMs)
  await tx.one(sql`
    select record_event(${event.account_id}, ${id}, ${event.type}, ${event.order_id ?? null}, null, ${new Date(nowMs)})`)
  return id
}
