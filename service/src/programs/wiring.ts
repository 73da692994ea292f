import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admission, AdmissionLimits } from '../access/admission.ts'
import { postgresAdmission } from '../access/admission-postgres.ts'
import type { RedisSettings } from '../access/redis-urls.ts'
import {
  type Config,
  ConfigError,
  configWarnings,
  type DashboardConfig,
  loadConfig,
} from '../config/config.ts'
import { createHealthServer } from '../edge/health-server.ts'
import { SCHEMA } from '../installation.ts'
import { JournalMismatch, journalProblemOf } from '../orders/journal/keep-position.ts'
import type { LoadMetrics } from '../platform/batching/load-metrics.ts'
import { UnusableDatabase } from '../platform/database/database-url.ts'
import { type Db, openDatabase, sql } from '../platform/database/db.ts'
import {
  KekNotObtained,
  type Keyring,
  localKeks,
  openKeyring,
  WrongEncryptionKey,
} from '../platform/encryption/encryption.ts'
import { askForKeks } from '../platform/encryption/kek-providers.ts'
import type { Timer } from '../platform/observability/durations.ts'
import type { Log } from '../platform/observability/log.ts'
import { type OutboundNetworks, outboundNetworks } from '../platform/outbound/outbound-networks.ts'
import { schemaMismatch } from '../platform/schema/schema-version.ts'
import { Unavailable } from '../platform/trouble.ts'
import type { BatchedCall, Metrics } from './metrics.ts'

const RETRY_MS = 1_000

/** The state that /readyz reports, and its server. Not ready until set. */
export interface Readiness {
  /** Sets why this process should get no traffic; undefined when it should. */
  report(why: string | undefined): void
  listen(config: Config | DashboardConfig): Promise<number>
  close(): void
}

/** What /readyz reports besides the database; edge/health-server.ts explains the difference. */
type Problems = Partial<
  Record<'notReady' | 'degraded', () => string | undefined> & { warnings(): (string | undefined)[] }
>

