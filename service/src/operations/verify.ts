import { readdir, readFile } from 'node:fs/promises'
import { type Db, type Queryable, sql } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'

/** An invariant of the data, as a query that finds its violations. */
export interface Rule {
  readonly id: string
  readonly what: string
  readonly text: string
}

export interface Finding {
  readonly rule: string
  readonly what: string
  readonly violations: number
  /** Ids of the first few violations. Never a link. */
  readonly ids: readonly string[]
  readonly ms: number
}

const FILE_NAME = /^([A-Z]\d\d)-[a-z0-9-]+\.sql$/
const IDS_SHOWN = 5

export async function readRules(folder: URL): Promise<Rule[]> {
  const names = (await readdir(folder)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8')
      const [, id] = FILE_NAME.exec(name) ?? []
      const [, what] = /^-- (.+)\n/.exec(text) ?? []
      if (id === undefined || what === undefined) {
        throw new Error(
          `${name} is no rule: a name such as M01-what-holds.sql, and a first line that says it.`,
        )
      }
      return { id, what, text: text.trimEnd().replace(/;$/, '') }
    }),
  )
}

/**
 * Checks the data against the rules. All of them read one snapshot, so orders that are placed meanwhile cause no false alarm. Nothing is
 * locked and nothing can be changed.
 */
export function verifyData(
  db: Db,
  rules: readonly Rule[],
  progress: (rule: Rule) => void,
): Promise<Finding[]> {
  return db.transaction(async (tx) => {
    await tx.run(sql`set transaction isolation level repeatable read, read only`)
    // Enough to group millions of rows in memory; on disk it takes far longer.
    await tx.run(sql`set local work_mem = '64MB'`)
    const findings: Finding[] = []
    for (const rule of rules) {
      progress(rule)
      const startedMs = performance.now()
      const rows = await tx.many<{ id: string; violations: number }>({
        name: `rule_${rule.id}`,
        text: `select wrong_id::text as id, count(*) over () as violations from (\n${rule.text}\n) as wrong (wrong_id) order by 1 limit ${IDS_SHOWN}`,
        values: [],
      })
      findings.push({
        rule: rule.id,
        what: rule.what,
        violations: rows[0]?.violations ?? 0,
        ids: rows.map(({ id }) => id),
        ms: Math.round(performance.now() - startedMs),
      })
    }
    return findings
  })
}

/** For the metrics of workers: when all rules were last checked, and what came of it. */
export const recordVerifyRun = (db: Queryable, findings: readonly Finding[], nowMs: number) =>
  db.run(sql`
    insert into verify_runs (id, finished_at, rules, violated)
    values (${newId('ver', nowMs)}, ${new Date(nowMs)}, ${findings.length},
            ${findings.filter(({ violations }) => violations > 0).length})`)
