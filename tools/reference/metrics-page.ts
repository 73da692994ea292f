import { madeFrom, wrapped } from './markdown.ts'

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

/** rules: the alerts of deploy/monitoring, as YAML. What to do is in the section of the alert, and in what `shopwire-admin metrics` prints. */
export function metricsPage(metrics: readonly MetricDescription[], rules: string): string {
  const alerts = alertsIn(rules)
  const ours = metrics.filter(({ action }) => action !== null)
  const runtime = metrics.filter(({ action }) => action === null).length
  const groups = Map.groupBy(ours, ({ processes }) => (processes.length === 3 ? 'all' : processes.join(', ')))
  const item = ({ name, type, labels, help }: MetricDescription) => {
    const kind = [type, ...labels.map((label) => `\`${label}\``)].join(', ')
    const raised = alerts.filter(({ expression }) =>
      new RegExp(`\\b${name}(_bucket|_count|_sum)?\\b`).test(expression),
    )
    const links = raised.map(({ alert }) => `[${alert}](../runbooks/alerts.md#${alert.toLowerCase()})`)
    const raises = links.length > 0 ? ` Alert: ${links.join(', ')}.` : ''
    return wrapped(`- \`${name}\` (${kind}): ${help}${raises}`, '  ')
  }
  const sections = [...groups].map(
    ([processes, some]) => `## ${titleOf(processes)}\n\n${some.map(item).join('\n')}\n`,
  )
  return `${madeFrom('service/src/programs/metrics.ts')}
# Metrics

\`GET /metrics\` on \`SHOPWIRE_HEALTH_PORT\` of every process, in the text format of Prometheus. \`shopwire-admin metrics\`
prints this list with what to do when a metric moves. [Observability](../observability.md) has objectives and log lines.

Counters and histograms start at zero for every known value of a label. No label has an account, a key, an order or an
address. All times are in seconds.

${sections.join('\n')}
## The Node.js runtime

${runtime} more, of the Prometheus client library: \`process_*\` and \`nodejs_*\`. When \`nodejs_eventloop_lag_p99_seconds\`
stays above 0.1 s, the process has too much to do; start another one.
`
}

/** Each with the text up to the next rule, in which its expression is. */
function alertsIn(rules: string): { alert: string; expression: string }[] {
  return rules.split(/^ *- (?=alert:|record:)/m).flatMap((expression) => {
    const [, alert] = /^alert: (\w+)/.exec(expression) ?? []
    return alert === undefined ? [] : [{ alert, expression }]
  })
}

function titleOf(processes: string): string {
  return processes === 'all'
    ? 'Of all processes'
    : `Of the ${processes.replace('api', 'API').replaceAll(', ', ' and the ')}`
}
