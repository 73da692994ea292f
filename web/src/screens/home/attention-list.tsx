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
import { Section } from '../../components/feedback/page.tsx'
import { AppLink } from '../../components/values/app-link.tsx'
import { formatDollars, formatMoney } from '../../lib/money.ts'
import { formatDuration, formatRelative, formatShort } from '../../lib/time.ts'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import { orders } from '../../strings/orders.ts'
import { minuteOf } from './day-start.ts'
import classes from './home.module.css'
import type { HomeData } from './home-types.ts'

type Entry = HomeData['attention'][number]

interface Told {
  readonly icon: ReactNode
  readonly tone: 'bad' | 'warn' | 'plain'
  readonly title: string
  readonly body: string
  readonly action: string
  readonly to: string
}

const { attention: said } = home
const icon = { size: 16, stroke: 1.75, 'aria-hidden': true } as const

export function AttentionList({ attention }: { readonly attention: readonly Entry[] }) {
  return (
    <Section title={said.title} hasLine>
      {attention.length === 0 ? (
        <div className={classes.quiet}>
          <p className="sw-strong">{said.none}</p>
          <p className="sw-meta">{said.noneBody}</p>
        </div>
      ) : (
        <ul>
          {attention.map((entry, n) => (
            <Row key={`${entry.kind}-${n}`} {...tell(entry)} />
          ))}
        </ul>
      )}
    </Section>
  )
}

const Row = ({ icon: picture, tone, title, body, action, to }: Told) => (
  <li className={classes.entry} data-tone={tone}>
    <span className={classes.entryIcon}>{picture}</span>
    <div className={classes.entryWords}>
      <div className={classes.entryHead}>
        <span className={classes.entryTitle}>{title}</span>
        <AppLink to={to} aria-label={`${action}: ${title}`}>
          {action}
        </AppLink>
      </div>
      <p className={classes.entryBody}>{body}</p>
    </div>
  </li>
)

function tell(entry: Entry): Told {
  switch (entry.kind) {
    case 'account_suspended': {
      const { title, body, action } = said[entry.kind]
      return { icon: <IconLock {...icon} />, tone: 'bad', title, body, action, to: paths.balance }
    }
    case 'store_closed': {
      const { title, body, action } = said[entry.kind]
      const opens = entry.opens_at === null ? null : formatRelative(entry.opens_at)
      return {
        icon: <IconBuildingStore {...icon} />,
        tone: 'warn',
        title,
        body: body(entry.reason, opens),
        action,
        to: paths.orders,
      }
    }
    case 'endpoint_failing':
      return tellFailing(entry)
    case 'events_given_up': {
      const { title, body, action } = said[entry.kind]
      return {
        icon: <IconMailX {...icon} />,
        tone: 'bad',
        title: title(entry.events),
        body: body(formatRelative(entry.last_at)),
        action,
        to: `${paths.deliveries}?state=failed`,
      }
    }
    case 'balance_low':
      return tellBalance(entry)
    case 'orders_waiting': {
      const { title, body, action } = said[entry.kind]
      return {
        icon: <IconClock {...icon} />,
        tone: 'warn',
        title: title(entry.orders),
        body: body(formatShort(entry.since)),
        action,
        to: paths.order(entry.oldest_id),
      }
    }
    case 'second_factor_missing': {
      const { title, body, action } = said[entry.kind]
      return { icon: <IconShieldLock {...icon} />, tone: 'warn', title, body, action, to: paths.security }
    }
    case 'key_safe_to_revoke': {
      const { title, body, action } = said[entry.kind]
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
    case 'item_leaving': {
      const { title, body, action } = said[entry.kind]
      return {
        icon: <IconCalendarTime {...icon} />,
        tone: 'plain',
        title: title(entry.name, comingIn(entry.at)),
        body: body(entry.percent),
        action,
        to: `${paths.catalogue}?open=${entry.item_id}`,
      }
    }
    case 'closing_planned': {
      const { title, body, action } = said[entry.kind]
      return {
        icon: <IconBuildingStore {...icon} />,
        tone: 'plain',
        title: title(comingIn(entry.closes_at)),
        body: body(entry.reason, formatShort(entry.opens_at)),
        action,
        to: paths.orders,
      }
    }
  }
}

function tellFailing(entry: Extract<Entry, { readonly kind: 'endpoint_failing' }>): Told {
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

function tellBalance(entry: Extract<Entry, { readonly kind: 'balance_low' }>): Told {
  const { title, days, alert, empty, action } = said.balance_low
  const { balance_cents, days_left, alert_cents } = entry
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

const DAY_MS = 86_400_000

/** `in 2 days`, `in 5 h`: whole days as soon as there are two. */
function comingIn(iso: string, nowMs = Date.now()): string {
  const days = Math.floor((Date.parse(iso) - nowMs) / DAY_MS)
  return days >= 2 ? home.inDays(days) : formatRelative(iso, nowMs)
}
