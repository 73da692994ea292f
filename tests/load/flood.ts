import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { type Key, newNonce, sign } from '@shopwire/test-kit/requests/signed-request'

/** A thread of its own that floods: beside the load, the thread of a test could not tell how long its own calls take. */
export interface FloodOptions {
  readonly port: number
  readonly keys: readonly Key[]
  readonly item: string
  readonly connections: number
  /** Of a connection that was refused, before it tries again. */
  readonly pauseMs: number
  readonly forMs: number
}

export interface Flooded {
  /** How often each status came, with the value of Retry-After. */
  readonly answers: Readonly<Record<string, number>>
  /** Ids of the orders that were confirmed. */
  readonly placed: readonly string[]
  /** Times of the answers other than 503. */
  readonly begunMs: readonly number[]
}

const { port, keys, item, connections, pauseMs, forMs } = workerData as FloodOptions
const answers: Record<string, number> = {}
const placed: string[] = []
const begunMs: number[] = []
const endMs = performance.now() + forMs

await Promise.all(Array.from({ length: connections }, (_, n) => drive(keys[n % keys.length] as Key)))
parentPort?.postMessage({ answers, placed, begunMs } satisfies Flooded)

async function drive(key: Key): Promise<void> {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
  const incoming = socket[Symbol.asyncIterator]()
  while (performance.now() < endMs) {
    const body = JSON.stringify({ idempotency_key: `flood-${newNonce()}`, items: [{ id: item }] })
    const sentMs = performance.now()
    socket.write(sign(key, 'POST', '/v1/orders', body).bytes)
    // An answer of the service is small and is written at once, so it arrives in one piece.
    const { value } = await incoming.next()
    const text = String(value ?? '')
    const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'lost'
    const wait = /^retry-after: *(.*?)\r$/im.exec(text)?.[1]
    const name = wait === undefined ? status : `${status} retry-after ${wait}`
    answers[name] = (answers[name] ?? 0) + 1
    if (status === 'lost') return
    if (status === '503') await sleep(pauseMs)
    else begunMs.push(performance.now() - sentMs)
    if (status === '201') placed.push(/"id":"(ord_\w+)"/.exec(text)?.[1] ?? 'none')
  }
  socket.destroy()
}
