import {
  IconAlertTriangle,
  IconClock,
  IconDoorExit,
  IconKey,
  IconLock,
  IconMailX,
  IconShieldExclamation,
  IconWallet,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { AppLink } from '../../components/app-link.tsx'
import type { Tone } from '../../components/status.tsx'
import { formatRelative, formatShort } from '../../lib/time.ts'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import classes from './home.module.css'
import type { Home } from './home-screen.tsx'

type Item = Home['attention'][number]

interface Shown {
  readonly icon: ReactNode
  readonly tone: Tone
  readonly title: string
  readonly note: string
  readonly action: string
  readonly to: string
}

const ICON = { size: 17, stroke: 1.75, 'aria-hidden': true } as const
const text = home.item

/** The most urgent first; each says what happened and leads to where it can be settled. */
export function AttentionList({ items }: { readonly items: readonly Item[] }) {
  if (items.length === 0) return <p className="sw-dim">{home.attention.none}</p>
  return (
    <ul className={classes.attention}>
      {items.map((item, n) => {
        const { icon, tone, title, note, action, to } = show(item)
        return (
          <li key={`${item.kind}-${n}`} className={classes.item}>
            <span className={classes.itemIcon} data-tone={tone}>
              {icon}
            </span>
            <div className={classes.itemWords}>
              <div className={classes.itemTitle}>{title}</div>
              <div className="sw-meta">{note}</div>
            </div>
            <AppLink to={to} className={classes.itemAction}>
              {action}
            </AppLink>
          </li>
        )
      })}
    </ul>
  )
}

function show(item: Item): Shown {
  switch (item.kind) {
    case 'account_suspended':
      return { ...fixed(item.kind), icon: <IconLock {...ICON} />, tone: 'bad', to: paths.balance }
    case 'store_closed':
      return {
        icon: <IconDoorExit {...ICON} />,
        tone: 'warn',
        title: text.store_closed.title,
        note: text.store_closed.note(item.reason ?? '', item.opens_at && formatShort(item.opens_at)).trim(),
        action: text.store_closed.action,
        to: paths.orders,
      }
    case 'endpoint_failing':
      return {
        icon: <IconAlertTriangle {...ICON} />,
        tone: 'bad',
        title: text.endpoint_failing.title(
          item.status === null
            ? (text.endpoint_failing.fails[item.error] ?? text.endpoint_failing.other(item.error))
            : text.endpoint_failing.answers(item.status),
        ),
        note: text.endpoint_failing.note(
          item.waiting,
          formatShort(item.since),
          item.next_at && formatRelative(item.next_at),
          item.stops_at && formatShort(item.stops_at),
        ),
        action: text.endpoint_failing.action,
        to: paths.deliveries,
      }
    case 'events_given_up':
      return {
        icon: <IconMailX {...ICON} />,
        tone: 'bad',
        title: text.events_given_up.title(item.events),
        note: text.events_given_up.note(formatRelative(item.last_at)),
        action: text.events_given_up.action,
        to: `${paths.deliveries}?state=failed`,
      }
    case 'balance_low':
      return {
        icon: <IconWallet {...ICON} />,
        tone: 'warn',
        title: text.balance_low.title(item.balance_cents),
        note: text.balance_low.note(item.days_left),
        action: text.balance_low.action,
        to: paths.topUp,
      }
    case 'orders_waiting':
      return {
        icon: <IconClock {...ICON} />,
        tone: 'warn',
        title: text.orders_waiting.title(item.orders),
        note: text.orders_waiting.note(formatRelative(item.since)),
        action: text.orders_waiting.action,
        to: paths.order(item.oldest_id),
      }
    case 'second_factor_missing':
      return {
        ...fixed(item.kind),
        icon: <IconShieldExclamation {...ICON} />,
        tone: 'warn',
        to: paths.security,
      }
    case 'key_safe_to_revoke':
      return {
        icon: <IconKey {...ICON} />,
        tone: 'warn',
        title: text.key_safe_to_revoke.title(item.key_name),
        note: text.key_safe_to_revoke.note(formatShort(item.unused_since), item.replacement_requests),
        action: text.key_safe_to_revoke.action,
        to: paths.key(item.key_id),
      }
    case 'item_leaving':
      return {
        icon: <IconClock {...ICON} />,
        tone: 'plain',
        title: text.item_leaving.title(item.name, formatRelative(item.at)),
        note: text.item_leaving.note(item.percent),
        action: text.item_leaving.action,
        to: `${paths.catalogue}?q=${encodeURIComponent(item.name)}`,
      }
    case 'closing_planned':
      return {
        icon: <IconClock {...ICON} />,
        tone: 'plain',
        title: text.closing_planned.title(formatRelative(item.closes_at)),
        note: text.closing_planned.note(item.reason, formatShort(item.opens_at)),
        action: text.closing_planned.action,
        to: paths.orders,
      }
  }
}

const fixed = (kind: 'account_suspended' | 'second_factor_missing') => text[kind]
