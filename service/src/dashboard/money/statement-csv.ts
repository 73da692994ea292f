import { type CsvCell, csvText } from '@shopwire/contract/csv'
import { readTransfers, type TransferFilter } from '../../ledger/statement.ts'
import type { Transfer } from '../../ledger/transfer.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'

const CHUNK = 2_000
const COLUMNS = [
  'position',
  'time_utc',
  'kind',
  'amount',
  'balance_before',
  'balance_after',
  'currency',
  'order_id',
  'reference',
  'note',
  'transfer_id',
] as const

export interface StatementRange {
  readonly from_seq: number
  readonly to_seq: number
}

/**
 * Oldest first, as bookkeeping expects, in chunks: a statement may have millions of lines. Transfers never change, so no snapshot
 * is needed.
 */
export async function* statementCsv(
  db: Db,
  account_id: string,
  range: StatementRange,
  filter: TransferFilter,
): AsyncGenerator<string> {
  yield csvText([COLUMNS])
  for await (const rows of statementChunks(db, account_id, range, filter)) yield csvText(rows.map(cellsOf))
}

export async function* statementChunks(
  db: Db,
  account_id: string,
  { from_seq, to_seq }: StatementRange,
  filter: TransferFilter = {},
): AsyncGenerator<readonly Transfer[]> {
  let next = from_seq
  for (;;) {
    const range = { from_seq: next, to_seq, newestFirst: false }
    const rows = await inAccount(db, account_id, (tx) => readTransfers(tx, account_id, range, filter, CHUNK))
    if (rows.length > 0) yield rows
    if (rows.length < CHUNK) return
    next = (rows.at(-1)?.seq ?? next) + 1
  }
}

function cellsOf(transfer: Transfer): CsvCell[] {
  const change = transfer.change_cents
  return [
    transfer.seq,
    transfer.created_at.toISOString(),
    transfer.kind,
    decimal(change),
    decimal(transfer.balance_after_cents - change),
    decimal(transfer.balance_after_cents),
    'USD',
    transfer.order_id,
    transfer.reference,
    transfer.note,
    transfer.id,
  ]
}

export function decimal(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
