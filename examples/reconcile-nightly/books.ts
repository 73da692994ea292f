import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** A purchase in our own records. */
export interface OwnOrder {
  readonly idempotency_key: string
  /** Empty while the outcome is unknown. */
  readonly order_id: string
  readonly status: string
  readonly total_cents: number
  readonly created_at: string
}

const COLUMNS = ['idempotency_key', 'order_id', 'status', 'total_cents', 'created_at'] as const

/** A CSV file with a header, or a SQLite file with a table `orders`; the columns are those of OwnOrder. Read, never written. */
export function readBooks(path: string): OwnOrder[] {
  const rows = path.endsWith('.csv') ? readCsv(path) : readSqlite(path)
  return rows.map((row, index) => toOwnOrder(row, `${path}, order ${index + 1}`))
}

function readSqlite(path: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db.prepare(`select ${COLUMNS.join(', ')} from orders`).all()
  } finally {
    db.close()
  }
}

/** None of these columns ever needs quotes. */
function readCsv(path: string): Record<string, unknown>[] {
  const [head = '', ...lines] = readFileSync(path, 'utf8').trim().split(/\r?\n/)
  const names = head.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, index) => [names[index], value])))
}

/** A row that cannot be parsed must not count as matching. */
function toOwnOrder(row: Record<string, unknown>, where: string): OwnOrder {
  const [idempotency_key = '', order_id = '', status = '', total = '', created_at = ''] = COLUMNS.map(
    (column) => String(row[column] ?? ''),
  )
  const total_cents = Number(total)
  if (!Number.isInteger(total_cents) || total === '')
    throw new Error(`${where}: total_cents is not an amount: ${total}`)
  if (Number.isNaN(Date.parse(created_at)))
    throw new Error(`${where}: created_at is not a time: ${created_at}`)
  return { idempotency_key, order_id, status, total_cents, created_at }
}
