import { DASHBOARD, type MetricRegistry } from '../platform/observability/metric-registry.ts'

export function dashboardMetrics(registry: MetricRegistry) {
  return {
    liveStreams: registry.reading(DASHBOARD, {
      name: 'shopwire_dashboard_live_streams',
      help: 'Open pages of the dashboard that get notified of changes.',
      action:
        'Near 4,000 in one process, start another one: further pages are not notified, and have to be reloaded.',
    }),
  }
}
