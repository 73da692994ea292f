import { batched } from '../../platform/batching/batched.ts'
import type { Queryable } from '../../platform/database/db.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import type { Span, TraceOf, Tracing } from '../../platform/observability/tracing.ts'
import type { DeliveryToTrace } from '../../webhooks/delivery-deps.ts'
import { selectRequestIds } from '../queries.ts'

const BATCH_MAX = 256

/** A worker's work for an order continues the trace of the request that bought it. */
export function followTraces(db: Queryable, tracing: Tracing) {
  const requestIdOf = batched({
    part: 'database',
    sizeMax: BATCH_MAX,
    runMany: (orders: readonly { account_id: string; id: string }[]) => selectRequestIds(db, orders),
  })

  async function traceOf(account_id: string, order_id: string): Promise<TraceOf> {
    // If the database does not answer, the work itself will report it.
    const request_id = await requestIdOf({ account_id, id: order_id }).catch(() => null)
    return request_id === null ? { subject_id: order_id } : { request_id }
  }

  return {
    async fulfilment({ account_id, queue, subject: order_id, attempts }: Job): Promise<Span> {
      return tracing.follow(await traceOf(account_id, order_id), 'fulfilment attempt', 'consumer', {
        'messaging.system': 'shopwire',
        'messaging.operation.type': 'process',
        'messaging.operation.name': 'fulfil',
        'messaging.destination.name': queue,
        'shopwire.account_id': account_id,
        'shopwire.order_id': order_id,
        'shopwire.attempt': attempts,
      })
    },
    async delivery(delivery: DeliveryToTrace): Promise<Span> {
      const { account_id, endpoint_id, event_id, type, order_id, round, attempts } = delivery
      const of = order_id === null ? { subject_id: event_id } : await traceOf(account_id, order_id)
      return tracing.follow(of, 'webhook attempt', 'client', {
        'http.request.method': 'POST',
        'http.request.resend_count': attempts,
        'shopwire.account_id': account_id,
        'shopwire.endpoint_id': endpoint_id,
        'shopwire.event_id': event_id,
        'shopwire.event': type,
        ...(order_id !== null && { 'shopwire.order_id': order_id }),
        'shopwire.round': round,
        'shopwire.attempt': attempts + 1,
      })
    },
  }
}
