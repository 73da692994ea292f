import { badge, byId, h, replace, say } from './dom.js'
import { change, state, takeFault, takeFaults } from './live.js'
import { go } from './place.js'
import { count } from './words.js'

const TIMES = { name: 'times', label: 'Times (0: until disarmed)', type: 'number', value: 1 }
const ON = { name: 'on', label: 'On', type: 'text', value: 'POST /orders' }
const AFTER_COMMIT = {
  name: 'after_commit',
  label: 'Execute the request anyway',
  type: 'checkbox',
  value: false,
}
const EVENT = {
  ...{ name: 'event', label: 'Event', type: 'select', value: '*' },
  options: ['*', 'order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test'],
}
const ms = (value) => ({ name: 'ms', label: 'Milliseconds', type: 'number', value })

/** Parameters with form fields. Faults that are not listed are armed with their defaults. */
const FIELDS = {
  lost_answer: [TIMES, ON],
  dropped_connection: [TIMES, ON],
  slow_body: [TIMES, ON],
  rate_limited: [
    TIMES,
    ON,
    { name: 'bucket', label: 'Window', type: 'select', options: ['req', 'orders'], value: 'req' },
    { name: 'retry_after_s', label: 'Retry-After in seconds', type: 'number', value: 1, min: 1 },
  ],
  overloaded: [TIMES, ON],
  unavailable: [TIMES, ON, AFTER_COMMIT],
  server_error: [TIMES, ON, AFTER_COMMIT],
  bad_gateway: [TIMES, ON, AFTER_COMMIT],
  slow_answer: [TIMES, ON, ms(1000)],
  clock_skew: [{ ...ms(90_000), label: 'Milliseconds (may be negative)', min: null }],
  store_closed: [],
  price_change: [TIMES, { name: 'by_cents', label: 'By cents', type: 'number', value: 50, min: null }],
  sold_out: [TIMES],
  supplier_failure: [TIMES],
  slow_fulfilment: [TIMES, ms(5000)],
  duplicate_event: [TIMES, EVENT, { name: 'copies', label: 'Copies', type: 'number', value: 2, min: 2 }],
  late_event: [TIMES, EVENT, ms(5000)],
  out_of_order_events: [TIMES],
  lost_event: [TIMES, EVENT],
}

/** Forms are created once; afterwards only the state is updated, so that input in progress is kept. */
export function drawFaults() {
  const list = byId('list')
  const names = state.faults.map(({ name }) => name).join()
  if (drawn?.names !== names || !list.contains(drawn.node)) {
    const items = new Map(state.faults.map((fault) => [fault.name, item(fault)]))
    const node = h(
      'div',
      { class: 'faults' },
      h(
        'div',
        { class: 'list-head' },
        h('h2', { id: 'list-title' }, 'Faults'),
        h(
          'p',
          { class: 'dim summary' },
          'Failures to inject. An armed fault applies to the next matching request.',
        ),
        h('span', { class: 'spring' }),
        h('button', { type: 'button', onclick: disarmAll }, 'Disarm all'),
      ),
      state.faults.length === 0 &&
        h('p', { class: 'empty' }, state.phase === 'live' ? 'This emulator has no faults.' : 'Loading'),
      h(
        'ul',
        {},
        [...items.values()].map(({ node: one }) => one),
      ),
    )
    replace(list, node)
    drawn = { names, node, items }
  }
  for (const fault of state.faults) drawn.items.get(fault.name)?.update(fault)
}

