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

export interface ExampleEvent {
  readonly account_id: string
  readonly id: string
  readonly created_at: Date
  readonly body_sealed: Buffer
  readonly body_kek_id: string
}

/** To this store an example is a test, whatever its body says: about no order, and in no list of the account's orders. */
export const insertExample = (
  tx: Tx,
  { account_id, id, created_at, body_sealed, body_kek_id }: ExampleEvent,
) =>
  tx.run(sql`
    insert into events (account_id, id, type, created_at, body_sealed, body_kek_id)
    values (${account_id}, ${id}, 'test', ${created_at}, ${body_sealed}, ${body_kek_id})`)
