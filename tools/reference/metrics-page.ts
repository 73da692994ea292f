import { madeFrom, table } from './markdown.ts'

/** As `shopwire-admin metrics --json` prints it. */
export interface MetricDescription {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly processes: readonly string[]
  readonly help: string
  /** Null for what the runtime reports of itself. */
  readonly action: string | null
}

export function metricsPage(metrics: readonly MetricDescription[]): string {
  const ours = metrics.filter(({ action }) => action !== null)
  const runtime = metrics.filter(({ action }) => action === null)
  const row = ({ name, type, labels, processes, help, action }: MetricDescription) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    processes.length === 3 ? 'all' : processes.join(', '),
    help,
    action ?? '',
  ]
  return `${madeFrom('service/src/programs/metrics.ts')}
# Metrics

\`GET /metrics\` on \`SHOPWIRE_HEALTH_PORT\`, of API, worker and dashboard alike, in the text format of Prometheus. \`shopwire-admin metrics\` prints
this list. [Observability](../observability.md) says how to read them, which alerts to set, and what the log lines look like.

Counters and histograms are at zero from the first scrape for every value of a label that is known beforehand. No label has an account,
a key, an order or an address. All times are in seconds.

${table(['Metric', 'Type', 'Labels', 'Process', 'Meaning', 'When it moves'], ours.map(row))}

## The Node.js runtime

Of all processes, from the Prometheus client library. The delay of the event loop is \`nodejs_eventloop_lag_p99_seconds\`: above 0.1 s
for long, the process has too much to do; start another one.

${table(
  ['Metric', 'Type', 'Meaning'],
  runtime.map(({ name, type, help }) => [`\`${name}\``, type, help]),
)}
`
}
