import { copyButton, h, replace } from './dom.js'
import { openWebhook } from './header.js'
import { state } from './live.js'
import { go } from './place.js'
import { firstCalls, firstOrder } from './words.js'

/** What is shown in place of a list without rows: why it is empty, and what to do. */
export function drawEmpty(node, view, all, shown) {
  const mark = `${state.phase === 'loading' || state.phase === 'unreachable' ? state.phase : ''} ${all > 0} ${shown > 0} ${state.about?.webhook?.url}`
  if (node.dataset.mark === mark) return
  node.dataset.mark = mark
  if (state.phase === 'loading')
    replace(
      node,
      h(
        'div',
        { class: 'skeleton' },
        h('p', { class: 'away' }, 'Loading'),
        [1, 2, 3, 4].map(() => h('div', { class: 'bone' })),
      ),
    )
  else if (state.phase === 'unreachable')
    replace(
      node,
      h(
        'div',
        { class: 'empty' },
        h('h3', {}, 'The emulator does not answer'),
        h(
          'p',
          {},
          'This page reconnects automatically. Check that the emulator is still running in its terminal.',
        ),
      ),
    )
  else if (shown > 0) replace(node)
  else if (all > 0)
    replace(
      node,
      h(
        'div',
        { class: 'empty' },
        h('h3', {}, 'Nothing matches'),
        h(
          'p',
          {},
          h('button', { type: 'button', onclick: () => go({ q: '', show: '' }) }, 'Clear search and filter'),
        ),
      ),
    )
  else replace(node, h('div', { class: 'empty' }, EMPTY[view]()))
}

const EMPTY = {
  requests: () => [
    h('h3', {}, 'No request yet'),
    h(
      'p',
      {},
      'Everything that is sent to the base URL is listed here, also refused requests. A first call to copy:',
    ),
    snippets((secret) => firstCalls({ ...keyOf(), secret })),
  ],
  orders: () => [
    h('h3', {}, 'No order yet'),
    h('p', {}, 'Buying costs nothing here: the money and the links are not real. A first order to run:'),
    snippets((secret) => [{ name: 'Node', text: firstOrder({ ...keyOf(), secret }) }]),
  ],
  deliveries: () =>
    state.about?.webhook
      ? [
          h('h3', {}, 'No event yet'),
          h(
            'p',
            {},
            'Events are sent to ',
            h('code', {}, state.about.webhook.url),
            '. Place an order, or send a test event with POST /webhook/test.',
          ),
          snippets((secret) => [{ name: 'Node', text: firstOrder({ ...keyOf(), secret }) }]),
        ]
      : [
          h('h3', {}, 'No webhook is set'),
          h(
            'p',
            {},
            'Set the URL of your receiver. Plain http and localhost are allowed here. Without a receiver, use the inbox.',
          ),
          h(
            'p',
            {},
            h('button', { type: 'button', class: 'primary', onclick: openWebhook }, 'Set the webhook'),
          ),
        ],
}

function keyOf() {
  return { baseUrl: state.about?.base_url ?? `${location.origin}/v1`, keyId: state.about?.key.id ?? '' }
}

const HIDDEN = '••••••••'

/** The secret is hidden on the screen but included in the copied text. */
function snippets(make) {
  const shown = make(HIDDEN)
  const code = h('code')
  const pre = h('pre', { class: 'block', tabindex: '0', 'aria-label': 'Code to copy' }, code)
  const buttons = shown.map(({ name }, place) =>
    h(
      'button',
      {
        type: 'button',
        onclick: () => choose(place),
      },
      name,
    ),
  )
  let chosen = 0
  const choose = (place) => {
    chosen = place
    code.textContent = shown[place].text
    for (const [other, button] of buttons.entries())
      button.setAttribute('aria-pressed', String(other === place))
  }
  choose(0)
  const copy = copyButton('the code', () => make(state.about?.key.secret ?? '')[chosen].text)
  return h(
    'div',
    { class: 'snippet' },
    h(
      'div',
      { class: 'snippet-head' },
      buttons.length > 1 ? buttons : null,
      h('span', { class: 'spring' }),
      copy,
    ),
    pre,
  )
}
