import { createHmac, createSecretKey } from 'node:crypto'
import pg from 'pg'
import { Pool } from 'undici'
import { sampleBody, sampleHeaders } from './sample.ts'

/**
 * The least that a durable sender does: node durable.ts <url> <connections> <seconds> <database> takes pending deliveries a thousand
 * at a time, signs and posts each, and records those that were accepted with one update for many. No lease, no retry, no log of
 * attempts, no check of the address, one secret, and a body that is not read from anywhere.
 */
const [url = '', connectionsText = '', secondsText = '', database = ''] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const connections = Number(connectionsText)
const pool = new Pool(origin, { connections, pipelining: 1, allowH2: false })
const db = new pg.Pool({ connectionString: database, max: 2 })
const secret = createSecretKey(Buffer.alloc(32, 7))
const TAKEN_AT_ONCE = 1_024
const RECORDED_AT_ONCE = 256

interface Pending {
  readonly account_id: string
  readonly event_id: string
  readonly endpoint_id: string
}

const taken: Pending[] = []
let after: [account_id: string, event_id: string] = ['', '']
let taking: Promise<void> | undefined
let accepted: { readonly delivery: Pending; recorded(): void }[] = []
let isRecording = false

const endMs = performance.now() + 1_000 * Number(secondsText)
await Promise.all(Array.from({ length: connections }, deliver))
await pool.close()
await db.end()

async function deliver(): Promise<void> {
  while (performance.now() < endMs) {
    const delivery = await next()
    if (!delivery) throw new Error('the backlog has run out')
    await post(delivery)
    await new Promise<void>((recorded) => {
      accepted.push({ delivery, recorded })
      if (!isRecording) void record()
    })
  }
}

async function next(): Promise<Pending | undefined> {
  if (taken.length < TAKEN_AT_ONCE / 2) {
    taking ??= take().finally(() => {
      taking = undefined
    })
  }
  if (taken.length === 0) await taking
  return taken.pop()
}

async function take(): Promise<void> {
  const { rows } = await db.query<Pending>({
    name: 'take',
    text: `select d.account_id, d.event_id, d.endpoint_id
             from deliveries d
             join events e on e.account_id = d.account_id and e.id = d.event_id
            where d.state = 'pending' and (d.account_id, d.event_id) > ($1, $2)
            order by d.account_id, d.event_id
            limit ${TAKEN_AT_ONCE}`,
    values: after,
  })
  const last = rows.at(-1)
  if (last) after = [last.account_id, last.event_id]
  taken.push(...rows)
}

async function post({ event_id }: Pending): Promise<void> {
  const bytes = sampleBody(event_id)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', secret)
    .update(`${timestamp}.${event_id}.`)
    .update(bytes)
    .digest('hex')
  const headers = sampleHeaders(event_id, timestamp, signature)
  const { statusCode, body } = await pool.request({ path: pathname, method: 'POST', headers, body: bytes })
  await body.dump()
  if (statusCode !== 204) throw new Error(`the receiver answered ${statusCode}`)
}

async function record(): Promise<void> {
  isRecording = true
  while (accepted.length > 0) {
    const batch = accepted.slice(0, RECORDED_AT_ONCE)
    accepted = accepted.slice(RECORDED_AT_ONCE)
    const column = (name: keyof Pending) => batch.map(({ delivery }) => delivery[name])
    await db.query({
      name: 'record',
      text: `update deliveries d
                set state = 'delivered', attempts = 1, done_at = now()
               from unnest($1::text[], $2::text[], $3::text[]) as a (account_id, event_id, endpoint_id)
              where d.account_id = a.account_id and d.event_id = a.event_id and d.endpoint_id = a.endpoint_id
                and d.state = 'pending'`,
      values: [column('account_id'), column('event_id'), column('endpoint_id')],
    })
    for (const { recorded } of batch) recorded()
  }
  isRecording = false
}
