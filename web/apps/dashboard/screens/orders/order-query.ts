import { days, rangeInWords } from '#kit/components/lists/range-filters.tsx'
import { dayStart, isDay } from '#lib/time.ts'
import type { UrlValues } from '#lib/url-state.ts'
import type { Query } from '../../api/client.ts'
import { orders } from '../../strings/orders.ts'

export type OrderFilters = Query<'sumOrders'>
type Writable = { -readonly [Name in keyof OrderFilters]: OrderFilters[Name] }

const HOUR_MS = 3_600_000
const RANGES: Readonly<Record<string, number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24, '90d': 90 * 24 }
const STATUSES = ['paid', 'delivered', 'cancelled'] as const
const { filters } = orders

/** The address as filters of the list and of its export. What does not fit is left out, never sent. */
export function orderFilters(url: UrlValues, nowMs = Date.now()): OrderFilters {
  const query: Writable = {}
  const status = STATUSES.find((known) => known === url.status)
  if (status) query.status = status
  if (url.q) query.q = url.q.trim().slice(0, 100)
  const hours = RANGES[url.created ?? '']
  // To the minute, so that the page asks for the same thing for a while.
  if (hours !== undefined)
    query.from = new Date(Math.floor(nowMs / 60_000) * 60_000 - hours * HOUR_MS).toISOString()
  const [from, to] = [startOf(url.from), startOf(url.to, 1)]
  if (from) query.from = from
  if (to) query.to = to
  if (isCents(url.min)) query.min_cents = Number(url.min)
  if (isCents(url.max)) query.max_cents = Number(url.max)
  if (url.key) query.key_id = url.key.slice(0, 60)
  if (/^\d{1,20}$/.test(url.item ?? '')) query.item_id = url.item as string
  return query
}

/** Names of the filters in the address. */
export const ORDER_FILTERS = ['status', 'q', 'created', 'from', 'to', 'min', 'max', 'key', 'item'] as const

export const isFiltered = (url: UrlValues): boolean => ORDER_FILTERS.some((name) => url[name] !== undefined)

const isCents = (text: string | undefined): text is string => /^\d{1,9}$/.test(text ?? '')

/** Days are the reader's: the day somebody remembers is the one on their own calendar. */
function startOf(day: string | undefined, plusDays = 0): string | undefined {
  return isDay(day) ? dayStart(day, plusDays) : undefined
}

export const shownRange = ({ created, from, to }: UrlValues): string | undefined =>
  rangeInWords(days, [from, to]) ?? filters.ranges.find(([value]) => value === created)?.[1]
