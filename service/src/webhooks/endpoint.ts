import {
  RATE_WINDOW_S,
  WEBHOOK_PREVIOUS_SECRET_S,
  WEBHOOK_TESTS_QUEUED_MAX,
  type WebhookConfiguration,
  type WebhookEvent,
  type WebhookHealth,
} from '@shopwire/contract'
import type { Queryable, Tx } from '../platform/database/db.ts'
import type { Keyring, RowBinding } from '../platform/encryption/encryption.ts'
import type { SealedColumn } from '../platform/encryption/re-encrypt.ts'
import { dropJob } from '../platform/jobs/jobs.ts'
import { newId, newSecret } from '../platform/text/ids.ts'
import { Refusal, refuse } from '../platform/trouble.ts'
import { DELIVER_QUEUE } from './deliver-queue.ts'
import { cancelDeliveries, selectPendingTests } from './delivery-queries.ts'
import { bodyBinding } from './event-body.ts'
import { insertExample, recordEvent } from './events.ts'
import {
  type EndpointRow,
  endEndpoint,
  endPreviousSecrets,
  endSecret,
  insertEndpoint,
  insertSecret,
  lockAccount,
  lockEndpoint,
  selectHealth,
} from './queries.ts'
import { queueAgain } from './recover.ts'

/**
 * A delivery that read its destination just before a change of URL may still be about to be sent. The answer to the change waits for
 * it, so that nothing is sent to the old URL after the answer.
 */
export const ENDPOINT_SETTLE_MS = 250
/** More than can be pending for one endpoint, unless an operator has resent many. */
const PENDING_TESTS_READ_MAX = 100

export async function readHealth(db: Queryable, account_id: string): Promise<WebhookHealth> {
  const row = await selectHealth(db, account_id)
  return {
    webhook_url: row?.url ?? null,
    pending: row?.pending ?? 0,
    failed: row?.failed ?? 0,
    last_delivered_at: row?.last_delivered_at?.toISOString() ?? null,
    last_failure_at: row?.last_failure_at?.toISOString() ?? null,
    last_error: row?.last_error ?? null,
  }
}

/**
 * Sends events to `url` from now on. The same URL again changes nothing. Another URL ends the old endpoint, cancels what was
 * queued for it and keeps the secret. The first URL creates a secret, which is returned here and never again.
 */
export async function setEndpoint(
  tx: Tx,
  keyring: Keyring,
  wanted: { account_id: string; url: string; set_by: string; set_by_name?: string },
  nowMs: number,
  chosenSecret?: string,
): Promise<WebhookConfiguration> {
  const { account_id, url, set_by, set_by_name = null } = wanted
  await lockAccount(tx, account_id)
  const before = await lockEndpoint(tx, account_id)
  if (before?.url === url) return readHealth(tx, account_id)
  const secret = before ? undefined : await newSigningSecret(tx, keyring, account_id, nowMs, chosenSecret)
  if (before) await end(tx, before, nowMs)
  // The account is locked, so no other transaction can add an endpoint to it.
  const created_at = new Date(nowMs)
  await insertEndpoint(tx, { account_id, id: newId('whe', nowMs), url, set_by, set_by_name, created_at })
  const health = await readHealth(tx, account_id)
  return secret === undefined ? health : { ...health, secret }
}

/** Stops deliveries. Idempotent: without an endpoint it does nothing. */
export async function stopEndpoint(tx: Tx, account_id: string, nowMs: number): Promise<WebhookHealth> {
  await lockAccount(tx, account_id)
  const before = await lockEndpoint(tx, account_id)
  if (before) {
    await endSecret(tx, account_id, new Date(nowMs))
    await end(tx, before, nowMs)
  }
  return readHealth(tx, account_id)
}

/**
 * Accepted tests are not limited here. Of tests that the endpoint has not accepted, only so many are queued per window, and new
 * ones replace the oldest, so that a receiver that comes back is not flooded with old tests. Returns the id of the event.
 */
export async function queueTest(tx: Tx, account_id: string, nowMs: number): Promise<string> {
  await makeRoomForTest(tx, account_id, nowMs)
  return recordEvent(tx, { account_id, type: 'test' }, nowMs)
}

/**
 * The same for an example: a test whose body is made now. `compose` writes it; it is stored, so that every attempt sends the same bytes
 * whatever examples a later release has.
 */
