import {
  type Admission,
  type Admitted,
  type Db,
  getItem,
  type Interference,
  type Operator,
  overloaded,
  Refusal,
  sql,
  storeClosed,
  tooSlow,
  Unavailable,
} from '@shopwire/service/embedded'
import type { Faults } from '../faults/faults.ts'
import type { Pauses } from '../faults/pauses.ts'
import type { Exchange, Exchanges } from './exchanges.ts'

export interface InterferenceDeps {
  readonly db: Db
  readonly exchanges: Exchanges
  readonly faults: Faults
  readonly pauses: Pauses
  operator(): Operator
}

/** Applies faults to requests. Injected refusals are sent by the service's own code, with its messages. */
export function createInterference(deps: InterferenceDeps): Interference {
  const { exchanges, faults } = deps
  return {
    nowMs(request) {
      const exchange = exchanges.of(request)
      if (exchange) exchange.isBegun = true
      const skew = faults.active('clock_skew', exchange?.account_id)
      const nowMs = Date.now() + Number(skew?.params.ms ?? 0)
      if (exchange && skew?.fire()) {
        exchange.dateMs = nowMs
        exchange.fired ??= 'clock_skew'
      }
      return nowMs
    },
    received(request) {
      if (fires(exchanges.of(request), 'slow_body')) throw tooSlow()
    },
    async carryOut(admitted, work) {
      const exchange = exchanges.of(admitted.request)
      if (await isClosedFor(deps, admitted, exchange)) throw storeClosed()
      const { name, params } = exchange?.taken ?? {}
      switch (name) {
        case 'lost_answer':
          if (fires(exchange, name) && exchange) exchange.losesAnswer = true
          return work()
        case 'unavailable':
        case 'server_error': {
          if (!fires(exchange, name)) return work()
          if (params?.after_commit) {
            await work().catch((error: unknown) => {
              if (!(error instanceof Refusal)) throw error
            })
          }
          const why = new Error(`the fault ${name} is armed`)
          throw name === 'unavailable' ? new Unavailable('database', why) : why
        }
        case 'bad_gateway':
          if (!fires(exchange, name) || !exchange) return work()
          exchange.isReplaced = true
          if (params?.after_commit) return work()
          throw new Unavailable('database', new Error('the fault bad_gateway is armed'))
        case 'slow_answer': {
          const isFired = fires(exchange, name)
          // Otherwise the edge would treat a long delay as a caller that does not read.
          if (isFired) admitted.request.socket.setTimeout(0)
          try {
            return await work()
          } finally {
            if (isFired) await deps.pauses.wait(Number(params?.ms))
          }
        }
        case 'price_change':
        case 'sold_out':
          await changeFirstItem(deps, admitted, exchange, name, Number(params?.by_cents))
          return work()
        default:
          return work()
      }
    },
  }
}

/** The service's admission, except for requests that a fault refuses. */
export function interferingAdmission(
  real: Admission,
  exchanges: Exchanges,
  limits: { readonly requestsMax: number; readonly ordersMax: number },
): Admission {
  return {
    ...real,
    async admit(attempt) {
      const exchange = exchanges.signedWith(attempt.key_id, attempt.nonce)
      // Like a real store: after the signature, before the nonce is spent.
      if (fires(exchange, 'overloaded')) throw overloaded('account', 'account')
      if (exchange?.taken?.name !== 'rate_limited' || !fires(exchange, 'rate_limited'))
        return real.admit(attempt)
      const { bucket, retry_after_s } = exchange.taken.params
      const waitMs = Number(retry_after_s) * 1000
      const full = (max: number, isFull: boolean) => ({
        max,
        used: isFull ? max : 0,
        oldestLeavesMs: isFull ? waitMs : 0,
      })
      return {
        kind: 'limited',
        epoch: 'database',
        usage: {
          requests: full(limits.requestsMax, bucket === 'req'),
          orders: full(limits.ordersMax, bucket === 'orders'),
          waitMs,
        },
      }
    },
  }
}

function fires(exchange: Exchange | undefined, name: string): boolean {
  if (!exchange || exchange.taken?.name !== name || !exchange.taken.fire()) return false
  exchange.fired = name
  return true
}

/** For all accounts the store is really closed; for one account only the answer says so. Earlier orders can still be replayed. */
async function isClosedFor(
  { faults, db }: InterferenceDeps,
  { route, caller, body }: Admitted,
  exchange: Exchange | undefined,
): Promise<boolean> {
  if (route.name !== 'postOrders') return false
  const closed = faults.active('store_closed', caller.account_id)
  if (closed?.account_id === undefined) return false
  const { idempotency_key } = body as { idempotency_key: string }
  const earlier = await db.maybeOne(sql`
    select id
      from orders
     where account_id = ${caller.account_id}
       and idempotency_key = ${idempotency_key}`)
  if (earlier || !closed.fire()) return false
  if (exchange) exchange.fired = 'store_closed'
  return true
}

async function changeFirstItem(
  deps: InterferenceDeps,
  { body }: Admitted,
  exchange: Exchange | undefined,
  name: 'price_change' | 'sold_out',
  byCents: number,
): Promise<void> {
  const [first] = (body as { items: { id: string }[] }).items
  const item = first && (await getItem(deps.db, first.id).catch(() => undefined))
  if (!item || !fires(exchange, name)) return
  const change =
    name === 'sold_out'
      ? { for_sale: 'false' }
      : { price_cents: String(Math.max(1, item.price_cents + byCents)) }
  await deps.operator().setItem(item.id, change)
}
