import { printable } from '../../platform/text/plain-text.ts'
import type { Incident, StatusDay, StatusDocument } from './document.ts'
import type { PartName } from './history.ts'
import type { PartState } from './present.ts'

/** What the page and the feed say. */

type StoreState = StatusDocument['store']['state']

export const PART_NAMES: Readonly<Record<PartName, string>> = {
  buying: 'Buying',
  reading: 'Reading orders, catalogue and balance',
  delivery: 'Delivery of links',
  webhooks: 'Webhooks',
}

export const PART_STATES: Readonly<Record<PartState, string>> = {
  up: 'works',
  degraded: 'works, but not as usual',
  unavailable: 'does not work',
  closed: 'closed',
  unknown: 'not known',
}

const HEADLINES: Readonly<Record<StoreState, string>> = {
  open: 'The store is open',
  closed: 'The store is closed',
  planned: 'The store is closed, as planned',
  unconfirmed: 'The store is closed while its database is checked',
  unavailable: 'The store does not answer',
}

export const headline = ({ store, status }: StatusDocument) =>
  store.state === 'open' && status === 'degraded'
    ? 'The store is open, but not all of it works as usual'
    : HEADLINES[store.state]

const CLOSED =
  'New orders get 503 store_closed. Reading, quotes and repeating an order with its idempotency key continue'

/** What a caller gets meanwhile. */
export const MEANWHILE: Readonly<Record<StoreState, string | undefined>> = {
  open: undefined,
  closed: `${CLOSED}; paid orders are delivered.`,
  planned: `${CLOSED}; paid orders are delivered.`,
  unconfirmed: `${CLOSED}. Paid orders and webhooks wait, and none is lost.`,
  unavailable:
    'Requests get 503 or no answer. Send an order again with the same idempotency key: it is bought once at most.',
}

export const LATE = 'Some orders wait much longer than usual.'

const INCIDENTS: Readonly<Record<Incident['kind'], string>> = {
  closed: 'Closed',
  planned: 'Closed as planned',
  unconfirmed: 'Closed while the database was checked',
  unavailable: 'The store did not answer',
  degraded: 'Degraded',
}

/** `Degraded: Buying, Webhooks` */
export function titleOf({ kind, reason, parts }: Incident): string {
  const about = reason ?? parts.map((part) => PART_NAMES[part]).join(', ')
  return about === '' ? INCIDENTS[kind] : `${INCIDENTS[kind]}: ${about}`
}

/** The kind of a day, by the worst that is known of it. */
export function kindOf({ closed_min, degraded_min, unknown_min }: StatusDay) {
  if (closed_min > 0) return 'closed'
  if (degraded_min > 0) return 'degraded'
  return unknown_min > 0 ? 'unknown' : 'well'
}

export const DAY_KINDS = {
  well: 'no trouble',
  degraded: 'degraded',
  closed: 'closed',
  unknown: 'not known, nothing was recorded',
} as const

export function describeDay(day: StatusDay): string {
  if (day.unknown_min >= DAY_MIN) return 'not known'
  const parts = [
    ...(day.closed_min > 0 ? [`closed for ${duration(day.closed_min)}`] : []),
    ...(day.degraded_min > 0 ? [`degraded for ${duration(day.degraded_min)}`] : []),
    ...(day.unknown_min > 0 ? [`not known for ${duration(day.unknown_min)}`] : []),
  ]
  return parts.length === 0 ? DAY_KINDS.well : parts.join(', ')
}

const DAY_MIN = 1_440

/** `2 d 3 h`, of the two largest units. */
export function duration(min: number): string {
  const units = [
    [Math.floor(min / DAY_MIN), 'd'],
    [Math.floor(min / 60) % 24, 'h'],
    [min % 60, 'min'],
  ] as const
  const first = units.findIndex(([count]) => count > 0)
  const shown = units.slice(Math.max(0, first), first + 2).filter(([count]) => count > 0)
  return shown.length === 0 ? '0 min' : shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}

export const minutesBetween = (from: string, until: string) =>
  Math.max(1, Math.round((Date.parse(until) - Date.parse(from)) / 60_000))

const LONG = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})
const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** `19 November 2026 at 04:48 UTC` */
export const longTime = (at: string) => `${LONG.format(new Date(at))} UTC`
export const longDate = (day: string) => DATE.format(new Date(day))

/** For HTML and XML, as text or in a quoted attribute. Characters that XML forbids, or that act on the page, are shown as codes. */
export function escaped(text: string): string {
  return printable(text.toWellFormed())
    .replaceAll(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