export async function queueExample(
  tx: Tx,
  keyring: Keyring,
  account_id: string,
  compose: (head: { readonly id: string; readonly created_at: string }) => WebhookEvent,
  nowMs: number,
): Promise<string> {
  const endpoint = await makeRoomForTest(tx, account_id, nowMs)
  const id = newId('evt', nowMs)
  const created_at = new Date(nowMs)
  const text = JSON.stringify(compose({ id, created_at: created_at.toISOString() }))
  const { bytes, kek_id } = await keyring.seal(text, bodyBinding(account_id, id))
  await insertExample(tx, { account_id, id, created_at, body_sealed: bytes, body_kek_id: kek_id })
  await queueAgain(tx, endpoint, [id], nowMs, [])
  return id
}

async function makeRoomForTest(tx: Tx, account_id: string, nowMs: number): Promise<EndpointRow> {
  const endpoint = await lockEndpoint(tx, account_id)
  if (!endpoint) {
    throw refuse(
      'webhook_not_configured',
      'There is no endpoint to send a test to. Set one with POST /webhook first.',
    )
  }
  const key = { account_id, endpoint_id: endpoint.id }
  const pending = await selectPendingTests(tx, key, PENDING_TESTS_READ_MAX)
  const waitS = Math.ceil(RATE_WINDOW_S - (pending[WEBHOOK_TESTS_QUEUED_MAX - 1]?.age_s ?? RATE_WINDOW_S))
  if (waitS > 0) {
    throw new Refusal(
      'rate_limited',
      `${WEBHOOK_TESTS_QUEUED_MAX} tests of the last ${RATE_WINDOW_S} s have not been accepted by your endpoint; last_error in GET /webhook says why. Wait ${waitS} s before the next one.`,
      {},
      { 'retry-after': String(waitS) },
    )
  }
  const superseded = pending.slice(WEBHOOK_TESTS_QUEUED_MAX - 1).map(({ event_id }) => event_id)
  if (superseded.length > 0) await cancelDeliveries(tx, key, superseded, new Date(nowMs))
  return endpoint
}

/** The new secret signs from now on. The previous one also signs, in a separate header, so that receivers can switch over. */
export async function rotateSecret(
  tx: Tx,
  keyring: Keyring,
  account_id: string,
  nowMs: number,
): Promise<string> {
  await lockAccount(tx, account_id)
  if (!(await lockEndpoint(tx, account_id))) {
    throw refuse(
      'webhook_not_configured',
      'This account has no webhook endpoint, so there is no secret to rotate.',
    )
  }
  await endPreviousSecrets(tx, account_id, new Date(nowMs))
  await endSecret(tx, account_id, new Date(nowMs + WEBHOOK_PREVIOUS_SECRET_S * 1000))
  return newSigningSecret(tx, keyring, account_id, nowMs)
}

/** For an owner whose receivers all have the new secret. False when only one signs already. */
export async function endPreviousSecret(tx: Tx, account_id: string, nowMs: number): Promise<boolean> {
  await lockAccount(tx, account_id)
  return (await endPreviousSecrets(tx, account_id, new Date(nowMs))) > 0
}

/** For re-encryption. */
export const webhookSecrets: SealedColumn = {
  table: 'webhook_secrets',
  keys: ['account_id', 'id'],
  column: 'secret',
  bindingOf: ({ account_id, id }) => secretBinding(String(account_id), String(id)),
}

export function secretBinding(account_id: string, id: string): RowBinding {
  return { column: 'webhook_secrets.secret', account_id, row_id: id }
}

async function newSigningSecret(
  tx: Tx,
  keyring: Keyring,
  account_id: string,
  nowMs: number,
  secret = newSecret('whsec'),
): Promise<string> {
  const id = newId('whs', nowMs)
  const { bytes, kek_id } = await keyring.seal(secret, secretBinding(account_id, id))
  await insertSecret(tx, {
    account_id,
    id,
    secret_sealed: bytes,
    secret_kek_id: kek_id,
    created_at: new Date(nowMs),
  })
  return secret
}

async function end(tx: Tx, endpoint: EndpointRow, nowMs: number) {
  await endEndpoint(tx, endpoint, new Date(nowMs))
  await dropJob(tx, DELIVER_QUEUE, endpoint.id)
}
