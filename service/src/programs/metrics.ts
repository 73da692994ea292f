import { ACCESS_STATEMENTS, accessMetrics } from '../access/metrics.ts'
import { ACCOUNT_STATEMENTS } from '../accounts/metrics.ts'
import { dashboardMetrics } from '../dashboard/metrics.ts'
import { edgeMetrics } from '../edge/metrics.ts'
import { fundingMetrics } from '../funding/metrics.ts'
import { OPERATIONS_STATEMENTS, operationsMetrics, QUEUES } from '../operations/metrics.ts'
import { ORDER_STATEMENTS, orderMetrics } from '../orders/metrics.ts'
import { loadMetrics } from '../platform/batching/load-metrics.ts'
import { databaseMetrics } from '../platform/database/database-metrics.ts'
import { JOB_STATEMENTS, jobMetrics, workerMetrics } from '../platform/jobs/job-metrics.ts'
import { REMOVALS } from '../platform/jobs/removal-limit.ts'
import {
  ALL_PROCESSES,
  createMetricRegistry,
  type ListedMetric,
  type ProcessKind,
} from '../platform/observability/metric-registry.ts'
import { processMetrics } from '../platform/observability/process-metrics.ts'
import { outboundMetrics } from '../platform/outbound/outbound-metrics.ts'
import { supplyMetrics } from '../supply/metrics.ts'
import { WEBHOOK_STATEMENTS, webhookMetrics } from '../webhooks/metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** Calls that are combined into batches. */
const BATCHED_CALLS = ['admit', 'place_order'] as const
export type BatchedCall = (typeof BATCHED_CALLS)[number]

/** The time of every other statement is measured as "other". */
const TIMED_STATEMENTS = [
  ACCESS_STATEMENTS,
  ACCOUNT_STATEMENTS,
  ORDER_STATEMENTS,
  JOB_STATEMENTS,
  WEBHOOK_STATEMENTS,
  OPERATIONS_STATEMENTS,
].flatMap((statements): string[] => Object.values(statements))

/** Every metric of the service, in the order in which they are exposed. Each module declares its own. */
export function createMetrics(version: string, processes: readonly ProcessKind[] = ALL_PROCESSES) {
  const registry = createMetricRegistry(processes)
  return {
    registry: registry.exposed,
    reference: registry.reference,
    ...processMetrics(registry, version),
    ...edgeMetrics(registry),
    ...accessMetrics(registry),
    ...loadMetrics(registry, BATCHED_CALLS),
    ...dashboardMetrics(registry),
    ...orderMetrics(registry),
    ...jobMetrics(registry, QUEUES),
    ...outboundMetrics(registry),
    ...webhookMetrics(registry),
    ...supplyMetrics(registry),
    ...databaseMetrics(registry, TIMED_STATEMENTS),
    ...workerMetrics(registry, REMOVALS),
    ...fundingMetrics(registry),
    ...operationsMetrics(registry),
  }
}

/** For the reference page, docs/reference/metrics.md. */
export function describeMetrics(): ListedMetric[] {
  const { registry, reference } = createMetrics('')
  const known = new Map(reference.map((description) => [description.name, description]))
  const all = registry.getMetricsAsArray() as unknown as Pick<ListedMetric, 'name' | 'help' | 'type'>[]
  return all.map(
    ({ name, help, type }) =>
      known.get(name) ?? { name, type, labels: [], processes: ALL_PROCESSES, help, action: null },
  )
}
