import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folder, shopwire } from './support.ts'

/** Sequences that a terminal would execute: a new title, an empty screen, 8-bit red, right-to-left override. */
const ORDERS = '\x1b]0;taken over\x07\x1b[2J\u009b31m\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/
const ORDER = {
  id: `=HYPERLINK("http://a.example")${ORDERS}`,
  status: 'shipped',
  total_cents: 499,
  currency: 'USD',
  created_at: `\x1b[2J2026-11-15`,
  delivered_at: null,
  lines: [],
  links: [],
}

/** A store that puts these sequences into every text field, and into numbers. */
const answers: Readonly<Record<string, unknown>> = {
  '/v1/status': {
    status: ORDERS,
    api: ORDERS,
    store: ORDERS,
    queue: ORDERS,
    updated: '\x1b[2J\x1b[3J\x1b[2J\x1b[3J',
  },
  '/v1/ping': { ok: true, name: ORDERS, status: ORDERS, account_status: ORDERS },
  '/v1/balance': { balance_cents: ORDERS, currency: ORDERS },
  '/v1/catalogue/1': {
    ...{ id: ORDERS, name: ORDERS, type: ORDERS, collection: ORDERS, image: ORDERS },
    ...{ price_cents: 1, currency: ORDERS, stock: ORDERS, sellable: true, available_until: '\x1b[2J\x1b[3J' },
  },
  '/v1/webhook': {
    ...{ webhook_url: ORDERS, pending: ORDERS, failed: ORDERS, last_error: ORDERS },
    ...{ last_delivered_at: '\x1b[2J\x1b[3J', last_failure_at: '\x1b[2J\x1b[3J' },
  },
  '/v1/orders': { orders: [ORDER], count: 1, total: 1, limit: 1, offset: 0 },
  '/v1/orders/ord_00000000000000000000000001': ORDER,
}

const server = createServer((request, response) => {
  const [path = ''] = (request.url ?? '').split('?')
  const isKnown = Object.hasOwn(answers, path)
  response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json', 'x-request-id': 'r' })
  response.end(JSON.stringify(isKnown ? answers[path] : { error: { type: ORDERS, message: ORDERS } }))
})
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  env = {
    SHOPWIRE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    SHOPWIRE_API_KEY: 'key_c1_00000000000000000000000001',
    SHOPWIRE_API_SECRET: `sk_${'0'.repeat(43)}`,
  }
})

afterAll(() => server.close())

describe('control sequences from the store do not reach the terminal', () => {
  test.each([
    'status',
    'ping',
    'balance',
    'catalogue get 1',
    'catalogue get 2',
    'webhook',
    'orders list',
    'orders get ord_00000000000000000000000001',
    'orders wait ord_00000000000000000000000001 --within 1',
    'doctor',
  ])('%s, for people and as a document', async (command) => {
    const [text, document] = await Promise.all([
      shopwire(command.split(' '), { env }),
      shopwire([...command.split(' '), '--json'], { env }),
    ])
    for (const { stdout, stderr } of [text, document]) {
      expect(stdout + stderr).not.toMatch(OBEYED)
      expect(stdout + stderr).not.toContain('is not a function')
    }
    // The JSON document still contains the text, escaped.
    expect(JSON.stringify(JSON.parse(document.stdout || document.stderr))).toContain('[2J')
  })
})

test('shows an order whose status is unknown to this version', async () => {
  const { code, stdout } = await shopwire(['orders', 'get', 'ord_00000000000000000000000001'], { env })
  expect(code).toBe(0)
  expect(stdout).toContain('shipped')
})

test('an export contains no cell that a spreadsheet would execute', async () => {
  const file = join(await folder(), 'orders.csv')
  expect(await shopwire(['orders', 'export', '--out', file], { env })).toMatchObject({ code: 0 })
  const { stdout } = await shopwire(['orders', 'export', '--out', '-'], { env })
  expect(stdout.split('\n')[1]).toMatch(/^"'=HYPERLINK/)
})

test('the curl command keeps every byte of the signed body', async () => {
  const body = `{"note":"tab\t and 'quotes' \x1b[2J"}`
  const { stdout } = await shopwire(['sign', 'POST', '/v1/quote', '--body', body, '--curl'], { env })
  expect(stdout).toContain(body.replaceAll("'", `'\\''`))
})
