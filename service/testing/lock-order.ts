import {
  type Db,
  type Queryable,
  type Statement,
  sql,
  statement,
  type Tx,
} from '../src/platform/database/db.ts'
import type { TestDatabase } from './database.ts'

/**
 * The order in which transactions lock rows, table by table. After a row of a later table a transaction locks no new row of an earlier
 * one, so no two of them can wait for each other. Where a statement locks several rows of a table, the comments say in which order. A
 * table that is only ever locked by single statements has its place too, for the next statement that locks it. Inserting a row under a
 * new id is not a lock: nobody can wait for it.
 *
 * Two rules follow:
 * - An event is recorded after all work on pools. `record_event` holds the account's endpoint until the commit, workers record attempts
 *   for many endpoints at once, and no account may wait for the stock of another.
 * - A transaction changes jobs in its last statements, several of one queue in one statement that locks them in order
 *   (src/orders/fulfilment/waiting.ts). Before that it may read a job, not lock it: `assertLease` says why that is enough.
 *
 * service/test/lock-order.test.ts runs every operation and fails for a lock out of order, and for a locking statement that did not run.
 */
export const LOCK_ORDER = [
  // A failover lost them: recorded before anything else that a comparison with the journal does.
  'lost_orders',
  // Money and the order. `payment_events`: all of one payment at once, by id.
  'payment_events',
  'top_ups',
  'refund_rule',
  'balances',
  'funding_references',
  'orders',
  'top_up_reversals',
  'payment_reviews',
  'link_retention',
  'order_links',
  'links_kept_longer',
  'supplier_requests',
  // Supply. `item_supply`: all items at once, by id; `link_fingerprints` and `lost_links` by hash.
  'item_supply',
  'link_fingerprints',
  'lost_links',
  'pool_links',
  'restocked_items',
  'suppliers',
  'supplier_spending',
  'supplier_transfers',
  // The catalogue.
  'catalogue_state',
  'items',
  // Settings, one statement at a time.
  'store_state',
  'store_windows',
  'own_keys',
  'encryption_key_checks',
  'clock_records',
  'removals',
  'database_identity',
  'payment_reconciliations',
  'store_position',
  'api_keys',
  'personal_tokens',
  'operator_tokens',
  'balance_alerts',
  'alert_addresses',
  'worker_heartbeats',
  'status_periods',
  // Webhooks. `webhook_endpoints` by account and id.
  'catalogue_announcement',
  'accounts',
  'webhook_endpoints',
  'webhook_secrets',
  // Events. `events` by account and id.
  'event_retention',
  'events',
  'delivery_attempts',
  'deliveries',
  // Evidence, one statement at a time; then progress and counts.
  'evidence_retention',
  'order_attempts',
  'link_reads',
  'order_answers',
  'key_usage',
  'key_last_uses',
  'account_days_progress',
  'order_backlog',
  // Waiting orders and jobs. `waiting_lines` of one order or of one item, oldest first. `jobs` by queue, account and subject, so those
  // that deliver events come before those that fulfil orders. Nobody waits for `unassigned_units`.
  'waiting_lines',
  'jobs',
  'unassigned_units',
  // People. `sign_in_attempts` by hash; `memberships`: the owners of an account at once, by person; `mail_choices` by person.
  'people',
  'credentials',
  'one_time_values',
  'authenticator_apps',
  'passkeys',
  'sign_in_attempts',
  'operator_invitations',
  'invitations',
  'memberships',
  'mail_choices',
  'saved_views',
  'sessions',
  // Mail, seals, and the rows of an account that is erased.
  'outgoing_mail',
  'seal_progress',
  'audit_log',
  'seal_commitments',
  'seal_waiting',
] as const

export interface LockRecorder {
  /** Runs everything on the database given, each process with its login, and records locks. */
  readonly database: TestDatabase
  /** Locks out of order, described; a table that is not in the list counts. */
  readonly violations: string[]
  /** The text of every statement that ran. */
  readonly ran: Set<string>
}

/**
 * Records which tables each transaction locks, in which order. A table may be locked again later only in rows that the transaction
 * already holds. What a database function locks is read from its source.
 */
