import { createHash } from 'node:crypto'
import pg from 'pg'
import { assert, Unavailable } from '../trouble.ts'
import { DATABASE_STATEMENTS } from './database-metrics.ts'
import { unusableDatabase } from './database-url.ts'
import { trackWriteHealth } from './write-health.ts'

export interface DatabaseOptions {
  readonly url: string
  readonly application_name: string
  readonly connectionsMax: number
  /** How long a caller waits for a free connection before it gets 503. */
  readonly connectMsMax: number
  readonly statementMsMax: number
  readonly lockMsMax: number
  /** Off behind a pooler that runs each transaction in another server process. */
  readonly namedStatements: boolean
  /**
   * A server's statements look up rows by key. This keeps the planner from choosing a sequential scan because a table was empty
   * when it was last analysed. Commands do read whole tables.
   */
  readonly byKeyOnly?: boolean
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
  /** The name its time is measured under; "other" without one. */
  readonly label?: string
}

/** Runs statements: on the pool, or in one transaction. */
export interface Queryable {
  many<Row extends object>(statement: Statement): Promise<Row[]>
  one<Row extends object>(statement: Statement): Promise<Row>
  maybeOne<Row extends object>(statement: Statement): Promise<Row | undefined>
  run(statement: Statement): Promise<number>
}

export interface Tx extends Queryable {
  readonly inTransaction: true
}

