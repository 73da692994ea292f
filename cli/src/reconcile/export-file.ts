import { stat } from 'node:fs/promises'
import { readCsv } from '../csv/read-csv.ts'
import type { KnownOrder } from '../orders/known-order.ts'
import { UsageError } from '../trouble.ts'
import { requireOnce } from './own-file.ts'

const REQUIRED = ['status', 'total_cents', 'created_at'] as const

export interface ExportFile {
  /** When the export was written. */
  readonly asOfMs: number
  orders(): AsyncIterable<KnownOrder>
}

/** An export of `orders export` or of the store: columns by name, in any order; unknown columns are ignored. */
export async function openExport(path: string): Promise<ExportFile> {
  const { mtimeMs } = await stat(path)
  return { asOfMs: mtimeMs, orders: () => readExport(path) }
}

async function* readExport(path: string): AsyncGenerator<KnownOrder, void, undefined> {
  let columns: Map<string, number> | undefined
  for await (const { line, cells } of readCsv(path)) {
    if (!columns) {
      columns = headerOf(path, cells)
      continue
    }
    const at = columns
    const cell = (name: string) => cells[at.get(name) ?? -1]
    const id = cell('id')
    const total = cell('total_cents') ?? ''
    if (!id || !/^\d{1,12}$/.test(total)) {
      throw new UsageError(
        `${path}, line ${line}: this is not an exported order.`,
        'The file may have been changed after the export; export it again.',
      )
    }
    yield {
      id,
      status: cell('status') ?? '',
      total_cents: Number(total),
      currency: cell('currency') ?? 'USD',
      created_at: cell('created_at') ?? '',
      idempotency_key: cell('idempotency_key') || undefined,
      delivered_at: at.has('delivered_at') ? cell('delivered_at') || null : undefined,
      refunded_at: at.has('refunded_at') ? cell('refunded_at') || null : undefined,
    }
  }
}

function headerOf(path: string, cells: readonly string[]): Map<string, number> {
  const names = cells.map((name) => name.trim().toLowerCase())
  for (const at of names.keys()) requireOnce(path, names, at)
  const columns = new Map(names.map((name, at) => [name, at]))
  const id = columns.get('id') ?? columns.get('order_id')
  const missing = REQUIRED.filter((name) => !columns.has(name))
  if (id === undefined || missing.length > 0) {
    throw new UsageError(
      `${path} is not an export of orders: it lacks ${[id === undefined ? 'id' : '', ...missing].filter(Boolean).join(', ')}.`,
      'Make one with `shopwire orders export --out FILE`.',
    )
  }
  return columns.set('id', id)
}
