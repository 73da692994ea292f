import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client'
import { Durations } from './durations.ts'

/** Which process exposes a metric: the one that answers callers, the one for background work, or the one for the dashboard. */
export type ProcessKind = 'api' | 'worker' | 'dashboard'

export const API: readonly ProcessKind[] = ['api']
export const WORKER: readonly ProcessKind[] = ['worker']
export const DASHBOARD: readonly ProcessKind[] = ['dashboard']
export const API_AND_WORKER: readonly ProcessKind[] = ['api', 'worker']
export const API_AND_DASHBOARD: readonly ProcessKind[] = ['api', 'dashboard']
export const ALL_PROCESSES: readonly ProcessKind[] = ['api', 'worker', 'dashboard']

/** Upper bounds of histograms, in seconds, named by what is measured. */
export const BUCKETS = {
  milliseconds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  requests: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  calls: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  waits: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400],
} as const

/** One row of docs/reference/metrics.md. */
export interface MetricDescription {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly processes: readonly ProcessKind[]
  readonly help: string
  /** What an operator should do when its value changes. */
  readonly action: string
}

/** Those of the Node.js runtime come from the library and have no action. */
export type ListedMetric = Omit<MetricDescription, 'action'> & { readonly action: string | null }

/** A label with its values, all of which exist from the start; without values they are created as they are observed. */
type LabelValues = Readonly<Record<string, readonly string[] | 'as observed'>>

interface Spec<Labels extends LabelValues> extends Pick<MetricDescription, 'name' | 'help' | 'action'> {
  readonly labels?: Labels
}

export type MetricRegistry = ReturnType<typeof createMetricRegistry>

/**
 * Makes metrics for these processes. Those of other processes are made too, but not exposed, so that no part has to check which
 * process it runs in. An account or a key is never a label: there may be a million of them.
 *
 * Counters and histograms begin at zero for all label values: rate() sees the first event, and an alert that compares with zero
 * works from the first scrape. Gauges that come from the database are exposed only while they are fresh.
 */
export function createMetricRegistry(processes: readonly ProcessKind[]) {
  const exposed = new Registry()
  collectDefaultMetrics({ register: exposed })
  const reference: MetricDescription[] = []

  function declare<Labels extends LabelValues>(
    type: MetricDescription['type'],
    on: readonly ProcessKind[],
    { name, help, action, labels }: Spec<Labels>,
  ) {
    const labelNames = Object.keys(labels ?? {}) as Extract<keyof Labels, string>[]
    reference.push({ name, type, labels: labelNames, processes: on, help, action })
    const registers = on.some((each) => processes.includes(each)) ? [exposed] : []
    return { name, help, labelNames, registers }
  }

  return {
    processes,
    /** What a scrape of this process reads. */
    exposed,
    /** Every metric of Shopwire, exposed or not. */
    reference,
    counter<const Labels extends LabelValues>(on: readonly ProcessKind[], spec: Spec<Labels>) {
      const made = new Counter<Extract<keyof Labels, string>>(declare('counter', on, spec))
      for (const labels of combinations(spec.labels)) made.inc(labels as never, 0)
      return made
    },
    histogram<const Labels extends LabelValues>(
      on: readonly ProcessKind[],
      buckets: readonly number[],
      spec: Spec<Labels>,
    ) {
      const { registers, ...declared } = declare('histogram', on, spec)
      const made = new Durations<Extract<keyof Labels, string>>({ ...declared, buckets })
      for (const register of registers) register.registerMetric(made.asMetric())
      for (const labels of combinations(spec.labels)) made.labels(labels as never)
      return made
    },
    gauge<const Labels extends LabelValues>(on: readonly ProcessKind[], spec: Spec<Labels>) {
      return new Gauge<Extract<keyof Labels, string>>(declare('gauge', on, spec))
    },
    /** Read from memory at every scrape. There is no series while the value is unknown. */
    reading(on: readonly ProcessKind[], spec: Spec<Record<never, never>>) {
      const { read, from } = laterSource<number | undefined>(undefined)
      new Gauge({
        ...declare('gauge', on, spec),
        collect() {
          const value = read()
          if (value === undefined) this.remove()
          else this.set(value)
        },
      })
      return { from }
    },
    /** The same with labels: a series for every row that is known. */
    readings<const Labels extends LabelValues>(on: readonly ProcessKind[], spec: Spec<Labels>) {
      type Row = readonly [labels: Record<Extract<keyof Labels, string>, string>, value: number]
      const { read, from } = laterSource<Iterable<Row>>([])
      new Gauge<string>({
        ...declare('gauge', on, spec),
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.set(labels, value)
        },
      })
      return { from }
    },
  }
}

/** What a gauge reads: nothing until `from` is called with the source of its value. */
function laterSource<Value>(nothing: Value) {
  let source: () => Value = () => nothing
  return {
    read: () => source(),
    from(given: () => Value) {
      source = given
    },
  }
}

/** Every set of label values that is known beforehand; none when a label takes its values from what is observed. */
function combinations(labels: LabelValues | undefined): Record<string, string>[] {
  const names = Object.entries(labels ?? {})
  return names.reduce<Record<string, string>[]>(
    (all, [name, values]) =>
      values === 'as observed'
        ? []
        : all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}