export interface Db extends Queryable {
  /**
   * Runs one statement that is a whole transaction, in one round trip. When this returns, it is committed. When it fails with
   * Unavailable the outcome is unknown, so repeating the statement must be safe.
   */
  commit<Row extends object>(statement: Statement): Promise<Row>
  /** Runs `work` in one transaction; deadlocks and serialisation failures are retried a few times. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Why nothing can be written, and what to do; undefined when writes work. */
  writeProblem(): string | undefined
  /** False if the last statement could not reach the database. */
  isAnswering(): boolean
  /** Whether requests wait for a connection while others are being answered: it is busy, and one more query would only wait. */
  isBusy(): boolean
  stats(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

const TRIES_MAX = 3
const IDLE_IN_TRANSACTION_MS_MAX = 10_000
const CLIENT_GRACE_MS = 1_000
const ANSWERED_RECENTLY_MS = 1_000
const INT8_OID = 20
const INT8_ARRAY_OID = 1016

/**
 * A statement with its parameters. Its name is a hash of the text, so that every connection prepares each statement once and
 * slow statements can be identified on the server.
 */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  let known = statementsByTemplate.get(strings)
  if (!known) {
    known = statement(
      strings.reduce((all, part, n) => `${all}$${n}${part}`),
      [],
    )
    statementsByTemplate.set(strings, known)
  }
  return { ...known, values }
}

/** Gives a statement its own name in the metric of statement times. The module lists its names in its metrics.ts. */
export function timed(label: string, statement: Statement): Statement {
  // The tag has just made the object; copying it would cost every request.
  return Object.assign(statement, { label })
}

/** For the rare statement that is built from our own identifiers. Must never contain input from outside. */
export function statement(text: string, values: readonly unknown[]): Statement {
  return { text, values, name: `sw_${createHash('sha256').update(text).digest('hex').slice(0, 16)}` }
}
const statementsByTemplate = new WeakMap<TemplateStringsArray, { text: string; name: string }>()

export function openDatabase(
  options: DatabaseOptions,
  onIdleError: (error: Error) => void,
  onWriteProblem: (problem: string | undefined) => void = () => {},
  onStatement?: (label: string, seconds: number) => void,
): Db {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.application_name,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connectMsMax,
    // A transaction-pooling proxy refuses these start-up parameters; then the role has them (see docs/operating.md).
    ...(options.namedStatements && {
      statement_timeout: options.statementMsMax,
      lock_timeout: options.lockMsMax,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
      ...(options.byKeyOnly && { options: '-c enable_seqscan=off' }),
    }),
    // The server's own limit applies first; this one is for a server or a network that stopped responding.
    query_timeout: options.statementMsMax + CLIENT_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    types: { getTypeParser: typeParser },
  })
  pool.on('error', onIdleError)
  // The pool handles errors of idle connections only. A connection lost while in use also fails its query, but an error event
  // without a listener would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))

  let isAnswering = true
  let answeredMs = 0
  const failed = (error: unknown) => {
    const translated = translate(error)
    if (leavesSessionInDoubt(translated)) isAnswering = false
    return translated
  }

  const writes = trackWriteHealth(() => pool.query('select probe_writes()'), onWriteProblem)

  const runner = (client: pg.Pool | pg.PoolClient): Queryable => {
    const query = async (statement: Statement) => {
      const { text, values, name } = statement
      const startedMs = onStatement && performance.now()
      try {
        const result = await client.query(
          options.namedStatements
            ? { name, text, values: values as unknown[] }
            : { text, values: values as unknown[] },
        )
        isAnswering = true
        answeredMs = performance.now()
        return result
      } catch (error) {
        writes.observe(error)
        throw failed(error)
      } finally {
        if (startedMs !== undefined)
          onStatement?.(statement.label ?? DATABASE_STATEMENTS.other, (performance.now() - startedMs) / 1000)
      }
    }
    return {
      many: async <Row extends object>(statement: Statement) => (await query(statement)).rows as Row[],
      async one<Row extends object>(statement: Statement) {
        const { rows } = await query(statement)
        assert(rows.length === 1, `one row expected, ${rows.length} found: ${statement.text}`)
        return rows[0] as Row
      },
      async maybeOne<Row extends object>(statement: Statement) {
        const { rows } = await query(statement)
        assert(rows.length <= 1, `at most one row expected, ${rows.length} found: ${statement.text}`)
        return rows[0] as Row | undefined
      },
      run: async (statement) => (await query(statement)).rowCount ?? 0,
    }
  }

  /** Borrows a connection for one piece of work. A session in an unknown state never returns to the pool. */
  async function connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await pool.connect().catch((error: unknown) => {
      throw failed(error)
    })
    let broken: Error | undefined
    try {
      return await work(client)
    } catch (error) {
      if (leavesSessionInDoubt(error)) broken = error
      throw error
    } finally {
      client.release(broken)
    }
  }

  async function attempt<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return connected(async (client) => {
      try {
        await control(client, 'begin')
        const result = await work({ ...runner(client), inTransaction: true })
        const startedMs = onStatement && performance.now()
        const { command } = await certainly(client, () => control(client, 'commit'))
        if (startedMs !== undefined)
          onStatement?.(DATABASE_STATEMENTS.commit, (performance.now() - startedMs) / 1000)
        // PostgreSQL answers "commit" in a failed transaction with success and rolls back.
        assert(command === 'COMMIT', 'nothing inside a transaction swallows a database error')
        return result
      } catch (error) {
        writes.observe(error)
        if (!leavesSessionInDoubt(error)) await control(client, 'rollback')
        throw error
      }
    })
  }

  async function repeatedly<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let n = 1; ; n += 1) {
      try {
        return await work()
      } catch (error) {
        if (!isWorthRepeating(error)) throw error
        if (n >= TRIES_MAX) throw new Unavailable('database', error)
      }
    }
  }

  return {
    ...runner(pool),
    commit: <Row extends object>(statement: Statement) =>
      repeatedly(() => connected((client) => certainly(client, () => runner(client).one<Row>(statement)))),
    transaction: (work) => repeatedly(() => attempt(work)),
    writeProblem: writes.problem,
    isAnswering: () => isAnswering,
    isBusy: () =>
      isAnswering && pool.waitingCount > 0 && performance.now() - answeredMs < ANSWERED_RECENTLY_MS,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      writes.stop()
      return pool.end()
    },
  }
}

