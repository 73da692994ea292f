import { createHash } from 'node:crypto'
import pg from 'pg'
import { assert, Unavailable } from './trouble.ts'
import { trackWriteHealth } from './write-health.ts'

export interface DatabaseOptions {
  readonly url: string
  readonly application_name: string
  readonly connectionsMax: number
  /** How long a caller waits for a free connection before it is told 503. */
  readonly connectMsMax: number
  readonly statementMsMax: number
  readonly lockMsMax: number
  /** Off behind a pooler that hands each transaction to another server process. */
  readonly namedStatements: boolean
}

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
}

/** Something that runs statements: the pool, or one transaction. */
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
   * Runs one statement that is a whole transaction, in one round trip. When this answers, it is committed for certain; when
   * it fails as Unavailable nobody knows, and asking again must be safe.
   */
  commit<Row extends object>(statement: Statement): Promise<Row>
  /** Runs `work` in one transaction; deadlocks and serialisation failures are tried again, a few times. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Why nothing can be written, and what to do; undefined when all is well. */
  writeProblem(): string | undefined
  stats(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

const TRIES_MAX = 3
const IDLE_IN_TRANSACTION_MS_MAX = 10_000
const CLIENT_GRACE_MS = 1_000
const INT8_OID = 20
const INT8_ARRAY_OID = 1016

/**
 * A statement with its parameters. The text decides the name, so that every connection prepares each statement once and
 * the server can be asked which of ours is slow.
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

/** For the rare text that is put together from names of ours. Nothing that came from outside may be part of it. */
export function statement(text: string, values: readonly unknown[]): Statement {
  return { text, values, name: `sw_${createHash('sha256').update(text).digest('hex').slice(0, 16)}` }
}
const statementsByTemplate = new WeakMap<TemplateStringsArray, { text: string; name: string }>()

export function openDatabase(
  options: DatabaseOptions,
  onIdleError: (error: Error) => void,
  onWriteProblem: (problem: string | undefined) => void = () => {},
): Db {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.application_name,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connectMsMax,
    // A transaction-pooling proxy refuses these at the door; there the role carries them (see docs/operating.md).
    ...(options.namedStatements && {
      statement_timeout: options.statementMsMax,
      lock_timeout: options.lockMsMax,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    }),
    // The server's own limit comes first; this one is for a server or a network that has gone silent.
    query_timeout: options.statementMsMax + CLIENT_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    types: { getTypeParser: typeParser },
  })
  pool.on('error', onIdleError)
  // The pool listens to idle connections only. One that is lost while in use tells its query as well; unheard here, it would
  // end the process.
  pool.on('connect', (client) => client.on('error', () => {}))

  const writes = trackWriteHealth(() => pool.query('select probe_writes()'), onWriteProblem)

  const runner = (client: pg.Pool | pg.PoolClient): Queryable => {
    const query = async (statement: Statement) => {
      const { text, values, name } = statement
      try {
        return await client.query(
          options.namedStatements
            ? { name, text, values: values as unknown[] }
            : { text, values: values as unknown[] },
        )
      } catch (error) {
        writes.observe(error)
        throw translate(error)
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

  /** A connection for one piece of work. A session whose state we no longer know is never given to the next caller. */
  async function connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translate(error)
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
        const { command } = await certainly(client, () => control(client, 'commit'))
        // A transaction that has failed answers "commit" with success and rolls back.
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
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close() {
      writes.stop()
      return pool.end()
    },
  }
}

/**
 * PostgreSQL answers a cancelled wait for its standby with success and a warning. We would call that durable when it may
 * not be, so a commit that warns counts as one whose outcome is unknown. Warnings are told from notices by their SQLSTATE: the
 * severity that the driver hands over is a word in the server's language, and the role may not choose another one.
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

/** The class of SQLSTATEs that notices have; a warning has 01 or, when the session is ended, 57. */
const SUCCESSFUL_COMPLETION = '00'

function control(client: pg.PoolClient, command: 'begin' | 'commit' | 'rollback') {
  return client.query(command).catch((error: unknown) => {
    throw translate(error)
  })
}

/** What the server itself reported leaves its session as it was; anything else may have left anything. */
function leavesSessionInDoubt(error: unknown): error is Unavailable {
  return error instanceof Unavailable && !(error.cause instanceof pg.DatabaseError)
}

function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8_OID) return safeInteger
  if (oid === INT8_ARRAY_OID) return (text: string) => (parseTexts(text) as string[]).map(safeInteger)
  return pg.types.getTypeParser(oid, format as 'text')
}

const parseTexts = pg.types.getTypeParser(INT8_ARRAY_OID as number, 'text') as (text: string) => unknown

/** The driver hands 64-bit integers over as text; added up as text they would be a very different sum. */
function safeInteger(text: string): number {
  const value = Number(text)
  assert(Number.isSafeInteger(value), `integer out of range: ${text}`)
  return value
}

const WORTH_REPEATING = new Set(['40001', '40P01'])

function isWorthRepeating(error: unknown): boolean {
  return error instanceof pg.DatabaseError && WORTH_REPEATING.has(error.code ?? '')
}

/** Connection lost, server going down or full, limits of ours reached: nothing the caller or our code did wrong. */
const WORLD_TROUBLE = /^(08|53|57|58|XX|55P03|25006|25P03)/

function translate(error: unknown): unknown {
  if (error instanceof Unavailable) return error
  if (error instanceof pg.DatabaseError) {
    return WORLD_TROUBLE.test(error.code ?? '') ? new Unavailable('database', error) : error
  }
  if (!(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  // The system's own codes (ECONNRESET); those with an underscore (ERR_INVALID_ARG_TYPE) are mistakes of ours.
  const isNetwork = code !== undefined && /^E[A-Z0-9]+$/.test(code)
  const isDriver = /timeout|Connection terminated|connection error|not queryable|server closed/i.test(
    error.message,
  )
  return isNetwork || isDriver ? new Unavailable('database', error) : error
}
