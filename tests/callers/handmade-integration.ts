import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import type { Way } from './broken-ways.ts'

export interface HandmadeIntegrationOptions {
  readonly baseUrl: string
  readonly key: { readonly id: string; readonly secret: string }
  readonly secrets: readonly string[]
  /** How it is broken; undefined: not at all. */
  readonly way?: Way | undefined
  /** Answers 202 and buys afterwards. */
  readonly isQueued?: boolean
}

interface Line {
  readonly id: string
  readonly qty: number
  readonly price_cents: number
}

interface Purchase {
  readonly id: string
  key: string
  lines: Line[]
  orderId?: string
  isRefused?: boolean
}

interface StoreAnswer {
  readonly status: number
  readonly headers: Headers
  readonly data: {
    id?: string
    status?: string
    links?: string[]
    store?: string
    price_cents?: number
    error?: { type: string }
  }
}

interface Answer {
  readonly status: number
  readonly body?: unknown
}

const ATTEMPTS_MAX = 4
const TOLERANCE_S = 300
const TIMEOUT_MS = 20_000
const FINAL = [
  'price_changed',
  'item_unavailable',
  'insufficient_funds',
  'idempotency_conflict',
  'invalid_request',
]

/** An integration written without the SDK, as people do. It can be broken in one way at a time, and is right otherwise. */
export async function startHandmadeIntegration(options: HandmadeIntegrationOptions) {
  const { baseUrl, key, secrets, way, isQueued = false } = options
  const is = (...ways: Way[]) => way !== undefined && ways.includes(way)
  const purchases = new Map<string, Purchase>()
  const orders = new Map<string, { status: string; links: string[] }>()
  const events = new Map<string, string>()
  let handledTwice = 0
  let queue: Promise<unknown> = Promise.resolve()
  let reused: { timestamp: string; nonce: string } | undefined

  // Buying

  async function buy({ purchase: id, items }: { purchase: string; items: Line[] }): Promise<Answer> {
    reused = undefined
    const purchase = await open(id, items)
    if (isQueued) {
      purchase.isRefused = false
      // One after the other, as a queue does.
      queue = queue.then(() => settle(purchase)).catch(() => undefined)
      return { status: 202 }
    }
    const answer = await settle(purchase)
    if (is('buys-later') && answer.status === 409) setTimeout(() => void settle(purchase), 300)
    return answer
  }

  async function open(id: string, items: Line[]): Promise<Purchase> {
    const known = purchases.get(id)
    if (known && !is('key-per-click')) return known
    // Between looking and writing somebody else may do the same.
    if (is('check-then-act')) await sleep(20)
    const cart = createHash('sha256').update(JSON.stringify(items)).digest('hex').slice(0, 32)
    const isRandom = is('check-then-act', 'key-per-click')
    const own = isRandom ? randomUUID() : is('key-from-cart') ? `cart-${cart}` : `purchase-${id}`
    const purchase = {
      id,
      key: own,
      lines: is('ignores-quantity') ? items.map((one) => ({ ...one, qty: 1 })) : items,
    }
    purchases.set(id, purchase)
    return purchase
  }

  async function settle(purchase: Purchase): Promise<Answer> {
    if (purchase.orderId) return { status: 200 }
    const attemptsMax = is('hammers-closed', 'retries-402', 'retries-sold-out', 'hammers-401')
      ? 12
      : ATTEMPTS_MAX
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      let isAborted = false
      const answer = await place(purchase, attempt).catch((error: Error) => {
        isAborted = error.name === 'TimeoutError'
        return undefined
      })
      if (answer && answer.status < 300) return bought(purchase, answer)
      const verdict = await judge(purchase, answer, isAborted)
      if (verdict) return verdict
      const statedS = Number(answer?.headers.get('retry-after') ?? 0)
      await sleep(waitMs(answer, statedS, attempt))
    }
    return attemptsMax > ATTEMPTS_MAX ? refused(purchase, 503) : { status: 202 }
  }

  /** Undefined: ask again. */
  async function judge(
    purchase: Purchase,
    answer: StoreAnswer | undefined,
    isAborted: boolean,
  ): Promise<Answer | undefined> {
    const type = answer?.data.error?.type ?? ''
    if (!answer) {
      if (is('aborts-the-call')) return isAborted ? refused(purchase, 504) : undefined
      return is('gives-up-on-lost-answer', 'impatient') ? refused(purchase, 502) : undefined
    }
    if (is('503-is-bought') && answer.status === 503) return { status: 200 }
    if (is('gives-up-on-408') && answer.status === 408) return refused(purchase, 502)
    if (is('gives-up-on-429') && answer.status === 429) return refused(purchase, 503)
    if (is('gives-up-on-500') && answer.status === 500) return refused(purchase, 502)
    if (is('gives-up-on-503') && answer.status === 503) return refused(purchase, 503)
    if (is('retries-402') && answer.status === 402) return undefined
    if (is('retries-sold-out') && type === 'item_unavailable') return undefined
    if (is('refused-is-bought') && answer.status === 409) return { status: 200 }
    if (is('follows-price') && type === 'price_changed') return followPrice(purchase)
    if (type === 'service_unavailable' && !is('ignores-status')) await call('GET', '/status')
    if (is('gives-up-on-502') && answer.status === 502) return refused(purchase, 502)
    if (type === 'store_closed') {
      if (is('hammers-closed')) return undefined
      const { data } = await call('GET', '/status')
      return data.store === 'open' ? undefined : refused(purchase, 503)
    }
    if (answer.status === 401) return is('hammers-401') ? undefined : refused(purchase, 500)
    return FINAL.includes(type) ? refused(purchase, 409) : undefined
  }

  function waitMs(answer: StoreAnswer | undefined, statedS: number, attempt: number): number {
    const isHammered =
      (is('hammers-closed') && answer?.data.error?.type === 'store_closed') ||
      (is('retries-sold-out') && answer?.data.error?.type === 'item_unavailable') ||
      (is('retries-402') && answer?.status === 402) ||
      (is('hammers-401') && answer?.status === 401)
    if (isHammered) return 50
    if (is('ignores-retry-after') || statedS === 0) return 100 * 2 ** attempt
    return statedS * 1000 + 20
  }

  async function followPrice(purchase: Purchase): Promise<undefined> {
    for (const [at, line] of purchase.lines.entries()) {
      const { data } = await call('GET', `/catalogue/${line.id}`)
      purchase.lines = purchase.lines.with(at, { ...line, price_cents: data.price_cents ?? 0 })
    }
  }

  function place({ key: own, lines }: Purchase, attempt: number): Promise<StoreAnswer> {
    const isPriceless = is('no-expected-price') || (is('drops-price-on-retry') && attempt > 1)
    const items = lines.map(({ id, qty, price_cents }) => ({
      id,
      qty,
      ...(!isPriceless && { expected_price_cents: price_cents }),
    }))
    const idempotency_key = is('new-key-per-attempt') ? randomUUID() : own
    return call('POST', '/orders', JSON.stringify({ items, idempotency_key }))
  }

  function bought(purchase: Purchase, { data }: StoreAnswer): Answer {
    purchase.orderId = data.id ?? ''
    purchase.isRefused = false
    keep(purchase.orderId, { status: data.status ?? '', links: data.links ?? [] })
    return { status: 200 }
  }

  function refused(purchase: Purchase, status: number): Answer {
    purchase.isRefused = true
    return { status }
  }

  async function call(method: string, path: string, body = ''): Promise<StoreAnswer> {
    const url = new URL(`${baseUrl}${path}`)
    const fresh = { timestamp: String(Math.floor(Date.now() / 1000)), nonce: randomBytes(16).toString('hex') }
    reused ??= fresh
    const nonce = is('reuses-nonce') ? reused.nonce : fresh.nonce
    const timestamp = is('reuses-nonce', 'reuses-timestamp') ? reused.timestamp : fresh.timestamp
    const hash = createHash('sha256').update(body).digest('hex')
    const canonical = [method, url.pathname, timestamp, nonce, hash].join('\n')
    const response = await fetch(url, {
      method,
      headers: {
        'X-Api-Key': key.id,
        'X-Api-Timestamp': timestamp,
        'X-Api-Nonce': nonce,
        'X-Api-Signature': createHmac('sha256', key.secret).update(canonical).digest('hex'),
      },
      body: body || null,
      signal: AbortSignal.timeout(is('impatient') ? 1_000 : is('aborts-the-call') ? 4_000 : TIMEOUT_MS),
    })
    return {
      status: response.status,
      headers: response.headers,
      data: parsed(await response.text()),
    }
  }

  // Receiving

  async function receive(headers: IncomingHttpHeaders, raw: Buffer): Promise<Answer> {
    if (!is('no-signature-check') && !isGenuine(headers, raw))
      return { status: is('crashes-on-forgery') ? 500 : 400 }
    const event = JSON.parse(raw.toString()) as {
      id: string
      event: string
      data: { order?: { id: string; status: string; links: string[] } }
    }
    if (is('strict-fields') && Object.keys(event).length > 4) return { status: 400 }
    if (is('fails-on-test') && event.event === 'test') return { status: 500 }
    if (is('refuses-unknown-event') && !/^(order\.|catalogue\.changed$|test$)/.test(event.event))
      return { status: 400 }
    if (is('slow-webhook') && event.event === 'order.delivered') await sleep(10_500)
    if (events.has(event.id)) {
      if (is('refuses-copies')) return { status: 409 }
      if (!is('handles-twice')) return { status: 200 }
      handledTwice += 1
    }
    const { order } = event.data
    events.set(event.id, order?.id ?? '')
    if (order && !(is('no-refund') && event.event === 'order.cancelled')) {
      keep(order.id, {
        status: order.status,
        links: is('drops-links') ? order.links.slice(0, 1) : order.links,
      })
    }
    return { status: 200, ...(is('echoes-event') && { body: event }) }
  }

  function keep(id: string, news: { status: string; links: string[] }): void {
    const known = orders.get(id)
    if (known && known.status !== 'paid' && !is('older-overwrites')) return
    orders.set(id, news)
  }

  function isGenuine(headers: IncomingHttpHeaders, raw: Buffer): boolean {
    const timestamp = String(headers['x-webhook-timestamp'])
    const id = String(headers['x-webhook-id'])
    const presented = [headers['x-webhook-signature'], headers['x-webhook-signature-previous']]
    if (is('signature-if-present') && presented[0] === undefined) return true
    if (!is('no-timestamp-check') && !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S))
      return false
    const body = is('reserialised-body') ? JSON.stringify(JSON.parse(raw.toString())) : raw
    const held = is('wrong-secret')
      ? [`${secrets[0]}\n`]
      : is('single-secret')
        ? secrets.slice(0, 1)
        : is('empty-secret')
          ? [...secrets, '']
          : secrets
    return held.some((secret) => {
      const expected = createHmac('sha256', secret).update(`${timestamp}.${id}.`).update(body).digest()
      return (is('reads-one-header') ? presented.slice(0, 1) : presented).some(
        (one) =>
          /^[0-9a-f]{64}$/.test(String(one)) && timingSafeEqual(Buffer.from(String(one), 'hex'), expected),
      )
    })
  }

  // Afterwards

  async function reconcile(): Promise<Answer> {
    if (is('no-reconcile')) return { status: 200 }
    for (const purchase of purchases.values()) {
      if (!purchase.orderId && !purchase.isRefused) await settle(purchase)
    }
    for (const [id, { status }] of orders) {
      if (status !== 'paid') continue
      const { data } = await call('GET', `/orders/${id}`)
      keep(id, { status: data.status ?? '', links: data.links ?? [] })
    }
    return { status: 200 }
  }

  function state(id: string): Answer {
    const purchase = purchases.get(id)
    if (!purchase) return { status: 404 }
    const order = orders.get(purchase.orderId ?? '')
    const handled = [...events.values()].filter((one) => one === purchase.orderId).length + handledTwice
    const status = order?.status ?? (purchase.isRefused ? 'failed' : 'pending')
    return { status: 200, body: { status, links: order?.links.length ?? 0, handled } }
  }

  const server = await startHttpServer(async (request, response) => {
    const { status, body } = await answer(request).catch(() => ({ status: 500, body: undefined }))
    response.writeHead(status).end(body === undefined ? '' : JSON.stringify(body))
  })

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { url = '', headers } = request
    const raw = Buffer.concat(await request.toArray())
    if (url === '/buy') return buy(JSON.parse(raw.toString()))
    if (url === '/hooks') return receive(headers, raw)
    if (url === '/reconcile') return reconcile()
    return state(url.slice('/purchases/'.length))
  }

  const url = `http://127.0.0.1:${server.port}`
  return {
    urls: {
      buy: `${url}/buy`,
      webhook: `${url}/hooks`,
      state: `${url}/purchases/{purchase}`,
      reconcile: `${url}/reconcile`,
    },
    stop: server.close,
  }
}

/** A proxy's answer may have no JSON. */
function parsed(text: string): StoreAnswer['data'] {
  try {
    return JSON.parse(text) as StoreAnswer['data']
  } catch {
    return {}
  }
}