export async function recordLocks(database: TestDatabase): Promise<LockRecorder> {
  const functions = await readFunctions(database.owner)
  await database.asOwner(ROWS_HELD)
  const violations: string[] = []
  const ran = new Set<string>()

  /** `held` returns how many rows of a table the transaction has locked or written; only inside one. */
  function watched(inner: Queryable, held?: (table: string) => Promise<number>): Queryable {
    let [last, lastTable] = [-1, '']
    async function around<Result>(of: Statement, run: () => Promise<Result>): Promise<Result> {
      ran.add(of.text)
      const again = new Set<string>()
      if (!held) [last, lastTable] = [-1, '']
      const tables = tablesLockedBy(of.text, functions)
      for (const [n, table] of tables.entries()) {
        if (tables.indexOf(table) < n) continue
        const place = (LOCK_ORDER as readonly string[]).indexOf(table)
        if (place === -1) violations.push(`${table} has no place in the list, and is locked by: ${of.text}`)
        else if (place >= last) [last, lastTable] = [place, table]
        else if (held) again.add(table)
        else violations.push(`${table} after ${lastTable} by: ${of.text}`)
      }
      const before = await Promise.all([...again].map(async (table) => [table, await held?.(table)] as const))
      const result = await run()
      for (const [table, rows] of before)
        if (((await held?.(table)) ?? 0) > (rows ?? 0))
          violations.push(`more rows of ${table} after ${lastTable} by: ${of.text}`)
      return result
    }
    return {
      many: (of) => around(of, () => inner.many(of)),
      one: (of) => around(of, () => inner.one(of)),
      maybeOne: (of) => around(of, () => inner.maybeOne(of)),
      run: (of) => around(of, () => inner.run(of)),
    }
  }

  const recorded = (db: Db): Db => ({
    ...db,
    ...watched(db),
    commit: (of) => watched({ ...db, one: db.commit }).one(of),
    transaction: (work) =>
      db.transaction((tx) => work({ ...watched(tx, (table) => rowsHeld(tx, table)), inTransaction: true })),
  })
  const { api, worker, operator, dashboard } = database
  return {
    violations,
    ran,
    database: {
      ...database,
      api: recorded(api),
      worker: recorded(worker),
      operator: recorded(operator),
      dashboard: recorded(dashboard),
    },
  }
}

/** Tables whose rows a statement locks, in the order of its text. */
export function tablesLockedBy(text: string, functions: ReadonlyMap<string, string> = new Map()): string[] {
  const words: string[] =
    text
      .replace(/--.*$/gm, '')
      .toLowerCase()
      .match(/[a-z_]+|[();]/g) ?? []
  const isNamed = (n: number) => words[n + 1] === 'as' && ['(', 'materialized'].includes(words[n + 2] ?? '')
  const named = new Set(words.filter((_, n) => isNamed(n)))
  const locked: string[] = []
  // The table that each open parenthesis, or the text itself, selects from.
  const from: (string | undefined)[] = [undefined]
  for (const [n, word] of words.entries()) {
    const [before, next = '', after = ''] = [words[n - 1], words[n + 1], words[n + 2]]
    if (word === '(') {
      from.push(undefined)
      locked.push(...tablesLockedBy(functions.get(before ?? '') ?? '', functions))
    }
    if (word === ')') from.pop()
    if (word === ';' || word === 'select') from[from.length - 1] = undefined
    if (word === 'from' && before !== 'distinct') from[from.length - 1] ??= next
    if (word === 'update' && !['for', 'key', 'do', 'of'].includes(before ?? '')) locked.push(next)
    if (word === 'delete' && next === 'from') locked.push(after)
    if (word === 'conflict' && before === 'on') {
      const into = words.lastIndexOf('into', n)
      locked.push(words[into + 1] as string)
    }
    const isLock = word === 'for' && ['update', 'no', 'share', 'key'].includes(next)
    if (isLock && from.at(-1) !== undefined) locked.push(from.at(-1) as string)
  }
  return locked.filter((table) => !named.has(table))
}

const readFunctions = async (db: Db) =>
  new Map(
    (
      await db.many<{ proname: string; prosrc: string }>(
        statement(
          `select proname, prosrc from pg_proc where pronamespace = 'shopwire'::regnamespace and prokind = 'f'`,
          [],
        ),
      )
    ).map(({ proname, prosrc }) => [proname, prosrc]),
  )

/** No process may read all that it may lock. */
const ROWS_HELD = `
  create function rows_held(p_table text) returns bigint language plpgsql security definer as $$
  declare
    v_rows bigint;
    v_mine constant xid := pg_current_xact_id()::xid;
  begin
    execute format('select count(*) from %I where xmin = $1 or xmax = $1', p_table) into v_rows using v_mine;
    return v_rows;
  end $$`

async function rowsHeld(tx: Tx, table: string): Promise<number> {
  return (await tx.one<{ rows: number }>(sql`select rows_held(${table}) as rows`)).rows
}
