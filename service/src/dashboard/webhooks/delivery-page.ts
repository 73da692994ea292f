import { createHash } from 'node:crypto'
import { WEBHOOK_HORIZON_S, webhookHeaders } from '@shopwire/contract'
import type { DeliveryPage, DeliveryState } from '@shopwire/contract/dashboard'
import { sentBody } from '../../orders/fulfilment/compose-event.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import type { OpensLinks } from '../../supply/gift-link.ts'
import { linksIn, openAnswer } from '../../webhooks/answer.ts'
import type { FoundDelivery } from '../../webhooks/delivery-search.ts'
import { earliestAttemptsS } from '../../webhooks/schedule.ts'
import { PLAIN_HEADERS } from '../../webhooks/send.ts'
import type { Member } from '../member.ts'
import {
  type AttemptRow,
  type EndpointDeliveryRow,
  selectAttempts,
  selectEndpointDeliveries,
  selectEvent,
} from './deliveries-queries.ts'
import { withoutQuery } from './webhook.ts'

/** Twelve per delivery; more than any event that was not resent dozens of times. */
const ATTEMPTS_SHOWN_MAX = 200
const MASK = '••••••••'
const SIGNATURE_BYTES = 32

/** In the words of the dashboard. */
export const SHOWN_STATES = {
  delivered: 'accepted',
  pending: 'retrying',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<FoundDelivery['state'], DeliveryState>

/** One event: what was sent with its links masked, to which endpoints, and every attempt. Never an address, never a link. */
export async function readDelivery(
  tx: Tx,
  { keyring, vault }: { readonly keyring: Keyring; readonly vault: OpensLinks },
  { account_id, role }: Member,
  event_id: string,
): Promise<DeliveryPage> {
  const event = await selectEvent(tx, account_id, event_id)
  if (!event)
    throw refuse(
      'not_found',
      'There is no such event in this account, or it is past the retention of events.',
    )
  const deliveries = await selectEndpointDeliveries(tx, account_id, event_id)
  const attempts = await selectAttempts(tx, account_id, event_id, ATTEMPTS_SHOWN_MAX)
  const { created_at: event_created_at } = event
  const body =
    attempts.length === 0
      ? null
      : await sentBody(tx, { keyring, vault }, { ...event, account_id, event_id, event_created_at })
  const urls = new Map(deliveries.map(({ endpoint_id, url }) => [endpoint_id, url]))
  const isBuilder = role === 'owner' || role === 'developer'
  return {
    event: {
      id: event.id,
      type: event.type,
      order_id: event.order_id,
      created_at: event.created_at.toISOString(),
    },
    body: body === null ? null : presentBody(body),
    deliveries: deliveries.map((row) => presentDelivery(row, isBuilder)),
    attempts: await Promise.all(
      attempts.map(async (row) => ({
        endpoint_id: row.endpoint_id,
        round: row.round,
        n: row.n,
        started_at: row.started_at.toISOString(),
        // The clock may have been set back meanwhile.
        ms: Math.max(0, row.ms),
        status: row.status,
        error: row.error,
        connect_ms: row.connect_ms,
        send_ms: row.send_ms,
        wait_ms: row.wait_ms,
        request_headers: requestHeaders(row, event_id, urls.get(row.endpoint_id), body),
        answer: await presentAnswer(keyring, { ...row, account_id, event_id }),
      })),
    ),
    schedule_s: earliestAttemptsS(),
  }
}

function presentBody(body: string): NonNullable<DeliveryPage['body']> {
  const links = linksIn(body)
  return {
    text: masked(body, links),
    masked_links: links.length,
    bytes: Buffer.byteLength(body),
    sha256: createHash('sha256').update(body).digest('hex'),
  }
}

/** The body is JSON as `JSON.stringify` wrote it, so parsing and writing it again changes nothing but the links. */
function masked(body: string, links: readonly string[]): string {
  if (links.length === 0) return body
  const event = JSON.parse(body)
  event.data.order.links = links.map(() => MASK)
  return JSON.stringify(event)
}

function presentDelivery(row: EndpointDeliveryRow, isBuilder: boolean): DeliveryPage['deliveries'][number] {
  const isPending = row.state === 'pending'
  const givesUpMs = row.created_at.getTime() + WEBHOOK_HORIZON_S * 1000
  return {
    endpoint_id: row.endpoint_id,
    // The query string may contain a token of the receiver.
    url: isBuilder ? row.url : (withoutQuery(row.url) as string),
    is_current: row.ended_at === null,
    state: SHOWN_STATES[row.state],
    attempts: row.attempts,
    round: row.round,
    round_at: row.created_at.toISOString(),
    next_at: isPending ? row.next_at.toISOString() : null,
    gives_up_at: isPending ? new Date(givesUpMs).toISOString() : null,
    done_at: row.done_at?.toISOString() ?? null,
  }
}

/** As sent. Empty when nothing was signed, because the event could not be composed. */
function requestHeaders(
  { signed_s, signatures }: AttemptRow,
  event_id: string,
  url: string | undefined,
  body: string | null,
): [string, string][] {
  if (signed_s === null || signatures === null || body === null) return []
  const hex = signatures.toString('hex')
  const previous = hex.slice(SIGNATURE_BYTES * 2)
  return [
    ...(url === undefined ? [] : [['host', new URL(url).host] as [string, string]]),
    ...Object.entries(PLAIN_HEADERS),
    [webhookHeaders.timestamp, String(signed_s)],
    [webhookHeaders.id, event_id],
    [webhookHeaders.signature, hex.slice(0, SIGNATURE_BYTES * 2)],
    ...(previous === '' ? [] : [[webhookHeaders.previousSignature, previous] as [string, string]]),
    ['content-length', String(Buffer.byteLength(body))],
  ]
}

async function presentAnswer(
  keyring: Keyring,
  row: AttemptRow & { readonly account_id: string; readonly event_id: string },
) {
  if (row.answer_sealed === null) return null
  const { headers, text, isCut } = await openAnswer(keyring, row, row.answer_sealed)
  return { headers: headers.map(([name, value]): [string, string] => [name, value]), text, is_cut: isCut }
}
