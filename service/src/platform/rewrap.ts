import { type Db, statement } from './db.ts'
import type { Keyring, RowBinding } from './encryption.ts'

/** A column of sealed values: `<column>_sealed` beside `<column>_kek_id`, in rows known by their keys. */
export interface SealedColumn {
  readonly table: string
  readonly keys: readonly string[]
  readonly column: string
  bindingOf(row: Readonly<Record<string, unknown>>): RowBinding
}

const BATCH = 200

/** Brings every value of a column under the active encryption key, in small transactions beside running traffic. */
export async function rewrapColumn(
  db: Db,
  keyring: Keyring,
  { table, keys, column, bindingOf }: SealedColumn,
  progress?: (done: number) => void,
): Promise<number> {
  const [sealed, kek_id] = [`${column}_sealed`, `${column}_kek_id`]
  const columns = keys.join(', ')
  const places = (from: number) => keys.map((_, n) => `$${n + from}`).join(', ')
  // Goes through the table once, by its key: what is already moved is not looked for again in every batch.
  const select = (isFirst: boolean) =>
    `select ${columns}, ${sealed} from ${table} where ${kek_id} <> $1 ` +
    `${isFirst ? '' : `and (${columns}) > (${places(2)}) `}order by ${columns} limit ${BATCH} for update`
  const update = `update ${table} set ${sealed} = $1, ${kek_id} = $2 where (${columns}) = (${places(3)})`
  const keysOf = (row: Record<string, unknown>) => keys.map((key) => row[key])
  let last: unknown[] = []
  for (let done = 0; ; ) {
    const rows = await db.transaction(async (tx) => {
      const batch = await tx.many<Record<string, unknown>>(
        statement(select(last.length === 0), [keyring.activeKekId, ...last]),
      )
      for (const row of batch) {
        const moved = await keyring.rewrap(row[sealed] as Buffer, bindingOf(row))
        await tx.run(statement(update, [moved.bytes, moved.kek_id, ...keysOf(row)]))
      }
      return batch
    })
    if (rows.length === 0) return done
    last = keysOf(rows.at(-1) as Record<string, unknown>)
    done += rows.length
    progress?.(done)
  }
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
