import type pg from 'pg'

/** Per order; all but `heap_only`, which is a share of all updates. */
export interface Footprint {
  /** Write-ahead log without full pages. */
  readonly wal_bytes: number
  readonly wal_full_bytes: number
  readonly wal_compressed_bytes: number
  /** Of tables whose rows are never deleted, with their indexes. */
  readonly kept_bytes: number
  /** Of tables whose rows are deleted after a time. */
  readonly retained_bytes: number
  readonly heap_only: number
  /** Pages that statements looked at. */
  readonly buffers: number
}

/** What PostgreSQL says about itself at one moment. */
export interface Look {
  readonly lsn: string
  readonly buffers: number
  readonly tables: ReadonlyMap<string, TableSize>
}

export interface TableSize {
  /** Heap, indexes and what is stored beside the heap. */
  readonly bytes: number
  readonly updates: number
  readonly heapOnly: number
}

export async function lookAt(owner: pg.Client): Promise<Look> {
  // Sessions report their counts when they have been idle for a while, or end.
  await owner.query('select pg_stat_force_next_flush(), pg_stat_clear_snapshot()')
  const { rows: tables } = await owner.query<{
    name: string
    bytes: string
    updates: string
    heap_only: string
  }>(
    `select relname as name, pg_total_relation_size(relid) as bytes, n_tup_upd as updates, n_tup_hot_upd as heap_only
       from pg_stat_user_tables`,
  )
  const { rows } = await owner.query<{ lsn: string; buffers: string }>(
    `select pg_current_wal_insert_lsn() as lsn, blks_hit + blks_read as buffers
       from pg_stat_database
      where datname = current_database()`,
  )
  return {
    lsn: rows[0]?.lsn ?? '',
    buffers: Number(rows[0]?.buffers),
    tables: new Map(
      tables.map(({ name, bytes, updates, heap_only }) => [
        name,
        { bytes: Number(bytes), updates: Number(updates), heapOnly: Number(heap_only) },
      ]),
    ),
  }
}

export function sizesBetween(before: Look, after: Look): Map<string, TableSize> {
  return new Map(
    [...after.tables].map(([name, { bytes, updates, heapOnly }]) => {
      const was = before.tables.get(name)
      return [
        name,
        {
          bytes: bytes - (was?.bytes ?? 0),
          updates: updates - (was?.updates ?? 0),
          heapOnly: heapOnly - (was?.heapOnly ?? 0),
        },
      ]
    }),
  )
}