/** Always visible, so that a fault armed earlier is not forgotten. */
export function drawArmed() {
  const armed = state.faults.filter((fault) => fault.armed)
  const strip = byId('armed')
  const mark = JSON.stringify(armed)
  if (strip.dataset.mark === mark) return
  strip.dataset.mark = mark
  const hadFocus = strip.contains(document.activeElement)
  strip.hidden = armed.length === 0
  replace(
    strip,
    h('b', {}, `${count(armed.length, 'fault')} armed:`),
    armed.map((fault) =>
      h(
        'span',
        { class: 'armed-one' },
        badge('warn', '⚡', fault.name),
        h('span', { class: 'dim' }, timesOf(fault)),
        h(
          'button',
          { type: 'button', 'aria-label': `Disarm ${fault.name}`, onclick: () => disarm(fault.name) },
          'Disarm',
        ),
      ),
    ),
    armed.length > 1 && h('button', { type: 'button', onclick: disarmAll }, 'Disarm all'),
    h('button', { type: 'button', onclick: () => go({ view: 'faults' }) }, 'See all faults'),
  )
  if (hadFocus) (strip.hidden ? byId('list') : strip.querySelector('button')).focus()
}

let drawn

function item(fault) {
  const fields = (FIELDS[fault.name] ?? [TIMES]).map((field) => ({ field, input: inputOf(field) }))
  const status = h('p', { class: 'fault-state' })
  const arm = h('button', { class: 'primary' })
  const off = h(
    'button',
    { type: 'button', 'aria-label': `Disarm ${fault.name}`, onclick: () => disarm(fault.name) },
    'Disarm',
  )
  const form = h(
    'form',
    {
      onsubmit: async (event) => {
        event.preventDefault()
        const values = Object.fromEntries(
          fields.map(({ field, input }) => [field.name, valueIn(field, input)]),
        )
        const answer = await change('POST', '/faults', { name: fault.name, ...values })
        if (answer === null) return
        takeFault(answer.fault ?? answer)
        say(`${fault.name} is armed.`)
      },
    },
    fields.map(({ field, input }) =>
      h(
        'label',
        { class: field.type === 'checkbox' ? 'check' : 'field' },
        field.type === 'checkbox' ? [input, ' ', field.label] : [field.label, input],
      ),
    ),
    h('div', { class: 'buttons start' }, arm, off),
  )
  const node = h(
    'li',
    { class: 'fault' },
    h('div', { class: 'fault-head' }, h('h3', { class: 'mono' }, fault.name), status),
    h('p', {}, fault.title),
    form,
  )
  const update = (now) => {
    node.classList.toggle('on', now.armed)
    off.hidden = !now.armed
    arm.textContent = now.armed ? 'Arm again' : 'Arm'
    arm.setAttribute('aria-label', `${arm.textContent} ${now.name}`)
    const text = now.armed ? stateOf(now) : now.hits > 0 ? count(now.hits, 'hit') : ''
    const mark = `${now.armed} ${text}`
    if (status.dataset.mark === mark) return
    status.dataset.mark = mark
    replace(status, now.armed && badge('warn', '⚡', 'armed'), ' ', text)
  }
  return { node, update }
}

function timesOf({ times_left, hits }) {
  return `${times_left === null ? 'until disarmed' : `${times_left} left`}, ${count(hits, 'hit')}`
}

function stateOf(fault) {
  const set = Object.entries(fault.params ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${value}`)
  return [timesOf(fault), ...set].join(', ')
}

function inputOf({ name, type, value, options, min = 0 }) {
  if (type === 'select')
    return h(
      'select',
      { name },
      options.map((option) => h('option', {}, option)),
    )
  if (type === 'checkbox') return h('input', { name, type, checked: value })
  return h('input', {
    name,
    type,
    value,
    min: type === 'number' ? min : null,
    required: true,
    autocomplete: 'off',
  })
}

function valueIn({ type }, input) {
  if (type === 'checkbox') return input.checked
  return type === 'number' ? Number(input.value) : input.value
}

async function disarm(name) {
  const answer = await change('DELETE', `/faults/${encodeURIComponent(name)}`)
  if (answer === null) return
  takeFaults(state.faults.map((one) => (one.name === name ? { ...one, armed: false } : one)))
  say(`${name} is disarmed.`)
}

async function disarmAll() {
  const answer = await change('DELETE', '/faults')
  if (answer === null) return
  takeFaults(state.faults.map((one) => ({ ...one, armed: false })))
  say('All faults are disarmed.')
}
