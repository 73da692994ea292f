import { type Db, sql, statement } from '../database/db.ts'
import { Unavailable } from '../trouble.ts'
import {
  KekNotObtained,
  type Keyring,
  type RowBinding,
  type Sealed,
  WrongEncryptionKey,
} from './encryption.ts'

/** A column of sealed values: `<column>_sealed` and `<column>_kek_id`, in rows identified by their key columns. */
export interface SealedColumn {
  readonly table: string
  /** They begin with the columns of the primary key, in whose order the table is read. */
  readonly keys: readonly string[]
  readonly column: string
  bindingOf(row: Readonly<Record<string, unknown>>): RowBinding
}

/** A row whose value cannot be opened: damaged, or sealed under a key that is not configured. Never contains the value. */
export interface UnopenedRow {
  readonly table: string
  readonly keys: Readonly<Record<string, unknown>>
  readonly kek_id: string
}

export interface ReEncryptReport {
  onProgress?(table: string, reEncrypted: number): void
  onUnopened(row: UnopenedRow): void
}

/** Rows read at a time, including those already done: each statement stays short however much of a large table is done. */
const WINDOW = 500
/** Values that were changed or locked while their window was processed are left for the next pass. */
const PASSES_MAX = 10

type Row = Record<string, unknown>

/**
 * Gives every value of a column that is not under the active encryption key a new data key under it and encrypts the value anew,
 * while the service runs. No row is locked while its value is encrypted: a row is written only if it still has the value that was
 * read and no one else has it locked. Finished rows stay done when the process ends, and the next run continues. A value that
 * cannot be opened is reported and left unchanged. Returns how many were re-encrypted.
 */
export async function reEncryptColumn(
  db: Db,
  keyring: Keyring,
  column: SealedColumn,
  report: ReEncryptReport,
): Promise<number> {
  const statements = await statementsOf(db, column)
  let reEncrypted = 0
  for (let pass = 1; pass <= PASSES_MAX; pass += 1) {
    let missed = 0
    for (let last: Row | undefined; ; ) {
      const rows = await db.many<Row>(statements.select(keyring.activeKekId, last))
      const renewed: Renewed[] = []
      for (const row of rows) {
        if (!(row.sealed instanceof Buffer)) continue
        const value = await renew(keyring, row.sealed, column.bindingOf(row))
        if (value) renewed.push({ row, old: row.sealed, value })
        else if (pass === 1) report.onUnopened(unopened(column, row))
      }
      const written = renewed.length === 0 ? 0 : await db.run(statements.update(renewed))
      reEncrypted += written
      missed += renewed.length - written
      if (written > 0) report.onProgress?.(column.table, reEncrypted)
      last = rows.at(-1)
      if (rows.length < WINDOW) break
    }
    if (missed === 0) break
  }
  return reEncrypted
}

interface Renewed {
  readonly row: Row
  readonly old: Buffer
  readonly value: Sealed
}

async function statementsOf(db: Db, { table, keys, column }: SealedColumn) {
  const [sealed, kek_id] = [`${column}_sealed`, `${column}_kek_id`]
  const columns = keys.join(', ')
  const types = await keyTypes(db, table, keys)
  const arrays = types.map((type, n) => `$${n + 1}::${type}[]`).join(', ')
  const at = keys.length
  const those = (alias: string) => keys.map((key) => `${alias}.${key}`).join(', ')
  const updateText =
    `with renewed (${columns}, old, new, kek_id) as (` +
    `select ${columns}, old, new, kek_id ` +
    `from unnest(${arrays}, $${at + 1}::bytea[], $${at + 2}::bytea[], $${at + 3}::text[]) as r (${columns}, old, new, kek_id)), ` +
    // In one fixed order and without waiting, so it is never part of a deadlock.
    `held as (select ${those('t')}, r.new, r.kek_id from ${table} t join renewed r on (${those('t')}) = (${those('r')}) ` +
    `where t.${sealed} = r.old order by ${those('t')} for no key update of t skip locked) ` +
    `update ${table} t set ${sealed} = h.new, ${kek_id} = h.kek_id from held h where (${those('t')}) = (${those('h')})`
  return {
    select(activeId: string, last: Row | undefined) {
      const places = keys.map((_, n) => `$${n + 2}`).join(', ')
      const text =
        `select ${columns}, ${kek_id} as kek_id, case when ${kek_id} <> $1 then ${sealed} end as sealed from ${table} ` +
        `${last ? `where (${columns}) > (${places}) ` : ''}order by ${columns} limit ${WINDOW}`
      return statement(text, [activeId, ...(last ? keys.map((key) => last[key]) : [])])
    },
    update: (renewed: readonly Renewed[]) =>
      statement(updateText, [
        ...keys.map((key) => renewed.map(({ row }) => row[key])),
        renewed.map(({ old }) => old),
        renewed.map(({ value }) => value.bytes),
        renewed.map(({ value }) => value.kek_id),
      ]),
  }
}

async function keyTypes(db: Db, table: string, keys: readonly string[]): Promise<string[]> {
  const rows = await db.many<{ name: string; type: string }>(sql`
    select attname as name, format_type(atttypid, null) as type
      from pg_attribute
     where attrelid = ${table}::regclass
       and attname = any(${[...keys]})`)
  return keys.map((key) => rows.find(({ name }) => name === key)?.type ?? 'text')
}

async function renew(keyring: Keyring, value: Buffer, binding: RowBinding): Promise<Sealed | undefined> {
  try {
    return await keyring.seal(await keyring.open(value, binding), binding)
  } catch (error) {
    // The error is about the keys or the database, and does not mean that the row is damaged.
    const isOfKeys = error instanceof KekNotObtained || error instanceof WrongEncryptionKey
    if (error instanceof Unavailable || isOfKeys) throw error
    return undefined
  }
}

function unopened({ table, keys }: SealedColumn, row: Row): UnopenedRow {
  return { table, keys: Object.fromEntries(keys.map((key) => [key, row[key]])), kek_id: String(row.kek_id) }
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
