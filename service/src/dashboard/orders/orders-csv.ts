import { type CsvCell, csvText } from '@shopwire/contract/csv'
import { ORDER_EXPORT_MAX, type OrdersExportQuery } from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { timeInId } from '../../platform/text/ids.ts'
import { type ListedOrder, resolveSearch, searchOrders } from './order-list-queries.ts'
import { secondsBetween } from './order-rows.ts'

const CHUNK = 1_000
const COLUMNS = [
  'order_id',
  'status',
  'total_usd',
  'created_at',
  'delivered_at',
  'cancelled_at',
  'seconds_to_delivery',
  'lines',
  'idempotency_key',
  'key_id',
] as const

/**
 * Newest first, in chunks, each in a separate transaction: a slow download holds no connection. A full file ends with a row that
 * says so and where to continue.
 */
export async function* ordersCsv(
  db: Db,
  account_id: string,
  { ids, ...filters }: OrdersExportQuery,
  rowsMax = ORDER_EXPORT_MAX,
): AsyncGenerator<string> {
  yield csvText([COLUMNS])
  const found = await inAccount(db, account_id, (tx) => resolveSearch(tx, account_id, filters))
  if (!found) return
  const wanted = ids === undefined ? found : { ...found, ids: ids.split(',') }
  let before: string | undefined
  let written = 0
  for (;;) {
    const { rows, stoppedAt } = await inAccount(db, account_id, (tx) =>
      searchOrders(tx, account_id, wanted, { before }, CHUNK),
    )
    const isMore = rows.length > CHUNK
    const chunk = rows.slice(0, Math.min(CHUNK, rowsMax - written))
    written += chunk.length
    yield csvText(chunk.map(cellsOf))
    before = isMore || chunk.length < rows.length ? chunk.at(-1)?.id : stoppedAt
    if (before === undefined) return
    if (written >= rowsMax) {
      yield csvText([[noteOf(before, rowsMax)]])
      return
    }
  }
}

function noteOf(last: string, rowsMax: number): string {
  const until = new Date(timeInId(last) ?? 0).toISOString()
  return `This file has the newest ${rowsMax} orders. Older ones are not in it: export again with orders created before ${until}.`
}

function cellsOf(order: ListedOrder): CsvCell[] {
  return [
    order.id,
    order.status,
    (order.total_cents / 100).toFixed(2),
    order.created_at.toISOString(),
    order.delivered_at?.toISOString(),
    order.cancelled_at?.toISOString(),
    secondsBetween(order.created_at, order.delivered_at),
    order.lines.map(({ name, qty }) => `${qty} x ${name}`).join('; '),
    order.idempotency_key,
    order.key_id,
  ]
}
