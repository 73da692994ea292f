import { formatCount, formatDollars, formatMoney } from '../lib/money.ts'

const plural = (count: number, one: string, many: string) =>
  `${formatCount(count)} ${count === 1 ? one : many}`
const NUMBERS = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine']
const spelled = (count: number) => NUMBERS[count] ?? formatCount(count)

export const home = {
  tab: 'Home',
  quiet: 'All quiet',
  needs: (count: number) => (count === 1 ? 'One thing needs you' : `${spelled(count)} things need you`),
  now: (day: string, clock: string, zone: string) => `${day}, ${clock} ${zone}.`,
  flowing: (waiting: number) =>
    waiting === 0
      ? ' No order waits for delivery.'
      : ` ${plural(waiting, 'order waits', 'orders wait')} for delivery.`,
  createKey: 'Create key',
  addFunds: 'Add funds',
  balance: {
    label: 'Balance',
    days: (days: string) => `${days} left`,
    rate: (cents: number) => ` at ${formatDollars(cents)} a day`,
    noRate: 'No order in the last week: it lasts.',
    mail: (cents: number) => `mail at ${formatDollars(cents)}`,
    picture: (days: number) => `${days} of 30 days are covered`,
    count: (days: number) => (days > 99 ? 'More than 99 days' : plural(Math.floor(days), 'day', 'days')),
  },
  today: {
    label: 'Orders today',
    note: (delivered: number, paid: number, cancelled: number) =>
      `${formatCount(delivered)} delivered, ${formatCount(paid)} paid, ${formatCount(cancelled)} cancelled`,
    picture: 'Orders by hour of today',
  },
  delivery: {
    label: 'Time to delivery',
    unit: 'median',
    note: (p95: string) => `95 of 100 within ${p95}`,
    none: 'No delivery in the last 24 hours',
    picture: 'Orders of the last 24 hours by time to delivery, fastest first',
  },
  webhook: {
    label: 'Webhook',
    unit: '% accepted first time',
    none: 'not set',
    noneNote: 'Set an endpoint to hear of deliveries',
    quiet: 'No event in the last 24 hours',
    fine: (count: number) => `${plural(count, 'event', 'events')} in 24 h, none waiting`,
    retrying: (count: number) => `${formatCount(count)} retrying`,
    failed: (count: number) => `${formatCount(count)} failed`,
    in24: ' in 24 h',
    picture: 'The last 24 hours by hour: red where events failed, amber where they are retried',
  },
  spend: {
    title: 'Spend',
    series: 'Orders, refunds deducted',
    sum: (cents: number) => `${formatMoney(cents)} in 30 days`,
    summary: (cents: number) => `Spend per UTC day over the last 30 days, ${formatMoney(cents)} in all`,
    incomplete: 'The sums of past days are being prepared; the chart fills up within a minute.',
    axis: (cents: number) => (cents >= 100_000 ? `$${Math.round(cents / 100_000)}k` : formatDollars(cents)),
  },
  attention: {
    title: 'Needs attention',
    none: 'Nothing needs you. What does appears here, with what to do about it.',
  },
  latest: { title: 'Latest orders', all: 'All orders', caption: 'The latest six orders' },
  item: {
    account_suspended: {
      title: 'The account is suspended',
      note: 'Every signed request is refused, and events are held. Ask the store why.',
      action: 'See the balance',
    },
    store_closed: {
      title: 'The store is closed',
      note: (reason: string, opens: string | null) =>
        `${reason} New orders are refused${opens === null ? '' : ` until ${opens}`}; nothing is charged meanwhile.`,
      action: 'See orders',
    },
    endpoint_failing: {
      title: (what: string) => `Your endpoint ${what}`,
      answers: (status: number) => `answers ${status}`,
      fails: { timeout: 'does not answer in time' } as Readonly<Record<string, string>>,
      other: (error: string) => `fails: ${error}`,
      note: (events: number, since: string, next: string | null, stops: string | null) =>
        [
          `${plural(events, 'event', 'events')} since ${since}.`,
          next === null ? '' : ` The next attempt is ${next};`,
          stops === null ? '' : ` attempts stop at ${stops}.`,
        ].join(''),
      action: 'See deliveries',
    },
    events_given_up: {
      title: (count: number) => `${plural(count, 'event was', 'events were')} given up`,
      note: (at: string) => `All twelve attempts failed, the last one ${at}. They can be sent again.`,
      action: 'Recover them',
    },
    balance_low: {
      title: (cents: number) => `The balance is down to ${formatMoney(cents)}`,
      note: (days: number | null) =>
        days === null
          ? 'Orders that cost more are refused.'
          : `At the present rate it lasts ${home.balance.count(days).toLowerCase()}.`,
      action: 'Add funds',
    },
    orders_waiting: {
      title: (count: number) => `${plural(count, 'order waits', 'orders wait')} unusually long`,
      note: (since: string) =>
        `The oldest was paid ${since}. Nothing is lost: an order that cannot be delivered is refunded.`,
      action: 'Open the oldest',
    },
    second_factor_missing: {
      title: 'You have no second factor',
      note: 'Without one you cannot create keys, reveal links or change the webhook.',
      action: 'Add one',
    },
    key_safe_to_revoke: {
      title: (name: string) => `Old key “${name}” is safe to revoke`,
      note: (since: string, calls: number) =>
        `Unused since ${since}. Its replacement made ${plural(calls, 'call', 'calls')}.`,
      action: 'Revoke key',
    },
    item_leaving: {
      title: (name: string, when: string) => `${name} leaves the store ${when}`,
      note: (percent: number) => `${percent} % of your latest orders contain it.`,
      action: 'Open item',
    },
    closing_planned: {
      title: (at: string) => `The store closes ${at}`,
      note: (reason: string, opens: string) => `${reason} It opens again ${opens}.`,
      action: 'See orders',
    },
  },
  setup: {
    title: (left: number) =>
      left === 1
        ? 'One step before your first delivery'
        : `${spelled(left)} steps before your first delivery`,
    meta: 'Steps tick themselves when our side sees the call. Nothing here spends balance until the order.',
    label: 'First steps',
    key: {
      title: 'Create an API key',
      body: 'It signs what your server sends. The secret is shown once.',
      action: 'Create key',
    },
    call: {
      title: 'First signed call',
      body: 'Proves that clock, key and signature work. It costs nothing.',
    },
    quote: { title: 'Quote a cart', body: 'A quote checks prices and availability and spends nothing.' },
    webhook: {
      title: 'Set a webhook',
      body: 'Hear of deliveries the moment they happen. No public URL yet? Run shopwire listen.',
      action: 'Set the endpoint',
    },
    order: {
      title: 'Place an order',
      body: (item: string, price: string) =>
        `Spends real balance; there is no sandbox. For example ${item} at ${price}.`,
      noItem: 'Spends real balance; there is no sandbox.',
    },
    delivered: {
      title: 'See it delivered',
      body: 'Links arrive, the event is sent, and this page becomes your overview.',
    },
    snippets: 'The call in three ways',
    waiting: 'Waiting for it',
    funds: 'You can finish the first four steps without funds.',
    stuck: 'Stuck?',
    stuckBody: 'Most first calls fail on the clock, or on a body that changed after it was signed.',
    stuckLink: 'Fix a 401',
  },
} as const
