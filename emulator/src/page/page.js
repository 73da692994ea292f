import { closeDetail, drawDetail } from './details.js'
import { byId, h, replace, tickTimes } from './dom.js'
import { drawArmed, drawFaults } from './faults.js'
import { drawConnection, drawHeader, remember, remembered, startHeader } from './header.js'
import { KINDS } from './kinds.js'
import { drawList, focusRow, focusSearch, forgetList, moveFocus, showNew } from './lists.js'
import { follow, state, subscribe } from './live.js'
import { followed, go, onMove, place, VIEWS } from './place.js'
import { count } from './words.js'

const NEWS_EVERY_MS = 5000

let last = place()
let viewsMark = ''
let announced

startHeader()
startKeys()
subscribe(draw)
onMove(moved)
setInterval(() => {
  tickTimes()
  drawConnection()
}, 1000)
setInterval(announceNews, NEWS_EVERY_MS)
draw()
await follow()

function draw() {
  drawHeader()
  drawViews()
  drawArmed()
  if (place().view === 'faults') {
    forgetList()
    drawFaults()
  } else drawList()
  drawDetail()
}

/** Closing a detail returns the focus to its row. */
function moved() {
  const { view, open } = place()
  const closed = last.view === view && open === '' ? last.open : ''
  const isOtherView = last.view !== view
  last = { view, open }
  draw()
  if (closed !== '') focusRow(closed)
  if (isOtherView && open === '' && document.activeElement?.closest('#detail, #list') !== null)
    byId('list').focus({ preventScroll: true })
}

function drawViews() {
  const { view } = place()
  const sizes = {
    requests: state.requests.size,
    orders: state.orders.size,
    deliveries: state.deliveries.size,
  }
  const armed = state.faults.filter((fault) => fault.armed).length
  const mark = JSON.stringify([view, sizes, armed, location.search])
  if (mark === viewsMark) return
  viewsMark = mark
  const list = byId('views')
  if (list.children.length === 0) {
    replace(
      list,
      VIEWS.map((name) =>
        h(
          'li',
          {},
          h('a', { 'data-view': name }, KINDS[name]?.title ?? 'Faults', ' ', h('span', { class: 'number' })),
        ),
      ),
    )
    for (const link of list.querySelectorAll('a'))
      link.addEventListener('click', followed({ view: link.dataset.view }).onclick)
  }
  for (const link of list.querySelectorAll('a')) {
    const name = link.dataset.view
    link.href = followed({ view: name, open: '' }).href
    if (name === view) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
    const number = link.querySelector('.number')
    number.textContent = name === 'faults' ? (armed > 0 ? `⚡ ${armed}` : '') : String(sizes[name])
    if (name === 'faults') link.setAttribute('aria-label', armed > 0 ? `Faults, ${armed} armed` : 'Faults')
    number.classList.toggle('warn', name === 'faults' && armed > 0)
  }
}

/** Announces new rows to screen readers, at most every few seconds. */
function announceNews() {
  if (state.phase !== 'live') return
  const now = { requests: state.requests.size, orders: state.orders.size, deliveries: state.deliveries.size }
  const before = announced ?? now
  announced = now
  const news = Object.keys(now)
    .filter((name) => now[name] > before[name])
    .map((name) =>
      count(
        now[name] - before[name],
        `new ${KINDS[name].one}`,
        KINDS[name].many && `new ${KINDS[name].many}`,
      ),
    )
  if (news.length > 0) byId('news').textContent = `${news.join(', ')}.`
}

function startKeys() {
  const help = byId('help')
  const isOn = byId('keys-on')
  isOn.checked = remembered('keys') !== 'off'
  isOn.addEventListener('change', () => remember('keys', isOn.checked ? 'on' : 'off'))
  byId('help-button').addEventListener('click', () => help.showModal())
  addEventListener('keydown', (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.isComposing ||
      document.querySelector('dialog[open]')
    )
      return
    // Not a checkbox: the one in the list of keys keeps the focus for a moment after it was closed.
    const isTyping =
      event.target instanceof Element &&
      event.target.closest('input:not([type=checkbox]), textarea, select') !== null
    if (event.key === 'Escape') return onEscape(isTyping, event)
    if (isTyping || !isOn.checked) return
    const action = KEYS[event.key]
    if (!action) return
    event.preventDefault()
    action()
  })
}

const KEYS = {
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  n: showNew,
  '/': focusSearch,
  '?': () => byId('help').showModal(),
  ...Object.fromEntries(VIEWS.map((view, place) => [String(place + 1), () => go({ view, open: '' })])),
}

function onEscape(isTyping, event) {
  if (isTyping && event.target.value !== '' && event.target.type === 'search') return
  if (isTyping) event.target.blur()
  if (place().open !== '') closeDetail()
}
