import { FULFIL_QUEUE } from '../../orders/fulfilment/fulfil-queue.ts'
import { endOrderJob } from '../../orders/fulfilment/waiting.ts'
import { lockOrder } from '../../orders/queries.ts'
import { findOrder } from '../../orders/reading/find-order.ts'
import type { Tx } from '../../platform/database/db.ts'
import { type DeadLetter, dropJob, retryDeadLetters, selectDeadLetter } from '../../platform/jobs/jobs.ts'
import { deleteMail } from '../../platform/mail/mail.ts'
import { MAIL_QUEUE } from '../../platform/mail/mail-queue.ts'
import { refuse } from '../../platform/trouble.ts'
import { selectIsOwed } from '../../supply/request-queries.ts'
import { DELIVER_QUEUE } from '../../webhooks/deliver-queue.ts'
import { giveUpDeliveries } from '../../webhooks/delivery-queries.ts'
import type { Act } from './act.ts'

export interface Dropped extends Pick<DeadLetter, 'account_id' | 'queue' | 'subject'> {
  /** Events that are no longer sent; "webhooks recover" sends them again. */
  readonly events_given_up: number
}

/** What an operator may do about jobs that failed too often. */
export function jobActions(act: Act) {
  return {
    /** One dead letter, identified by its order, endpoint or mail, or all of them. Returns what was made due. */
    retryDeadLetters: (subject: string | null) =>
      act('jobs.retry', async (tx) => {
        // Queues in the order in which jobs are locked.
        const deliveries = await retryDeadLetters(tx, DELIVER_QUEUE, subject)
        const orders = await retryDeadLetters(tx, FULFIL_QUEUE, subject)
        const mails = await retryDeadLetters(tx, MAIL_QUEUE, subject)
        if (subject !== null && deliveries.length + orders.length + mails.length === 0)
          throw noDeadLetter(subject)
        const result = { orders: orders.length, endpoints: deliveries.length, mails: mails.length }
        return { result, target: subject ?? 'all', details: result }
      }),

    /** Removes a dead letter permanently. An order that is paid has to end in another way. */
    dropDeadLetter: (subject: string, reason: string): Promise<Dropped> =>
      act('jobs.drop', async (tx, nowMs) => {
        const found = await selectDeadLetter(tx, subject)
        if (!found) throw noDeadLetter(subject)
        const { account_id, queue } = found
        const now = new Date(nowMs)
        const events_given_up =
          queue === DELIVER_QUEUE
            ? await giveUpDeliveries(tx, { account_id, endpoint_id: subject }, { now, horizon: now })
            : 0
        if (queue === FULFIL_QUEUE) await dropOrder(tx, subject)
        else await dropJob(tx, queue, subject)
        if (queue === MAIL_QUEUE) await deleteMail(tx, subject)
        const result = { account_id, queue, subject, events_given_up }
        return { result, target: subject, details: { account_id, reason, events_given_up } }
      }),
  }
}

async function dropOrder(tx: Tx, order_id: string): Promise<void> {
  const order = await findOrder(tx, order_id)
  const locked = await lockOrder(tx, order.account_id, order_id)
  if (locked?.status === 'paid') {
    throw refuse(
      'invalid_request',
      `Order ${order_id} is paid and not delivered, so its job cannot be dropped. End the order instead: ` +
        `"orders cancel ${order_id}" refunds it, "orders deliver ${order_id}" delivers it by hand.`,
    )
  }
  const { is_owed } = await selectIsOwed(tx, order.account_id, order_id)
  if (is_owed) {
    throw refuse(
      'invalid_request',
      `A supplier may still deliver links for order ${order_id}: "suppliers requests" lists what is open. Settle that first.`,
    )
  }
  await endOrderJob(tx, order, false)
}

const noDeadLetter = (subject: string) =>
  refuse('not_found', `There is no dead letter about "${subject}". "jobs dead" lists all there are.`)
