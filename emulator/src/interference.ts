import {
  type Admission,
  type Admitted,
  type Db,
  getItem,
  type Interference,
  type Operator,
  Refusal,
  sql,
  storeClosed,
  tooSlow,
  Unavailable,
} from '@shopwire/service/embedded'
import type { Exchange, Exchanges } from './exchanges.ts'
import type { Faults } from './faults.ts'
import type { Pauses } from './pauses.ts'

export interface InterferenceDeps {
  readonly db: Db
  readonly exchanges: Exchanges
  readonly faults: Faults
  readonly pauses: Pauses
  operator(): Operator
}

/** What the faults do to requests. Each refusal leaves the way the service's own do, in its words. */
export function createInterference(deps: InterferenceDeps): Interference {
  const { exchanges, faults } = deps
  return {
    nowMs(request) {
      const exchange = exchanges.of(request)
      if (exchange) exchange.isBegun = true
      const skew = faults.active('clock_skew', exchange?.account_id)
      const nowMs = Date.now() + Number(skew?.params.ms ?? 0)
      if (exchange && skew?.strike()) {
        exchange.dateMs = nowMs
        exchange.struck ??= 'clock_skew'
      }
      return nowMs
    },
    received(request) {
      if (strikes(exchanges.of(request), 'slow_body')) throw tooSlow()
    },
    async carryOut(admitted, work) {
      const exchange = exchanges.of(admitted.request)
      if (await isClosedFor(deps, admitted, exchange)) throw storeClosed()
      const { name, params } = exchange?.taken ?? {}
      switch (name) {
        case 'lost_answer':
          if (strikes(exchange, name) && exchange) exchange.losesAnswer = true
          return work()
        case 'unavailable':
        case 'server_error': {
          if (!strikes(exchange, name)) return work()
          if (params?.after_commit) {
            await work().catch((error: unknown) => {
              if (!(error instanceof Refusal)) throw error
            })
          }
          const why = new Error(`the fault ${name} is armed`)
          throw name === 'unavailable' ? new Unavailable('database', why) : why
        }
        case 'slow_answer': {
          const isStruck = strikes(exchange, name)
          // Otherwise the edge would take a long wait for a caller that does not read.
          if (isStruck) admitted.request.socket.setTimeout(0)
          try {
            return await work()
          } finally {
            if (isStruck) await deps.pauses.wait(Number(params?.ms))
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

/** Admission as it is, but for those it has to turn away. */
export function interferingAdmission(
  real: Admission,
  exchanges: Exchanges,
  limits: { readonly requestsMax: number; readonly ordersMax: number },
): Admission {
  return {
    ...real,
    async admit(attempt) {
      const exchange = exchanges.signedWith(attempt.key_id, attempt.nonce)
      if (exchange?.taken?.name !== 'rate_limited' || !strikes(exchange, 'rate_limited'))
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

function strikes(exchange: Exchange | undefined, name: string): boolean {
  if (!exchange || exchange.taken?.name !== name || !exchange.taken.strike()) return false
  exchange.struck = name
  return true
}

/** For everybody the store really is closed; for one account it only says so. What was bought before can still be asked for. */
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
  if (earlier || !closed.strike()) return false
  if (exchange) exchange.struck = 'store_closed'
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
  if (!item || !strikes(exchange, name)) return
  const change =
    name === 'sold_out'
      ? { for_sale: 'false' }
      : { price_cents: String(Math.max(1, item.price_cents + byCents)) }
  await deps.operator().setItem(item.id, change)
}
