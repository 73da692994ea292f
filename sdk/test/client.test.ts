import { inspect } from 'node:util'
import { errorTypes, routes } from '@shopwire/contract'
import { examples } from '@shopwire/contract/published'
import { signatureMatches } from '@shopwire/contract/signing'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as sdk from '../src/index.ts'
import { type Arrived, answer, refuse, startServer } from './scripted-server.ts'
import { cart, failureOf, keyId, openShop, secret } from './shop.ts'

const { Shopwire } = sdk
const baseUrl = 'https://shop.example/v1'
const page = answer(200, examples.CataloguePage)

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

describe('the signature matches the request as sent', () => {
  test('for any search text, id and cart', async () => {
    const server = await startServer([], undefined)
    const fetched = vi.fn(globalThis.fetch)
    const shop = new Shopwire({ keyId, secret, baseUrl: server.baseUrl, maxRetries: 0, fetch: fetched })
    const text = fc.string({ unit: 'binary', maxLength: 30 })
    const ended = (call: Promise<unknown>) => call.catch(() => {})
    try {
      await fc.assert(
        fc.asyncProperty(text, text, fc.nat(), async (search, id, qty) => {
          server.arrived.length = 0
          await ended(shop.catalogue.list({ search, category: id, limit: qty }))
          await ended(shop.orders.get(`x${id}`))
          await ended(shop.quote({ items: [{ id, qty }] }))
          await ended(shop.orders.create({ items: [{ id: search, qty }], idempotencyKey: `k${id}` }))
          expect(server.arrived).toHaveLength(4)
          expect(server.arrived.every(isSignedAsItArrived)).toBe(true)
          const query = new URLSearchParams(server.arrived[0]?.target.split('?')[1])
          expect(query.get('search')).toBe(search)
          expect(JSON.parse(String(server.arrived[3]?.body))).toEqual({
            items: [{ id: search, qty }],
            idempotency_key: `k${id}`,
          })
        }),
        { numRuns: 60 },
      )
    } finally {
      await server.stop()
    }
  })

  test('every method calls its route, and only /status is unsigned', async () => {
    const { shop, server } = await openShop([], { maxRetries: 0 })
    const calls = [
      shop.status(),
      shop.ping(),
      shop.balance(),
      shop.catalogue.list(),
      shop.catalogue.get('id'),
      shop.quote(cart),
      shop.orders.create(cart),
      shop.orders.list(),
      shop.orders.get('id'),
      shop.webhookEndpoint.get(),
      shop.webhookEndpoint.set(null),
      shop.webhookEndpoint.delete(),
      shop.webhookEndpoint.test(),
    ]
    await Promise.allSettled(calls)
    const met = server.arrived.map(({ method, target }) => `${method} ${target}`).sort()
    expect(met).toEqual(routes.map(({ method, path }) => `${method} /v1${path.replace('{id}', 'id')}`).sort())
    for (const one of server.arrived) {
      if (one.target === '/v1/status') expect(one.headers['x-api-key']).toBeUndefined()
      else expect(isSignedAsItArrived(one), one.target).toBe(true)
    }
  })

  function isSignedAsItArrived({ method, target, headers, body }: Arrived): boolean {
    const timestamp = String(headers['x-api-timestamp'])
    const nonce = String(headers['x-api-nonce'])
    expect(nonce).toMatch(/^[0-9a-f]{32}$/)
    expect(headers['x-api-key']).toBe(keyId)
    return signatureMatches(secret, { method, target, timestamp, nonce, body }, headers['x-api-signature'])
  }
})

describe('arguments that cannot be meant', () => {
  test('an id that is not one is a TypeError, and nothing is sent', async () => {
    const { shop, server } = await openShop([page])
    for (const id of [undefined, null, '', '..', 7]) {
      const get = shop.orders.get(id as string)
      await expect(get, String(id)).rejects.toThrow(/is not an id/)
      await expect(get).rejects.toBeInstanceOf(TypeError)
    }
    expect(server.arrived).toHaveLength(0)
  })

  test('swapped key and secret are a TypeError that does not repeat the secret', () => {
    const swapped = () => new Shopwire({ keyId: 'sk_secret', secret: keyId, baseUrl })
    expect(swapped).toThrow(/swapped/)
    expect(swapped).not.toThrow(/sk_secret/)
  })
})

