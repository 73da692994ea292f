import type { UrlValues } from '#lib/url-state.ts'
import type { Query } from '../../api/client.ts'

/** Names of the filters in the address. */
export const DELIVERY_FILTERS = ['state', 'type', 'code', 'order', 'hours'] as const

export const CLEARED = Object.fromEntries(DELIVERY_FILTERS.map((name) => [name, undefined]))
export const isFiltered = (url: UrlValues) => DELIVERY_FILTERS.some((name) => url[name] !== undefined)

const ROWS = 25
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

export function queryOf(url: UrlValues): Query<'listDeliveries'> {
  const { before, after } = url
  return { ...deliveryFilters(url), limit: ROWS, before, after } as Query<'listDeliveries'>
}

/** The address as filters of the list and of its export. */
export function deliveryFilters({ state, type, code, order, hours }: UrlValues): Query<'exportDeliveries'> {
  // By the minute, so that the same filter is the same question for a while.
  const fromMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - Number(hours) * HOUR_MS
  return {
    state,
    type,
    code,
    order_id: order,
    from: hours === undefined || Number.isNaN(fromMs) ? undefined : new Date(fromMs).toISOString(),
  } as Query<'exportDeliveries'>
}
