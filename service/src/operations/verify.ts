import { readdir, readFile } from 'node:fs/promises'
import { type Db, type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { CHAIN_RULES, type ChainFindings, type ChainRule, type PublishedDigest } from './seals/check.ts'
import { checkExport } from './seals/export.ts'
import { checkChains } from './seals/read-chains.ts'

/** An invariant of the data. */
export interface Rule {
  readonly id: string
  readonly what: string
  /** A query that finds its violations; undefined for the rules about hash chains, which a query cannot check. */
  readonly text?: string
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
  const queries = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8')
      const [, id] = FILE_NAME.exec(name) ?? []
      const [, what] = /^-- (.+)\n/.exec(text) ?? []
      if (id === undefined || what === undefined) {
        throw new Error(
          `${name} is not a rule: it needs a name such as M01-what-holds.sql, and a first line that states the rule.`,
        )
      }
      return { id, what, text: text.trimEnd().replace(/;$/, '') }
    }),
  )
  return [...queries, ...CHAIN_RULES]
}

/**
 * Checks the data against the rules. All of them read one snapshot, so orders that are placed meanwhile cause no false alarm.
 * Nothing is locked and nothing can be changed.
 */
export function verifyData(
  db: Db,
  rules: readonly Rule[],
  progress: (rule: Rule) => void,
  published: readonly PublishedDigest[] = [],
): Promise<Finding[]> {
  return db.transaction(async (tx) => {
    await tx.run(sql`set transaction isolation level repeatable read, read only`)
    // Enough to group millions of rows in memory; on disk it takes far longer.
    await tx.run(sql`set local work_mem = '64MB'`)
    const findings: Finding[] = []
    // One pass over all rows serves all rules about chains.
    let chains: ChainFindings | undefined
    for (const rule of rules) {
      progress(rule)
      const startedMs = performance.now()
      if (rule.text === undefined) chains ??= await checkChains(tx, published)
      const found = chains && !rule.text ? chainFinding(rule, chains) : await queryFinding(tx, rule)
      findings.push({
        rule: rule.id,
        what: rule.what,
        ...found,
        ms: Math.round(performance.now() - startedMs),
      })
    }
    return findings
  })
}

/** The same for an export, without a database: only the rules about chains. */
export async function verifyExport(
  path: string,
  published: readonly PublishedDigest[] = [],
): Promise<Finding[]> {
  const startedMs = performance.now()
  const found = await checkExport(path, published)
  const ms = Math.round(performance.now() - startedMs)
  return CHAIN_RULES.map((rule) => ({ rule: rule.id, what: rule.what, ...chainFinding(rule, found), ms }))
}

async function queryFinding(tx: Tx, { id, text }: Rule) {
  const rows = await tx.many<{ id: string; violations: number }>({
    name: `rule_${id}`,
    text: `select wrong_id::text as id, count(*) over () as violations from (\n${text}\n) as wrong (wrong_id) order by 1 limit ${IDS_SHOWN}`,
    values: [],
  })
  return { violations: rows[0]?.violations ?? 0, ids: rows.map((row) => row.id) }
}

/** In the order of the chain, so the first finding is where the damage begins. */
function chainFinding({ id }: Rule, found: ChainFindings) {
  const wrong = found[id as ChainRule]
  return { violations: wrong.length, ids: wrong.slice(0, IDS_SHOWN) }
}

/** For the workers' metrics: when all rules were last checked, and with what result. */
export const recordVerifyRun = (db: Queryable, findings: readonly Finding[], nowMs: number) =>
  db.run(sql`
    insert into verify_runs (id, finished_at, rules, violated)
    values (${newId('ver', nowMs)}, ${new Date(nowMs)}, ${findings.length},
            ${findings.filter(({ violations }) => violations > 0).length})`)
