import { byId, copyButton, h, replace, timeOf } from './dom.js'
import { answerBadge, attemptsOf, deliveryBadge, KINDS, orderBadge } from './kinds.js'
import { finishOrder, state } from './live.js'
import { followed, go, place } from './place.js'
import { bodyBlock, canonicalBlock, headerTable } from './texts.js'
import { troubleBox } from './trouble.js'
import { count, curlOf, duration, money } from './words.js'

/** Renders the open detail. It is rendered again only when something changed, so that scrolling and selection are kept. */
export function drawDetail() {
  const { view, open } = place()
  const item = open === '' ? undefined : KINDS[view]?.find(open)
  const isOpen = open !== '' && view !== 'faults'
  byId('main').classList.toggle('with-detail', isOpen)
  detail.hidden = !isOpen
  const mark = isOpen
    ? JSON.stringify([view, open, item === undefined, state.phase === 'loading', dependsOn(view, item)])
    : ''
  if (mark === drawnMark) return
  const isOther = drawnPlace !== `${view} ${open}`
  drawnMark = mark
  drawnPlace = `${view} ${open}`
  if (!isOpen) return replace(detail)
  const scroll = detail.scrollTop
  const hadFocus = detail.contains(document.activeElement)
  replace(detail, item === undefined ? missing(view) : DRAW[view](item))
  detail.scrollTop = isOther ? 0 : scroll
  if (isOther || hadFocus) byId('detail-title')?.focus({ preventScroll: true })
}

export function closeDetail() {
  go({ open: '' })
}

const detail = byId('detail')
let drawnMark = ''
let drawnPlace = ''

/** What a detail shows besides its item. */
function dependsOn(view, item) {
  if (item === undefined) return null
  if (view === 'requests') {
    const order = orderOf(item)
    return [attemptsOf(item).length, order && [order.id, order.status, deliveriesOf(order).length]]
  }
  if (view === 'orders')
    return [item.status, item.transfers.length, deliveriesOf(item).length, attemptsOf(item).length]
  return [sameEvent(item).length]
}

const DRAW = {
  requests: (one) => {
    const order = orderOf(one)
    const headers = one.headers ?? {
      'X-Api-Key': one.key_id,
      'X-Api-Timestamp': one.timestamp,
      'X-Api-Nonce': one.nonce,
    }
    return [
      head(h('span', { class: 'mono' }, `${one.method} ${one.target}`), answerBadge(one), timeOf(one.at)),
      troubleBox(one),
      faultBox(one),
      facts([
        ['Took', duration(one.duration_ms)],
        ['Error type', one.error_type && h('code', {}, one.error_type)],
        ['Request id', copyable('the request id', one.id)],
        ['Key', copyable('the key id', one.key_id)],
        ['Account', one.account_id !== state.about?.account_id && copyable('the account id', one.account_id)],
        ['Order', order && [linkTo('orders', order.id, order.id), ' ', orderBadge(order.status)]],
        [
          'Events',
          order &&
            deliveriesOf(order).map((event) => [
              linkTo('deliveries', event.seq, event.event),
              ' ',
              deliveryBadge(event),
              ' ',
            ]),
        ],
      ]),
      attemptsPart(one.idempotency_key, attemptsOf(one), one),
      h('h3', {}, 'Signature'),
      one.canonical === null
        ? h(
            'p',
            { class: 'dim' },
            'There is no text to sign: headers are missing, or the request was not processed.',
          )
        : canonicalBlock(one.canonical, one.mistake?.signed),
      h('h3', {}, 'Request'),
      headerTable('Headers', headers),
      bodyBlock('Body', one.body),
      h('h3', {}, 'Answer'),
      bodyBlock('Answer', one.answer),
    ]
  },

  orders: (one) => [
    head(h('span', { class: 'mono' }, one.id), orderBadge(one.status), timeOf(one.created_at)),
    one.status === 'paid' &&
      h(
        'div',
        { class: 'box info' },
        h('p', {}, 'Paid, not delivered yet. It can be finished by hand:'),
        h(
          'div',
          { class: 'buttons start' },
          h(
            'button',
            { type: 'button', class: 'primary', onclick: () => finishOrder(one, 'deliver') },
            'Deliver',
          ),
          h('button', { type: 'button', onclick: () => finishOrder(one, 'cancel') }, 'Cancel and refund'),
        ),
      ),
    facts([
      ['Order id', copyable('the order id', one.id)],
      ['Total', money(one.total_cents)],
      ['Delivered', one.delivered_at && timeOf(one.delivered_at)],
      ['Account', one.account_id !== state.about?.account_id && copyable('the account id', one.account_id)],
    ]),
    h('h3', {}, 'Lines'),
    table(
      'Lines',
      ['Item', 'Quantity', 'Each', 'Together'],
      one.lines.map((line) => [
        [line.name, ' ', h('span', { class: 'dim mono' }, line.id)],
        String(line.qty),
        money(line.unit_price_cents),
        money(line.qty * line.unit_price_cents),
      ]),
    ),
    h('h3', {}, 'Money'),
    table(
      'Transfers',
      ['What', 'Amount', 'When'],
      one.transfers.map((transfer) => [transfer.kind, money(transfer.amount_cents), timeOf(transfer.at)]),
    ),
    h('h3', {}, 'Events'),
    deliveriesOf(one).length === 0
      ? h(
          'p',
          { class: 'dim' },
          state.about?.webhook ? 'None was sent yet.' : 'No webhook is set, so none was sent.',
        )
      : table(
          'Events',
          ['Event', 'Answer', 'When'],
          deliveriesOf(one).map((event) => [
            linkTo('deliveries', event.seq, event.event),
            deliveryBadge(event),
            timeOf(event.at),
          ]),
        ),
    attemptsPart(one.idempotency_key, attemptsOf(one)),
  ],

  deliveries: (one) => {
    const attempts = sameEvent(one)
    return [
      head(h('span', { class: 'mono' }, one.event), deliveryBadge(one), timeOf(one.at)),
      one.error && h('div', { class: 'box bad' }, h('h3', {}, 'Not accepted'), h('p', {}, one.error)),
      faultBox(one),
      facts([
        ['To', copyable('the URL', one.url)],
        ['Took', duration(one.duration_ms)],
        ['Event id', copyable('the event id', one.event_id)],
        ['Order', one.order_id && linkTo('orders', one.order_id, one.order_id)],
      ]),
      attempts.length > 1 && [
        h('h3', {}, `Sent ${count(attempts.length, 'time')}`),
        table(
          'Attempts of this event',
          ['Attempt', 'Answer', 'When'],
          attempts.map((other, at) => [
            other === one ? `${at + 1} (this one)` : linkTo('deliveries', other.seq, String(at + 1)),
            deliveryBadge(other),
            timeOf(other.at),
          ]),
        ),
      ],
      h('h3', {}, 'What was sent'),
      h(
        'p',
        {},
        copyButton(
          'the delivery as a curl command',
          () => curlOf({ url: one.url, headers: one.headers, body: one.body }),
          'Copy as curl',
        ),
      ),
      headerTable('Headers', one.headers),
      bodyBlock('Body', one.body),
    ]
  },
}

