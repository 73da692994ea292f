import { randomBytes } from 'node:crypto'
import type { Order } from '@shopwire/sdk'
import { UsageError } from '../trouble.ts'

export const EVENTS = [
  'order.accepted',
  'order.delivered',
  'order.cancelled',
  'catalogue.changed',
  'test',
] as const
export type EventName = (typeof EVENTS)[number]

export interface SimulatedEvent {
  id: string
  event: string
  created_at: string
  data: Record<string, unknown>
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** An event in the store's format with invented data. */
export function simulatedEvent(event: EventName, nowMs = Date.now()): SimulatedEvent {
  return { id: madeUpId('evt'), event, created_at: new Date(nowMs).toISOString(), data: dataOf(event, nowMs) }
}

function dataOf(event: EventName, nowMs: number): Record<string, unknown> {
  if (event === 'test') return { message: 'SIMULATED by shopwire trigger' }
  if (event === 'catalogue.changed') return { revision: String(nowMs), refresh: true }
  const status = (
    { 'order.accepted': 'paid', 'order.delivered': 'delivered', 'order.cancelled': 'cancelled' } as const
  )[event]
  const order: Order = {
    id: madeUpId('ord'),
    status,
    currency: 'USD',
    total_cents: 499,
    created_at: new Date(nowMs - 1000).toISOString(),
    delivered_at: status === 'delivered' ? new Date(nowMs).toISOString() : null,
    lines: [{ id: '100000000000000001', name: 'SIMULATED item', qty: 1, unit_price_cents: 499 }],
    links: status === 'delivered' ? ['https://gift.example/simulated'] : [],
  }
  return { order }
}

function madeUpId(prefix: string): string {
  return `${prefix}_${Array.from(randomBytes(26), (byte) => ALPHABET[byte % 32]).join('')}`
}

/** `data.order.total_cents=500`; the value is JSON when it can be read as such, and text otherwise. */
export function override(event: SimulatedEvent, assignment: string): void {
  const [, path, text] = /^([\w.]+)=(.*)$/s.exec(assignment) ?? []
  if (path === undefined || text === undefined) {
    throw new UsageError(
      `--override ${assignment}: path=value is expected.`,
      'Such as data.order.total_cents=500.',
    )
  }
  const names = path.split('.')
  const last = names.pop() ?? ''
  let place: unknown = event
  for (const name of names) place = isHolder(place) && Object.hasOwn(place, name) ? place[name] : undefined
  if (!isHolder(place) || (!Object.hasOwn(place, last) && names[0] !== 'data')) {
    throw new UsageError(
      `--override ${path}: there is no such field in the event.`,
      'Such as data.order.total_cents or data.order.links.0.',
    )
  }
  if (last === '__proto__')
    throw new UsageError('--override cannot set __proto__.', 'Name a field of the event.')
  place[last] = jsonOrText(text)
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
