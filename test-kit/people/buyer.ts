import { randomBytes } from 'node:crypto'
import { ORDERS_LIMIT_MAX, type OrderRequest } from '@shopwire/contract'
import type { Journal } from '../invariants/index.ts'
import { type Answer, type Connection, ConnectionLost, connect } from '../requests/connection.ts'
import { type Key, sign } from '../requests/signed-request.ts'
import { until } from '../servers/index.ts'

/** An account as its own server sees it: it signs, it sends, and it writes down what came back. */
export interface Buyer {
  readonly account_id: string
  readonly key: Key
  /** Any call, on a connection of its own. */
  call(port: number, method: string, target: string, content?: object): Promise<Answer>
  /** On a connection that stands already, signed at this moment. */
  place(via: Connection, order: OrderRequest): Promise<Answer>
  /** Sends the order as often as it takes to learn what became of it, as a careful caller does. */
  settle(port: number, order: OrderRequest): Promise<Answer>
  // biome-ignore lint/suspicious/noExplicitAny: as in an answer
  readOrder(port: number, id: string): Promise<any>
  /** Every order the account can list. */
  listOrders(port: number): Promise<{ id: string; status: string; total_cents: number }[]>
  readBalance(port: number): Promise<number>
}

const SETTLED_MS_MAX = 30_000
const ORDERS = '/v1/orders'

export function createBuyer(account_id: string, key: Key, journal: Journal): Buyer {
  async function send(via: Connection, method: string, target: string, content?: object): Promise<Answer> {
    const request = sign(key, method, target, content && JSON.stringify(content))
    const [path = ''] = target.split('?')
    const order = method === 'POST' && path === ORDERS ? { order: content as OrderRequest } : {}
    const call = journal.sent({ account_id, key_id: key.id, method, path, nonce: request.nonce, ...order })
    const answer = await via.send(request.bytes)
    call.answered({ ...answer, replayed: answer.headers['idempotent-replayed'] === 'true' })
    return answer
  }
  const place = (via: Connection, order: OrderRequest) => send(via, 'POST', ORDERS, order)
  const get = async (port: number, target: string) => {
    // As callers do: after a failover the record of used nonces is renewed first, and what was signed before is refused.
    const answer = await until(
      async () => {
        const one = await once(port, (via) => send(via, 'GET', target))
        const isSignedAgain = one.status === 401 && one.body?.error?.type === 'timestamp_out_of_range'
        return one.status === 503 || isSignedAgain ? undefined : one
      },
      SETTLED_MS_MAX,
      () => `${target} is answered with 503, or as if it had been signed before`,
    )
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return {
    account_id,
    key,
    call: (port, ...call) => once(port, (via) => send(via, ...call)),
    place,
    settle(port, order) {
      let last = 'nothing was sent'
      const attempt = async () => {
        const answer = await once(port, (via) => place(via, order)).catch(unlessLost)
        last = answer ? `${answer.status} ${JSON.stringify(answer.body)}` : 'connection lost'
        if (answer && !isWorthRepeating(answer)) return answer
        return undefined
      }
      return until(attempt, SETTLED_MS_MAX, () => `an order does not come to its end: ${last}`)
    },
    readOrder: (port, id) => get(port, `/v1/orders/${id}`),
    async listOrders(port) {
      const all: { id: string; status: string; total_cents: number }[] = []
      for (;;) {
        const page = await get(port, `/v1/orders?limit=${ORDERS_LIMIT_MAX}&offset=${all.length}`)
        all.push(...page.orders)
        if (all.length >= page.total || page.orders.length === 0) return all
      }
    },
    readBalance: async (port) => (await get(port, '/v1/balance')).balance_cents,
  }
}

export function newOrder(...items: OrderRequest['items']): OrderRequest {
  return { idempotency_key: `e2e-${randomBytes(12).toString('hex')}`, items }
}

export function unlessLost(error: unknown): undefined {
  if (!(error instanceof ConnectionLost)) throw error
}

async function once<Result>(port: number, work: (via: Connection) => Promise<Result>): Promise<Result> {
  const via = await connect(port)
  try {
    return await work(via)
  } finally {
    via.close()
  }
}

/** Retryable: overloaded, no database, or the admission state was lost and only requests signed after that are admitted. */
function isWorthRepeating({ status, body }: Answer): boolean {
  return status === 503 || body.error?.type === 'timestamp_out_of_range'
}
