import type { EmulatedOrder } from '@shopwire/emulator'
import type { Context } from '../context.ts'
import type { Progress } from '../terminal/progress.ts'

/**
 * An order in the store's records. The API's list has the first five; a fuller source (the emulator, an export that the
 * store made) has more. Undefined: this source does not have the field; null: there is no value.
 */
export interface KnownOrder {
  readonly id: string
  readonly status: string
  readonly total_cents: number
  readonly currency: string
  readonly created_at: string
  readonly idempotency_key?: string | undefined
  readonly delivered_at?: string | null | undefined
  readonly refunded_at?: string | null | undefined
}

export const basicColumns = ['id', 'status', 'total_cents', 'currency', 'created_at'] as const
export const fullColumns = [...basicColumns, 'idempotency_key', 'delivered_at', 'refunded_at'] as const

export interface OrderSource {
  readonly columns: readonly (keyof KnownOrder)[]
  /** Newest first. */
  orders(progress: Progress): AsyncIterable<KnownOrder>
}

/** An emulator returns all fields; a store returns those of the API. */
export async function orderSource(context: Context): Promise<OrderSource> {
  const emulated = await ordersOfEmulator(context)
  if (!emulated) return { columns: basicColumns, orders: (progress) => fromApi(context, progress) }
  return {
    columns: fullColumns,
    async *orders() {
      yield* emulated.map(fromEmulator)
    },
  }
}

/** Undefined when there is no emulator, when the key is of another account, or when it does not show all of them. */
async function ordersOfEmulator(context: Context): Promise<EmulatedOrder[] | undefined> {
  const emulator = await context.emulator()
  if (!emulator) return undefined
  const { keyId } = await context.credentials()
  const { key, account_id } = await emulator.facts()
  if (key.id !== keyId) return undefined
  const { orders } = await emulator.orders({ account_id })
  const { total } = await (await context.shop()).orders.list({ limit: 1 })
  return orders.length === total ? orders : undefined
}

async function* fromApi(context: Context, progress: Progress): AsyncGenerator<KnownOrder, void, undefined> {
  const { shop, pacer } = await context.pacedShop()
  const { total } = await shop.orders.list({ limit: 1 })
  let done = 0
  for await (const order of shop.orders.iterate()) {
    yield order
    progress.at(++done, Math.max(total, done), 'within the rate limit')
    await pacer.breathe()
  }
}

function fromEmulator(order: EmulatedOrder): KnownOrder {
  const { id, status, total_cents, created_at, idempotency_key, delivered_at, transfers } = order
  const refund = transfers.find(({ kind }) => kind.includes('refund'))
  return {
    id,
    status,
    total_cents,
    currency: 'USD',
    created_at,
    idempotency_key,
    delivered_at,
    refunded_at: refund?.at ?? null,
  }
}
