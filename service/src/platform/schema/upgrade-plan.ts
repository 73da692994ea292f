import type pg from 'pg'
import type { Migration, SqlFunction } from './schema-files.ts'
import {
  blockedBy,
  type Effect,
  effectsOf,
  isStronger,
  type Known,
  type LockMode,
  type Work,
} from './statement-effects.ts'

export interface PlannedMigration {
  readonly name: string
  readonly description: string
  /** What its header says about programs of the release before. */
  readonly notes: readonly string[]
  readonly compatible_with: number
  /** False: programs start without it, so it may run after they have started. */
  readonly is_needed: boolean
  readonly steps: readonly PlannedStep[]
  readonly seconds: number
}

export interface PlannedFunctions {
  readonly replaced: readonly string[]
  readonly steps: readonly PlannedStep[]
  readonly seconds: number
}

/** One table that exists before the step: the strongest lock on it, and the work done under it. */
export interface PlannedStep {
  readonly table: string
  readonly lock: LockMode
  readonly blocks: ReturnType<typeof blockedBy>
  readonly work: readonly Work[]
  /** By the last ANALYZE or VACUUM; null when there was none. */
  readonly rows: number | null
  readonly bytes: number
  readonly seconds: number
}

export interface Tables extends Known {
  readonly sizes: ReadonlyMap<string, TableSize>
}

interface TableSize {
  readonly rows: number | null
  readonly bytes: number
}

/** How estimates are made. Low on purpose: the small disks of cloud providers are faster. */
export const RATES = {
  scan_mb_per_s: 50,
  index_mb_per_s: 10,
  rewrite_mb_per_s: 10,
  changed_rows_per_s: 5_000,
  seconds_per_file: 1,
} as const
/** An index is smaller than its table; sorting may write as much again, and so does the WAL. The same holds for a rewritten table. */
const DISK_PER_BYTE = 3
const BYTES_PER_MB = 1_000_000
/** Of a row, for tables that were never analysed. */
const ROW_BYTES_MIN = 50

export async function readTables(client: pg.Client): Promise<Tables> {
  const tables = await client.query<{ name: string; rows: string; bytes: string }>(
    `select c.relname as name, c.reltuples::bigint as rows, pg_table_size(c.oid) as bytes
       from pg_class c
      where c.relnamespace = to_regnamespace('shopwire') and c.relkind in ('r', 'p')`,
  )
  const indexes = await client.query<{ name: string; table: string }>(
    `select i.relname as name, t.relname as table
       from pg_index x
       join pg_class i on i.oid = x.indexrelid
       join pg_class t on t.oid = x.indrelid
      where t.relnamespace = to_regnamespace('shopwire')`,
  )
  return {
    tables: new Set(tables.rows.map(({ name }) => name)),
    tableOfIndex: new Map(indexes.rows.map(({ name, table }) => [name, table])),
    sizes: new Map(
      tables.rows.map(({ name, rows, bytes }) => [
        name,
        { rows: Number(rows) < 0 ? null : Number(rows), bytes: Number(bytes) },
      ]),
    ),
  }
}

/** Tables that an earlier pending file makes are empty, so only those that exist now count. */
export function planMigration(file: Migration, tables: Tables): PlannedMigration {
  const steps = stepsOf(effectsOf(file.text, tables), tables)
  const sentences = headOf(file.text)
  return {
    name: file.name,
    description: sentences[0] ?? '',
    notes: sentences.slice(1).filter((one) => /\b(release before|of before|older)\b/i.test(one)),
    compatible_with: file.compatible_with,
    is_needed: file.isNeeded,
    steps,
    seconds: RATES.seconds_per_file + sum(steps.map(({ seconds }) => seconds)),
  }
}

export function planFunctions(replaced: readonly SqlFunction[], tables: Tables): PlannedFunctions {
  return {
    replaced: replaced.map(({ path }) => path),
    steps: stepsOf(
      replaced.flatMap(({ text }) => effectsOf(text, tables)),
      tables,
    ),
    seconds: replaced.length > 0 ? RATES.seconds_per_file : 0,
  }
}

/** How long requests wait for the file: it holds all its locks until it ends. */
export function pauseOf({ steps, seconds }: PlannedMigration): number {
  const isLong = seconds > RATES.seconds_per_file
  return isLong && steps.some(({ blocks }) => blocks !== 'nothing') ? seconds : 0
}

export function diskFor(steps: readonly PlannedStep[]): number {
  const building = steps.filter(({ work }) =>
    work.some((one) => ['index', 'rewrite', 'unknown'].includes(one)),
  )
  return sum(building.map(({ bytes }) => bytes * DISK_PER_BYTE))
}

function stepsOf(effects: readonly Effect[], { sizes }: Tables): PlannedStep[] {
  const byTable = Map.groupBy(effects, ({ table }) => table)
  return [...byTable].map(([table, ofTable]) => {
    const lock = ofTable.reduce<LockMode>(
      (strongest, one) => (isStronger(one.lock, strongest) ? one.lock : strongest),
      'ACCESS SHARE',
    )
    const work = ofTable.map((one) => one.work).filter((one) => one !== 'none')
    const size = sizes.get(table) ?? { rows: null, bytes: 0 }
    const seconds = Math.round(sum(work.map((one) => secondsFor(one, size))))
    return { table, lock, blocks: blockedBy(lock), work, ...size, seconds }
  })
}

function secondsFor(work: Work, { rows, bytes }: TableSize): number {
  const mb = bytes / BYTES_PER_MB
  switch (work) {
    case 'none':
      return 0
    case 'scan':
      return mb / RATES.scan_mb_per_s
    case 'index':
      // An index built concurrently reads the table a second time.
      return mb / RATES.index_mb_per_s + mb / RATES.scan_mb_per_s
    case 'rows':
      return (rows ?? bytes / ROW_BYTES_MIN) / RATES.changed_rows_per_s
    case 'rewrite':
    case 'unknown':
      return mb / RATES.rewrite_mb_per_s
  }
}

/** The comment at the top, by sentences, without the lines for the runner. */
function headOf(text: string): string[] {
  const lines = text.split('\n')
  const from = lines.findIndex((line) => !/^-- (migrate|compatible-with|needed): /.test(line))
  const to = lines.findIndex((line, n) => n >= from && !line.startsWith('--'))
  const comment = lines.slice(from, to < 0 ? undefined : to).map((line) => line.replace(/^--\s?/, ''))
  return comment
    .join(' ')
    .split(/(?<=[.:])\s+(?=[A-Z])/)
    .filter((sentence) => sentence !== '')
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
