import { Pool } from 'undici'
import { sampleBody, sampleHeaders } from './sample.ts'

/**
 * Deliveries without any record: node bare.ts <url> <connections> <seconds> posts the same bytes again and again,
 * as many at a time as there are connections, each kept open.
 */
const [url = '', connectionsText = '', secondsText = ''] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const connections = Number(connectionsText)
const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false })
const ID = 'evt_001700000000000_0000000001'
const BODY = sampleBody(ID)
const HEADERS = sampleHeaders(ID, '1700000000', 'a'.repeat(64))

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
