/** The current view is kept in the address, so that rows can be linked to and Back works. */
export const VIEWS = ['requests', 'orders', 'deliveries', 'faults']

export function place() {
  const query = new URLSearchParams(location.search)
  const view = query.get('view')
  return {
    view: VIEWS.includes(view) ? view : 'requests',
    q: query.get('q') ?? '',
    show: query.get('show') ?? '',
    open: query.get('open') ?? '',
  }
}

/** Parts that are not named stay, except filter and open row when the view changes. */
export function hrefOf(change) {
  const now = place()
  const next =
    change.view !== undefined && change.view !== now.view
      ? { q: '', show: '', open: '', ...change }
      : { ...now, ...change }
  const query = new URLSearchParams()
  if (next.view !== 'requests') query.set('view', next.view)
  for (const name of ['q', 'show', 'open']) if (next[name]) query.set(name, next[name])
  const text = query.toString()
  return text === '' ? location.pathname : `?${text}`
}

export function go(change, { isTyping = false } = {}) {
  const href = hrefOf(change)
  if (isTyping) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  for (const listener of listeners) listener()
}

export function onMove(listener) {
  listeners.add(listener)
  addEventListener('popstate', listener)
}

/** A real link, so that it can be opened in a new tab; a plain click does not reload the page. */
export function followed(change) {
  return {
    href: hrefOf(change),
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      event.stopPropagation()
      go(change)
    },
  }
}

const listeners = new Set()
