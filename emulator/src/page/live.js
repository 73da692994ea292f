import { say } from './dom.js'

const PAGE_SIZE = 500
const PAGES_MAX = 20
const KEPT_MAX = 3000
const ACCOUNTS_MAX = 10
const DRAWN_EVERY_MS = 60
const RETRY_MS = [1000, 2000, 5000]

/** The state of the page. Changed only here; renderers subscribe to it. */
export const state = {
  /** loading, live or lost */
  phase: 'loading',
  retryAtMs: 0,
  about: null,
  balanceCents: null,
  /** By seq. */
  requests: new Map(),
  deliveries: new Map(),
  /** By id. */
  orders: new Map(),
  faults: [],
}

export function subscribe(listener) {
  listeners.add(listener)
}

/** Loads everything, then follows the stream. When the connection is lost, reports it, reconnects, and loads everything again. */
export async function follow() {
  clearTimeout(retryTimer)
  stream?.close()
  try {
    const last = await load()
    open(last)
  } catch (error) {
    lose(error)
  }
}

export async function change(method, path, body) {
  try {
    const response = await fetch(`/_emulator${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const answer = await response.json().catch(() => null)
    if (response.ok) return answer ?? {}
    say(answer?.error?.message ?? `The emulator answered ${response.status}.`, true)
  } catch {
    say('The emulator does not answer.', true)
  }
  return null
}

/** Delivers or cancels an order manually. */
export async function finishOrder({ id }, how) {
  const answer = await change('POST', `/orders/${encodeURIComponent(id)}/${how}`, {})
  if (answer === null) return
  say(how === 'deliver' ? 'Delivered.' : 'Cancelled and refunded.')
  takeOrder(answer)
  await refreshBalance()
}

export async function refreshAbout() {
  const about = await get('')
  state.about = about
  takeFaults(about)
  await refreshBalance()
}

export async function refreshBalance() {
  try {
    state.balanceCents = (await get('/ledger')).balance_cents
    notifyListeners()
  } catch {
    // The stream notices a lost connection.
  }
}

export function takeFaults(answer) {
  const faults = Array.isArray(answer) ? answer : answer?.faults
  if (!Array.isArray(faults)) return
  state.faults = faults
  notifyListeners()
}

export function takeFault(fault) {
  if (typeof fault?.name !== 'string') return
  state.faults = state.faults.map((one) => (one.name === fault.name ? fault : one))
  notifyListeners()
}

export function takeOrder(order) {
  if (typeof order?.id !== 'string') return
  state.orders.set(order.id, order)
  notifyListeners()
}

const listeners = new Set()
let stream
let retryTimer
let failures = 0
let notifyTimer
let refreshTimer

async function load() {
  const about = await get('')
  const requests = await all('requests')
  const deliveries = await all('deliveries')
  const accounts = new Set(
    [about.account_id, ...requests.map(({ account_id }) => account_id)].filter(Boolean),
  )
  const orders = []
  for (const account of [...accounts].slice(0, ACCOUNTS_MAX)) {
    orders.push(...(await get(`/orders?account_id=${encodeURIComponent(account)}`)).orders)
  }
  const { faults } = await get('/faults')
  const { balance_cents } = await get('/ledger')
  state.about = about
  state.requests = new Map(requests.map((one) => [one.seq, one]))
  state.deliveries = new Map(deliveries.map((one) => [one.seq, one]))
  state.orders = new Map(
    orders
      .toSorted((one, other) => one.created_at.localeCompare(other.created_at))
      .map((one) => [one.id, one]),
  )
  state.faults = faults
  state.balanceCents = balance_cents
  state.phase = 'live'
  failures = 0
  notifyListeners()
  return Math.max(0, ...state.requests.keys(), ...state.deliveries.keys())
}

async function all(kind) {
  const found = []
  let after = 0
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await get(`/${kind}?after=${after}&limit=${PAGE_SIZE}`)
    found.push(...answer[kind])
    const reached = answer[kind].at(-1)?.seq
    if (reached === undefined || reached <= after || reached >= answer.last) break
    after = reached
  }
  return found.slice(-KEPT_MAX)
}

async function get(path) {
  const response = await fetch(`/_emulator${path}`, { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`The emulator answered ${response.status}`)
  return response.json()
}

function open(after) {
  stream = new EventSource(`/_emulator/stream?after=${after}`)
  const on = (name, take) => stream.addEventListener(name, (event) => take(JSON.parse(event.data)))
  on('request', (one) => {
    keep(state.requests, one)
    if (one.method !== 'GET' && one.target.startsWith('/v1/webhook')) refreshSoon()
  })
  on('delivery', (one) => {
    keep(state.deliveries, one)
    if (one.account_id === state.about.account_id && one.url !== state.about.webhook?.url) refreshSoon()
  })
  on('order', (one) => {
    takeOrder(one)
    refreshSoon()
  })
  on('faults', takeFaults)
  stream.addEventListener('error', () => lose(new Error('The stream broke')))
}

/** Another client may have changed the webhook or the balance. A lost connection is detected by the stream. */
function refreshSoon() {
  clearTimeout(refreshTimer)
  refreshTimer = setTimeout(() => refreshAbout().catch(() => {}), 200)
}

function keep(map, one) {
  map.set(one.seq, one)
  for (const seq of map.keys()) {
    if (map.size <= KEPT_MAX) break
    map.delete(seq)
  }
  notifyListeners()
}

/** EventSource would reconnect by itself, but a restarted emulator numbers records from one: everything is loaded again instead. */
function lose() {
  stream?.close()
  state.phase = state.about === null ? 'unreachable' : 'lost'
  const waitMs = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]
  state.retryAtMs = Date.now() + waitMs
  clearTimeout(retryTimer)
  retryTimer = setTimeout(follow, waitMs)
  notifyListeners()
}

/** Several changes at once are rendered once. */
function notifyListeners() {
  if (notifyTimer) return
  notifyTimer = setTimeout(() => {
    notifyTimer = undefined
    for (const listener of listeners) listener()
  }, DRAWN_EVERY_MS)
}