describe('creating a client', () => {
  test('reads options that are not given from the environment', async () => {
    const { server } = await openShop([answer(200, examples.PingResult)])
    vi.stubEnv('SHOPWIRE_API_KEY', keyId)
    vi.stubEnv('SHOPWIRE_API_SECRET', secret)
    vi.stubEnv('SHOPWIRE_BASE_URL', `${server.baseUrl}/`)
    expect(await new Shopwire().ping()).toEqual(examples.PingResult)
    expect(server.arrived[0]?.target).toBe('/v1/ping')
  })

  test.each([
    [{ secret, baseUrl }, 'SHOPWIRE_API_KEY'],
    [{ keyId, baseUrl }, 'SHOPWIRE_API_SECRET'],
    [{ keyId, secret: '', baseUrl }, 'SHOPWIRE_API_SECRET'],
    [{ keyId, secret }, 'SHOPWIRE_BASE_URL'],
    [{ keyId, secret, baseUrl: 'https://shop.example' }, 'https://shop.example/v1'],
    [{ keyId, secret, baseUrl: 'shop.example/v1' }, 'https://shop.example/v1'],
    [{ keyId, secret, baseUrl: 'https://shop.example/v1?a=b' }, 'https://shop.example/v1'],
  ])('throws for %o, and the message names the problem', (options, named) => {
    expect(() => new Shopwire(options)).toThrow(named)
  })

  test.each([
    'https://buyer:hunter2@shop.example/v1',
    'https://:hunter2@shop.example/v1',
    'http://buyer:hunter2@shop.example/v1',
    'https://buyer:hunter2@shop.example',
    'https://buyer:hunter2@shop.example:port/v1',
    'https://shop.example/v1?token=hunter2',
    'https://shop.example/v1#hunter2',
    'buyer:hunter2@shop.example/v1',
    ' https://buyer:hunter2@',
  ])('throws for %s without repeating the password', (url) => {
    const made = () => new Shopwire({ keyId, secret, baseUrl: url, allowHttp: true })
    expect(made).toThrow(TypeError)
    expect(made).toThrow('https://shop.example/v1')
    expect(made).not.toThrow('hunter2')
  })

  test.each([
    'http://shop.example/v1',
    'http://10.0.0.7:4010/v1',
    'http://127.example/v1',
    'http://localhost.example/v1',
    'http://[::2]/v1',
  ])('throws for %s unless allowHttp is set', (url) => {
    expect(() => new Shopwire({ keyId, secret, baseUrl: url })).toThrow('allowHttp')
    expect(new Shopwire({ keyId, secret, baseUrl: url, allowHttp: true })).toBeInstanceOf(Shopwire)
  })

  test.each([
    'http://localhost:4010/v1',
    'http://shop.localhost/v1',
    'http://127.0.0.1:4010/v1',
    'http://127.8.9.1/v1',
    'http://[::1]:4010/v1',
  ])('accepts the loopback address %s without allowHttp', (url) => {
    expect(new Shopwire({ keyId, secret, baseUrl: url })).toBeInstanceOf(Shopwire)
  })

  test('throws in a browser unless dangerouslyAllowBrowser is set', () => {
    vi.stubGlobal('window', { document: {} })
    expect(() => new Shopwire({ keyId, secret, baseUrl })).toThrow('browser')
    expect(new Shopwire({ keyId, secret, baseUrl, dangerouslyAllowBrowser: true })).toBeInstanceOf(Shopwire)
  })

  test('the secret is not in the printed client or in a printed error', async () => {
    const { shop } = await openShop([refuse(401, 'authentication_failed')])
    const error = await failureOf(shop.ping())
    for (const one of [shop, error]) {
      expect(inspect(one, { depth: 10, showHidden: true })).not.toContain(secret)
      expect(JSON.stringify(one)).not.toContain(secret)
    }
  })
})

describe('arguments', () => {
  test('an order without an idempotency key throws and is not sent', async () => {
    const { shop, server } = await openShop([])
    for (const idempotencyKey of [undefined, '', 7]) {
      const order = { ...cart, idempotencyKey } as unknown as sdk.NewOrder
      await expect(shop.orders.create(order)).rejects.toThrow(TypeError)
    }
    expect(server.arrived).toHaveLength(0)
  })

  test.each(['', '.', '..'])('throws for the id %o, which would address another path', async (id) => {
    const { shop, server } = await openShop([])
    await expect(shop.orders.get(id)).rejects.toThrow(TypeError)
    expect(server.arrived).toHaveLength(0)
  })

  test('options of one call do not affect the next', async () => {
    const { shop, server } = await openShop([page, page])
    await shop.catalogue.list({ search: 'hat' }, { timeout: 5000 })
    await shop.catalogue.list()
    expect(server.arrived.map(({ target }) => target)).toEqual(['/v1/catalogue?search=hat', '/v1/catalogue'])
  })
})

describe('answers', () => {
  test('withResponse returns status, headers, request id and the remaining rate limits', async () => {
    const rateLimit = { RateLimit: '"req";r=117;t=58, "orders";r=20;t=0' }
    const { shop } = await openShop([answer(200, examples.CataloguePage, { ...rateLimit, ETag: '"r42"' })])
    const { data, response, ...rest } = await shop.catalogue.list().withResponse()
    expect(data).toEqual(examples.CataloguePage)
    expect(response.headers.get('etag')).toBe('"r42"')
    expect(rest).toEqual({
      requestId: 'req_test',
      rateLimit: { req: { remaining: 117, resetAfter: 58 }, orders: { remaining: 20, resetAfter: 0 } },
      attempts: 1,
    })
  })

  test('a failure handled through withResponse causes no unhandled rejection', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const { shop } = await openShop([refuse(404, 'not_found')])
    await expect(shop.catalogue.get('1').withResponse()).rejects.toThrow(sdk.NotFoundError)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('replayed is false for 201 and true for 200', async () => {
    const { shop } = await openShop([answer(201, examples.Order), answer(200, examples.Order)])
    expect(await shop.orders.create(cart)).toEqual({ ...examples.Order, replayed: false })
    expect(await shop.orders.create(cart)).toEqual({ ...examples.Order, replayed: true })
  })

  test.each(Object.entries(errorTypes))(
    '%s becomes an error with its class, type, request id and docUrl',
    async (type, { status }) => {
      const { shop, server } = await openShop([refuse(status, type)], { maxRetries: 0 })
      const error = (await failureOf(shop.ping())) as sdk.ApiError
      expect(error).toBeInstanceOf(sdk.ApiError)
      expect(error.name).toBe(error.constructor.name)
      expect(error.name).not.toBe('ApiError')
      expect(error).toMatchObject({
        status,
        type,
        message: `${type}, as text`,
        requestId: 'req_test',
        attempts: 1,
      })
      expect(error.docUrl).toBe(`${new URL(server.baseUrl).origin}/docs/reference/errors#${type}`)
    },
  )
})
