import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findPostgres } from '@shopwire/test-kit/servers'
import type pg from 'pg'

interface Logged {
  /** Bytes of the records themselves. */
  readonly records: number
  /** Bytes of the pages that are in the log whole, because they were changed for the first time since a checkpoint. */
  readonly pages: number
}

export interface WalByRelation extends Logged {
  /** A table with its indexes; `other` is what belongs to none: commits, statistics, catalogues. */
  readonly byTable: ReadonlyMap<string, Logged>
}

/** What the write-ahead log holds between two positions, by table. */
export async function readWal(
  folder: string,
  owner: pg.Client,
  from: string,
  to: string,
): Promise<WalByRelation> {
  const { rows } = await owner.query<{ node: string; name: string }>(
    `select pg_relation_filenode(c.oid)::text as node, coalesce(t.relname, c.relname) as name
       from pg_class c
       left join pg_index i on i.indexrelid = c.oid
       left join pg_class t on t.oid = coalesce(i.indrelid, (select o.oid from pg_class o where o.reltoastrelid = c.oid))
      where c.relnamespace = 'shopwire'::regnamespace
        and c.relkind in ('r', 'i', 't')
        and pg_relation_filenode(c.oid) is not null`,
  )
  const nameOf = new Map(rows.map(({ node, name }) => [node, name]))
  const byTable = new Map<string, { records: number; pages: number }>()
  const total = { records: 0, pages: 0 }
  const dump = spawn(join(findPostgres(), 'pg_waldump'), [
    `--path=${join(folder, 'data', 'pg_wal')}`,
    `--start=${from}`,
    `--end=${to}`,
  ])
  const ended = once(dump, 'close')
  for await (const line of createInterface({ input: dump.stdout })) {
    const [, record, all] = /len \(rec\/tot\):\s*(\d+)\/\s*(\d+)/.exec(line) ?? []
    if (record === undefined) continue
    const [, node = ''] = /rel \d+\/\d+\/(\d+)/.exec(line) ?? []
    const name = nameOf.get(node) ?? 'other'
    const pages = line.includes('FPW') ? Number(all) - Number(record) : 0
    const records = Number(all) - pages
    const logged = byTable.get(name) ?? { records: 0, pages: 0 }
    byTable.set(name, { records: logged.records + records, pages: logged.pages + pages })
    total.records += records
    total.pages += pages
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`pg_waldump ended with ${code}: ${String(dump.stderr.read() ?? '')}`)
  return { ...total, byTable }
}
