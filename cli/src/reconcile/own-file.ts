import type { CsvRow } from '@shopwire/contract/csv'
import { readCsv } from '../csv/read-csv.ts'
import { UsageError } from '../trouble.ts'

/** A row of the caller's own file. */
export interface OwnOrder {
  readonly line: number
  readonly order_id: string | undefined
  readonly idempotency_key: string | undefined
  readonly total_cents: number | undefined
  readonly status: string | undefined
  readonly created_at: string | undefined
}

export interface OwnFile {
  readonly orders: readonly OwnOrder[]
  readonly hasIds: boolean
  readonly hasKeys: boolean
  readonly hasStatus: boolean
}

/** Common names of our columns in other people's files. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  order_id: ['order_id', 'id', 'shopwire_order_id', 'order'],
  idempotency_key: ['idempotency_key', 'key', 'idempotencykey'],
  total_cents: ['total_cents', 'amount_cents', 'amount', 'total', 'cents'],
  status: ['status', 'state'],
  created_at: ['created_at', 'created', 'date'],
}

export interface OwnFileOptions {
  /** Our column → theirs. */
  readonly map: ReadonlyMap<string, string>
  /** Their word → our status. */
  readonly statusMap: ReadonlyMap<string, string>
  readonly amounts: 'cents' | 'dollars'
}

export async function readOwnFile(path: string, options: OwnFileOptions): Promise<OwnFile> {
  const orders: OwnOrder[] = []
  let columns: Columns | undefined
  for await (const row of readCsv(path)) {
    if (columns) orders.push(readOrder(path, row, columns, options))
    else columns = findColumns(path, row.cells, options.map)
  }
  if (!columns) throw new UsageError(`${path} is empty.`, 'Its first line names the columns.')
  const has = (name: string) => columns?.has(name) === true
  return { orders, hasIds: has('order_id'), hasKeys: has('idempotency_key'), hasStatus: has('status') }
}

export type Columns = ReadonlyMap<string, number>

function findColumns(path: string, header: readonly string[], map: ReadonlyMap<string, string>): Columns {
  const names = header.map((name) => name.trim().toLowerCase())
  const found = new Map<string, number>()
  for (const [ours, others] of Object.entries(SYNONYMS)) {
    const mapped = map.get(ours)
    const at = mapped === undefined ? firstOf(names, others) : names.indexOf(mapped.trim().toLowerCase())
    if (mapped !== undefined && at === -1) {
      throw new UsageError(
        `${path} has no column ${JSON.stringify(mapped)}.`,
        `It has: ${header.join(', ')}.`,
      )
    }
    if (at === -1) continue
    requireOnce(path, names, at)
    found.set(ours, at)
  }
  if (!found.has('order_id') && !found.has('idempotency_key')) {
    throw new UsageError(
      `${path} has neither a column order_id nor idempotency_key.`,
      `It has: ${header.join(', ')}. Name the right one with --map order_id=COLUMN.`,
    )
  }
  return found
}

/** Which of two columns is meant, nobody can say. */
export function requireOnce(path: string, names: readonly string[], at: number): void {
  const name = names[at] ?? ''
  if (names.indexOf(name, at + 1) === -1) return
  throw new UsageError(
    `${path} has the column ${JSON.stringify(name)} twice.`,
    'Rename or remove one of the two.',
  )
}

function firstOf(names: readonly string[], wanted: readonly string[]): number {
  for (const name of wanted) if (names.includes(name)) return names.indexOf(name)
  return -1
}

function readOrder(
  path: string,
  { line, cells }: CsvRow,
  columns: Columns,
  options: OwnFileOptions,
): OwnOrder {
  const cell = (name: string) => cells[columns.get(name) ?? -1]?.trim() || undefined
  const order_id = cell('order_id')
  const idempotency_key = cell('idempotency_key')
  const status = cell('status')?.toLowerCase()
  return {
    line,
    order_id,
    idempotency_key,
    total_cents: readAmount(path, line, cell('total_cents'), options.amounts),
    status: status && (options.statusMap.get(status) ?? STATUS_WORDS.get(status) ?? status),
    created_at: cell('created_at'),
  }
}

const STATUS_WORDS = new Map([
  ['canceled', 'cancelled'],
  ['refunded', 'cancelled'],
])

function readAmount(
  path: string,
  line: number,
  text: string | undefined,
  amounts: 'cents' | 'dollars',
): number | undefined {
  if (text === undefined) return undefined
  const form = amounts === 'cents' ? /^\d{1,12}$/ : /^\$?(\d{1,10})(?:\.(\d{1,2}))?$/
  const match = form.exec(text)
  if (!match) {
    throw new UsageError(
      `${path}, line ${line}: ${JSON.stringify(text)} is not an amount in ${amounts}.`,
      amounts === 'cents'
        ? 'Whole cents are expected, such as 499. For 4.99 add --amounts dollars.'
        : 'Write it as 4.99.',
    )
  }
  return amounts === 'cents' ? Number(text) : Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'))
}