/**
 * When the wait for a standby is cancelled, PostgreSQL reports success with a warning although the commit may not be durable. So a
 * commit with a warning has an unknown outcome. Warnings are distinguished from notices by SQLSTATE: the severity is a word in the server's
 * language, and the role may not change that language.
 */
async function certainly<Result>(client: pg.PoolClient, commit: () => Promise<Result>): Promise<Result> {
  let warning: Error | undefined
  const listen = (notice: { code?: string | undefined; message?: string | undefined }) => {
    if (!notice.code?.startsWith(SUCCESSFUL_COMPLETION)) warning = new Error(notice.message)
  }
  client.on('notice', listen)
  try {
    const result = await commit()
    if (warning) throw new Unavailable('database', warning)
    return result
  } finally {
    client.off('notice', listen)
  }
}

/** The SQLSTATE class of notices; a warning has 01 or, when the session is terminated, 57. */
const SUCCESSFUL_COMPLETION = '00'

function control(client: pg.PoolClient, command: 'begin' | 'commit' | 'rollback') {
  return client.query(command).catch((error: unknown) => {
    throw translate(error)
  })
}

/**
 * Whether a statement that is a whole transaction certainly had no effect. Not when the server is being stopped: it may report that
 * after the commit.
 */
export function isRolledBack(error: unknown): boolean {
  const reported = error instanceof Unavailable ? error.cause : error
  return reported instanceof pg.DatabaseError && !/^(08|57P|58|XX)/.test(reported.code ?? '')
}

/**
 * After an error reported by the server the session is in a known state, unless the error ends it; after any other error it may not
 * be.
 */
function leavesSessionInDoubt(error: unknown): error is Unavailable {
  if (!(error instanceof Unavailable)) return false
  return !(error.cause instanceof pg.DatabaseError) || ENDS_SESSION.test(error.cause.code ?? '')
}

/**
 * Ended by an administrator, by a crash or a shutdown of the server, or for idleness; or opened on a standby, which refuses to write
 * and to read unlogged tables, and stays one although its address leads to the new primary.
 */
const ENDS_SESSION = /^(08|57P0[1235]|25P03|25006|0A000)/

function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8_OID) return safeInteger
  if (oid === INT8_ARRAY_OID) return (text: string) => (parseTexts(text) as string[]).map(safeInteger)
  return pg.types.getTypeParser(oid, format as 'text')
}

const parseTexts = pg.types.getTypeParser(INT8_ARRAY_OID as number, 'text') as (text: string) => unknown

/** The driver returns 64-bit integers as text; adding those up would concatenate them. */
function safeInteger(text: string): number {
  const value = Number(text)
  assert(Number.isSafeInteger(value), `integer out of range: ${text}`)
  return value
}

const WORTH_REPEATING = new Set(['40001', '40P01'])

function isWorthRepeating(error: unknown): boolean {
  return error instanceof pg.DatabaseError && WORTH_REPEATING.has(error.code ?? '')
}

/** Connection lost, server shutting down, a standby or out of resources, one of our limits reached: neither the caller's fault nor ours. */
const WORLD_TROUBLE = /^(08|53|57|58|XX|55P03|25006|25P03|0A000)/

function translate(error: unknown): unknown {
  if (error instanceof Unavailable) return error
  const unusable = unusableDatabase(error)
  if (unusable) return new Unavailable('database', unusable)
  if (error instanceof pg.DatabaseError) {
    return WORLD_TROUBLE.test(error.code ?? '') ? new Unavailable('database', error) : error
  }
  if (!(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  // Error codes of the operating system (ECONNRESET). Those with an underscore (ERR_INVALID_ARG_TYPE) are our defects.
  const isNetwork = code !== undefined && /^E[A-Z0-9]+$/.test(code)
  const isDriver = /timeout|Connection terminated|connection error|not queryable|server closed/i.test(
    error.message,
  )
  return isNetwork || isDriver ? new Unavailable('database', error) : error
}
