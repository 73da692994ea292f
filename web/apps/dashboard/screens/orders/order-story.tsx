import {
  IconArrowBackUp,
  IconArrowDownLeft,
  IconCircleMinus,
  IconClock,
  IconCoin,
  IconEye,
  IconGift,
  IconSend2,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { Chip, Status } from '#kit/components/values/status.tsx'
import { type Quiet, type Station, Timeline } from '#kit/components/values/timeline.tsx'
import { formatMoney } from '#lib/money.ts'
import { formatDuration, formatRelative, formatTime, formatUtc } from '#lib/time.ts'
import { useNow } from '#lib/use-now.ts'
import { paths } from '../../paths.ts'
import { orders } from '../../strings/orders.ts'
import classes from './order.module.css'
import type { OrderDetail } from './order-types.ts'

type Entry = OrderDetail['story'][number]
type EntryOf<Kind extends Entry['kind']> = Extract<Entry, { readonly kind: Kind }>
/** One schema for both, so their kind is a union. */
type TransferEntry = Extract<Entry, { readonly transfer_id: string }>
type Waiting = NonNullable<OrderDetail['waiting']>
type Told = Omit<Station, 'key' | 'when'>

const { order: said } = orders
/** A longer pause than this is one dashed line. */
const QUIET_MS = 5 * 60_000
const icon = { size: 15, stroke: 1.75, 'aria-hidden': true } as const

/** What happened, from the first attempt on. An order that is still paid ends with what it waits for. */
export function OrderStory({ order }: { readonly order: OrderDetail }) {
  const firstMs = Date.parse(order.story[0]?.at ?? order.created_at)
  const stations: (Station | Quiet)[] = []
  let lastMs = firstMs
  for (const [n, entry] of order.story.entries()) {
    const atMs = Date.parse(entry.at)
    if (atMs - lastMs > QUIET_MS)
      stations.push({ key: `quiet-${n}`, quiet: said.quiet(formatDuration(atMs - lastMs)) })
    lastMs = atMs
    stations.push({
      key: `${entry.kind}-${entry.at}-${n}`,
      when: <span title={formatUtc(entry.at)}>{formatDuration(atMs - firstMs)}</span>,
      ...tell(entry),
    })
  }
  if (order.waiting)
    stations.push({
      key: 'waiting',
      icon: <IconClock {...icon} />,
      tone: order.waiting.is_late ? 'warn' : undefined,
      title: <Waited since={order.created_at} isLate={order.waiting.is_late} />,
      note: noteOf(order.waiting),
      outcome: <Status kind="paid" isChip />,
    })
  return (
    <>
      <Timeline label={said.story} stations={stations} />
      {order.story_left_out > 0 ? <p className="sw-meta">{said.leftOut(order.story_left_out)}</p> : null}
    </>
  )
}

/** Counts on while somebody looks. */
function Waited({ since, isLate }: { readonly since: string; readonly isLate: boolean }) {
  const nowMs = useNow()
  const time = formatDuration(Math.max(0, nowMs - Date.parse(since)))
  return isLate ? said.late(time) : said.stillPaid(time)
}

/** What is usual, when the store refunds by itself, and whom to ask. */
function noteOf({ usual_s, usual_most_s, is_late, refund_at, contact }: Waiting): string {
  const usual =
    usual_s === null || usual_most_s === null
      ? said.usualUnknown
      : said.usual(formatDuration(usual_s * 1000), formatDuration(usual_most_s * 1000))
  const refund =
    refund_at === null ? said.refundByStore : said.refundAt(formatTime(refund_at), formatRelative(refund_at))
  return [usual, refund, ...(is_late ? [said.askAbout(contact)] : [])].join(' ')
}

function tell(entry: Entry): Told {
  switch (entry.kind) {
    case 'attempt':
      return tellAttempt(entry)
    case 'debit':
    case 'refund':
      return tellTransfer(entry)
    case 'delivered':
      return {
        icon: <IconGift {...icon} />,
        tone: 'ok',
        title: said.fulfilled(entry.links),
        note: said.fulfilledNote,
        outcome: <Status kind="delivered" isChip />,
      }
    case 'cancelled':
      return {
        icon: <IconCircleMinus {...icon} />,
        title: said.cancelled,
        note: entry.reason,
        outcome: <Status kind="cancelled" isChip />,
      }
    case 'event':
      return tellEvent(entry)
    case 'delivery':
      return tellDelivery(entry)
    case 'read':
      return {
        icon: <IconArrowDownLeft {...icon} />,
        title: (
          <>
            {said.read(entry.key_name ?? entry.key_id)}, <code>GET /orders/…</code>
          </>
        ),
        note: entry.is_sent ? said.readNote(entry.links, entry.client_address) : said.readGone,
        outcome: <Chip>200</Chip>,
      }
    case 'reveal':
      return {
        icon: <IconEye {...icon} />,
        tone: 'warn',
        title: said.revealed(entry.link),
        note: said.revealedNote(entry.person_name, entry.address),
      }
  }
}

function tellAttempt(entry: EntryOf<'attempt'>): Told {
  const { outcome, status, is_same_cart, request_id, key_id, is_sent } = entry
  const code = status === null ? undefined : <Chip tone={toneOf(status)}>{status}</Chip>
  const request = request_id === null ? null : <RequestName id={request_id} />
  const shared = { icon: <IconArrowDownLeft {...icon} />, outcome: code }
  const sent =
    is_sent === false ? ` ${said.attemptUnanswered}` : status === null ? ` ${said.attemptUnknown}` : ''
  if (key_id === null) return { ...shared, title: said.byStore, note: said.byStoreNote }
  if (outcome === 'bought')
    return {
      ...shared,
      title: (
        <>
          {said.attempt}, <code>POST /orders</code>
        </>
      ),
      note: (
        <>
          {said.attemptBought}
          {sent} {request}
        </>
      ),
    }
  if (outcome === 'replayed')
    return {
      ...shared,
      title: said.replayed,
      note: (
        <>
          {said.replayedNote}
          {sent} {request}
        </>
      ),
    }
  return {
    ...shared,
    title: is_same_cart ? said.refused : said.otherCart,
    note: (
      <>
        {is_same_cart ? said.refusedNote(outcome) : said.otherCartNote} {request}
      </>
    ),
  }
}

const toneOf = (status: number) => (status === 201 ? 'ok' : status < 300 ? 'plain' : 'bad')

const RequestName = ({ id }: { readonly id: string }) => (
  <span className={classes.request}>
    {said.request} <Id id={id} as="short" />
  </span>
)

function tellTransfer(entry: TransferEntry): Told {
  const { amount_cents, balance_before_cents, balance_after_cents } = entry
  const isDebit = entry.kind === 'debit'
  const [before, after] = [formatMoney(balance_before_cents), formatMoney(balance_after_cents)]
  return {
    icon: isDebit ? <IconCoin {...icon} /> : <IconArrowBackUp {...icon} />,
    tone: isDebit ? 'accent' : 'ok',
    title: isDebit ? said.debit : said.refund,
    note: isDebit ? said.debitNote(before, after) : said.refundNote(before, after),
    outcome: (
      <span className="sw-strong">
        <Money cents={isDebit ? -amount_cents : amount_cents} as="change" />
      </span>
    ),
  }
}

function tellEvent({ event_id, type, state }: EntryOf<'event'>): Told {
  const note = {
    none: said.eventNoEndpoint,
    pending: said.eventPending,
    cancelled: said.eventCancelled,
    failed: said.eventFailed,
    delivered: said.eventPending,
  }[state ?? 'none']
  return {
    icon: <IconSend2 {...icon} />,
    title: <EventName id={event_id} type={type} isSent={state !== null} />,
    note,
    outcome: state === 'pending' ? <Status kind="queued" isChip /> : undefined,
  }
}

function tellDelivery(entry: EntryOf<'delivery'>): Told {
  const { event_id, type, attempt, round, status, error, ms, next_at } = entry
  const time = formatDuration(ms)
  const isAccepted = error === null
  const what = isAccepted
    ? round > 1
      ? said.resent(round - 1, attempt, time)
      : said.accepted(attempt, time)
    : status === null
      ? said.failed(attempt, said.errors[error] ?? error, time)
      : said.answered(attempt, status, time)
  const next = next_at === null ? '' : ` ${said.nextAttempt(formatRelative(next_at))}`
  return {
    icon: <IconSend2 {...icon} />,
    title: <EventName id={event_id} type={type} isSent />,
    note: `${what}${isAccepted || next === '' ? '' : '.'}${next}`,
    outcome: <Status kind={isAccepted ? 'accepted' : 'failed'} {...codeOf(status, error)} isChip />,
  }
}

/** The code of the answer; without one, whether it was too late or something else. */
function codeOf(status: number | null, error: string | null): { word?: string } {
  if (status !== null) return { word: String(status) }
  return error === 'timeout' ? { word: 'timeout' } : {}
}

function EventName({
  id,
  type,
  isSent,
}: {
  readonly id: string
  readonly type: string
  readonly isSent: boolean
}): ReactNode {
  const name = <code>{type}</code>
  return isSent ? (
    <AppLink to={paths.delivery(id)} className={classes.event}>
      {name}
    </AppLink>
  ) : (
    name
  )
}
