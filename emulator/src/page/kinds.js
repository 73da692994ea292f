import { badge, h, timeOf } from './dom.js'
import { finishOrder, state } from './live.js'
import { followed } from './place.js'
import { duration, money } from './words.js'

/** What the three lists show, and by what they are filtered. `items` is newest first. */
export const KINDS = {
  requests: {
    title: 'Requests',
    one: 'request',
    heads: ['Answer', 'Request', 'What to know', 'Took', 'When'],
    filters: {
      ok: ['Executed (2xx)', ({ status }) => status >= 200 && status < 300],
      refused: ['Refused (4xx)', ({ status }) => status >= 400 && status < 500],
      failed: ['Failed (5xx) or no answer', (one) => one.status === null || one.status >= 500 || !one.sent],
      signature: ['Wrong signature', isWrongSignature],
      fault: ['Affected by a fault', ({ fault }) => fault !== null],
    },
    items: () => [...state.requests.values()].toReversed(),
    key: ({ seq }) => String(seq),
    find: (key) => state.requests.get(Number(key)),
    words: (one) =>
      [
        one.method,
        one.target,
        one.status,
        one.id,
        one.error_type,
        one.idempotency_key,
        one.key_id,
        one.account_id,
        one.fault,
      ].concat([one.mistake?.name, one.mistake?.title, one.body]),
    /** The parts of a row that can change without a change of its item. */
    mark: (one) => String(attemptOf(one)?.place),
    cells: (one) => [
      answerBadge(one),
      h(
        'a',
        { class: 'row mono', ...followed({ view: 'requests', open: String(one.seq) }) },
        h('b', {}, one.method),
        ' ',
        h('wbr'),
        one.target,
      ),
      noteOf(one),
      duration(one.duration_ms),
      timeOf(one.at),
    ],
  },
  orders: {
    title: 'Orders',
    one: 'order',
    heads: ['Status', 'Order', 'Total', 'Idempotency key', 'When'],
    filters: {
      paid: ['Paid', ({ status }) => status === 'paid'],
      delivered: ['Delivered', ({ status }) => status === 'delivered'],
      cancelled: ['Cancelled', ({ status }) => status === 'cancelled'],
    },
    items: () => [...state.orders.values()].toReversed(),
    key: ({ id }) => id,
    find: (key) => state.orders.get(key),
    words: (one) => [
      one.id,
      one.status,
      one.idempotency_key,
      one.account_id,
      ...one.lines.flatMap(({ id, name }) => [id, name]),
    ],
    mark: () => '',
    cells: (one) => [
      [orderBadge(one.status), one.status === 'paid' && finishButtons(one)],
      h('a', { class: 'row mono', ...followed({ view: 'orders', open: one.id }) }, one.id),
      money(one.total_cents),
      h('span', { class: 'mono' }, one.idempotency_key),
      timeOf(one.created_at),
    ],
  },
  deliveries: {
    title: 'Deliveries',
    one: 'delivery',
    many: 'deliveries',
    heads: ['Answer', 'Event', 'Order', 'Took', 'When'],
    filters: {
      accepted: ['Accepted (2xx)', isAccepted],
      failed: ['Not accepted', (one) => !isAccepted(one)],
      fault: ['Affected by a fault', ({ fault }) => fault !== null],
    },
    items: () => [...state.deliveries.values()].toReversed(),
    key: ({ seq }) => String(seq),
    find: (key) => state.deliveries.get(Number(key)),
    words: (one) => [
      one.event,
      one.event_id,
      one.order_id,
      one.status,
      one.error,
      one.url,
      one.fault,
      one.account_id,
    ],
    mark: () => '',
    cells: (one) => [
      deliveryBadge(one),
      h('a', { class: 'row mono', ...followed({ view: 'deliveries', open: String(one.seq) }) }, one.event),
      [
        one.order_id &&
          h('a', { class: 'mono', ...followed({ view: 'orders', open: one.order_id }) }, one.order_id),
        one.fault && badge('warn', '⚡', one.fault),
      ],
      duration(one.duration_ms),
      timeOf(one.at),
    ],
  },
}

function finishButtons(order) {
  const button = (how, text) =>
    h(
      'button',
      {
        ...{ type: 'button', class: 'copy', 'aria-label': `${text} ${order.id}` },
        onclick: (event) => {
          event.stopPropagation()
          return finishOrder(order, how)
        },
      },
      text,
    )
  return [' ', button('deliver', 'Deliver'), ' ', button('cancel', 'Cancel')]
}

export function isWrongSignature({ mistake, status, error_type }) {
  return mistake !== null || (status === 401 && error_type === 'authentication_failed')
}

export function isAccepted({ status }) {
  return status !== null && status >= 200 && status < 300
}

export function answerBadge({ status, sent }) {
  if (status === null) return badge('bad', '✕', 'never asked')
  if (!sent) return badge('warn', '⚡', `${status}, lost`)
  if (status < 300) return badge('good', '✓', String(status))
  return badge(status < 500 ? 'bad' : 'worse', '✕', String(status))
}

export function orderBadge(status) {
  if (status === 'delivered') return badge('good', '✓', status)
  return status === 'paid' ? badge('info', '…', status) : badge('dim', '↺', status)
}

export function deliveryBadge(one) {
  if (isAccepted(one)) return badge('good', '✓', String(one.status))
  return badge('bad', '✕', one.status === null ? 'no answer' : String(one.status))
}

/** Which attempt of its idempotency key a request is; null when there was only one. */
export function attemptOf(request) {
  const attempts = attemptsOf(request)
  return attempts.length < 2 ? null : { place: attempts.indexOf(request) + 1, of: attempts.length }
}

/** Oldest first. */
export function attemptsOf({ idempotency_key: key, account_id: account }) {
  if (key === null || key === undefined) return []
  return [...state.requests.values()].filter(
    (one) => one.idempotency_key === key && one.account_id === account && one.method === 'POST',
  )
}

function noteOf(one) {
  const attempt = attemptOf(one)
  return [
    one.mistake && h('span', { class: 'note bad-text' }, one.mistake.title),
    // Allows a line break between the words in narrow columns.
    !one.mistake &&
      one.error_type &&
      h(
        'span',
        { class: 'note mono' },
        one.error_type.split(/(?<=_)/).map((word) => [word, h('wbr')]),
      ),
    one.fault && badge('warn', '⚡', one.fault),
    attempt && attempt.place > 1 && badge('info', '↻', `attempt ${attempt.place} of this key`),
  ]
}
