/**
 * Names with our prefix that other programs of this repository read: the SDK, the callers' command line, scripts that install and
 * upgrade a store, tests, benchmarks and `npm run dev`. The service ignores them instead of reporting a mistake. A test compares
 * the list with the sources.
 */
export const OTHER_SETTINGS: ReadonlySet<string> = new Set([
  'SHOPWIRE_ACCOUNT',
  'SHOPWIRE_ADMIN_POD',
  'SHOPWIRE_API_KEY',
  'SHOPWIRE_DASHBOARD_URL',
  'SHOPWIRE_TOKEN',
  'SHOPWIRE_API_SECRET',
  'SHOPWIRE_BASE_URL',
  'SHOPWIRE_CHROMIUM',
  'SHOPWIRE_CI',
  'SHOPWIRE_CI_E2E',
  'SHOPWIRE_DEBUG',
  'SHOPWIRE_E2E_BATCHING',
  'SHOPWIRE_E2E_SHORT',
  'SHOPWIRE_IMAGE',
  'SHOPWIRE_LONG',
  'SHOPWIRE_NAMESPACE',
  'SHOPWIRE_PG_BIN',
  'SHOPWIRE_PROFILE',
  'SHOPWIRE_PROGRAMS',
  'SHOPWIRE_REDIS_BIN',
  'SHOPWIRE_SETTINGS',
  'SHOPWIRE_SHOTS',
  'SHOPWIRE_STARTS',
  'SHOPWIRE_USER',
  'SHOPWIRE_WEBHOOK_SECRET',
  'SHOPWIRE_WEBHOOK_SECRET_PREVIOUS',
  'SHOPWIRE_WRITE_DOCS',
])

/**
 * Kubernetes gives every container the addresses of the Services in its namespace: one named `shopwire-api` becomes
 * SHOPWIRE_API_SERVICE_HOST, SHOPWIRE_API_PORT_8080_TCP and so on.
 */
export function isServiceLink(name: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const [, service] = /^(SHOPWIRE(?:_[A-Z0-9_]+?)?)_(?:SERVICE_(?:HOST|PORT)|PORT)(?:_.+)?$/.exec(name) ?? []
  return service !== undefined && env[`${service}_SERVICE_HOST`] !== undefined
}
