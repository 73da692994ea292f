import { randomBytes } from 'node:crypto'
import type { ProcessName, ProvisionedDatabase } from '../servers/index.ts'
import type { Settings } from './programs/program.ts'

/** Runs a suite with another mode than the default, for example `SHOPWIRE_E2E_BATCHING=always npm run e2e`. */
const BATCHING = process.env.SHOPWIRE_E2E_BATCHING

/** What every process of one system shares. */
export function sharedSettings(): Settings {
  return {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_ENCRYPTION_KEYS: newEncryptionKey('e2e'),
    SHOPWIRE_SHUTDOWN_DELAY_MS: '0',
    SHOPWIRE_LOG_LEVEL: 'info',
    ...(BATCHING !== undefined && { SHOPWIRE_BATCHING: BATCHING }),
  }
}

/** The login of one process, which no other process gets. */
export function loginSettings({ processUrls }: ProvisionedDatabase, process: ProcessName): Settings {
  const name = process === 'dashboard' ? 'SHOPWIRE_DASHBOARD_DATABASE_URL' : 'SHOPWIRE_DATABASE_URL'
  return { [name]: processUrls[process] }
}

/** For the operator's commands, which wait for a busy machine. */
export function ownerSettings({ ownerUrl }: ProvisionedDatabase): Settings {
  return { SHOPWIRE_DATABASE_OWNER_URL: ownerUrl, SHOPWIRE_DATABASE_CONNECT_MS: '30000' }
}

export function newEncryptionKey(id: string): string {
  return `${id}:${randomBytes(32).toString('base64')}`
}

/** More than any run sends in a minute: races and benchmarks must not run into the rate limits. */
export const LIMITLESS = 1_000_000
export const limitless: Settings = {
  SHOPWIRE_REQUESTS_PER_MINUTE: String(LIMITLESS),
  SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: String(LIMITLESS),
}
