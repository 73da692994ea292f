import { randomBytes } from 'node:crypto'
import type { ProvisionedDatabase } from '@shopwire/engines'
import type { Settings } from './program.ts'

/** What every process of one installation shares. The owner's login is added only for those who migrate. */
export function settingsFor({ appUrl }: ProvisionedDatabase, overrides: Settings = {}): Settings {
  return {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_ENCRYPTION_KEYS: newEncryptionKey('e2e'),
    SHOPWIRE_SHUTDOWN_DELAY_MS: '0',
    SHOPWIRE_LOG_LEVEL: 'info',
    ...overrides,
  }
}

export function ownerSettings({ ownerUrl }: ProvisionedDatabase): Settings {
  return { SHOPWIRE_DATABASE_OWNER_URL: ownerUrl }
}

export function newEncryptionKey(id: string): string {
  return `${id}:${randomBytes(32).toString('base64')}`
}
