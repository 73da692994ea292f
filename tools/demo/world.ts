import { randomUUID } from 'node:crypto'
import type { PastStore, Sent } from '@shopwire/service/past-store'
import type { Agenda } from './agenda.ts'
import type { Random } from './random.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export interface DemoItem {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly collection: string
  readonly price_cents: number
}

/** How a receiver answers an event that reaches it at this time, and after how long. */
export type Receiver = (atMs: number) => { readonly status: number; readonly ms: number } | 'timeout'

/** Everything that the stories of the demo accounts share. */
export interface World {
  readonly store: PastStore
  readonly agenda: Agenda
  readonly random: Random
  /** How much is bought, in relation to the usual. */
  readonly pace: number
  /** The present. */
  readonly endMs: number
  readonly items: readonly DemoItem[]
  readonly stock: Stock
  /** By account. Without one everything is accepted at once. */
  readonly receivers: Map<string, Receiver>
}

/** The pools of the store. Frames have none: an operator delivers them by hand. */
export interface Stock {
  /** Loads links when the pool of an item runs low. Call it before links are taken. */
  take(item_id: string, qty: number): Promise<void>
}

export const isByHand = ({ type }: Pick<DemoItem, 'type'>) => type === 'frame'

const LOADED_AT_ONCE = 120
const LOW = 25

export function createStock(store: () => PastStore): Stock {
  const left = new Map<string, number>()
  return {
    async take(item_id, qty) {
      const before = left.get(item_id) ?? 0
      if (before - qty < LOW) await store().operator.loadPool(item_id, newLinks(LOADED_AT_ONCE))
      left.set(item_id, before - qty + (before - qty < LOW ? LOADED_AT_ONCE : 0))
    },
  }
}

export function newLinks(count: number): string[] {
  return Array.from({ length: count }, () => `https://gift.example/${randomUUID()}`)
}

const TIMEOUT_MS = 10 * SECOND
const PUBLIC_ADDRESS = '93.184.216.34'

/** What the worker's client would report. The clock of the store runs on meanwhile. */
export function answerOf(receiver: Receiver, store: PastStore, random: Random): Sent {
  const at = store.nowMs()
  const answer = receiver(at)
  const ms = answer === 'timeout' ? TIMEOUT_MS : Math.round(answer.ms)
  store.setTime(at + ms)
  const connect_ms = Math.min(ms - 1, random.between(8, 24))
  if (answer === 'timeout') {
    const took = { connect_ms, send_ms: 1, wait_ms: null }
    return { error: 'timeout', status: null, remote_address: PUBLIC_ADDRESS, took }
  }
  const { status } = answer
  const isAccepted = status >= 200 && status < 300
  const text = isAccepted ? '{"received":true}' : (REASONS[status] ?? 'Error')
  return {
    error: isAccepted ? null : `http_${status}`,
    status,
    remote_address: PUBLIC_ADDRESS,
    took: { connect_ms, send_ms: 1, wait_ms: Math.max(0, ms - connect_ms - 1) },
    answer: { headers: { 'content-type': 'text/plain' }, start: Buffer.from(text) },
  }
}

const REASONS: Readonly<Record<number, string>> = {
  404: 'Cannot POST /shopwire/events',
  500: 'Internal Server Error',
  502: 'Bad Gateway: upstream connect error or disconnect before headers',
  503: 'Service Unavailable: deploy in progress',
}
