import { afterAll } from 'vitest'
import { Shopwire, type ShopwireOptions } from '../src/index.ts'
import { type ScriptedServer, type Step, startServer } from './scripted-server.ts'

export const secret = 'test-secret-0123456789abcdefghijklmnopq'
export const keyId = 'key_c1_01k9zq3v7m8n4p2r6s0t5w1x9y'
export const cart = {
  items: [{ id: '123456789012345678', qty: 2, expected_price_cents: 500 }],
  idempotencyKey: 'order-0001',
}

// Closed after all tests of a file, because some of them run concurrently.
const servers: ScriptedServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.stop())))

/** A client of a server that executes the given steps. */
export async function openShop(
  steps: readonly Step[],
  { status, ...options }: ShopwireOptions & { status?: Step } = {},
): Promise<{ shop: Shopwire; server: ScriptedServer }> {
  const server = await startServer(steps, status)
  servers.push(server)
  return { shop: new Shopwire({ keyId, secret, baseUrl: server.baseUrl, ...options }), server }
}

/** What the promise was rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => error,
  )
}
