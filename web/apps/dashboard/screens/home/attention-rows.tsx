import {
  IconAlertTriangle,
  IconBuildingStore,
  IconCalendarTime,
  IconClock,
  IconKey,
  IconLock,
  IconMailX,
  IconShieldLock,
  IconWallet,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { formatDollars, formatMoney } from '#lib/money.ts'
import { formatDuration, formatRelative, formatShort, minuteOf } from '#lib/time.ts'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import { orders } from '../../strings/orders.ts'
import type { HomeData } from './home-types.ts'

export type Attention = HomeData['attention'][number]
type Of<Kind extends Attention['kind']> = Extract<Attention, { readonly kind: Kind }>

export interface AttentionRow {
  readonly icon: ReactNode
  readonly tone: 'bad' | 'warn' | 'plain'
  readonly title: string
  readonly body: string
  readonly action: string
  readonly to: string
}

const { attention: said } = home
const icon = { size: 16, stroke: 1.75, 'aria-hidden': true } as const

/** What the list says about something that needs attention, and where it leads. */
export function rowOf(entry: Attention): AttentionRow {
  switch (entry.kind) {
    case 'account_suspended': {
      const { title, body, action } = said.account_suspended
      return { icon: <IconLock {...icon} />, tone: 'bad', title, body, action, to: paths.balance }
    }
    case 'store_closed':
      return storeClosed(entry)
    case 'endpoint_failing':
      return endpointFailing(entry)
    case 'events_given_up':
      return eventsGivenUp(entry)
    case 'balance_low':
      return balanceLow(entry)
    case 'orders_waiting':
      return ordersWaiting(entry)
    case 'second_factor_missing': {
      const { title, body, action } = said.second_factor_missing
      return { icon: <IconShieldLock {...icon} />, tone: 'warn', title, body, action, to: paths.security }
    }
    case 'key_safe_to_revoke':
      return keySafeToRevoke(entry)
    case 'item_leaving':
      return itemLeaving(entry)
    case 'closing_planned':
      return closingPlanned(entry)
  }
}

function storeClosed({ reason, opens_at }: Of<'store_closed'>): AttentionRow {
  const { title, body, action } = said.store_closed
  return {
    icon: <IconBuildingStore {...icon} />,
    tone: 'warn',
    title,
    body: body(reason, opens_at === null ? null : formatRelative(opens_at)),
    action,
    to: paths.orders,
  }
}

function endpointFailing(entry: Of<'endpoint_failing'>): AttentionRow {
  const { title, events, next, stops, action } = said.endpoint_failing
  const error = orders.order.errors[entry.error] ?? entry.error
  const soon = entry.next_at === null ? '' : next(formatRelative(entry.next_at))
  const end = entry.stops_at === null ? (soon === '' ? '' : '.') : stops(minuteOf(entry.stops_at))
  return {
    icon: <IconAlertTriangle {...icon} />,
    tone: 'bad',
    title: title(entry.status, error),
    body: `${events(entry.waiting, minuteOf(entry.since))}${soon}${end}`,
    action,
    to: paths.deliveries,
  }
}

function eventsGivenUp({ events, last_at }: Of<'events_given_up'>): AttentionRow {
  const { title, body, action } = said.events_given_up
  return {
    icon: <IconMailX {...icon} />,
    tone: 'bad',
    title: title(events),
    body: body(formatRelative(last_at)),
    action,
    to: `${paths.deliveries}?state=failed`,
  }
}

function balanceLow({ balance_cents, days_left, alert_cents }: Of<'balance_low'>): AttentionRow {
  const { title, days, alert, empty, action } = said.balance_low
  const lasts = days_left === null || balance_cents === 0 ? empty : days(days_left)
  return {
    icon: <IconWallet {...icon} />,
    tone: balance_cents === 0 ? 'bad' : 'warn',
    title: title(formatMoney(balance_cents)),
    body: `${lasts}${alert_cents === null ? '' : alert(formatDollars(alert_cents))}`,
    action,
    to: paths.topUp,
  }
}

function ordersWaiting({ orders: count, since, oldest_id }: Of<'orders_waiting'>): AttentionRow {
  const { title, body, action } = said.orders_waiting
  return {
    icon: <IconClock {...icon} />,
    tone: 'warn',
    title: title(count),
    body: body(formatShort(since)),
    action,
    to: paths.order(oldest_id),
  }
}

function keySafeToRevoke(entry: Of<'key_safe_to_revoke'>): AttentionRow {
  const { title, body, action } = said.key_safe_to_revoke
  const unused = formatDuration(Date.now() - Date.parse(entry.unused_since)).replace(/ \d\d m$/, '')
  return {
    icon: <IconKey {...icon} />,
    tone: 'warn',
    title: title(entry.key_name),
    body: body(unused, entry.replacement_requests),
    action,
    to: paths.key(entry.key_id),
  }
}

function itemLeaving({ item_id, name, at, percent }: Of<'item_leaving'>): AttentionRow {
  const { title, body, action } = said.item_leaving
  return {
    icon: <IconCalendarTime {...icon} />,
    tone: 'plain',
    title: title(name, comingIn(at)),
    body: body(percent),
    action,
    to: paths.item(item_id),
  }
}

function closingPlanned({ closes_at, opens_at, reason }: Of<'closing_planned'>): AttentionRow {
  const { title, body, action } = said.closing_planned
  return {
    icon: <IconBuildingStore {...icon} />,
    tone: 'plain',
    title: title(comingIn(closes_at)),
    body: body(reason, formatShort(opens_at)),
    action,
    to: paths.orders,
  }
}

const DAY_MS = 86_400_000

/** `in 2 days`, `in 5 h`: whole days as soon as there are two. */
function comingIn(iso: string, nowMs = Date.now()): string {
  const days = Math.floor((Date.parse(iso) - nowMs) / DAY_MS)
  return days >= 2 ? home.inDays(days) : formatRelative(iso, nowMs)
}
