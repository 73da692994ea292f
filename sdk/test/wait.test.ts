import { examples } from '@shopwire/contract/published'
import { describe, expect, test, vi } from 'vitest'
import { OrderPendingError, ShopwireError, TimeoutError } from '../src/index.ts'
import { answer, hangUp, refuse, silence } from './scripted-server.ts'
import { failureOf, openShop } from './shop.ts'

const { Order: delivered } = examples
const paid = { ...delivered, status: 'paid', delivered_at: null, links: [] } as const
const cancelled = { ...paid, status: 'cancelled' } as const
const isPaid = answer(200, paid)
const isDelivered = answer(200, delivered)

describe.concurrent('orders.wait', () => {
  test.each([delivered, cancelled])('returns a $status order after one request', async (final) => {
    const { shop, server } = await openShop([answer(200, final)])
    expect(await shop.orders.wait(final.id)).toEqual(final)
    expect(server.arrived.map(({ target }) => target)).toEqual([`/v1/orders/${final.id}`])
  })

  test('polls with growing pauses until the order is delivered', async () => {
    const { shop, server } = await openShop([isPaid, isPaid, isPaid, isPaid, isDelivered])
    const { data, requestId } = await shop.orders.wait(paid.id).withResponse()
    expect(data.links).toEqual(delivered.links)
    expect(requestId).toBe('req_test')
    const pauses = server.arrived.slice(1).map(({ atMs }, n) => atMs - (server.arrived[n]?.atMs ?? 0))
    const shortest = [250, 500, 1000, 2000]
    for (const [n, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual((shortest[n] ?? 0) - 10)
  })

  test('the type of the result has only the final statuses', async () => {
    const { shop } = await openShop([isDelivered])
    const { status } = await shop.orders.wait(paid.id)
    // @ts-expect-error `paid` is not final
    expect(status === 'paid').toBe(false)
  })

  test('throws an OrderPendingError when the time is up, which says that the order is bought', async () => {
    const { shop, server } = await openShop([isPaid, isPaid, isPaid, isPaid, isPaid])
    const error = (await failureOf(shop.orders.wait(paid.id, { within: 1000 }))) as OrderPendingError
    expect(error).toBeInstanceOf(OrderPendingError)
    expect(error).toMatchObject({
      name: 'OrderPendingError',
      order: paid,
      requestId: 'req_test',
      isOutcomeUnknown: true,
    })
    for (const words of [paid.id, 'is bought', 'after 1 s', 'Do not buy it again', 'webhook']) {
      expect(error.message).toContain(words)
    }
    expect(server.arrived.length).toBeGreaterThan(1)
  })

  test('the time limit also ends a hanging request', async () => {
    const { shop } = await openShop([isPaid, silence])
    await expect(shop.orders.wait(paid.id, { within: 1500 })).rejects.toThrow(OrderPendingError)
  })

  test('the error does not say that the order is paid when it was never read', async () => {
    const { shop } = await openShop([silence])
    const error = await failureOf(shop.orders.wait(paid.id, { within: 300 }))
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toMatchObject({ message: expect.stringContaining('could not be read within 300 ms') })
  })

  test('polls more slowly when few requests are left in the rate-limit window', async () => {
    const crowded = answer(200, paid, { RateLimit: '"req";r=39;t=1, "orders";r=20;t=0' })
    const { shop, server } = await openShop([crowded, isDelivered])
    await expect(shop.orders.wait(paid.id, { within: 2000 })).rejects.toThrow(OrderPendingError)
    expect(server.arrived).toHaveLength(1)
  })

  test('waits as long as Retry-After says', async () => {
    const limited = refuse(429, 'rate_limited', { 'Retry-After': '2' })
    const { shop, server } = await openShop([isPaid, limited, isDelivered])
    await shop.orders.wait(paid.id)
    const [, second, third] = server.arrived
    expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThanOrEqual(1990)
  })

  test('continues to poll through an outage after the order was read once', async () => {
    const down = [hangUp, refuse(503, 'service_unavailable', { 'Retry-After': '1' }), hangUp, hangUp]
    const { shop } = await openShop([isPaid, ...down, isDelivered], { maxRetries: 1 })
    expect((await shop.orders.wait(paid.id)).status).toBe('delivered')
  })

  test('fails during an outage when maxRetries is given', async () => {
    const { shop, server } = await openShop([isPaid, hangUp, isDelivered])
    const failure = failureOf(shop.orders.wait(paid.id, { maxRetries: 0 }))
    expect(await failure).toMatchObject({ name: 'ConnectionError', isOutcomeUnknown: true })
    expect(server.arrived).toHaveLength(2)
  })

  test.each([
    ['an unknown id', refuse(404, 'not_found'), 'NotFoundError'],
    ['a missing scope', refuse(403, 'insufficient_scope'), 'PermissionError'],
  ])('throws at once for %s, with isOutcomeUnknown set', async (_name, step, name) => {
    const { shop, server } = await openShop([step])
    const error = await failureOf(shop.orders.wait(paid.id))
    expect(error).toBeInstanceOf(ShopwireError)
    expect(error).toMatchObject({ name, isOutcomeUnknown: true })
    expect(server.arrived).toHaveLength(1)
  })
})

describe.concurrent('aborting orders.wait', () => {
  test.each([
    ['in a pause', [isPaid, isPaid], 1],
    ['while an answer is awaited', [isPaid, silence], 2],
  ])('%s rejects with an AbortedError: the order stays bought', async (_name, steps, requests) => {
    const { shop, server } = await openShop(steps)
    const controller = new AbortController()
    const failure = failureOf(shop.orders.wait(paid.id, { signal: controller.signal }))
    await vi.waitFor(() => expect(server.arrived).toHaveLength(requests), { interval: 5 })
    controller.abort('enough')
    expect(await failure).toMatchObject({ name: 'AbortedError', cause: 'enough', isOutcomeUnknown: true })
    expect(server.arrived).toHaveLength(requests)
  })

  test('before the call sends nothing', async () => {
    const { shop, server } = await openShop([isDelivered])
    const failure = failureOf(shop.orders.wait(paid.id, { signal: AbortSignal.abort('enough') }))
    expect(await failure).toMatchObject({ name: 'AbortedError', isOutcomeUnknown: true })
    expect(server.arrived).toHaveLength(0)
  })
})
