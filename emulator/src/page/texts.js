import { copyButton, h, replace } from './dom.js'
import { linksIn, parsed, visible } from './words.js'

/** Renders a body: JSON is formatted unless the user wants it as sent, and gift links are hidden until clicked. */
export function bodyBlock(title, text) {
  if (text === '')
    return h('div', { class: 'part' }, h('h4', {}, title), h('p', { class: 'dim' }, 'Empty: zero bytes.'))
  const value = parsed(text)
  const links = value === undefined ? [] : linksIn(value)
  const pre = h('pre', { class: 'block' })
  const draw = () =>
    replace(pre, masked(value === undefined || isRaw ? text : JSON.stringify(value, null, 2), links))
  const toggle =
    value !== undefined &&
    h(
      'button',
      {
        type: 'button',
        class: 'copy',
        'aria-pressed': String(isRaw),
        onclick: () => {
          isRaw = !isRaw
          toggle.setAttribute('aria-pressed', String(isRaw))
          draw()
        },
      },
      'As sent',
    )
  draw()
  return h(
    'div',
    { class: 'part' },
    h(
      'div',
      { class: 'part-head' },
      h('h4', {}, title),
      h('span', { class: 'spring' }),
      toggle,
      copyButton(title.toLowerCase(), () => text),
    ),
    pre,
  )
}

export function headerTable(caption, headers) {
  const rows = Object.entries(headers).filter(([, value]) => value !== null && value !== undefined)
  if (rows.length === 0) return null
  return h(
    'div',
    { class: 'part' },
    h(
      'table',
      { class: 'pairs' },
      h('caption', {}, caption),
      h(
        'tbody',
        {},
        rows.map(([name, value]) =>
          h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'mono' }, String(value))),
        ),
      ),
    ),
  )
}

const LINE_NAMES = ['Method', 'Path', 'Timestamp', 'Nonce', 'Body hash']

/** The five lines that must be signed, beside those that were signed, when these are known and differ. */
export function canonicalBlock(canonical, signed) {
  const right = canonical.split('\n')
  const isCompared = typeof signed === 'string' && signed !== canonical
  const wrong = isCompared ? signed.split('\n') : []
  const rows = Array.from({ length: Math.max(right.length, wrong.length) }, (_, place) => {
    const differs =
      isCompared &&
      (right[place] !== wrong[place] || place >= wrong.length || ends(right, place) !== ends(wrong, place))
    return h(
      'tr',
      { class: differs ? 'differs' : undefined },
      h(
        'th',
        { scope: 'row' },
        LINE_NAMES[place] ?? `Line ${place + 1}`,
        differs && h('span', { class: 'bad-text' }, ' ≠'),
      ),
      h('td', { class: 'mono' }, lineOf(right, place)),
      isCompared && h('td', { class: 'mono' }, lineOf(wrong, place)),
    )
  })
  return h(
    'div',
    { class: 'part' },
    h(
      'table',
      { class: `canonical ${isCompared ? 'compared' : ''}` },
      h('caption', {}, isCompared ? 'Line by line' : 'The text that had to be signed'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Line'),
          h('th', { scope: 'col' }, 'Had to be signed'),
          isCompared && h('th', { scope: 'col' }, 'Was signed'),
        ),
      ),
      h('tbody', {}, rows),
    ),
    h(
      'p',
      { class: 'dim legend' },
      h('span', { class: 'eol' }, '↵'),
      ' is one newline character. ',
      copyButton('the canonical text', () => canonical),
    ),
  )
}

let isRaw = false

function ends(lines, place) {
  return place < lines.length - 1
}

function lineOf(lines, place) {
  if (place >= lines.length) return h('span', { class: 'dim' }, 'nothing')
  const end = ends(lines, place) && h('span', { class: 'eol', title: 'newline' }, '↵')
  return [lines[place] === '' ? h('span', { class: 'dim' }, 'empty') : visible(lines[place]), end]
}

/** Text with a button in place of every link. */
function masked(text, links) {
  const spelled = [...new Set(links)].flatMap((link) => [
    JSON.stringify(link).slice(1, -1),
    JSON.stringify(link).slice(1, -1).replaceAll('/', '\\/'),
  ])
  let parts = [text]
  for (const link of spelled) {
    parts = parts.flatMap((part) =>
      typeof part === 'string'
        ? part.split(link).flatMap((piece, place) => (place === 0 ? [piece] : [maskOf(link), piece]))
        : [part],
    )
  }
  return parts
}

function maskOf(link) {
  const button = h(
    'button',
    { type: 'button', class: 'mask', 'aria-label': 'Show the gift link' },
    '•••••• show',
  )
  button.addEventListener('click', () => {
    const shown = h('span', { tabindex: '-1' }, link)
    button.replaceWith(shown)
    shown.focus()
  })
  return button
}
