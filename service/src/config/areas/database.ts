import { z } from 'zod'
import { flag, type Given, isDevelopment, milliseconds, postgresUrl, secret } from '../values.ts'

export const DATABASE_URLS = [
  'SHOPWIRE_DATABASE_URL',
  'SHOPWIRE_WORKER_DATABASE_URL',
  'SHOPWIRE_DATABASE_OWNER_URL',
  'SHOPWIRE_DASHBOARD_DATABASE_URL',
] as const
const KNOWN_PASSWORDS = new Set(['postgres', 'password', 'shopwire', 'secret', 'changeme', 'admin'])

export const databaseSettings = {
  SHOPWIRE_DATABASE_URL: secret(postgresUrl.describe('PostgreSQL, with the login of this process')),
  SHOPWIRE_WORKER_DATABASE_URL: secret(
    postgresUrl
      .optional()
      .describe(
        'PostgreSQL, with the login of the worker; only for API and worker in one process (`shopwire all`)',
      ),
  ),
  SHOPWIRE_DASHBOARD_DATABASE_URL: secret(
    postgresUrl.optional().describe('PostgreSQL, with the login of the dashboard; for the dashboard only'),
  ),
  SHOPWIRE_DATABASE_OWNER_URL: secret(
    postgresUrl.optional().describe('PostgreSQL, as the owner of the tables; for migrations only'),
  ),
  SHOPWIRE_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(500)
    .default(10)
    .describe('connections per process, at most'),
  SHOPWIRE_DATABASE_CONNECT_MS: milliseconds
    .default(2_000)
    .describe('longest wait for a connection before the caller gets 503'),
  SHOPWIRE_DATABASE_STATEMENT_MS: milliseconds.default(5_000).describe('longest statement'),
  SHOPWIRE_DATABASE_LOCK_MS: milliseconds.default(2_000).describe('longest wait for a lock'),
  SHOPWIRE_DATABASE_NAMED_STATEMENTS: flag('true').describe('false behind a transaction-pooling proxy'),
  SHOPWIRE_BATCHING: z
    .enum(['adaptive', 'off', 'always'])
    .default('adaptive')
    .describe(
      'whether requests that come, and orders that are due, at the same time share calls to the database; always is for tests',
    ),
}

export function databaseProblems(given: Given): string[] {
  if (isDevelopment(given)) return []
  return DATABASE_URLS.filter((name) => {
    const url = given[name]
    return url && URL.canParse(url) && KNOWN_PASSWORDS.has(decodeURIComponent(new URL(url).password))
  }).map((name) => `${name}: the password is a well-known one; production refuses it`)
}
