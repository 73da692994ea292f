import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { examples } from '@shopwire/contract/published'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as onExpress from '../src/adapters/express.ts'
import * as onFastify from '../src/adapters/fastify.ts'
import * as onHono from '../src/adapters/hono.ts'
import * as onNext from '../src/adapters/next.ts'
import * as onWorkers from '../src/adapters/workers.ts'
import { webhooks } from '../src/index.ts'

type Post = (body: string, headers: Record<string, string>) => Promise<Response>

const secret = 'whsec_test0123456789abcdefghijklmnopqrstuv'
const event = examples.OrderDeliveredEvent

const adapters: Record<string, (options: webhooks.ReceiveOptions) => Promise<Post>> = {
  async Express(options) {
    const app = express()
    app.post('/hooks', onExpress.webhook(options))
    app.use(express.json())
    app.use(quiet)
    return postTo(await listen(createServer(app)))
  },
  async 'Express with express.raw'(options) {
    const app = express()
    app.post('/hooks', express.raw({ type: '*/*' }), onExpress.webhook(options))
    app.use(quiet)
    return postTo(await listen(createServer(app)))
  },
  async "Node's own server"(options) {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => void vi.restoreAllMocks())
    return postTo(await listen(createServer(onExpress.webhook(options))))
  },
  async Fastify(options) {
    const app = fastify()
    app.register(onFastify.webhook, { path: '/hooks', ...options })
    await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    return postTo((app.server.address() as AddressInfo).port)
  },
  async Hono(options) {
    const app = new Hono()
    app.post('/hooks', onHono.webhook(options))
    app.onError((_error, context) => context.text('failed', 500))
    return async (body, headers) => app.request('/hooks', { method: 'POST', body, headers })
  },
  async Next(options) {
    return asServer(onNext.webhook(options))
  },
  async Workers(options) {
    const handle = onWorkers.webhook<{ SECRET: string }>({
      ...options,
      secrets: (env) => env.SECRET,
      once: () => options.once,
    })
    return asServer((request) => handle(request, { SECRET: secret }, undefined))
  },
}

describe.each(Object.entries(adapters))('%s', (_name, start) => {
  test('passes an event with a valid signature to the handler once, whatever the spacing of its JSON', async () => {
    const onEvent = vi.fn()
    const post = await start({ secrets: [secret], once: webhooks.memoryOnce(), onEvent })
    const { body, headers } = await webhooks.sign(event, { secret })
    expect((await post(body, headers)).status).toBe(200)
    expect((await post(body, headers)).status).toBe(200)
    expect(onEvent.mock.calls.map(([one]) => one)).toEqual([event])
  })

  test('answers a wrong signature with 400 and the reason', async () => {
    const onEvent = vi.fn()
    const post = await start({ secrets: secret, onEvent })
    const { body, headers } = await webhooks.sign(event, { secret })
    const response = await post(`${body} `, headers)
    expect(response.status).toBe(400)
    expect(await response.text()).toBe('no_match')
    expect((await post('', {})).status).toBe(400)
    expect(onEvent).not.toHaveBeenCalled()
  })

  test('answers 500 when the handler throws, so that the store sends the event again', async () => {
    const onEvent = vi.fn().mockRejectedValueOnce(new Error('no room'))
    const post = await start({ secrets: secret, once: webhooks.memoryOnce(), onEvent })
    const { body, headers } = await webhooks.sign(event, { secret })
    expect((await post(body, headers)).status).toBe(500)
    expect((await post(body, headers)).status).toBe(200)
  })
})

