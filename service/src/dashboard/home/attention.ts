import {
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_DELAY_S_MAX,
  WEBHOOK_FIRST_DELAY_S,
  WEBHOOK_HORIZON_S,
} from '@shopwire/contract'
import type { Attention, Home, StoreNow } from '@shopwire/contract/dashboard'
import { lateAfterMs } from '../../orders/fulfilment/late-orders.ts'
import type { Tx } from '../../platform/database/db.ts'
import {
  type FailingEndpoint,
  type LeavingItem,
  selectFailingEndpoint,
  selectGivenUp,
  selectLeavingItems,
  selectLongWaiting,
} from './attention-queries.ts'
import type { Place } from './home-queries.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const GIVEN_UP_SHOWN_MS = DAY_MS
const NONE_GIVEN_UP = { events: 0, last_at: null }
const DAYS_LEFT_LOW = 5
const LEAVING_WITHIN_MS = 7 * DAY_MS
const LEAVING_ITEMS_MAX = 3
/** How many orders' items are checked. */
const LATEST_ORDERS = 200

export interface Circumstances {
  readonly account_id: string
  readonly place: Place
  readonly store: StoreNow
  readonly leaving: readonly LeavingItem[]
  readonly burn: Home['burn']
  readonly delivery: Home['delivery']
  readonly nowMs: number
}

/** What a person should check, from the state of the store and of the account; the most urgent first. */
export async function readAttention(tx: Tx, about: Circumstances): Promise<Attention[]> {
  const { account_id, place, nowMs } = about
  const failing = place.has_endpoint ? await selectFailingEndpoint(tx, account_id) : undefined
  const { events, last_at } = place.has_endpoint
    ? await selectGivenUp(tx, account_id, nowMs - GIVEN_UP_SHOWN_MS)
    : NONE_GIVEN_UP
  const { orders, oldest_id, since } = await selectLongWaiting(
    tx,
    account_id,
    nowMs - lateAfterMs(about.delivery.p95_s),
  )
  return [
    ...(place.status === 'suspended' ? [{ kind: 'account_suspended' as const }] : []),
    ...closed(about.store),
    ...(failing ? [failingEntry(failing)] : []),
    ...(events > 0 && last_at
      ? [{ kind: 'events_given_up' as const, events, last_at: last_at.toISOString() }]
      : []),
    ...low(about),
    ...(oldest_id !== null && since
      ? [{ kind: 'orders_waiting' as const, orders, oldest_id, since: since.toISOString() }]
      : []),
    ...about.leaving.map(({ at, ...item }) => ({
      kind: 'item_leaving' as const,
      at: at.toISOString(),
      ...item,
    })),
    ...planned(about.store, nowMs),
  ]
}

/** Items of the latest orders that leave the store within days. */
export const readLeaving = async (
  tx: Tx,
  account_id: string,
  place: Place,
  nowMs: number,
): Promise<readonly LeavingItem[]> =>
  place.order_count === 0
    ? []
    : selectLeavingItems(tx, account_id, {
        sinceMs: nowMs - 7 * DAY_MS,
        latest: LATEST_ORDERS,
        untilMs: nowMs + LEAVING_WITHIN_MS,
        limit: LEAVING_ITEMS_MAX,
      })

function closed({ is_open, reason, since, opens_at }: StoreNow): Attention[] {
  return is_open ? [] : [{ kind: 'store_closed', reason, since, opens_at }]
}

/** A planned closing within the next day; later ones are on the page about the store. */
function planned({ is_open, windows }: StoreNow, nowMs: number): Attention[] {
  if (!is_open) return []
  return windows
    .filter(({ closes_at }) => Date.parse(closes_at) < nowMs + DAY_MS)
    .slice(0, 1)
    .map((window) => ({ kind: 'closing_planned', ...window }))
}

function low({
  place: { balance_cents, order_count },
  burn: { days_left, alert_cents },
}: Circumstances): Attention[] {
  const isBelowAlert = alert_cents !== null && balance_cents < alert_cents
  const isRunningOut = days_left !== null && days_left < DAYS_LEFT_LOW
  const isEmpty = order_count > 0 && balance_cents === 0
  return isBelowAlert || isRunningOut || isEmpty
    ? [{ kind: 'balance_low', balance_cents, days_left, alert_cents }]
    : []
}

function failingEntry({ error, status, since, waiting, soonest_at, ...oldest }: FailingEndpoint): Attention {
  return {
    kind: 'endpoint_failing',
    error,
    status,
    since: since.toISOString(),
    waiting,
    next_at: soonest_at?.toISOString() ?? null,
    stops_at: lastAttemptAt(oldest)?.toISOString() ?? null,
  }
}

/** The earliest time of the last attempt for a delivery that keeps failing: waits may be lengthened a little. */
function lastAttemptAt({
  attempts,
  created_at,
  next_at,
}: Pick<FailingEndpoint, 'attempts' | 'created_at' | 'next_at'>): Date | undefined {
  if (attempts === null || !created_at || !next_at) return undefined
  let at = next_at.getTime()
  for (let n = attempts + 1; n < WEBHOOK_ATTEMPTS_MAX; n += 1)
    at += Math.min(WEBHOOK_FIRST_DELAY_S * 2 ** (n - 1), WEBHOOK_DELAY_S_MAX) * 1000
  return new Date(Math.min(at, created_at.getTime() + WEBHOOK_HORIZON_S * 1000))
}