function head(title, ...rest) {
  return h(
    'div',
    { class: 'detail-head' },
    h('h2', { id: 'detail-title', tabindex: '-1' }, title),
    rest,
    h('span', { class: 'spring' }),
    h(
      'button',
      { type: 'button', class: 'close', 'aria-keyshortcuts': 'Escape', onclick: closeDetail },
      'Close',
    ),
  )
}

function missing(view) {
  const isLoading = state.phase === 'loading'
  return [
    head(isLoading ? 'Loading' : 'Not here'),
    !isLoading &&
      h(
        'p',
        { class: 'empty' },
        `There is no such ${KINDS[view].one}. The emulator may have been restarted since, which deletes its data.`,
      ),
  ]
}

function faultBox({ fault, sent, status }) {
  if (fault === null) return null
  const lost =
    sent === false &&
    (status === null
      ? 'The request was not processed.'
      : `The service answered ${status}; the caller did not get that answer.`)
  return h(
    'div',
    { class: 'box warn' },
    h('h3', {}, 'Fault applied:  ', h('code', {}, fault)),
    lost && h('p', {}, lost),
  )
}

function attemptsPart(key, attempts, current) {
  if (key === null || key === undefined || attempts.length === 0) return null
  const first = attempts[0]
  const hasOther = attempts.some(({ body }) => body !== first.body)
  return [
    h('h3', {}, 'Idempotency key ', copyable('the idempotency key', key)),
    table(
      `${count(attempts.length, 'attempt')} with this key`,
      ['Attempt', 'Answer', 'Body', 'When'],
      attempts.map((one, at) => [
        one === current ? `${at + 1} (this one)` : linkTo('requests', one.seq, String(at + 1)),
        answerBadge(one),
        at === 0
          ? 'the first'
          : one.body === first.body
            ? 'the same'
            : h('b', { class: 'bad-text' }, 'another body'),
        timeOf(one.at),
      ]),
    ),
    hasOther && h('p', { class: 'dim' }, 'One key is one purchase: a retry sends the same bytes.'),
  ]
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value && (!Array.isArray(value) || value.length > 0))
  return h(
    'dl',
    { class: 'pairs-list' },
    shown.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  )
}

function table(caption, heads, rows) {
  return h(
    'table',
    { class: 'small' },
    h('caption', { class: 'away' }, caption),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        heads.map((one) => h('th', { scope: 'col' }, one)),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map((cells) =>
        h(
          'tr',
          {},
          cells.map((cell) => h('td', {}, cell)),
        ),
      ),
    ),
  )
}

function copyable(what, text) {
  return (
    text &&
    h(
      'span',
      { class: 'copyable' },
      h('code', {}, text),
      ' ',
      copyButton(what, () => text),
    )
  )
}

function linkTo(view, key, text) {
  return h('a', { class: 'mono', ...followed({ view, open: String(key) }) }, text)
}

function orderOf({ idempotency_key: key, account_id: account }) {
  if (!key) return undefined
  return [...state.orders.values()].find(
    (order) => order.idempotency_key === key && order.account_id === account,
  )
}

function deliveriesOf(order) {
  return [...state.deliveries.values()].filter(({ order_id }) => order_id === order.id)
}

function sameEvent({ event_id: id }) {
  return [...state.deliveries.values()].filter(({ event_id }) => event_id === id)
}
