import { byId, h, replace } from './dom.js'
import { drawEmpty } from './empty.js'
import { KINDS } from './kinds.js'
import { state } from './live.js'
import { go, place } from './place.js'
import { count } from './words.js'

const ROWS_MAX = 200

/** Renders the list of the current view. Existing rows keep their nodes, so that focus and scrolling are kept. */
export function drawList() {
  const { view } = place()
  if (drawn?.view !== view) drawn = start(view)
  const { kind, body, table, state: empty, pill, summary, older } = drawn
  const { q, show, open } = place()
  if (drawn.search !== document.activeElement) drawn.search.value = q
  drawn.filter.value = show in kind.filters ? show : ''

  const all = kind.items()
  const wanted = all.filter((one) => isWanted(kind, one, q, show))
  const filterMark = JSON.stringify([q, show])
  const mayInsert = drawn.filterMark !== filterMark || drawn.admitted.size === 0 || isAtRest(drawn)
  drawn.filterMark = filterMark
  if (mayInsert) admit(all)
  const shown = wanted.filter((one) => drawn.admitted.has(kind.key(one)))
  const news = wanted.length - shown.length
  pill.hidden = news === 0
  pill.textContent = `↑ ${news} new`

  summary.textContent =
    state.phase === 'loading' || state.phase === 'unreachable'
      ? ''
      : wanted.length === all.length
        ? count(all.length, kind.one, kind.many)
        : `${wanted.length} of ${count(all.length, kind.one, kind.many)}`
  table.hidden = shown.length === 0
  table.classList.toggle('compact', open !== '')
  drawRows(kind, body, shown.slice(0, drawn.rowsMax), open)
  older.hidden = shown.length <= drawn.rowsMax
  drawEmpty(empty, view, all.length, shown.length)
  list.setAttribute('aria-busy', String(state.phase === 'loading'))
}

/** Forces the list to be rebuilt, as after the Faults view. */
export function forgetList() {
  drawn = undefined
}

export function showNew() {
  if (!drawn || drawn.pill.hidden) return
  admit(drawn.kind.items())
  drawList()
  scroller().scrollTo({ top: 0 })
  rowLinks()[0]?.focus({ preventScroll: true })
}

export function moveFocus(step) {
  const links = rowLinks()
  const at = links.indexOf(document.activeElement)
  const openRow = links.findIndex((link) => link.closest('tr')?.classList.contains('open'))
  const from = at >= 0 ? at : openRow
  const next = links[from < 0 ? 0 : Math.min(links.length - 1, Math.max(0, from + step))]
  next?.focus()
  next?.closest('tr')?.scrollIntoView({ block: 'nearest' })
}

export function focusRow(key) {
  const row = drawn?.rows.get(key)?.row
  row?.querySelector('a.row')?.focus()
}

export function focusSearch() {
  drawn?.search.focus()
  drawn?.search.select()
}

const list = byId('list')
let drawn

function start(view) {
  const kind = KINDS[view]
  const search = h('input', {
    ...{
      type: 'search',
      placeholder: 'Search',
      'aria-label': `Search ${kind.title.toLowerCase()}`,
      'aria-keyshortcuts': '/',
    },
    oninput: () => go({ q: search.value }, { isTyping: true }),
  })
  const filter = h(
    'select',
    { 'aria-label': `Which ${kind.title.toLowerCase()}`, onchange: () => go({ show: filter.value }) },
    h('option', { value: '' }, 'All'),
    Object.entries(kind.filters).map(([name, [title]]) => h('option', { value: name }, title)),
  )
  const summary = h('p', { class: 'dim summary' })
  const pill = h('button', { type: 'button', class: 'pill', hidden: true, onclick: showNew })
  const body = h('tbody')
  const table = tableOf(view, kind, body)
  const older = h(
    'button',
    { type: 'button', class: 'older', hidden: true, onclick: () => showOlder() },
    'Show older ones',
  )
  const empty = h('div')
  replace(
    list,
    h(
      'div',
      { class: 'list-head' },
      h('h2', { id: 'list-title' }, kind.title),
      summary,
      h('span', { class: 'spring' }),
      search,
      filter,
    ),
    h('div', { class: 'pill-rail' }, pill),
    table,
    older,
    empty,
  )
  const rows = new Map()
  return {
    view,
    kind,
    search,
    filter,
    summary,
    pill,
    body,
    table,
    older,
    state: empty,
    rows,
    rowsMax: ROWS_MAX,
    admitted: new Set(),
  }
}

function tableOf(view, kind, body) {
  return h(
    'table',
    { class: `rows ${view}`, hidden: true },
    h('caption', { class: 'away' }, `${kind.title}, newest first`),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        kind.heads.map((head) => h('th', { scope: 'col' }, head)),
      ),
    ),
    body,
  )
}

function showOlder() {
  drawn.rowsMax += ROWS_MAX
  drawList()
}

function admit(items) {
  for (const one of items) drawn.admitted.add(drawn.kind.key(one))
}

/** New rows push the others down, so they are held back while the user has scrolled, points at a row or has one in focus. */
function isAtRest({ table }) {
  return scroller().scrollTop < 8 && !table.matches(':hover') && !table.contains(document.activeElement)
}

function scroller() {
  return list.scrollHeight > list.clientHeight + 1 && getComputedStyle(list).overflowY !== 'visible'
    ? list
    : document.scrollingElement
}

function isWanted(kind, one, q, show) {
  const filter = kind.filters[show]
  if (filter && !filter[1](one)) return false
  if (q === '') return true
  const words = kind
    .words(one)
    .filter((word) => word !== null && word !== undefined)
    .join('\n')
    .toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.includes(part))
}

function drawRows(kind, body, items, open) {
  const wanted = items.map((item) => {
    const key = kind.key(item)
    const mark = kind.mark(item)
    const found = drawn.rows.get(key)
    if (found && found.item === item && found.mark === mark) return found.row
    const row = h(
      'tr',
      { onclick: () => getSelection()?.isCollapsed !== false && go({ open: key }) },
      kind.cells(item).map((cell, place) => h('td', { 'data-head': kind.heads[place] }, cell)),
    )
    const hadFocus = found?.row.contains(document.activeElement)
    found?.row.replaceWith(row)
    if (hadFocus) row.querySelector('a.row')?.focus({ preventScroll: true })
    drawn.rows.set(key, { item, mark, row })
    return row
  })
  const keep = new Set(wanted)
  for (const row of [...body.children]) if (!keep.has(row)) row.remove()
  for (const [place, row] of wanted.entries()) {
    if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null)
  }
  for (const [place, item] of items.entries()) {
    const isOpen = kind.key(item) === open
    wanted[place].classList.toggle('open', isOpen)
    const link = wanted[place].querySelector('a.row')
    if (isOpen) link?.setAttribute('aria-current', 'true')
    else link?.removeAttribute('aria-current')
  }
}

function rowLinks() {
  return [...list.querySelectorAll('tbody a.row')]
}
