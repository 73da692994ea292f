import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createTransport } from '#client/transport.ts'

const { betweenActs, send, setGates } = createTransport({ csrfHeader: 'x-csrf', headers: () => ({}) })

/** A service with one session, whose cookie changes with a second factor. */
let cookie = 'first'
let atService = 'first'
let held: ServerResponse | undefined
let signedOut = 0
const server = createServer((request, response) => {
  const isKnown = request.headers.cookie === atService
  if (request.url === '/session') response.end(JSON.stringify({ isSignedIn: isKnown }))
  else if (!isKnown) response.writeHead(401).end('{"error":{"type":"sign_in_required","message":"Sign in."}}')
  else if (request.url === '/step-up') {
    atService = 'second'
    held = response
    server.emit('held')
  } else response.end('{"orders":3}')
})
const { fetch: realFetch } = globalThis

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // What a browser adds: its origin and its cookies.
  globalThis.fetch = async (path, init) => {
    const answer = await realFetch(`${origin}${path}`, { ...init, headers: { ...init?.headers, cookie } })
    cookie = answer.headers.get('set-cookie') ?? cookie
    return answer
  }
  const readSession = () => send({ method: 'GET', path: '/session' }) as Promise<{ isSignedIn: boolean }>
  setGates({
    stepUp: async () => false,
    signedOut: () => void signedOut++,
    renew: async () => (await betweenActs(readSession)).isSignedIn,
  })
})
afterEach(() => {
  signedOut = 0
})
afterAll(() => {
  globalThis.fetch = realFetch
  server.close()
})

test('a read that was overtaken by a second factor is repeated, and nobody is signed out', async () => {
  const stepUp = send({ method: 'POST', path: '/step-up' })
  await once(server, 'held')
  const refused = once(server, 'request')
  const read = send({ method: 'GET', path: '/orders' })
  await refused
  held?.writeHead(200, { 'set-cookie': 'second' }).end('{}')
  await stepUp
  expect(await read).toEqual({ orders: 3 })
  expect(signedOut).toBe(0)
})

test('whose session has ended is signed out', async () => {
  atService = 'of somebody else'
  await expect(send({ method: 'GET', path: '/orders' })).rejects.toMatchObject({ type: 'sign_in_required' })
  expect(signedOut).toBe(1)
})

test('without a network nothing is sent, not later either, and the error says so', async () => {
  cookie = atService
  let requests = 0
  const count = () => void requests++
  server.on('request', count)
  Object.defineProperty(navigator, 'onLine', { value: false, configurable: true })
  await expect(send({ method: 'POST', path: '/orders' })).rejects.toMatchObject({
    type: 'offline',
    message: expect.stringContaining('nothing was sent'),
  })
  Object.defineProperty(navigator, 'onLine', { value: true, configurable: true })
  expect(await send({ method: 'GET', path: '/orders' })).toEqual({ orders: 3 })
  expect(requests).toBe(1)
  server.off('request', count)
})
