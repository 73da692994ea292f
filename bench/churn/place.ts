import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export interface Placing {
  /** Orders placed so far. */
  placed(): number
  /** Ends when all are placed. */
  readonly running: Promise<void>
}

export interface PlacingOptions {
  readonly apiUrl: string
  readonly accounts: readonly { readonly id: string; readonly access_version: number }[]
  readonly items: readonly string[]
  readonly orders: number
  /** At most so many a second; without it, as many as `isTooFast` lets through. */
  readonly perSecond?: number | undefined
  /** Whether the workers are too far behind for another order. */
  isTooFast(): boolean
}

const CLIENTS = 6
const WAIT_MS = 10
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'
const PLACE = `
  select verdicts[1] as verdict, details[1] as details
    from place_orders(true, array[$1], array[$2::bigint], array['key_c1_bench'], array[$3], array[$4],
                      array[to_timestamp($7 / 1000::double precision)], array[$5], array[sha256(convert_to($5, 'UTF8'))],
                      array[$8], array['203.0.113.7'], array[1], $6, array[1], array[null]::bigint[])`

/**
 * Places orders of one line by the service's own function, over a few connections, each item and each account in turn. It goes
 * as fast as the workers deliver.
 */
export function startPlacing({
  apiUrl,
  accounts,
  items,
  orders,
  perSecond = Number.POSITIVE_INFINITY,
  isTooFast,
}: PlacingOptions): Placing {
  const beganMs = performance.now()
  const isEarly = () => begun >= (perSecond * (performance.now() - beganMs)) / 1_000
  let begun = 0
  let placed = 0

  async function place() {
    const client = new pg.Client({
      connectionString: apiUrl,
      application_name: 'bench',
      // As an API process has it.
      options: '-c enable_seqscan=off',
    })
    client.on('error', () => {})
    await client.connect()
    try {
      while (begun < orders) {
        if (isEarly() || isTooFast()) {
          await sleep(WAIT_MS)
          continue
        }
        const n = begun
        begun += 1
        const account = accounts[n % accounts.length]
        const nowMs = Date.now()
        const values = [
          account?.id,
          account?.access_version,
          ...['ord', 'evt'].map((prefix) => newId(prefix, nowMs)),
          `churn-${n}-${nowMs}`,
          [items[n % items.length]],
          nowMs,
          newId('req', nowMs),
        ]
        const { rows } = await client.query<{ verdict: string; details: string | null }>({
          name: 'place',
          text: PLACE,
          values,
        })
        if (rows[0]?.verdict !== 'bought')
          throw new Error(`place_orders answered ${rows[0]?.verdict}: ${rows[0]?.details}`)
        placed += 1
      }
    } finally {
      await client.end()
    }
  }

  const running = Promise.all(Array.from({ length: CLIENTS }, place)).then(() => {})
  // Whoever waits for it gets the error.
  running.catch(() => {})
  return {
    placed: () => placed,
    running,
  }
}

/** In the form of the service's ids: ten characters of time, then random ones. */
function newId(prefix: string, nowMs: number): string {
  let time = ''
  for (let n = 0, rest = nowMs; n < 10; n += 1, rest = Math.floor(rest / 32))
    time = `${CROCKFORD[rest % 32]}${time}`
  return `${prefix}_${time}${Array.from(randomBytes(16), (byte) => CROCKFORD[byte % 32]).join('')}`
}
