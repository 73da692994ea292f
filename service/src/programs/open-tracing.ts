import type { Config, DashboardConfig } from '../config/config.ts'
import { VERSION } from '../installation.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Tracing } from '../platform/observability/tracing.ts'

/** Undefined when no collector is configured; then OpenTelemetry is not even loaded. */
export async function openTracing(
  config: Config | DashboardConfig,
  role: 'api' | 'worker' | 'dashboard' | 'all',
  log: Log,
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: collector } = config
  if (collector === undefined) return undefined
  const { openTelemetry } = await import('../platform/observability/open-telemetry.ts')
  return openTelemetry({
    url: `${collector.replace(/\/+$/, '')}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    service: { name: config.OTEL_SERVICE_NAME ?? `shopwire-${role}`, version: VERSION },
    ratio: config.SHOPWIRE_TRACE_RATIO,
    log,
  })
}
