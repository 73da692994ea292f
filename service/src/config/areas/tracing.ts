import { z } from 'zod'
import { secret } from '../values.ts'

/** In OpenTelemetry's format: `name=value` separated by commas, values URL-encoded. Undefined for anything else. */
function readHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const entry of text.split(',')) {
    const [, name, value] =
      /^\s*([A-Za-z0-9-]+)\s*=\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/.exec(entry) ?? []
    if (name === undefined || value === undefined) return undefined
    try {
      headers[name] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return headers
}

export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .regex(
      /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/,
      'must be http://host:port or https://host:port, perhaps with a path',
    )
    .optional()
    .describe(
      'OpenTelemetry collector that takes OTLP over HTTP (JSON), such as `http://127.0.0.1:4318`; without it there are no traces',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: secret(
    z
      .string()
      .transform(readHeaders)
      .refine(
        (headers) => headers !== undefined,
        'must be "name=value", separated by commas; values URL-encoded',
      )
      .optional()
      .describe(
        'sent to the collector with all traces, as name=value separated by commas; for its credentials',
      ),
  ),
  OTEL_SERVICE_NAME: z
    .string()
    .max(100)
    .optional()
    .describe('name of this process in traces; shopwire-api, shopwire-worker and so on by default'),
  SHOPWIRE_TRACE_RATIO: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('share of requests whose traces are recorded; the same for all processes'),
}
