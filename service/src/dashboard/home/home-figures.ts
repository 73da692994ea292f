import { type Home, SPEND_DAYS } from '@shopwire/contract/dashboard'
import { type AccountDay, type AccountDays, dayOf } from '../../ledger/account-days.ts'
import { type OrderGroup, secondsOfStep, type WebhookHour } from './home-queries.ts'

const HISTOGRAM_STEPS = 24
export const HOURS = 24
const DAY_MS = 86_400_000

type Spend = Pick<AccountDay, 'day' | 'order_cents' | 'refund_cents' | 'orders'>

/** The last days up to today, oldest first, without gaps. */
export function spendOf({ days, isComplete }: AccountDays, nowMs: number): Home['spend'] {
  const byDay = new Map<string, Spend>(days.map((row) => [row.day, row]))
  const shown = Array.from({ length: SPEND_DAYS + 1 }, (_, n) => {
    const day = dayOf(nowMs - (SPEND_DAYS - n) * DAY_MS)
    const { order_cents = 0, refund_cents = 0, orders = 0 } = byDay.get(day) ?? {}
    return { day, order_cents, refund_cents, orders }
  })
  return {
    days: shown,
    total_cents: shown.reduce((all, { order_cents }) => all + order_cents, 0),
    is_complete: isComplete,
  }
}

export function todayOf(groups: readonly OrderGroup[], sinceMs: number, nowMs: number): Home['today'] {
  const hours = Math.max(1, Math.ceil((nowMs - sinceMs) / 3_600_000))
  const rows = groups.filter(({ hour }) => hour !== null)
  const ordersOf = (isWanted: (row: OrderGroup) => boolean) => sum(rows.filter(isWanted), 'orders')
  return {
    since: new Date(sinceMs).toISOString(),
    orders: sum(rows, 'orders'),
    delivered: ordersOf(({ status }) => status === 'delivered'),
    paid: ordersOf(({ status }) => status === 'paid'),
    cancelled: ordersOf(({ status }) => status === 'cancelled'),
    total_cents: sum(rows, 'total_cents'),
    by_hour: byHour(rows, hours),
  }
}

function byHour(rows: readonly OrderGroup[], hours: number): number[] {
  const counts = new Array<number>(hours).fill(0)
  for (const { hour, orders } of rows) {
    const place = Math.min(hour ?? 0, hours - 1)
    counts[place] = (counts[place] ?? 0) + orders
  }
  return counts
}

/** The histogram ends a little above the time within which 95 of 100 were delivered; its last step contains all slower ones. */
export function deliveryOf(groups: readonly OrderGroup[]): Home['delivery'] {
  const byStep = new Map<number, number>()
  for (const { step, orders } of groups) if (step !== null) byStep.set(step, (byStep.get(step) ?? 0) + orders)
  const steps = [...byStep]
    .map(([step, orders]) => ({ seconds: secondsOfStep(step), orders }))
    .sort((a, b) => a.seconds - b.seconds)
  const orders = sum(steps, 'orders')
  if (orders === 0) return { orders: 0, median_s: null, p95_s: null, step_s: null, histogram: [] }
  const within = (share: number) => {
    let counted = 0
    for (const step of steps) {
      counted += step.orders
      if (counted >= orders * share) return step.seconds
    }
    return 0
  }
  const p95_s = within(0.95)
  const step_s = Math.max(p95_s * 1.25, 1) / HISTOGRAM_STEPS
  const histogram = new Array<number>(HISTOGRAM_STEPS).fill(0)
  for (const step of steps) {
    const place = Math.min(Math.floor(step.seconds / step_s), HISTOGRAM_STEPS - 1)
    histogram[place] = (histogram[place] ?? 0) + step.orders
  }
  return { orders, median_s: within(0.5), p95_s, step_s, histogram }
}

export function webhookOf(rows: readonly WebhookHour[]): NonNullable<Home['webhook']> {
  return {
    events: sum(rows, 'events'),
    accepted_first: sum(rows, 'accepted_first'),
    accepted_later: sum(rows, 'accepted_later'),
    retrying: sum(rows, 'retrying'),
    failed: sum(rows, 'failed'),
    by_hour: Array.from({ length: HOURS }, (_, hour) => {
      const of = rows.filter((row) => Math.min(Math.max(row.hour, 0), HOURS - 1) === hour)
      return { events: sum(of, 'events'), retrying: sum(of, 'retrying'), failed: sum(of, 'failed') }
    }),
  }
}

function sum<Key extends string>(rows: readonly Readonly<Record<Key, number>>[], key: Key): number {
  return rows.reduce((all, { [key]: value }) => all + value, 0)
}
