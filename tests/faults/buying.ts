import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH } from '@shopwire/contract'
import { type Key, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { Pool } from 'undici'
import { seeded } from './seeded.ts'

export interface Account extends Key {
  readonly account_id: string
}

export interface Goods {
  readonly byHand: string
  readonly fromPool: string
}

export interface Bought {
  /** The order that its caller was told of, by idempotency key. */
  readonly orders: ReadonlyMap<string, string>
  readonly refused: number
  /** Requests that were sent and got no answer. */
  readonly lost: number
  /** Requests that were not sent: nobody took the connection. */
  readonly unreachable: number
  readonly replayed: number
  readonly longestMs: number
  /** Every answer and every lack of one, counted by what it said. */
  readonly seen: Readonly<Record<string, number>>
  /** When each order was sent first, and when its caller was told of it. */
  readonly told: readonly { readonly sentMs: number; readonly toldMs: number }[]
  readonly wrong: readonly string[]
}

interface Options {
  readonly seed: number
  readonly orders: number
  /** Such as http://127.0.0.1:8080. */
  readonly origins: readonly string[]
  readonly accounts: readonly Account[]
  readonly goods: Goods
  /** As fast as they learn what became of the last one, without it. */
  readonly perSecond?: number
  /** Of the idempotency keys. */
  readonly name?: string
}

const LANES = 64
const TARGET = `${BASE_PATH}/orders`
const FROM_POOL_SHARE = 0.02
const AGAIN_MS = 50
/** Errors of connecting. */
const NOT_SENT = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])
/** A caller that still does not know what became of its order. */
const SETTLED_MS_MAX = 90_000

/** Callers that each buy one order after the other, as fast as they learn what became of the last one. */
export function startBuying({
  seed,
  orders: wanted,
  origins,
  accounts,
  goods,
  perSecond,
  name = 'faults',
}: Options) {
  const pools = origins.map((origin) => new Pool(origin, { connections: LANES, headersTimeout: 20_000 }))
  const orders = new Map<string, string>()
  const wrong: string[] = []
  const seen: Record<string, number> = {}
  const told: { sentMs: number; toldMs: number }[] = []
  const startedMs = performance.now()
  const sum = { refused: 0, lost: 0, unreachable: 0, replayed: 0, longestMs: 0 }
  let begun = 0
  let isStopped = false

  function see(what: string) {
    seen[what] = (seen[what] ?? 0) + 1
  }

  /** Undefined: the answer does not say, or there is none. */
  async function place(
    key: Key,
    body: string,
    at: number,
  ): Promise<{ status: number; id: string } | undefined> {
    const pool = pools[at % pools.length] as Pool
    const headers = { 'content-type': 'application/json', ...signedHeaders(key, 'POST', TARGET, body) }
    try {
      const answer = await pool.request({ method: 'POST', path: TARGET, headers, body })
      const text = await answer.body.text()
      const { id, error } = JSON.parse(text)
      see(id === undefined ? `${answer.statusCode} ${error?.type}` : String(answer.statusCode))
      const isUnsettled = answer.statusCode === 503 || error?.type === 'timestamp_out_of_range'
      if (!isUnsettled) return { status: answer.statusCode, id: id ?? text }
      sum.refused += 1
    } catch (error) {
      const { code = 'no answer' } = error as NodeJS.ErrnoException
      see(code)
      if (NOT_SENT.has(code)) sum.unreachable += 1
      else sum.lost += 1
    }
    return undefined
  }

  async function buy(n: number): Promise<void> {
    // By its number: which lane comes first is up to the machine.
    const random = seeded(`${seed} order ${n}`)
    const account = accounts[Math.floor(random() * accounts.length)] as Account
    const id = random() < FROM_POOL_SHARE ? goods.fromPool : goods.byHand
    const idempotency_key = `${name}-${seed}-${n}`
    const body = JSON.stringify({ idempotency_key, items: [{ id, qty: 1 }] })
    const beganMs = performance.now()
    for (let attempt = 0; performance.now() - beganMs < SETTLED_MS_MAX; attempt += 1) {
      const answer = await place(account, body, n + attempt)
      if (!answer) {
        await sleep(AGAIN_MS)
        continue
      }
      if (answer.status === 200 || answer.status === 201) {
        orders.set(idempotency_key, answer.id)
        told.push({ sentMs: beganMs, toldMs: performance.now() })
      } else wrong.push(`${idempotency_key} was answered with ${answer.status}: ${answer.id}`)
      if (answer.status === 200) sum.replayed += 1
      if (answer.status === 200 && attempt === 0)
        wrong.push(`${idempotency_key} had been bought before it was sent`)
      sum.longestMs = Math.max(sum.longestMs, performance.now() - beganMs)
      return
    }
    wrong.push(`${idempotency_key}: its caller does not know after ${SETTLED_MS_MAX} ms`)
  }

  async function lane(): Promise<void> {
    while (!isStopped && begun < wanted) {
      begun += 1
      const n = begun
      if (perSecond !== undefined)
        await sleep(Math.max(0, startedMs + (1000 * n) / perSecond - performance.now()))
      if (isStopped) break
      await buy(n)
    }
  }

  let isDone = false
  const done = Promise.all(Array.from({ length: LANES }, lane)).then(() => {
    isDone = true
  })
  return {
    done,
    isDone: () => isDone,
    count: () => orders.size,
    /** Whether a caller was told of an order after this moment. */
    wasToldSince: (ms: number) => told.some(({ toldMs }) => toldMs > ms),
    /** Whether an order that was sent after this moment has been bought. */
    hasSoldSince: (ms: number) => told.some(({ sentMs }) => sentMs > ms),
    /** When every order under way has come to its end. */
    async stop(): Promise<Bought> {
      isStopped = true
      await done
      await Promise.all(pools.map((pool) => pool.close()))
      return { orders, wrong, seen, told, ...sum }
    },
  }
}
