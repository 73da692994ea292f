import { randomBytes, randomUUID } from 'node:crypto'
import { signRequest } from '@shopwire/contract/signing'
import { Shopwire } from '@shopwire/sdk'
import type { EmulatedOrder, Emulator, Fault, RecordedDelivery, RecordedRequest } from '../src/index.ts'

export const RING = '1144058340327047001'
export const RING_CENTS = 499

export interface Key {
  readonly id: string
  readonly secret: string
}

export interface Account {
  readonly accountId: string
  readonly key: Key
}

/** A client without retries, so that tests see every answer. */
export const clientOf = ({ baseUrl }: Emulator, { key }: { key: Key }) =>
  new Shopwire({ baseUrl, keyId: key.id, secret: key.secret, maxRetries: 0 })

export const newKey = () => `test-${randomUUID()}`

export const ring = (idempotencyKey = newKey()) => ({ items: [{ id: RING }], idempotencyKey })

/** The signed headers of a raw request. */
export function signed({ key }: { key: Key }, method: string, target: string, body = '', nowMs = Date.now()) {
  const timestamp = String(Math.floor(nowMs / 1000))
  const nonce = randomBytes(16).toString('hex')
  const parts = { method, target, timestamp, nonce, body: Buffer.from(body) }
  const headers: Record<string, string> = {
    'X-Api-Key': key.id,
    'X-Api-Timestamp': timestamp,
    'X-Api-Nonce': nonce,
    'X-Api-Signature': signRequest(key.secret, parts),
  }
  return { nonce, headers }
}

/** Signs and sends a raw request, where the SDK would retry or correct it. */
export async function call(
  { url }: Pick<Emulator, 'url'>,
  key: { key: Key },
  method: string,
  target: string,
  { body = '', nowMs = Date.now() }: { body?: string; nowMs?: number } = {},
) {
  const { headers, nonce } = signed(key, method, target, body, nowMs)
  const response = await fetch(`${url}${target}`, { method, headers, ...(body !== '' && { body }) })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: JSON.parse(text || 'null'), nonce }
}

export const orderBody = (idempotency_key = newKey(), items: object[] = [{ id: RING }]) =>
  JSON.stringify({ items, idempotency_key })

export async function requestsOf(emulator: Emulator, accountId: string): Promise<RecordedRequest[]> {
  const { requests } = await emulator.control<{ requests: RecordedRequest[] }>('GET', '/requests?limit=2000')
  return requests.filter(({ account_id }) => account_id === accountId)
}

export async function deliveriesOf(emulator: Emulator, accountId: string): Promise<RecordedDelivery[]> {
  const { deliveries } = await emulator.control<{ deliveries: RecordedDelivery[] }>(
    'GET',
    '/deliveries?limit=2000',
  )
  return deliveries.filter(({ account_id }) => account_id === accountId)
}

export async function ordersOf(emulator: Emulator, accountId: string): Promise<EmulatedOrder[]> {
  return (await emulator.control<{ orders: EmulatedOrder[] }>('GET', `/orders?account_id=${accountId}`))
    .orders
}

export interface Ledger {
  readonly balance_cents: number
  readonly transfers: { kind: string; amount_cents: number; order_id: string | null }[]
}

export const ledgerOf = (emulator: Emulator, accountId: string) =>
  emulator.control<Ledger>('GET', `/ledger?account_id=${accountId}`)

export async function faultNamed(emulator: Emulator, name: string): Promise<Fault> {
  const { faults } = await emulator.control<{ faults: Fault[] }>('GET', '/faults')
  return faults.find((fault) => fault.name === name) as Fault
}
