import { examples } from '@shopwire/contract/published'
import { describe, expect, test, vi } from 'vitest'
import { type Order, type WebhookEvent, webhooks } from '../src/index.ts'

const secret = 'whsec_test0123456789abcdefghijklmnopqrstuv'
const old = 'whsec_old00123456789abcdefghijklmnopqrstuv'
const { OrderDeliveredEvent: delivered, Order: order } = examples

describe('unwrap', () => {
  test.each([
    examples.OrderAcceptedEvent,
    examples.OrderDeliveredEvent,
    examples.OrderCancelledEvent,
    examples.CatalogueChangedEvent,
    examples.TestEvent,
  ])('returns $event as it was sent, from text, bytes or a buffer', async (event) => {
    const { body, headers } = await webhooks.sign(event, { secret })
    const bytes = new TextEncoder().encode(body)
    for (const raw of [body, bytes, Buffer.from(bytes), bytes.buffer]) {
      expect(await webhooks.unwrap(raw, headers, { secrets: secret })).toEqual(event)
    }
  })

  test('the type of `data` follows from `event`', async () => {
    const { body, headers } = await webhooks.sign(delivered, { secret })
    const event: WebhookEvent = await webhooks.unwrap(body, headers, { secrets: [secret] })
    switch (event.event) {
      case 'order.delivered':
        expect(event.data.order.links).toEqual(order.links)
        break
      case 'catalogue.changed':
        // @ts-expect-error it carries a revision and no order
        expect(event.data.order).toBeUndefined()
        break
      default:
        throw new Error('it is another event')
    }
  })

  test.each([
    ['only the new secret', [secret]],
    ['only the old one', [old]],
    ['both', [secret, old]],
    ['one of them in a variable that is not set', [undefined, secret]],
  ])('accepts an event during a rotation with %s', async (_name, secrets) => {
    const { body, headers } = await webhooks.sign(delivered, { secret, previousSecret: old })
    expect(await webhooks.unwrap(body, headers, { secrets })).toEqual(delivered)
  })

  test.each([undefined, '', '\n', [], [undefined, '']])(
    'throws a TypeError for the secrets %o',
    async (secrets) => {
      const { body, headers } = await webhooks.sign(delivered, { secret })
      await expect(webhooks.unwrap(body, headers, { secrets })).rejects.toThrow('SHOPWIRE_WEBHOOK_SECRET')
      expect(() => webhooks.requireSecrets(secrets)).toThrow(TypeError)
    },
  )

  test('requireSecrets returns only the secrets that are set, unchanged', () => {
    expect(webhooks.requireSecrets([secret, '', undefined, old])).toEqual([secret, old])
    expect(webhooks.requireSecrets(secret)).toEqual([secret])
  })

  test.each([
    ['parsed JSON', {}],
    ['nothing', undefined],
    ['null', null],
  ])('throws a TypeError that says what to do for %s instead of raw bytes', async (_name, body) => {
    const { headers } = await webhooks.sign(delivered, { secret })
    const failure = webhooks.unwrap(body as string, headers, { secrets: secret })
    await expect(failure).rejects.toThrow(TypeError)
    await expect(failure).rejects.toThrow('raw bytes')
  })

  test.each(['not JSON', '7', 'null', '{"id":"evt_x"}'])(
    'refuses %s with a valid signature as bad_body',
    async (body) => {
      const { headers } = await signedText(body)
      await expect(webhooks.unwrap(body, headers, { secrets: secret })).rejects.toMatchObject({
        reason: 'bad_body',
      })
    },
  )

  test('returns an event of an unknown type', async () => {
    const { headers, body } = await signedText(JSON.stringify({ ...delivered, event: 'order.lost' }))
    expect(await webhooks.unwrap(body, headers, { secrets: secret })).toMatchObject({ event: 'order.lost' })
  })

  test('refuses a repeated header as bad_format', async () => {
    const { body, headers } = await webhooks.sign(delivered, { secret })
    const twice = { ...headers, 'x-webhook-id': ['evt_1', 'evt_2'] }
    await expect(webhooks.unwrap(body, twice, { secrets: secret })).rejects.toMatchObject({
      reason: 'bad_format',
    })
  })

  async function signedText(body: string) {
    const { signatureOf } = await import('../src/webhooks/sign.ts')
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = await signatureOf(secret, timestamp, delivered.id, body)
    return {
      body,
      headers: {
        'x-webhook-timestamp': timestamp,
        'x-webhook-id': delivered.id,
        'x-webhook-signature': signature,
      },
    }
  }
})

