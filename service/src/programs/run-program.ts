import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, type DashboardConfig, describeConfig } from '../config/config.ts'
import { VERSION } from '../installation.ts'
import type { Db } from '../platform/database/db.ts'
import { createLog, type Log } from '../platform/observability/log.ts'
import type { ProcessKind } from '../platform/observability/metric-registry.ts'
import type { Tracing } from '../platform/observability/tracing.ts'
import { onShutdown, type Step } from '../platform/process/shutdown.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { openTracing } from './open-tracing.ts'
import {
  openDatabaseFrom,
  openReadiness,
  orCannotStart,
  type UntilAnswered,
  untilAnswered,
  untilSchemaFits,
} from './wiring.ts'

export interface ProgramDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly db: Db
  readonly tracing?: Tracing | undefined
}

/** API, worker or dashboard without its process: a program has one of them, or all. */
export interface Part {
  /** Returns the port. */
  listen?(): Promise<number>
  /** Listens before it is open, so that callers get an answer in the meantime. */
  readonly listensFirst?: boolean
  /** Resolves when it does all of its work. */
  open(until: UntilAnswered): Promise<void>
  /** From now on every answer has Connection: close, so that clients reconnect to another process. */
  drainConnections?(): void
  /** Why it runs but does no work; undefined when it works. */
  notReady?(): string | undefined
  /** Why it cannot do all of its work although the database answers. */
  problem?(): string | undefined
  /** What an operator should check although it works. */
  warnings?(): (string | undefined)[]
  /** The steps in order. They do not close the database, which belongs to the program. */
  readonly stops: readonly Step[]
}

export interface PartPlan {
  readonly kind: ProcessKind
  readonly config: Config | DashboardConfig
  create(deps: ProgramDeps): Promise<Part> | Part
}

/** Pairs the settings with the function that makes the part: the dashboard has other settings than API and worker. */
export function plan<Settings extends Config | DashboardConfig>(
  kind: ProcessKind,
  config: Settings,
  create: (config: Settings, deps: ProgramDeps) => Promise<Part> | Part,
): PartPlan {
  return { kind, config, create: (deps) => create(config, deps) }
}

/** Starts a process with these parts, each with its own login to the database; they open in this order, and stop in it. */
export async function runProgram(
  name: ProcessKind | 'all',
  config: Config | DashboardConfig,
  plans: readonly PartPlan[],
): Promise<void> {
  const log = createLog(config.SHOPWIRE_LOG_LEVEL)
  const tracing = await openTracing(config, name, log)
  const metrics = createMetrics(
    VERSION,
    plans.map(({ kind }) => kind),
  )
  const dbs = plans.map((one) => openDatabaseFrom(one.config, `shopwire-${one.kind}`, log, metrics))
  const parts: Part[] = []
  for (const [n, one] of plans.entries())
    parts.push(await one.create({ log, metrics, db: dbs[n] as Db, tracing }))
  const first = (why: 'notReady' | 'problem') =>
    parts.map((part) => part[why]?.()).find((said) => said !== undefined)
  const health = openReadiness(dbs, metrics, {
    notReady: () => first('notReady'),
    degraded: () => first('problem'),
    warnings: () => parts.flatMap((part) => part.warnings?.() ?? []),
  })

  onShutdown(log, config.SHOPWIRE_SHUTDOWN_MS, [
    {
      name: 'report not ready',
      run: async () => {
        health.report('shutting down')
        const serving = parts.filter((part) => part.drainConnections)
        for (const part of serving) part.drainConnections?.()
        // The load balancer has to notice before the ports are closed.
        if (serving.length > 0) await sleep(config.SHOPWIRE_SHUTDOWN_DELAY_MS)
      },
    },
    ...parts.flatMap((part) => part.stops),
    ...(tracing ? [{ name: 'send the last traces', run: () => tracing.stop() }] : []),
    { name: 'close database', run: async () => void (await Promise.all(dbs.map((db) => db.close()))) },
    { name: 'close health', run: () => health.close() },
  ])

  log.info({ version: VERSION, config: describeConfig(config) }, 'starting')
  const until: UntilAnswered = (part, work) => untilAnswered(part, log, health.report, work)
  const health_port = await orCannotStart(log, () => health.listen(config))
  const ports: Record<string, number> = {}
  const listen = async (n: number, isFirst: boolean) => {
    const part = parts[n]
    if (part?.listen === undefined || (part.listensFirst ?? false) !== isFirst) return
    const portName = name === 'all' && plans[n]?.kind === 'dashboard' ? 'dashboard_port' : 'port'
    ports[portName] = await orCannotStart(log, part.listen)
  }
  for (const n of parts.keys()) await listen(n, true)
  await untilSchemaFits(dbs[0] as Db, log, health.report)
  for (const [n, part] of parts.entries()) {
    await part.open(until)
    await listen(n, false)
  }
  health.report(undefined)
  log.info({ ...ports, health_port }, 'ready')
}
