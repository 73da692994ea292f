import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql } from '../../platform/database/db.ts'
import { idFloor } from '../../platform/text/ids.ts'
import type { ResentEvents } from '../../webhooks/delivery-log.ts'
import type { DeliveryState } from '../../webhooks/delivery-search.ts'
import type { Member } from '../member.ts'

export interface EventRow {
  readonly id: string
  readonly type: WebhookEventName
  readonly order_id: string | null
  readonly revision: number | null
  readonly created_at: Date
  /** Null when it was not sent yet, and when it was accepted at once. */
  readonly body_sealed: Buffer | null
}

export const selectEvent = (db: Queryable, account_id: string, event_id: string) =>
  db.maybeOne<EventRow>(sql`
    select id, type, order_id, revision, created_at, body_sealed
      from events
     where account_id = ${account_id}
       and id = ${event_id}`)

export interface EndpointDeliveryRow {
  readonly endpoint_id: string
  readonly url: string
  readonly ended_at: Date | null
  readonly state: DeliveryState
  readonly attempts: number
  readonly round: number
  readonly created_at: Date
  readonly next_at: Date
  readonly done_at: Date | null
}

/** The current endpoint first. */
export const selectEndpointDeliveries = (db: Queryable, account_id: string, event_id: string) =>
  db.many<EndpointDeliveryRow>(sql`
    select d.endpoint_id, e.url, e.ended_at, d.state, d.attempts, d.round, d.created_at, d.next_at, d.done_at
      from deliveries d
      join webhook_endpoints e on e.account_id = d.account_id and e.id = d.endpoint_id
     where d.account_id = ${account_id}
       and d.event_id = ${event_id}
     order by e.ended_at desc nulls first, d.endpoint_id desc`)

export interface AttemptRow {
  readonly endpoint_id: string
  readonly round: number
  readonly n: number
  readonly started_at: Date
  readonly ms: number
  readonly status: number | null
  readonly error: string | null
  readonly signed_s: number | null
  readonly signatures: Buffer | null
  readonly connect_ms: number | null
  readonly send_ms: number | null
  readonly wait_ms: number | null
  readonly answer_sealed: Buffer | null
}

/** Newest first. Without the address, which the role of the dashboard cannot read. */
export const selectAttempts = (db: Queryable, account_id: string, event_id: string, limit: number) =>
  db.many<AttemptRow>(sql`
    select endpoint_id, round, n, started_at, (extract(epoch from finished_at - started_at) * 1000)::integer as ms, status, error,
           signed_s, signatures, connect_ms, send_ms, wait_ms, answer_sealed
      from attempts_shown
     where account_id = ${account_id}
       and event_id = ${event_id}
     order by started_at desc, round desc, n desc
     limit ${limit}`)

export const RESEND_SEVERAL_ACTION = 'webhook.resend_several'
/** A request is repeated within seconds, when its answer was lost. */
const REPEATED_WITHIN_MS = 86_400_000

/** What the same request of this person did before, as its audit row says. */
export const selectResent = (
  db: Queryable,
  { account_id, person_id }: Pick<Member, 'account_id' | 'person_id'>,
  attempt: string,
  nowMs: number,
) =>
  db.maybeOne<ResentEvents>(sql`
    select array(select jsonb_array_elements_text(details -> 'after' -> 'resent')) as resent,
           array(select jsonb_array_elements_text(details -> 'after' -> 'already_queued')) as already_queued,
           array(select jsonb_array_elements_text(details -> 'after' -> 'not_found')) as not_found
      from audit_log
     where account_id = ${account_id}
       and id > ${idFloor('aud', nowMs - REPEATED_WITHIN_MS)}
       and actor = ${`person:${person_id}`}
       and action = ${RESEND_SEVERAL_ACTION}
       and details -> 'after' ->> 'attempt' = ${attempt}
     order by id
     limit 1`)
