import { type Db, statement } from './db.ts'
import { KekNotObtained, type Keyring, type RowBinding, WrongEncryptionKey } from './encryption.ts'
import { Unavailable } from './trouble.ts'

/** A column of sealed values: `<column>_sealed` and `<column>_kek_id`, in rows identified by their key columns. */
export interface SealedColumn {
  readonly table: string
  readonly keys: readonly string[]
  readonly column: string
  bindingOf(row: Readonly<Record<string, unknown>>): RowBinding
}

/** A row whose value does not open: damaged, or sealed under a key that is not configured. Never contains the value. */
export interface UnopenedRow {
  readonly table: string
  readonly keys: Readonly<Record<string, unknown>>
  readonly kek_id: string
}

export interface RewrapReport {
  onProgress?(rewrapped: number): void
  onUnopened(row: UnopenedRow): void
}

const BATCH = 200

/**
 * Rewraps every value of a column under the active encryption key, in small transactions while the service runs. A value that
 * does not open is reported and left unchanged; the rest is still rewrapped. Returns how many were rewrapped.
 */
export async function rewrapColumn(
  db: Db,
  keyring: Keyring,
  { table, keys, column, bindingOf }: SealedColumn,
  report: RewrapReport,
): Promise<number> {
  const [sealed, kek_id] = [`${column}_sealed`, `${column}_kek_id`]
  const columns = keys.join(', ')
  const places = (from: number) => keys.map((_, n) => `$${n + from}`).join(', ')
  // Walks the table once in key order, so that later batches do not scan rows that are done.
  const select = (isFirst: boolean) =>
    `select ${columns}, ${sealed}, ${kek_id} from ${table} where ${kek_id} <> $1 ` +
    `${isFirst ? '' : `and (${columns}) > (${places(2)}) `}order by ${columns} limit ${BATCH} for update`
  const update = `update ${table} set ${sealed} = $1, ${kek_id} = $2 where (${columns}) = (${places(3)})`
  const keysOf = (row: Record<string, unknown>) => keys.map((key) => row[key])
  let last: unknown[] = []
  for (let done = 0; ; ) {
    const { rows, unopened } = await db.transaction(async (tx) => {
      const rows = await tx.many<Record<string, unknown>>(
        statement(select(last.length === 0), [keyring.activeKekId, ...last]),
      )
      const unopened: UnopenedRow[] = []
      for (const row of rows) {
        const moved = await rewrapOrNothing(keyring, row[sealed] as Buffer, bindingOf(row))
        if (moved) await tx.run(statement(update, [moved.bytes, moved.kek_id, ...keysOf(row)]))
        else unopened.push({ table, keys: pick(row, keys), kek_id: String(row[kek_id]) })
      }
      return { rows, unopened }
    })
    if (rows.length === 0) return done
    for (const row of unopened) report.onUnopened(row)
    last = keysOf(rows.at(-1) as Record<string, unknown>)
    done += rows.length - unopened.length
    report.onProgress?.(done)
  }
}

async function rewrapOrNothing(keyring: Keyring, value: Buffer, binding: RowBinding) {
  try {
    return await keyring.rewrap(value, binding)
  } catch (error) {
    // The key provider did not answer, which does not mean that the row is damaged.
    const isOfKeys = error instanceof KekNotObtained || error instanceof WrongEncryptionKey
    if (error instanceof Unavailable || isOfKeys) throw error
    return undefined
  }
}

function pick(row: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, row[key]]))
}

export async function countByKek(
  db: Db,
  columns: readonly SealedColumn[],
): Promise<{ kek_id: string; secrets: number }[]> {
  const each = columns.map(
    ({ table, column }) =>
      `select ${column}_kek_id as kek_id from ${table} where ${column}_kek_id is not null`,
  )
  const text = `select kek_id, count(*) as secrets from (${each.join(' union all ')}) all_values group by kek_id order by kek_id`
  return db.many(statement(text, []))
}
