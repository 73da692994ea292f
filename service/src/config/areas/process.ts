import { z } from 'zod'
import { milliseconds, port } from '../values.ts'

export const processSettings = {
  SHOPWIRE_ENV: z
    .enum(['production', 'development'])
    .default('production')
    .describe('production refuses well-known secrets'),
  SHOPWIRE_CELL: z
    .string()
    .regex(/^[a-z0-9]{1,16}$/, 'must be 1 to 16 lower-case letters or digits')
    .default('c1')
    .describe('the cell this installation serves; part of every key id it makes'),
  SHOPWIRE_HEALTH_HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'address of /livez, /readyz and /metrics: this machine alone; 0.0.0.0 or a private address where probes or Prometheus come from elsewhere',
    ),
  SHOPWIRE_HEALTH_PORT: port.default(9090).describe('port of /livez, /readyz and /metrics; never public'),
  SHOPWIRE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('lowest level that is written'),
  SHOPWIRE_SHUTDOWN_DELAY_MS: milliseconds
    .default(5_000)
    .describe('time between /readyz reporting not ready and closing the port'),
  SHOPWIRE_SHUTDOWN_MS: milliseconds
    .default(30_000)
    .describe('longest time for an orderly stop; after it the process exits'),
}
