import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import type { Journal } from './journal.ts'

export { type Answered, type Call, Journal, type Limits, type Receipt, type Sent } from './journal.ts'

export interface Violation {
  readonly rule: string
  readonly what: string
  /** Of what is wrong: accounts, orders, events, transfers as account/seq, numbers of calls in the journal. */
  readonly ids: string[]
}

export interface Finding extends Violation {
  readonly ms: number
}

interface Rule {
  readonly id: string
  readonly what: string
  readonly text: string
}

/** The service's own rules, read as files; nothing of the service is imported. */
const DATA_RULES = new URL('../../service/schema/invariants/', import.meta.url)
const JOURNAL_RULES = new URL('./rules/', import.meta.url)
const IDS_MAX = 100
const CALLS_AT_ONCE = 10_000

/** The rules that are violated. With a journal, the login has to be allowed to create temporary tables. */
export async function checkInvariants(databaseUrl: string, journal?: Journal): Promise<Violation[]> {
  return violated(await examine(databaseUrl, journal))
}

/** Every rule with what it found, all in one snapshot of the database. */
export async function examine(databaseUrl: string, journal?: Journal): Promise<Finding[]> {
  const rules = await readRules({ withJournal: journal !== undefined })
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'shopwire-invariants' })
  await client.connect()
  try {
    if (journal) await loadJournal(client, journal)
    await client.query('begin isolation level repeatable read, read only')
    return await examineIn(client, rules)
  } finally {
    await client.end()
  }
}

/** The violated rules about the data as the client's open transaction sees them. */
export async function violationsIn(client: pg.Client): Promise<Violation[]> {
  return violated(await examineIn(client, await readRules({ withJournal: false })))
}

function violated(findings: readonly Finding[]): Violation[] {
  return findings.filter(({ ids }) => ids.length > 0).map(({ rule, what, ids }) => ({ rule, what, ids }))
}

async function examineIn(client: pg.Client, rules: readonly Rule[]): Promise<Finding[]> {
  await client.query(`set local work_mem = '64MB'`)
  const findings: Finding[] = []
  for (const { id: rule, what, text } of rules) {
    const startedMs = performance.now()
    const { rows } = await client.query<{ id: string }>(
      `select wrong_id::text as id from (\n${text}\n) as wrong (wrong_id) limit ${IDS_MAX}`,
    )
    findings.push({ rule, what, ids: rows.map(({ id }) => id), ms: performance.now() - startedMs })
  }
  return findings
}

export async function readRules({ withJournal }: { withJournal: boolean }): Promise<Rule[]> {
  const folders = withJournal ? [DATA_RULES, JOURNAL_RULES] : [DATA_RULES]
  const rules = await Promise.all(folders.map(readFolder))
  return rules.flat()
}

async function readFolder(folder: URL): Promise<Rule[]> {
  const names = (await readdir(folder)).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8')
      const [what = ''] = text.split('\n')
      return {
        id: name.slice(0, name.indexOf('-')),
        what: what.replace(/^-- /, ''),
        text: text.trimEnd().replace(/;$/, ''),
      }
    }),
  )
}

/** Temporary tables of this session: the database itself is not changed. */
async function loadJournal(client: pg.Client, journal: Journal): Promise<void> {
  const { calls, revocations, receipts, secrets, limits } = journal
  await client.query(`
    create temporary table t_calls (
      seq bigint, account_id text, key_id text, method text, path text, nonce text, idempotency_key text,
      request_hash bytea, sent_at timestamptz, received_at timestamptz, status integer, order_id text,
      n_links integer, balance_cents bigint, replayed boolean);
    create temporary table t_revocations (key_id text, returned_at timestamptz);
    create temporary table t_got (
      event_id text, url text, body_hash text, is_genuine boolean, signed_at timestamptz, received_at timestamptz,
      status integer);
    create temporary table t_secrets (seq bigint, account_id text, secret_hash text);
    create temporary table t_limits (requests_max bigint, orders_max bigint)`)
  for (let from = 0; from < calls.length; from += CALLS_AT_ONCE) {
    await insertRows(client, 't_calls', calls.slice(from, from + CALLS_AT_ONCE))
  }
  await insertRows(client, 't_revocations', revocations)
  await insertRows(client, 't_got', receipts)
  await insertRows(client, 't_secrets', secrets)
  await insertRows(client, 't_limits', [{ requests_max: limits.requestsMax, orders_max: limits.ordersMax }])
  await client.query('analyze t_calls, t_revocations, t_got, t_secrets')
}

function insertRows(client: pg.Client, table: string, rows: readonly object[]) {
  return client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
    JSON.stringify(rows),
  ])
}
