import type { Timer } from '../observability/durations.ts'
import { ALL_PROCESSES, BUCKETS, type MetricRegistry, WORKER } from '../observability/metric-registry.ts'

export type DatabaseMetrics = ReturnType<typeof databaseMetrics>

/** In addition to the names that modules give to their own statements. */
export const DATABASE_STATEMENTS = { commit: 'commit', other: 'other' } as const

/** `statements` are those measured by name; all others are "other". */
export function databaseMetrics(registry: MetricRegistry, statements: readonly string[]) {
  return {
    statementTimers: statementTimers(registry, statements),
    databaseConnections: registry.readings(ALL_PROCESSES, {
      name: 'shopwire_database_connections',
      help: 'Connections of this process to the database.',
      action: 'in_use at SHOPWIRE_DATABASE_CONNECTIONS for long: slow statements, or too few connections.',
      labels: { state: ['in_use', 'idle'] },
    }),
    databaseConnectionsWaiting: registry.reading(ALL_PROCESSES, {
      name: 'shopwire_database_connections_waiting',
      help: 'Requests waiting for a database connection.',
      action: 'Above zero for long: slow statements, or too few connections.',
    }),
    databaseWritesFailing: registry.reading(ALL_PROCESSES, {
      name: 'shopwire_database_writes_failing',
      help: '1 while the database cannot write, such as on a full disk.',
      action: 'Free space on the volume of PostgreSQL, or enlarge it; never remove files from pg_wal.',
    }),
    databaseUnconfirmed: registry.gauge(ALL_PROCESSES, {
      name: 'shopwire_database_unconfirmed',
      help: '1 while the database is not the one an operator confirmed: nothing is delivered, sent or bought.',
      action:
        'Restored or failed over: see "Restores and failover" in the documentation, and recover status.',
    }),
    replicationLag: registry.readings(WORKER, {
      name: 'shopwire_replication_lag_seconds',
      help: 'How far a standby of PostgreSQL is behind; no series when shopwire_maintenance lacks pg_read_all_stats.',
      action:
        'Those changes are lost if it is promoted now. Check its log, its disk, and whether replay is paused.',
      labels: { standby: 'as observed' },
    }),
    replicationConnected: registry.readings(WORKER, {
      name: 'shopwire_replication_connected',
      help: '1 for a standby that follows PostgreSQL, 0 for a replication slot without a reader.',
      action:
        'Start the standby again, or drop its slot: the primary keeps WAL for it until the disk is full.',
      labels: { standby: 'as observed' },
    }),
    oldestSnapshot: registry.reading(WORKER, {
      name: 'shopwire_oldest_snapshot_seconds',
      help: 'For how long at least the oldest snapshot of the database has been held; 0 when none is older than a minute.',
      action:
        'Dead rows accumulate until it ends. The log of the worker names the session ("a session holds an old snapshot"): end it if it was forgotten.',
    }),
  }
}

function statementTimers(
  registry: MetricRegistry,
  statements: readonly string[],
): Readonly<Record<string, Timer>> & { readonly other: Timer } {
  const all = [...statements, ...Object.values(DATABASE_STATEMENTS)]
  const duration = registry.histogram(ALL_PROCESSES, BUCKETS.milliseconds, {
    name: 'shopwire_database_statement_duration_seconds',
    help: 'Time of database statements by name, with the wait for a free connection unless in a transaction.',
    action:
      'If all rise, check the database server and shopwire_database_connections_waiting. If one rises, check its query plan.',
    labels: { statement: all },
  })
  const timerOf = (statement: string) => duration.labels({ statement })
  const named = Object.fromEntries(all.map((statement) => [statement, timerOf(statement)]))
  return { ...named, other: timerOf(DATABASE_STATEMENTS.other) }
}
