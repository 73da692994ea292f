import { DASHBOARD, type MetricRegistry } from '../platform/observability/metric-registry.ts'

export function dashboardMetrics(registry: MetricRegistry) {
  return {
    liveStreams: registry.reading(DASHBOARD, {
      name: 'shopwire_dashboard_live_streams',
      help: 'Pages of the dashboard that are open and told of changes.',
      action:
        'Near 4,000 in one process, start another one: further pages are not told, and have to be reloaded.',
    }),
  }
}
