import { formatCount } from '#lib/money.ts'

const plural = (count: number, one: string, many = `${one}s`) =>
  count === 1 ? `1 ${one}` : `${formatCount(count)} ${many}`

const SMALL = ['No', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine']
/** "four links", "12 links": small numbers as words. */
const counted = (count: number, one: string, many = `${one}s`) =>
  `${(SMALL[count] ?? formatCount(count)).toLowerCase()} ${count === 1 ? one : many}`

/** Every word of the list of orders and of one order's page. */
export const orders = {
  title: 'Orders',
  what: 'Orders',
  caption: 'Orders, newest first',
  meta: (count: number, since: string | null, worth: string | null) =>
    count === 0
      ? 'Every purchase of this account, with its links and its story.'
      : `${plural(count, 'order')}${since === null ? '' : ` since ${since}`}${worth === null ? '' : `, worth ${worth}`}`,
  export: 'Export CSV',
  exportSelected: 'Export selected',
  tabs: 'Status',
  statuses: { all: 'All', paid: 'Paid', delivered: 'Delivered', cancelled: 'Cancelled' },
  search: 'Order id or idempotency key',
  showNew: (count: number) => (count === 1 ? 'Show 1 new order' : `Show ${count} new orders`),
  columns: {
    order: 'Order',
    status: 'Status',
    lines: 'Lines',
    total: 'Total',
    deliveredIn: 'Delivered in',
    created: 'Created',
  },
  id: 'order id',
  copyId: 'Copy the id',
  refunded: 'refunded',
  today: 'Today',
  loading: 'Loading the order',
  dayOrders: (count: number) => plural(count, 'order'),
  dayUncounted: 'too many orders to add up',
  range: (shown: number, all: number | null) =>
    all === null ? plural(shown, 'order') : `${formatCount(shown)} of ${plural(all, 'order')}`,
  filters: {
    created: 'Created',
    total: 'Total',
    item: 'Item id',
    key: 'Key',
    ranges: [
      ['24h', 'last 24 hours'],
      ['7d', 'last 7 days'],
      ['30d', 'last 30 days'],
      ['90d', 'last 90 days'],
    ],
    itemHint: '17 to 20 digits',
    revoked: ' (revoked)',
  },
  empty: {
    title: 'No orders yet',
    body: 'An order buys a whole cart from your balance and returns gift links. The first one spends real money.',
    action: 'See the first steps',
  },
  noResult: {
    title: (filters: string) => `No order ${filters}`,
    body: (others: string) => `Without the filters there are ${others}. Take one away to see more.`,
    search: (text: string) => `has the id or key “${text}”`,
    filtered: 'fits these filters',
  },
  searched: {
    title: (time: string) => `Looked back to ${time}`,
    found: 'More may fit. Few orders pass these filters, so the search stops now and then.',
    none: 'Nothing so far. Few orders pass these filters, so the search stops now and then.',
    more: 'Search further back',
  },

  order: {
    tab: (id: string) => `Order …${id.slice(-6)}`,
    what: 'The order',
    titles: {
      paid: (total: string) => `${total}, waiting for its links`,
      delivered: (total: string, time: string) => `${total}, delivered in ${time}`,
      cancelled: (total: string) => `${total}, cancelled and refunded`,
    },
    placed: (when: string) => `Placed ${when}`,
    today: (clock: string) => `today at ${clock}`,
    on: (time: string) => `on ${time}`,
    seconds: (count: number) => `${count} seconds`,
    withKey: (name: string) => ` with key ${name}. `,
    byOperator: ' by the store on your behalf. ',
    chargedOnce: 'Charged once',
    handed: (links: number) => `Charged once, ${counted(links, 'link')} handed over.`,
    waiting: 'Charged once; no link is handed over until all are there.',
    refunded: 'The whole amount is back on the balance.',
    rawJson: 'Raw JSON',
    rawTitle: 'The order as JSON',
    rawLead: 'As this page got it. Links are not part of it.',
    proof: 'Download proof',

    story: 'Story',
    elapsed: 'Elapsed since the first attempt',
    leftOut: (count: number) =>
      `${plural(count, 'more entry', 'more entries')} of the same kinds are in the proof, not here.`,
    quiet: (time: string) => `${time} with nothing to report`,
    request: 'Request',
    attempt: 'Order attempt',
    attemptBought: 'Signature, clock and nonce checked.',
    attemptUnanswered: 'The caller was gone before the whole answer was sent.',
    attemptUnknown: 'The answer was not recorded.',
    byStore: 'Placed by the store',
    byStoreNote: 'An operator placed this order on your behalf.',
    replayed: 'Same attempt again, not charged',
    replayedNote: 'Same key, same cart: the original order was returned.',
    otherCart: 'Same key, another cart: refused',
    otherCartNote: 'Nothing was bought or charged.',
    refused: 'Attempt refused',
    refusedNote: (type: string) => `${type}. Nothing was charged.`,
    debit: 'Debited from the balance',
    debitNote: (before: string, after: string) =>
      `${before} → ${after}, in the same transaction as the order`,
    refund: 'Refunded to the balance',
    refundNote: (before: string, after: string) =>
      `${before} → ${after}, in the same transaction as the cancellation`,
    fulfilled: (links: number) => `Fulfilled, ${counted(links, 'link')} attached`,
    fulfilledNote: 'Order moved from paid to delivered',
    cancelled: 'Cancelled by the store',
    accepted: (n: number, time: string) => `Attempt ${n}: accepted in ${time}`,
    resent: (round: number, n: number, time: string) =>
      `Sent again (${round}), attempt ${n}: accepted in ${time}`,
    answered: (n: number, code: number, time: string) =>
      `Attempt ${n}: your endpoint answered ${code} in ${time}`,
    failed: (n: number, error: string, time: string) => `Attempt ${n}: ${error} after ${time}`,
    nextAttempt: (time: string) => `The next attempt is ${time}.`,
    errors: {
      timeout: 'no answer',
      dns: 'the host name was not found',
      connect: 'no connection',
      tls: 'the certificate was not valid',
      reset: 'the connection broke',
      blocked: 'the address is not public',
      bad_response: 'the answer was not HTTP',
      internal: 'a fault on our side',
    } as Readonly<Record<string, string>>,
    eventNoEndpoint: 'No endpoint was set, so it was sent nowhere',
    eventPending: 'Waiting for its first attempt',
    eventCancelled: 'Not sent: the endpoint was changed or stopped',
    eventFailed: 'Not accepted',
    queued: 'Queued',
    read: (who: string) => `Read by ${who}`,
    readNote: (links: number, address: string) =>
      `${SMALL[links] ?? formatCount(links)} ${links === 1 ? 'link' : 'links'} returned to ${address}`,
    readGone: 'The caller was gone before the whole answer was sent.',
    revealed: (n: number) => `Link ${n} revealed in the dashboard`,
    revealedNote: (name: string, address: string | null) =>
      `By ${name}${address === null ? '' : ` from ${address}`}. Recorded in the audit log.`,
    stillPaid: (time: string) => `Waiting for links for ${time}`,
    late: (time: string) => `Late: waiting for links for ${time}`,
    usual: (usual: string, most: string) =>
      `Your latest orders usually took ${usual}, and 19 in 20 at most ${most}.`,
    usualUnknown: 'Too few of your orders have been delivered to say what is usual.',
    refundAt: (time: string, left: string) =>
      `If it is not delivered by ${time} (${left}), the whole amount goes back to the balance by itself.`,
    refundByStore: 'It stays paid until it is delivered, or until the store cancels and refunds it.',
    askAbout: (contact: string | null) =>
      contact === null ? 'Ask the store, and give the order id.' : `Ask ${contact}, and give the order id.`,

    card: {
      once: 'Charged once',
      notOnce: 'Not charged exactly once',
      notOnceBody: 'This must not happen. Download the proof and send it to the store.',
      requests: (count: number) => (count === 1 ? 'request' : 'requests'),
      charges: (count: number) => (count === 1 ? 'charge' : 'charges'),
      inAll: 'in all',
      backInAll: 'in all, refunded',
      key: 'Idempotency key',
      entry: 'Ledger entry',
      hash: 'Cart SHA-256',
      apiKey: 'API key',
      from: 'From',
      kept: (time: string) => `Requests before ${time} are no longer kept.`,
    },
    lines: 'Lines',
    linesCaption: 'Lines of this order',
    units: (qty: number, price: string) => `${qty} × ${price}`,
    total: 'Total',
    links: {
      title: 'Gift links',
      aside: 'Each reveal is recorded',
      none: 'Links appear here when the order is delivered.',
      noneCancelled: 'The order was cancelled; no link was handed over.',
      erased: (count: number, when: string) =>
        `Erased ${when}, after ${counted(count, 'link')} had been handed over: this store keeps links for a limited time after the delivery. ` +
        'Your server received them by the API or by a webhook.',
      what: (n: number) => `link ${n}`,
      notRevealed: 'The link was not revealed',
      whoMay: 'Owners and Developers can reveal links.',
      prefix: 'https://',
      more: (count: number) => `Show all ${count} links`,
    },
    notFound: 'There is no such order in this account',
    notFoundBody:
      'The id may belong to another of your accounts. Switch accounts in the upper left, or find it by its end.',
    back: 'All orders',
  },
} as const
