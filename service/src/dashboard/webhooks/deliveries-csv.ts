import { csvText } from '@shopwire/contract/csv'
import { DELIVERY_EXPORT_MAX, type DeliveryRow } from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import { type DeliveryFilter, type DeliveryFrom, searchDeliveries } from '../../webhooks/delivery-search.ts'
import { presentRow } from './delivery-rows.ts'

const CHUNK = 1_000
const COLUMNS = [
  'event_id',
  'type',
  'order_id',
  'created_at',
  'state',
  'attempts',
  'round',
  'last_status',
  'last_error',
  'last_ms',
  'next_at',
  'endpoint_id',
] as const satisfies readonly (keyof DeliveryRow)[]

/** Newest first, in chunks, each in a separate transaction. A full file ends with a row that says so and where to continue. */
export async function* deliveriesCsv(
  db: Db,
  account_id: string,
  filter: DeliveryFilter,
  rowsMax = DELIVERY_EXPORT_MAX,
): AsyncGenerator<string> {
  yield csvText([COLUMNS])
  let from: DeliveryFrom = {}
  for (let written = 0; ; ) {
    const wanted = Math.min(CHUNK, rowsMax - written)
    // One more shows whether there is another.
    const found = await inAccount(db, account_id, (tx) =>
      searchDeliveries(tx, account_id, filter, from, wanted + 1),
    )
    const rows = found.slice(0, wanted).map(presentRow)
    yield csvText(rows.map((row) => COLUMNS.map((column) => row[column])))
    written += rows.length
    const last = rows.at(-1)
    if (!last || found.length <= wanted) return
    if (written >= rowsMax) {
      yield csvText([[noteOf(last, rowsMax)]])
      return
    }
    from = { before: last }
  }
}

function noteOf({ created_at }: DeliveryRow, rowsMax: number): string {
  return `This file has the newest ${rowsMax} deliveries. Older ones are not in it: export again with events until ${created_at}.`
}
