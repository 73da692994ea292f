import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Db } from '../platform/db.ts'

/**
 * Kysely on our own connections, for Better Auth: one pool, one set of time limits, and our errors when the database does not
 * answer. Each statement is its own transaction.
 */
export function kyselyOn(db: Db): Kysely<unknown> {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      // Without a name: these texts select all columns, and a prepared statement fails once its table has got a new one.
      const query = { text: sql, values: parameters, name: '' }
      // Reads, and writes that end in "returning", have rows; other writes have a count.
      if (/^\s*(select|with)\b|\breturning\b/i.test(sql)) {
        const rows = (await db.many<object>(query)) as Row[]
        return { rows, numAffectedRows: BigInt(rows.length) }
      }
      return { rows: [], numAffectedRows: BigInt(await db.run(query)) }
    },
    streamQuery() {
      throw new Error('not used')
    },
  }
  const noTransactions = () => Promise.reject(new Error('Better Auth is configured without transactions'))
  const dialect: Dialect = {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => connection,
      beginTransaction: noTransactions,
      commitTransaction: noTransactions,
      rollbackTransaction: noTransactions,
      releaseConnection: async () => {},
      destroy: async () => {},
    }),
  }
  return new Kysely<unknown>({ dialect })
}
