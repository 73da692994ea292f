import {
  IconArrowDownLeft,
  IconBan,
  IconCurrencyDollar,
  IconEye,
  IconGift,
  IconSend,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Reply } from '../../api/client.ts'
import { Money } from '../../components/money.tsx'
import { Chip, Status } from '../../components/status.tsx'
import type { Quiet, Station } from '../../components/timeline.tsx'
import { formatMoney } from '../../lib/money.ts'
import { formatDuration, formatRelative } from '../../lib/time.ts'
import { order as text } from '../../strings/orders.ts'
import classes from './orders.module.css'

type Order = Reply<'getOrder'>
type Entry = Order['story'][number]
type Drawn = Omit<Station, 'key' | 'when'>

/** A pause longer than this is one dashed line instead of empty space. */
const QUIET_MS = 5 * 60_000
const ICON = { size: 15, stroke: 1.75 } as const

/** The order's life along one line; times are counted from the first attempt. */
export function stationsOf(order: Order): (Station | Quiet)[] {
  const startedMs = Date.parse(order.story[0]?.at ?? order.created_at)
  let lastMs = startedMs
  const stations = order.story.flatMap((entry, n): (Station | Quiet)[] => {
    const atMs = Date.parse(entry.at)
    const pauseMs = atMs - lastMs
    lastMs = atMs
    const quiet = { key: `quiet-${n}`, quiet: text.quiet(formatDuration(pauseMs)) }
    const station = { key: String(n), when: formatDuration(Math.max(0, atMs - startedMs)), ...draw(entry) }
    return pauseMs > QUIET_MS ? [quiet, station] : [station]
  })
  return order.story_left_out > 0
    ? [...stations, { key: 'left-out', quiet: text.leftOut(order.story_left_out) }]
    : stations
}

function draw(entry: Entry): Drawn {
  switch (entry.kind) {
    case 'attempt':
      return drawAttempt(entry)
    case 'debit':
    case 'refund':
      return {
        icon: <IconCurrencyDollar {...ICON} />,
        tone: 'accent',
        title: text[entry.kind],
        note: `${formatMoney(entry.balance_before_cents)} → ${formatMoney(entry.balance_after_cents)}, ${
          entry.kind === 'debit' ? text.sameTransaction : text.inCancel
        }`,
        outcome: (
          <Money cents={entry.kind === 'debit' ? -entry.amount_cents : entry.amount_cents} as="change" />
        ),
      }
    case 'delivered':
      return {
        icon: <IconGift {...ICON} />,
        tone: 'ok',
        title: text.delivered(entry.links),
        note: text.deliveredNote,
        outcome: <Status kind="delivered" isChip />,
      }
    case 'cancelled':
      return {
        icon: <IconBan {...ICON} />,
        title: text.cancelled,
        note: entry.reason,
        outcome: <Status kind="cancelled" isChip />,
      }
    case 'event':
      return {
        icon: <IconSend {...ICON} />,
        title: <Mono>{entry.type}</Mono>,
        note: entry.state === null ? text.noEndpoint : text.eventWaiting,
      }
    case 'delivery':
      return drawDelivery(entry)
    case 'read':
      return {
        icon: <IconArrowDownLeft {...ICON} />,
        title: text.read(entry.key_name ?? entry.key_id),
        note: text.readNote(entry.links, entry.client_address) + (entry.is_sent ? '' : text.readUnsent),
        outcome: <Chip>200</Chip>,
      }
    case 'reveal':
      return {
        icon: <IconEye {...ICON} />,
        tone: 'warn',
        title: text.reveal(entry.link),
        note: text.revealNote(entry.person_name),
      }
  }
}

function drawAttempt(entry: Extract<Entry, { kind: 'attempt' }>): Drawn {
  const { outcome, status, is_same_cart, is_sent, request_id } = entry
  const request =
    request_id === null ? null : (
      <>
        {text.attempt.request} <Mono>{request_id}</Mono>
      </>
    )
  const isBought = outcome === 'bought'
  const isGood = isBought || outcome === 'replayed'
  const title = isBought ? (
    <>
      {text.attempt.bought('')}
      <Mono>POST /orders</Mono>
    </>
  ) : outcome === 'replayed' ? (
    text.attempt.replayed
  ) : is_same_cart ? (
    text.attempt.refused
  ) : (
    text.attempt.otherCart
  )
  const said = isBought
    ? text.attempt.first
    : isGood
      ? text.attempt.again
      : `${outcome}. ${text.attempt.nothing}`
  return {
    icon: <IconArrowDownLeft {...ICON} />,
    title,
    note: (
      <>
        {said}
        {is_sent === false ? text.attempt.unsent : null}
        {request}
      </>
    ),
    outcome:
      status === null ? undefined : <Chip tone={isBought ? 'ok' : isGood ? 'plain' : 'bad'}>{status}</Chip>,
  }
}

function drawDelivery(entry: Extract<Entry, { kind: 'delivery' }>): Drawn {
  const took = formatDuration(entry.ms)
  const isAccepted = entry.error === null
  return {
    icon: <IconSend {...ICON} />,
    tone: isAccepted ? 'plain' : 'bad',
    title: <Mono>{entry.type}</Mono>,
    note: isAccepted
      ? text.attemptOf(entry.attempt, took)
      : text.attemptFailed(entry.attempt, entry.error ?? '', took) +
        (entry.next_at === null ? '' : text.nextAt(formatRelative(entry.next_at))),
    outcome: (
      <Chip tone={isAccepted ? 'ok' : 'bad'}>
        {entry.status ?? (entry.error === 'timeout' ? 'timeout' : 'no answer')}
      </Chip>
    ),
  }
}

const Mono = ({ children }: { readonly children: ReactNode }) => (
  <span className={classes.mono}>{children}</span>
)
