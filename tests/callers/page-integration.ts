/** An integration made of the code on the pages of docs/, in the folder that is its argument. Run as a program: that code reads the environment. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Order {
  readonly id: string
  readonly status: string
  readonly links: readonly string[]
}
interface Cart {
  readonly items: readonly { id: string; qty: number; expected_price_cents: number }[]
  readonly idempotency_key: string
}
type Row = Cart & { order_id?: string; isRefused?: boolean }

const from = async (file: string) => import(pathToFileURL(join(process.argv[2] ?? '', file)).href)
const { buy } = (await from('buy.mjs')) as { buy(purchase: Cart): Promise<Order> }
const { reconcile } = (await from('reconcile.mjs')) as {
  reconcile(books: object, sinceMs: number): Promise<number>
}
const { createReceiver } = (await from('receiver.mjs')) as { createReceiver(options: object): Server }

const HOUR_MS = 3_600_000
const rows = new Map<string, Row>()
const orders = new Map<string, Order>()
const events = new Map<string, string>()

const receiver = createReceiver({
  secrets: [process.env.SHOPWIRE_WEBHOOK_SECRET, process.env.SHOPWIRE_WEBHOOK_SECRET_PREVIOUS],
  isNew: async (id: string) => !events.has(id) && events.set(id, '').has(id),
  enqueue: async ({ id, data }: { id: string; data: { order?: Order } }) => {
    if (!data.order) return
    events.set(id, data.order.id)
    keep(data.order)
  },
})

const server = createServer(async (request, response) => {
  const { url = '' } = request
  if (url === '/hooks') return void receiver.emit('request', request, response)
  const text = Buffer.concat(await request.toArray()).toString()
  if (url === '/buy') return void send(response, await settle(open(JSON.parse(text))))
  if (url !== '/reconcile') return void sendState(response, rows.get(url.slice('/purchases/'.length)))
  const isSettled = async (id: string) => (orders.get(id)?.status ?? 'paid') !== 'paid'
  await reconcile({ isSettled, take: async (order: Order) => keep(order) }, Date.now() - HOUR_MS)
  send(response, 200)
})

function open({
  purchase,
  items,
}: {
  purchase: string
  items: { id: string; qty: number; price_cents: number }[]
}) {
  const cart = items.map(({ id, qty, price_cents }) => ({ id, qty, expected_price_cents: price_cents }))
  const row = rows.get(purchase) ?? { items: cart, idempotency_key: `order-${purchase}` }
  rows.set(purchase, row)
  return row
}

async function settle(row: Row): Promise<number> {
  try {
    const { items, idempotency_key } = row
    const order = await buy({ items, idempotency_key })
    row.order_id = order.id
    keep(order)
    return 200
  } catch (error) {
    // What the store said has a type; what is not settled has none.
    row.isRefused = 'type' in (error as object)
    return row.isRefused ? 409 : 202
  }
}

function keep(order: Order): void {
  if ((orders.get(order.id)?.status ?? 'paid') === 'paid') orders.set(order.id, order)
}

function sendState(response: ServerResponse, row: Row | undefined): void {
  if (!row) return void send(response, 404)
  const order = orders.get(row.order_id ?? '')
  const status = order?.status ?? (row.isRefused ? 'failed' : 'pending')
  const handled = [...events.values()].filter((id) => id === row.order_id).length
  send(response, 200, { status, links: order?.links, handled })
}

function send(response: ServerResponse, status: number, body?: object): void {
  response.writeHead(status).end(body && JSON.stringify(body))
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
