import { ALL_PROCESSES, type MetricRegistry } from './metric-registry.ts'

/** What every process reports about itself. */
export function processMetrics(registry: MetricRegistry, version: string) {
  registry
    .gauge(ALL_PROCESSES, {
      name: 'shopwire_build_info',
      help: 'The running version, as a label; the value is always 1.',
      action: 'Compare the versions of all processes after a deployment.',
      labels: { version: 'as observed' },
    })
    .set({ version }, 1)
  return {
    ready: registry.reading(ALL_PROCESSES, {
      name: 'shopwire_ready',
      help: '1 while this process does all of its work, 0 while /readyz says why it does not (degraded, or 503).',
      action: 'Read /readyz of the process: it names the reason.',
    }),
  }
}