test('sign generates an id that a receiver accepts', async () => {
  const { body, headers } = await webhooks.sign({ event: 'test', data: { message: 'hi' } }, { secret })
  const event = await webhooks.unwrap(body, headers, { secrets: secret })
  expect(event).toMatchObject({ id: headers['X-Webhook-Id'], event: 'test', data: { message: 'hi' } })
})

describe('receive', () => {
  test('handles each event once', async () => {
    const onEvent = vi.fn()
    const options = { secrets: secret, once: webhooks.memoryOnce(), onEvent }
    const { body, headers } = await webhooks.sign(delivered, { secret })
    expect(await webhooks.receive(body, headers, options)).toBe('handled')
    expect(await webhooks.receive(body, headers, options)).toBe('duplicate')
    expect(onEvent.mock.calls).toEqual([[delivered]])
  })

  test('calls the handler again after it failed', async () => {
    const onEvent = vi.fn().mockRejectedValueOnce(new Error('no room'))
    const options = { secrets: secret, once: webhooks.memoryOnce(), onEvent }
    const { body, headers } = await webhooks.sign(delivered, { secret })
    await expect(webhooks.receive(body, headers, options)).rejects.toThrow('no room')
    expect(await webhooks.receive(body, headers, options)).toBe('handled')
  })

  test('returns busy for a copy that arrives while the event is being handled', async () => {
    const { promise: handled, resolve } = Promise.withResolvers<void>()
    const options = { secrets: secret, once: webhooks.memoryOnce(), onEvent: () => handled }
    const { body, headers } = await webhooks.sign(delivered, { secret })
    const first = webhooks.receive(body, headers, options)
    await expect.poll(() => webhooks.receive(body, headers, options)).toBe('busy')
    resolve()
    expect(await first).toBe('handled')
    expect(await webhooks.receive(body, headers, options)).toBe('duplicate')
  })

  test('an event with a wrong signature reaches neither the handler nor `once`', async () => {
    const once = { claim: vi.fn(), settle: vi.fn() }
    const onEvent = vi.fn()
    const { body, headers } = await webhooks.sign(delivered, { secret: 'whsec_of-somebody-else' })
    await expect(webhooks.receive(body, headers, { secrets: secret, once, onEvent })).rejects.toMatchObject({
      reason: 'no_match',
    })
    expect(onEvent).not.toHaveBeenCalled()
    expect(once.claim).not.toHaveBeenCalled()
  })

  test('memoryOnce drops the oldest entries', async () => {
    const once = webhooks.memoryOnce({ max: 2 })
    for (const id of ['a', 'b', 'c']) {
      await once.claim(id)
      await once.settle(id, true)
    }
    expect(await once.claim('c')).toBe('done')
    expect(await once.claim('a')).toBe('first')
  })
})

describe('the latest state of an order', () => {
  const paid: Order = { ...order, status: 'paid', delivered_at: null, links: [] }
  const cancelled: Order = { ...paid, status: 'cancelled' }

  test.each([
    ['nothing yet', undefined, paid, paid],
    ['accepted, then delivered', paid, order, order],
    ['accepted, then cancelled', paid, cancelled, cancelled],
    ['delivered, then an old accepted', order, paid, order],
    ['cancelled, then an old accepted', cancelled, paid, cancelled],
    ['delivered without its links, then with them', { ...order, links: [] }, order, order],
    ['delivered, then again without its links', order, { ...order, links: [] }, order],
  ])('%s', (_name, current, incoming, kept) => {
    expect(webhooks.latest(current, incoming)).toBe(kept)
  })

  test('throws for two different orders', () => {
    expect(() => webhooks.latest(paid, { ...order, id: 'ord_other' })).toThrow(TypeError)
  })
})
