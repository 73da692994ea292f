import { formatCount } from '#lib/money.ts'

const SMALL = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine']
const word = (count: number) => SMALL[count] ?? formatCount(count)
const plural = (count: number, one: string, many = `${one}s`) =>
  count === 1 ? `1 ${one}` : `${formatCount(count)} ${many}`

/** Every word of the home page. */
export const home = {
  tab: 'Home',
  what: 'Home',
  headline: (count: number) =>
    count === 0 ? 'All quiet' : count === 1 ? 'One thing needs you' : `${word(count)} things need you`,
  meta: (time: string, state: string) => `${time}. ${state}`,
  flowing: (waiting: number) =>
    waiting === 0
      ? 'Every order is delivered.'
      : `Orders are flowing; ${waiting === 1 ? '1 waits' : `${formatCount(waiting)} wait`} for delivery.`,
  noneToday: 'No orders yet today.',
  closed: 'The store is closed; nothing can be bought.',
  inDays: (count: number) => `in ${count} days`,
  createKey: 'Create key',
  addFunds: 'Add funds',

  balance: {
    label: 'Balance',
    days: (days: number) => (days < 1 ? 'Less than a day left' : `${plural(Math.floor(days), 'day')} left`),
    pace: (perDay: string) => ` at ${perDay} a day`,
    noBurn: 'Nothing was spent in the last 7 days',
    alert: (amount: string) => `mail at ${amount}`,
    picture: (days: string) => `${days}; each tick is a day`,
    empty: 'Nothing can be bought until funds are added',
  },
  today: {
    label: 'Orders today',
    states: (delivered: number, paid: number, cancelled: number) =>
      [
        `${formatCount(delivered)} delivered`,
        ...(paid > 0 ? [`${formatCount(paid)} paid`] : []),
        ...(cancelled > 0 ? [`${formatCount(cancelled)} cancelled`] : []),
      ].join(', '),
    none: 'Nothing was bought since midnight',
    picture: (orders: number) => `Orders by hour: ${plural(orders, 'order')} today`,
  },
  delivery: {
    label: 'Time to delivery',
    median: 'median',
    p95: (time: string) => `95 of 100 within ${time}`,
    none: 'No order was delivered in 24 h',
    picture: 'How long orders of the last 24 hours took',
  },
  webhook: {
    label: 'Webhook',
    first: '% accepted first time',
    none: 'No endpoint is set',
    setUp: 'Set a webhook',
    quiet: 'No events in 24 h',
    fine: (events: number) => `${plural(events, 'event')} in 24 h, nothing waits`,
    retrying: (count: number) => `${formatCount(count)} retrying`,
    failed: (count: number) => `${formatCount(count)} failed`,
    in24h: ' in 24 h',
    picture: 'The last 24 hours: grey accepted, amber retrying, red failed',
  },
  spend: {
    title: 'Spend',
    sum: (amount: string) => `${amount} in 30 days`,
    summary: (amount: string) => `What orders cost on each of the last 30 days, by UTC: ${amount} in all.`,
    series: 'Orders',
    incomplete: 'The sums of the latest days are not ready yet.',
  },
  attention: {
    title: 'Needs attention',
    none: 'Nothing needs you',
    noneBody: 'Endpoint, balance, keys, orders and your items are looked at with every visit.',
    account_suspended: {
      title: 'This account is suspended',
      body: 'API requests get 403. Paid orders are still delivered. Ask your contact at the store.',
      action: 'See balance',
    },
    store_closed: {
      title: 'The store is closed',
      body: (reason: string | null, opens: string | null) =>
        `${reason === null ? '' : `${reason}. `}New orders get 503 and cost nothing. ${opens === null ? 'No time of opening is known.' : `It opens ${opens}.`}`,
      action: 'See orders',
    },
    endpoint_failing: {
      title: (status: number | null, error: string) =>
        status === null ? `Your endpoint does not answer: ${error}` : `Your endpoint answers ${status}`,
      events: (count: number, since: string) => `${plural(count, 'event')} since ${since}.`,
      next: (time: string) => ` The next attempt is ${time}`,
      stops: (time: string) => `; attempts stop at ${time}.`,
      action: 'See deliveries',
    },
    events_given_up: {
      title: (count: number) => `${plural(count, 'event')} ${count === 1 ? 'was' : 'were'} given up`,
      body: (time: string) => `Not accepted in twelve attempts, the last ${time}. They can be sent again.`,
      action: 'Recover',
    },
    balance_low: {
      title: (amount: string) => `The balance is down to ${amount}`,
      days: (days: number) =>
        days < 1
          ? 'It lasts less than a day at this pace.'
          : `It lasts ${plural(Math.floor(days), 'day')} at this pace.`,
      alert: (amount: string) => ` The mail is set to ${amount}.`,
      empty: 'Orders get 402 until funds are added.',
      action: 'Add funds',
    },
    orders_waiting: {
      title: (count: number) => `${plural(count, 'order')} ${count === 1 ? 'waits' : 'wait'} unusually long`,
      body: (time: string) => `The oldest since ${time}. What is paid keeps its place.`,
      action: 'Open the oldest',
    },
    second_factor_missing: {
      title: 'Your second factor is missing',
      body: 'Keys, links and secrets need one. A passkey takes a minute.',
      action: 'Add a passkey',
    },
    key_safe_to_revoke: {
      title: (name: string) => `Old key “${name}” is safe to revoke`,
      body: (time: string, calls: number) =>
        `Unused for ${time}. Its replacement made ${plural(calls, 'call')}.`,
      action: 'Revoke key',
    },
    item_leaving: {
      title: (name: string, time: string) => `${name} leaves the store ${time}`,
      body: (percent: number) => `${percent} % of your latest orders contain it.`,
      action: 'Open item',
    },
    closing_planned: {
      title: (time: string) => `The store closes ${time}`,
      body: (reason: string, opens: string) => `${reason}. It opens again ${opens}.`,
      action: 'See orders',
    },
  },
  latest: {
    title: 'Latest orders',
    caption: 'The six latest orders, newest first',
    all: 'All orders',
    none: 'No orders yet',
    noneBody: 'The first order appears here a second after it was placed.',
  },

  setup: {
    title: (left: number) =>
      left === 0
        ? 'Ready for your first order'
        : `${word(left)} ${left === 1 ? 'step' : 'steps'} before your first order`,
    ordered: 'Your first order is on its way',
    meta: 'Steps tick themselves when our side sees the call. Nothing here spends balance until the last one.',
    label: 'First steps',
    ago: (name: string) => name,
    key: ['Create an API key', 'A key signs every request. Its secret is shown once.'],
    call: ['First signed call', 'Answers with the name of this account. Spends nothing.'],
    quote: ['Quote a cart', 'A quote checks prices and availability and spends nothing.'],
    webhook: ['Set a webhook', 'Learn about deliveries the moment they happen. No public URL yet? Run'],
    order: ['Place an order', 'Spends real balance. There is no sandbox'],
    delivered: ['Receive the links', 'They come with the order and by webhook, usually within a minute.'],
    cheapest: (name: string, price: string) => `; the cheapest item is ${name} at ${price}.`,
    noItem: '; nothing is for sale at the moment.',
    waiting: {
      key: 'Waiting for your first key',
      call: 'Waiting for your first call',
      quote: 'Waiting for your first quote',
      webhook: 'Waiting for your endpoint',
      order: 'Waiting for your first order',
      delivered: 'Waiting for delivery',
    },
    seen: (when: string) => when,
    createKey: 'Create key',
    setWebhook: 'Set a webhook',
    openOrder: 'Open the order',
    copy: 'Copy snippet',
    snippets: 'Languages',
    listen: 'shopwire listen',
    balance: 'Balance',
    noFunds: 'You can finish the steps before the order without funds.',
    funds: 'Enough to place the first order.',
    stuck: 'Stuck?',
    stuckBody: 'Most first calls fail on the clock or on a body changed after signing.',
    fix401: 'Fix a 401',
  },
} as const
