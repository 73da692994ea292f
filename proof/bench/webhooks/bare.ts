import { Pool } from 'undici'

/**
 * Deliveries without any record: node bare.ts <url> <connections> <seconds> posts the same bytes again and again,
 * as many at a time as there are connections, each kept open.
 */
const [url = '', connectionsText = '', secondsText = ''] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const connections = Number(connectionsText)
const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false })
const BODY = Buffer.from(
  JSON.stringify({
    id: 'evt_001700000000000_0000000001',
    created_at: '2026-01-01T00:00:00.000Z',
    event: 'test',
    data: { message: 'A test. No order was made and nothing was spent.' },
  }),
)
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'user-agent': 'Shopwire-Webhooks/1',
  'x-webhook-timestamp': '1700000000',
  'x-webhook-id': 'evt_001700000000000_0000000001',
  'x-webhook-signature': 'a'.repeat(64),
}

const endMs = performance.now() + 1_000 * Number(secondsText)
await Promise.all(Array.from({ length: connections }, post))
await pool.close()

async function post(): Promise<void> {
  while (performance.now() < endMs) {
    const { statusCode, body } = await pool.request({
      path: pathname,
      method: 'POST',
      headers: HEADERS,
      body: BODY,
    })
    await body.dump()
    if (statusCode !== 204) throw new Error(`the receiver answered ${statusCode}`)
  }
}
