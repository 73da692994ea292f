/**
 * A small shop that buys from a Shopwire store for its customers. Run it against an emulator:
 *
 *   npx @shopwire/emulator --write-env .env --webhook http://localhost:4020/hooks
 *   node --env-file=.env examples/shop/shop.ts
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError, Shopwire, ShopwireError, WebhookVerificationError, webhooks } from '@shopwire/sdk'
import { Books, type Purchase } from './books.ts'

const { PORT = '4020', SHOP_DATABASE = ':memory:' } = process.env
const RECONCILE_MS = 60_000
const BODY_BYTES_MAX = 1_000_000

const store = new Shopwire() // SHOPWIRE_BASE_URL, SHOPWIRE_API_KEY, SHOPWIRE_API_SECRET
const secrets = webhooks.requireSecrets([
  process.env.SHOPWIRE_WEBHOOK_SECRET,
  process.env.SHOPWIRE_WEBHOOK_SECRET_PREVIOUS,
])
const books = new Books(SHOP_DATABASE)

interface Answer {
  readonly status: number
  readonly body?: object
}

/** POST /buy {purchase, items: [{id, qty, price_cents}]}: a customer's purchase. */
async function buy(request: IncomingMessage): Promise<Answer> {
  const wanted = JSON.parse((await readBody(request)).toString()) as {
    purchase: string
    items: { id: string; qty: number; price_cents: number }[]
  }
  const items = wanted.items.map(({ id, qty, price_cents }) => ({
    id,
    qty,
    expected_price_cents: price_cents,
  }))
  return settle(books.open(wanted.purchase, items))
}

/** Safe to repeat: it always sends the same key with the same cart. */
async function settle(purchase: Purchase): Promise<Answer> {
  try {
    const order = await store.orders.create(purchase)
    books.bought(purchase, order)
    return { status: 200, body: { status: order.status } }
  } catch (error) {
    if (!(error instanceof ShopwireError)) throw error
    // It may have been bought. The purchase stays open, and reconcile() retries it.
    if (error.isOutcomeUnknown) return { status: 202, body: { status: 'pending' } }
    const refusal = error instanceof ApiError ? error.type : error.name
    books.refused(purchase, refusal)
    return { status: refusal === 'store_closed' ? 503 : 409, body: { status: 'failed', reason: refusal } }
  }
}

/** POST /hooks: events of the store. */
async function receive(request: IncomingMessage): Promise<Answer> {
  try {
    books.take(await webhooks.unwrap(await readBody(request), request.headers, { secrets }))
    return { status: 200 }
  } catch (error) {
    if (error instanceof WebhookVerificationError) return { status: 400, body: { reason: error.reason } }
    throw error
  }
}

/** Events can be lost, so orders are the source of truth: reads every order that is not final in our database. */
async function reconcile(): Promise<Answer> {
  for (const purchase of books.unsettled()) await settle(purchase)
  for (const id of books.paidOrders()) books.keep(await store.orders.get(id))
  return { status: 200 }
}

/** GET /purchases/ID: the state for the customer. */
function state(id: string): Answer {
  const known = books.state(id)
  return known ? { status: 200, body: known } : { status: 404 }
}

function route(request: IncomingMessage): Promise<Answer> | Answer {
  const { method, url = '' } = request
  if (method === 'POST' && url === '/buy') return buy(request)
  if (method === 'POST' && url === '/hooks') return receive(request)
  if (method === 'POST' && url === '/reconcile') return reconcile()
  if (method === 'GET' && url.startsWith('/purchases/')) return state(decodeURIComponent(url.slice(11)))
  return { status: 404 }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) throw new Error('The body is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const server = createServer(async (request, response) => {
  try {
    const { status, body } = await route(request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body))
  } catch (error) {
    // Neither body nor headers: links and signatures must not be in a log.
    process.stderr.write(`${request.method} ${request.url}: ${(error as Error).message}\n`)
    response.writeHead(500).end()
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`The shop is open at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
setInterval(() => {
  reconcile().catch((error: Error) => process.stderr.write(`reconcile: ${error.message}\n`))
}, RECONCILE_MS).unref()