/** For a process with these connections, one per login. */
export function openReadiness(dbs: readonly Db[], metrics: Metrics, problems: Problems = {}): Readiness {
  let notReady: string | undefined = 'starting'
  const writeProblem = () => dbs.map((db) => db.writeProblem()).find((why) => why !== undefined)
  const known = () => notReady ?? problems.notReady?.()
  const degraded = () => writeProblem() ?? problems.degraded?.()
  const sum = (of: 'total' | 'idle' | 'waiting') => dbs.reduce((all, db) => all + db.stats()[of], 0)
  metrics.ready.from(() =>
    known() === undefined && degraded() === undefined && dbs.every((db) => db.isAnswering()) ? 1 : 0,
  )
  metrics.databaseWritesFailing.from(() => (writeProblem() === undefined ? 0 : 1))
  metrics.databaseConnectionsWaiting.from(() => sum('waiting'))
  metrics.databaseConnections.from(() => [
    [{ state: 'in_use' }, sum('total') - sum('idle')],
    [{ state: 'idle' }, sum('idle')],
  ])
  const server = createHealthServer(metrics, {
    async notReady() {
      const why = known()
      // A probe that waits behind a flood of requests would take a busy process out of service, and move its load to the others.
      if (why !== undefined) return why
      const asked = dbs.filter((db) => !db.isBusy()).map((db) => db.one(sql`select 1 as ok`))
      return Promise.all(asked).then(
        () => undefined,
        () => 'the database does not answer',
      )
    },
    degraded,
    warnings: () => (problems.warnings?.() ?? []).filter((warning) => warning !== undefined),
  })
  return {
    report(why) {
      notReady = why
    },
    async listen(config) {
      server.listen(config.SHOPWIRE_HEALTH_PORT, config.SHOPWIRE_HEALTH_HOST)
      await listening('SHOPWIRE_HEALTH', config, once(server, 'listening'))
      return (server.address() as AddressInfo).port
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The port cannot be used. The message is for the person who starts the process. */
class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: string | undefined

  constructor(why: string, cause: NodeJS.ErrnoException) {
    super(why, { cause })
    this.code = cause.code
  }
}

/** Waits for a server to listen. On failure the error says why, and which settings to change. */
export async function listening(
  prefix: 'SHOPWIRE' | 'SHOPWIRE_HEALTH' | 'SHOPWIRE_DASHBOARD',
  config: Config | DashboardConfig,
  started: Promise<unknown>,
): Promise<void> {
  const [host, port] = [config[`${prefix}_HOST`], config[`${prefix}_PORT`]]
  await started.catch((error: NodeJS.ErrnoException) => {
    const why = {
      EADDRINUSE: `Port ${port} on ${host} is in use by another program. Stop that program, or set ${prefix}_PORT to a free port.`,
      EACCES: `Port ${port} on ${host} may not be used by this user; ports below 1024 often need rights. Set ${prefix}_PORT to 1024 or above.`,
      EADDRNOTAVAIL: `This machine has no address ${host}. Set ${prefix}_HOST to one of its addresses, or to 0.0.0.0 for all.`,
      ENOTFOUND: `The name ${host} has no address. Set ${prefix}_HOST to an address of this machine, or to 0.0.0.0 for all.`,
    }[error.code ?? '']
    throw why === undefined ? error : new ListenError(why, error)
  })
}

/** Starts a server; if its port cannot be used, logs why and exits. */
export async function orCannotStart<Result>(log: Log, start: () => Promise<Result>): Promise<Result> {
  try {
    return await start()
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    log.fatal(error.message)
    process.exit(1)
  }
}

/** Loads the configuration, or lists every problem and exits. */
export function startingConfig<Loaded = Config>(
  load: () => Loaded = loadConfig as unknown as () => Loaded,
): Loaded {
  try {
    const config = load()
    for (const warning of configWarnings()) process.stderr.write(`Warning: ${warning}.\n`)
    return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
}

/** Retries the work until the named dependency answers. */
export type UntilAnswered = (part: string, work: () => Promise<void>) => Promise<void>

/** Retries the work until the dependency answers; meanwhile `report` gets the reason, for /readyz. */
export async function untilAnswered(
  part: string,
  log: Log,
  report: (why: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof WrongEncryptionKey) {
        log.fatal({ kek_id: error.kek_id }, error.message)
        process.exit(2)
      }
      if (error instanceof KekNotObtained) {
        log.fatal({ kek_id: error.kek_id }, error.message)
        process.exit(error.mayPass ? 1 : 2)
      }
      if (error instanceof JournalMismatch) {
        log.fatal(error.message)
        process.exit(2)
      }
      if (error instanceof Unavailable && error.cause instanceof UnusableDatabase) {
        log.fatal(error.cause.message)
        process.exit(1)
      }
      if (!(error instanceof Unavailable)) {
        log.fatal({ err: error }, 'cannot start')
        process.exit(1)
      }
      const why = journalProblemOf(error) ?? `waiting for the ${part}`
      report(why)
      log.warn({ err: error }, why)
      await sleep(RETRY_MS)
    }
  }
}

/** A program does not start on a database it cannot work on: it logs why, and what to do, and exits. */
export function untilSchemaFits(db: Db, log: Log, report: (why: string) => void): Promise<void> {
  return untilAnswered('database', log, report, async () => {
    const mismatch = await schemaMismatch(
      (text) => db.many({ text, values: [], name: 'schema_version' }),
      SCHEMA,
    )
    if (mismatch === undefined) return
    log.fatal(mismatch)
    process.exit(3)
  })
}

export function openDatabaseFrom(
  config: Config | DashboardConfig,
  application_name: string,
  log: Log,
  metrics?: Pick<Metrics, 'statementTimers'>,
): Db {
  return openDatabase(
    {
      url:
        'SHOPWIRE_DATABASE_URL' in config
          ? config.SHOPWIRE_DATABASE_URL
          : config.SHOPWIRE_DASHBOARD_DATABASE_URL,
      application_name,
      connectionsMax: config.SHOPWIRE_DATABASE_CONNECTIONS,
      connectMsMax: config.SHOPWIRE_DATABASE_CONNECT_MS,
      statementMsMax: config.SHOPWIRE_DATABASE_STATEMENT_MS,
      lockMsMax: config.SHOPWIRE_DATABASE_LOCK_MS,
      namedStatements: config.SHOPWIRE_DATABASE_NAMED_STATEMENTS,
      // Servers measure their statements, commands do not.
      byKeyOnly: metrics !== undefined,
    },
    (error) => log.warn({ err: error }, 'an idle database connection was lost'),
    (problem) => (problem ? log.error(problem) : log.info('the database can write again')),
    metrics &&
      ((label, seconds) =>
        (metrics.statementTimers[label] ?? metrics.statementTimers.other).observe(seconds)),
  )
}

/** The operator's lists for webhooks, suppliers, payment provider and issuer. */
export function networksOf(
  config: Pick<Config, 'SHOPWIRE_OUTBOUND_ALLOW' | 'SHOPWIRE_OUTBOUND_DENY'>,
): OutboundNetworks {
  return outboundNetworks(config.SHOPWIRE_OUTBOUND_ALLOW, config.SHOPWIRE_OUTBOUND_DENY)
}

/** How every program gets its encryption keys. Their providers are called when a key is first used: by the checks below. */
export function openKeyringFrom({ encryption }: Pick<Config, 'encryption'>): Keyring {
  return openKeyring(localKeks(askForKeks(encryption.keys), encryption.activeId))
}

export function redisSettings(config: Omit<Config, 'SHOPWIRE_DATABASE_URL'>): RedisSettings {
  return {
    urls: config.SHOPWIRE_REDIS_URLS ?? [],
    isCluster: config.SHOPWIRE_ADMISSION === 'redis-cluster',
    sentinels: config.SHOPWIRE_REDIS_SENTINELS,
    certificates: {
      ca: config.SHOPWIRE_REDIS_CA,
      cert: config.SHOPWIRE_REDIS_CLIENT_CERT,
      key: config.SHOPWIRE_REDIS_CLIENT_KEY,
    },
  }
}

export async function openAdmissionFrom(
  config: Omit<Config, 'SHOPWIRE_DATABASE_URL'>,
  db: Db,
  log: Log,
  metrics?: Metrics,
): Promise<Admission> {
  const limits: AdmissionLimits = {
    requestsMax: config.SHOPWIRE_REQUESTS_PER_MINUTE,
    ordersMax: config.SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE,
  }
  const onError = (error: unknown) =>
    log.warn({ err: error }, 'the admission store reported an error; the operation is retried')
  const onDataLost = () => {
    metrics?.admissionMemoryLosses.inc()
    log.warn(
      'the admission store lost its data: requests signed before now are refused, callers have to sign again',
    )
  }
  const measured = (admission: Admission) =>
    metrics
      ? measureAdmission(admission, metrics.admissionDuration.labels({ store: config.SHOPWIRE_ADMISSION }))
      : admission
  const batching = {
    batching: config.SHOPWIRE_BATCHING,
    ...(metrics && { onBatch: countBatches(metrics, 'admit') }),
  }
  if (config.SHOPWIRE_ADMISSION === 'postgres')
    return measured(postgresAdmission(db, { limits, ...batching, onError, onDataLost }))
  // Loaded only when needed: a command should not wait for a driver that it does not use.
  const { redisAdmission } = await import('../access/admission-redis.ts')
  const admission = redisAdmission(db, {
    ...redisSettings(config),
    timeoutMs: config.SHOPWIRE_REDIS_TIMEOUT_MS,
    limits,
    ...batching,
    onError,
    onDataLost,
  })
  return measured(admission)
}

export function countBatches(
  metrics: Pick<LoadMetrics, 'batches' | 'batchedCalls' | 'batchedCallsWaiting'>,
  call: BatchedCall,
): (size: number, mustWait: number) => void {
  const [batches, calls, waiting] = [metrics.batches, metrics.batchedCalls, metrics.batchedCallsWaiting].map(
    (counter) => counter.labels({ call }),
  ) as [Counted, Counted, Counted]
  return (size, mustWait) => {
    batches.inc()
    calls.inc(size)
    if (mustWait > 0) waiting.inc(mustWait)
  }
}

interface Counted {
  inc(by?: number): void
}

function measureAdmission(admission: Admission, timer: Timer): Admission {
  return {
    ...admission,
    async admit(attempt) {
      const startedMs = performance.now()
      try {
        return await admission.admit(attempt)
      } finally {
        timer.observe((performance.now() - startedMs) / 1000)
      }
    },
  }
}
