import { rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import { csvWriter } from '../csv/write-csv.ts'
import { progressOn } from '../terminal/progress.ts'
import { count, money } from '../terminal/words.ts'
import { orderSource } from './known-order.ts'

/**
 * Every order once, newest first. The file is renamed into place when complete, so a partial export is never mistaken
 * for a full one.
 */
export async function exportOrders(context: Context, { out: path }: { out: string }): Promise<void> {
  const { out } = context
  const source = await orderSource(context)
  const progress = progressOn(out, 'Orders')
  const isFile = path !== '-'
  const scratch = isFile ? join(dirname(path), `.${basename(path)}.${process.pid}.part`) : path
  const file = csvWriter(scratch)
  let rows = 0
  let total_cents = 0
  try {
    await file.row(source.columns)
    for await (const order of source.orders(progress)) {
      await file.row(source.columns.map((column) => order[column]))
      rows++
      if (order.status !== 'cancelled') total_cents += order.total_cents
    }
    await file.end()
    if (isFile) await rename(scratch, path)
  } catch (error) {
    if (isFile) await rm(scratch, { force: true })
    throw error
  } finally {
    progress.end()
  }
  if (!isFile) return
  out.show({ file: path, orders: rows, total_cents, columns: source.columns }, () =>
    [
      `${out.paint.green('✔')} ${count(rows, 'order')}, ${money(total_cents)} without the cancelled ones, in ${path}`,
      `  ${out.paint.dim(`Columns: ${source.columns.join(', ')}`)}`,
    ].join('\n'),
  )
}
