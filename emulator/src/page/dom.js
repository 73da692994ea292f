/**
 * The only function of this page that creates elements. Children are nodes or text, never markup, so that data from
 * callers cannot inject HTML. A property that begins with "on" is a listener.
 */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
    else node.setAttribute(name, value === true ? '' : String(value))
  }
  node.append(...children.flat(Number.POSITIVE_INFINITY).filter(isShown))
  return node
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Number.POSITIVE_INFINITY).filter(isShown))
}

export function byId(id) {
  return document.getElementById(id)
}

/** `of` is called when the button is pressed, because the text may be long or secret. */
export function copyButton(what, of, label = 'Copy') {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': `${label} ${what}` }, label)
  let timer
  button.addEventListener('click', async (event) => {
    event.stopPropagation()
    const isDone = await copyText(of())
    button.textContent = isDone ? 'Copied' : 'Failed'
    say(isDone ? `Copied ${what}.` : `Could not copy ${what}.`)
    clearTimeout(timer)
    timer = setTimeout(() => {
      button.textContent = label
    }, 1500)
  })
  return button
}

/** A short notice, also announced by screen readers. */
export function say(text, isBad = false) {
  const toast = byId('toast')
  toast.textContent = text
  toast.classList.toggle('bad', isBad)
  toast.classList.add('on')
  clearTimeout(say.timer)
  say.timer = setTimeout(() => toast.classList.remove('on'), isBad ? 8000 : 2500)
}

export function badge(kind, icon, text) {
  return h('span', { class: `badge ${kind}` }, h('span', { 'aria-hidden': 'true' }, `${icon} `), text)
}

export function timeOf(iso) {
  const at = Date.parse(iso)
  if (Number.isNaN(at)) return h('span', {}, String(iso))
  const exact = new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')
  return h('time', { datetime: iso, title: exact, 'data-at': at }, ago(at))
}

export function tickTimes() {
  for (const node of document.querySelectorAll('time[data-at]')) {
    const text = ago(Number(node.dataset.at))
    if (node.textContent !== text) node.textContent = text
  }
}

function ago(atMs) {
  const s = Math.max(0, Math.round((Date.now() - atMs) / 1000))
  if (s < 2) return 'now'
  if (s < 60) return `${s} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  return `${Math.floor(s / 86_400)} d ago`
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // The clipboard API needs a secure context, which plain http on another machine is not.
    const area = h('textarea', { class: 'away', 'aria-hidden': 'true' })
    area.value = text
    document.body.append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== ''
}
