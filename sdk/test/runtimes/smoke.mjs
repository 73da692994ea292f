// Runs on every runtime, so it uses nothing but the package, fetch and WebCrypto. Returns a list of failures.
import { AuthenticationError, canonicalRequest, Shopwire, signRequest, webhooks } from '@shopwire/sdk'
import { webhook } from '@shopwire/sdk/workers'

export async function smoke({ requests, events, baseUrl }) {
  const wrong = []
  const hold = (isRight, what) => isRight || wrong.push(what)
  for (const one of requests) {
    const request = { ...one, body: bytes(one) }
    hold((await canonicalRequest(request)) === one.canonical, `canonical text of ${one.name}`)
    hold((await signRequest(one.secret, request)) === one.signature, `signature of ${one.name}`)
  }
  for (const one of events) {
    const { secrets, headers, now_s } = one.receiver
    const options = { secrets, now: () => now_s * 1000 }
    const isAccepted = await webhooks.verify(bytes(one), headers, options).then(
      () => true,
      () => false,
    )
    hold(isAccepted === one.valid, `verdict on ${one.name}`)
  }

  const shop = new Shopwire({ keyId: 'key', secret: 'smoke', baseUrl, now: () => Date.now() - 120_000 })
  hold((await shop.catalogue.list({ search: "blue hat & 'more' é" })).total === 1, 'a signed read')
  const { items, etag } = await shop.catalogue.snapshot()
  hold(items.length === 1, 'a catalogue')
  hold((await shop.catalogue.snapshot({ ifNoneMatch: etag })).unchanged, 'the same catalogue')
  const order = await shop.orders.create({ items: [{ id: '1' }], idempotencyKey: 'smoke-0001' })
  hold(order.replayed === true, 'an order whose first answer was lost')
  hold((await shop.orders.wait(order.id)).status === 'delivered', 'waiting for an order')
  const refused = await new Shopwire({ keyId: 'key', secret: 'other', baseUrl })
    .ping()
    .catch((error) => error)
  hold(refused instanceof AuthenticationError, 'a typed error')
  const late = await shop.balance({ timeout: 200, maxRetries: 0 }).catch((error) => error)
  hold(late.name === 'TimeoutError', 'a timeout')

  let received
  const handle = webhook({ secrets: 'whsec', onEvent: (event) => (received = event.event) })
  const { body, headers } = await webhooks.sign(
    { event: 'test', data: { message: 'hi' } },
    { secret: 'whsec' },
  )
  const response = await handle(new Request('http://x/', { method: 'POST', body, headers }))
  hold(response.status === 200 && received === 'test', 'a webhook')
  return wrong
}

function bytes({ body_utf8 = '', body_hex }) {
  if (body_hex === undefined) return new TextEncoder().encode(body_utf8)
  return Uint8Array.from(body_hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