describe('when no webhook secret is set', () => {
  const onEvent = () => {}
  const made: Record<string, (secrets: webhooks.Secrets) => unknown> = {
    Express: (secrets) => onExpress.webhook({ secrets, onEvent }),
    Fastify: (secrets) => fastify().register(onFastify.webhook, { secrets, onEvent }).ready(),
    Hono: (secrets) => onHono.webhook({ secrets, onEvent }),
    Next: (secrets) => onNext.webhook({ secrets, onEvent }),
    Workers: (secrets) => onWorkers.webhook({ secrets, onEvent }),
  }
  const make = async (name: string, secrets: webhooks.Secrets) => made[name]?.(secrets)
  const unset = [undefined, '', ' \n', [], [undefined], [''], [undefined, '']]

  test.each(Object.keys(made))(
    'creating the %s adapter throws and names the missing variable',
    async (name) => {
      for (const secrets of unset) {
        await expect(make(name, secrets)).rejects.toThrow(TypeError)
        await expect(make(name, secrets)).rejects.toThrow('Set SHOPWIRE_WEBHOOK_SECRET')
      }
    },
  )

  test.each(Object.keys(made))('the %s adapter is created when one of two secrets is set', async (name) => {
    for (const secrets of [secret, [secret], [secret, undefined], [secret, ''], [undefined, secret]]) {
      await make(name, secrets)
    }
  })

  test('Workers: a secret missing from the request environment makes the request fail', async () => {
    const handle = onWorkers.webhook<{ SECRET?: string }>({ secrets: (env) => env.SECRET, onEvent })
    const { body, headers } = await webhooks.sign(event, { secret })
    const request = () => new Request('http://x/hooks', { method: 'POST', body, headers })
    await expect(handle(request(), {})).rejects.toThrow('Set SHOPWIRE_WEBHOOK_SECRET')
    expect((await handle(request(), { SECRET: secret })).status).toBe(200)
  })

  test('Next: creating the route needs no secret, and a request without one is refused', async () => {
    vi.stubEnv('NEXT_PHASE', 'phase-production-build')
    onTestFinished(() => void vi.unstubAllEnvs())
    const handle = onNext.webhook({ secrets: [undefined], onEvent })
    const request = new Request('http://x/hooks', { method: 'POST', body: '{}' })
    await expect(handle(request)).rejects.toThrow('Set SHOPWIRE_WEBHOOK_SECRET')
  })
})

test('Express: an already parsed body is refused with a message that says what to do', async () => {
  const app = express()
  app.use(express.json())
  app.post('/hooks', onExpress.webhook({ secrets: secret, onEvent: () => {} }))
  const failures: unknown[] = []
  app.use(((error, _request, response, _next) => {
    failures.push(error)
    response.sendStatus(500)
  }) satisfies express.ErrorRequestHandler)
  const post = postTo(await listen(createServer(app)))
  const { body, headers } = await webhooks.sign(event, { secret })
  expect((await post(body, headers)).status).toBe(500)
  expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('raw bytes') })])
})

test.each(['Express', 'Fastify', 'Hono', 'Next', 'Workers'])(
  '%s: answers 413 to a body larger than any event, without reading all of it',
  async (name) => {
    const post = await adapters[name]?.({ secrets: secret, onEvent: () => {} })
    expect((await post?.('x'.repeat(1_048_577), {}))?.status).toBe(413)
  },
)

test('Next: stops reading an endless body at the size limit', async () => {
  let sent = 0
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 65_536
      controller.enqueue(new Uint8Array(65_536))
    },
  })
  const request = new Request('http://x/hooks', { method: 'POST', body: endless, duplex: 'half' })
  const response = await onNext.webhook({ secrets: secret, onEvent: () => {} })(request)
  expect(response.status).toBe(413)
  expect(sent).toBeLessThan(2_000_000)
})

test('Fastify: other routes still get parsed JSON', async () => {
  const app = fastify()
  app.register(onFastify.webhook, { path: '/hooks', secrets: secret, onEvent: () => {} })
  app.post('/other', async ({ body }) => ({ got: body }))
  const response = await app.inject({ method: 'POST', url: '/other', payload: { a: 1 } })
  expect(response.json()).toEqual({ got: { a: 1 } })
  await app.close()
})

test('Workers: the handler also runs under servers that pass another second argument or none', async () => {
  const serve = (handler: (request: Request, info: { remoteAddr: string }) => Promise<Response>) =>
    handler(new Request('http://x/hooks', { method: 'POST', body: '{}' }), { remoteAddr: '' })
  expect((await serve(onWorkers.webhook({ secrets: secret, onEvent: () => {} }))).status).toBe(400)
})

test('Workers: answers 405 to other methods than POST', async () => {
  const handle = onWorkers.webhook({ secrets: secret, onEvent: () => {} })
  expect((await handle(new Request('http://x/hooks'))).status).toBe(405)
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

function postTo(port: number): Post {
  return (body, headers) => fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', body, headers })
}

/** Answers 500 when the handler throws, as these platforms do. */
function asServer(handle: (request: Request) => Promise<Response>): Post {
  return (body, headers) =>
    handle(new Request('http://x/hooks', { method: 'POST', body, headers })).catch(
      () => new Response(null, { status: 500 }),
    )
}

function quiet(
  _error: unknown,
  _request: express.Request,
  response: express.Response,
  _next: express.NextFunction,
) {
  response.sendStatus(500)
}
