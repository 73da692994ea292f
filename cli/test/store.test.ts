import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { emulatedStore, envOf, ITEM, shopwire } from './support.ts'

const store = emulatedStore()
const { run, json } = store

describe('looking', () => {
  test('status needs an address and no key, and exits with 7 for a closed store', async () => {
    const { SHOPWIRE_BASE_URL } = store.env
    const open = await shopwire(['status'], { env: { SHOPWIRE_BASE_URL } })
    expect(open).toMatchObject({ code: 0, stdout: expect.stringContaining('store open') })
    await store.emulator.arm({ name: 'store_closed' })
    await expect.poll(async () => (await run('status', '--json')).code).toBe(7)
    expect(
      (await run('orders', 'create', '--item', `${ITEM}@499`, '--key', 'while-closed', '--yes')).code,
    ).toBe(7)
    await store.emulator.disarm('store_closed')
    await expect.poll(async () => (await run('status')).code).toBe(0)
  })

  test('ping, balance and catalogue print text, and JSON with --json', async () => {
    expect((await run('ping')).stdout).toContain('Emulator')
    expect((await run('balance')).stdout).toBe('$250.00 USD\n')
    expect(await json('balance')).toEqual({ balance_cents: 25_000, currency: 'USD' })
    expect((await run('catalogue')).stdout).toContain('Aurora Ring')
    expect(await json('catalogue', 'search', 'aurora')).toMatchObject({ count: 1, items: [{ id: ITEM }] })
    expect(await json('catalogue', 'list', '--all', '--sellable')).toMatchObject({ items: expect.any(Array) })
    expect(await json('catalog', 'get', ITEM)).toMatchObject({ price_cents: 499 })
  })

  test('exits with 1 for a quote that would be refused', async () => {
    expect(await run('quote', '--item', `${ITEM}:2`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('$9.98'),
    })
    expect(await run('quote', '--item', `${ITEM}:2@498`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('price changed'),
    })
  })
})

describe('exit codes', () => {
  test.each([
    ['a wrong secret', () => ['balance'], { SHOPWIRE_API_SECRET: 'sk_wrong' }, 3, 'authentication_failed'],
    ['an unknown order', () => ['orders', 'get', 'ord_nope'], {}, 4, 'not_found'],
    [
      'an unknown item in an order',
      () => ['orders', 'create', '--item', '11111111111111111@5', '--key', 'unknown-1', '--yes'],
      {},
      5,
      'item_unavailable',
    ],
    [
      'more than the balance',
      () => [
        'orders',
        'create',
        '--item',
        '1144058340331047013:10',
        '--item',
        `${ITEM}:10`,
        '--item',
        '1144058340328047004:10',
        '--key',
        'too-much-1',
        '--yes',
      ],
      {},
      5,
      'insufficient_funds',
    ],
    ['a test without an endpoint', () => ['webhook', 'test'], {}, 5, 'webhook_not_configured'],
    [
      'nobody there',
      () => ['balance'],
      { SHOPWIRE_BASE_URL: 'http://127.0.0.1:1/v1' },
      7,
      'connection_failed',
    ],
    [
      'an address that is not a store',
      () => ['balance'],
      { SHOPWIRE_BASE_URL: 'http://127.0.0.1:1' },
      2,
      'usage',
    ],
  ] as const)('%s', async (_name, args, extra, code, type) => {
    const ended = await shopwire([...args(), '--json'], { env: { ...store.env, ...extra } })
    expect(ended.stdout).toBe('')
    expect({ code: ended.code, ...JSON.parse(ended.stderr) }).toMatchObject({ code, error: { type } })
  })

  test('exits with 3 for a missing scope, with the request id and the docs page', async () => {
    const account = await store.emulator.createAccount({ scopes: ['catalogue:read'] })
    const { code, stderr } = await shopwire(['orders'], { env: envOf({ ...store.emulator, ...account }) })
    expect(code).toBe(3)
    expect(stderr).toMatch(/Request req_/)
    expect(stderr).toContain('/docs/reference/errors#insufficient_scope')
  })

  test('names the page about an error only when the store serves it', async () => {
    let isServed = false
    const asked: string[] = []
    const server = createServer((request, response) => {
      const target = request.url ?? ''
      asked.push(target)
      const isApi = target.startsWith('/v1/')
      response.writeHead(isApi ? 403 : isServed ? 200 : 404, { 'content-type': 'application/json' })
      response.end(
        isApi ? '{"error":{"type":"insufficient_scope","message":"This key lacks a scope."}}' : '{}',
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const env = { ...store.env, SHOPWIRE_BASE_URL: `http://127.0.0.1:${port}/v1` }
    try {
      const page = `http://127.0.0.1:${port}/docs/reference/errors#insufficient_scope`
      const without = await shopwire(['balance'], { env })
      expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining('lacks a scope') })
      expect(without.stderr).not.toContain('/docs/')
      expect((await shopwire(['balance', '--json'], { env })).stderr).not.toContain('doc_url')
      isServed = true
      expect((await shopwire(['balance'], { env })).stderr).toContain(page)
      expect(asked).toContain('/docs/reference/errors')
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('exits with 6 for an exceeded rate limit, with the seconds to wait', async () => {
    await store.emulator.arm({
      name: 'rate_limited',
      on: 'GET /balance',
      times: 3,
      retry_after_s: 1,
    } as never)
    const { code, stderr } = await run('balance')
    expect(code).toBe(6)
    expect(stderr).toContain('Wait 1 s')
    await store.emulator.disarm()
  })
})

describe('signing', () => {
  test('the printed curl command is accepted by the store, also with quotes in its body', async () => {
    const body = `{"items":[{"id":"${ITEM}"}]} `
    const { stdout, stderr } = await run('sign', 'POST', '/v1/quote', '--body', body, '--curl')
    expect(stderr).toContain('60 seconds')
    const { stdout: answer } = await promisify(execFile)('sh', ['-c', stdout])
    expect(answer).toMatch(/^HTTP\/1.1 200/)
    const quoted = await run('sign', 'GET', "/v1/catalogue?search=it's%20[a]{b}", '--curl')
    expect((await promisify(execFile)('sh', ['-c', quoted.stdout])).stdout).toMatch(/^HTTP\/1.1 200/)
  })

  test('a path without /v1 is signed with it', async () => {
    expect(await json('sign', 'get', '/balance')).toMatchObject({ target: '/v1/balance', method: 'GET' })
  })

  test('it signs as the published vectors do', async () => {
    const path = new URL('../../contract/vectors/request-signing.json', import.meta.url)
    const { cases } = JSON.parse(await readFile(path, 'utf8')) as { cases: Record<string, string>[] }
    for (const name of ['get-plain', 'post-order']) {
      const one = cases.find((vector) => vector.name === name)
      if (!one) continue
      const { method = '', target = '', timestamp = '', nonce = '', secret = '', body_utf8 = '' } = one
      const args = [
        'sign',
        method,
        target,
        '--timestamp',
        timestamp,
        '--nonce',
        nonce,
        '--body',
        body_utf8,
        '--json',
      ]
      const { stdout } = await shopwire(args, { env: { ...store.env, SHOPWIRE_API_SECRET: secret } })
      expect(JSON.parse(stdout)).toMatchObject({
        canonical: one.canonical,
        headers: { 'X-Api-Signature': one.signature },
      })
    }
  })
})
