import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configReference, DEVELOPMENT_ENCRYPTION_KEY, loadConfig } from '../src/config/config.ts'
import { createOperator } from '../src/operations/operator.ts'
import { systemClock } from '../src/platform/clock.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createApi } from '../src/programs/api-program.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { openKeyringFrom } from '../src/programs/wiring.ts'
import { openTestDatabase } from '../testing/database.ts'
import { call } from '../testing/shop.ts'

/** The emulator allows webhooks to http://localhost. These tests make sure that no real store can be configured to do so. */
const service = join(import.meta.dirname, '..')

/** Values of a setting that might loosen a rule. */
const TEMPTING = ['true', '1', 'development', 'emulator', '*', 'http://localhost:1', 'off', 'debug']

test('the programs of a real store pass their configuration and replace no part', async () => {
  const api = await readFile(join(service, 'bin/api.ts'), 'utf8')
  const worker = await readFile(join(service, 'bin/worker.ts'), 'utf8')
  expect(api).toContain("plan('api', config, createApi)")
  expect(worker).toContain("plan('worker', config, createWorker)")
  for (const text of [api, worker]) expect(text).not.toMatch(/embedded|process\.env/)
})

test('only the configuration module reads the environment', async () => {
  const files = await readdir(service, { recursive: true })
  const code = files.filter((path) => /^(src|bin)\/.*\.ts$/.test(path))
  expect(code.length).toBeGreaterThan(50)
  const readers: string[] = []
  for (const path of code) {
    if (
      /process\s*\.\s*env|process\[|\benv\s*}\s*=\s*process/.test(await readFile(join(service, path), 'utf8'))
    )
      readers.push(path)
  }
  expect(readers).toEqual(['src/config/config.ts'])
})

test('no setting makes the API accept a webhook URL that is not public HTTPS', async () => {
  const database = await openTestDatabase()
  try {
    for (const env of loosened()) {
      const config = loadConfig(env)
      const metrics = createMetrics('test')
      const api = await createApi(config, { log: createLog('silent'), metrics, db: database.api })
      const port = await api.listen()
      await api.open((_part, work) => work())
      const operator = createOperator(
        {
          db: database.operator,
          keyring: openKeyringFrom(config),
          clock: systemClock,
          cell: 'c1',
          admission: async () => api.admission,
        },
        'test',
      )
      const account = await operator.createAccount('Test')
      const { key, secret } = await operator.createKey(account.id, 'test', ['webhooks:write', 'orders:read'])
      const set = async (url: string) =>
        (
          await call(port, { id: key.id, secret }, 'POST', '/v1/webhook', {
            body: JSON.stringify({ url }),
          })
        ).body.error?.type
      expect(await set('http://localhost:3000/hook'), JSON.stringify(env)).toBe('invalid_request')
      expect(await set('https://localhost:3000/hook')).toBe('webhook_url_not_allowed')
      expect(await set('https://127.0.0.1:3000/hook')).toBe('webhook_url_not_allowed')
      for (const step of api.stops) await step.run()
    }
  } finally {
    await database.close()
  }
}, 60_000)

/** Environments in which every setting has a value other than its default, as far as the configuration allows. */
function loosened(): Record<string, string>[] {
  const least = {
    SHOPWIRE_ENV: 'development',
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: '0',
    SHOPWIRE_DATABASE_URL: 'postgres://nobody:x@127.0.0.1/none',
    SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY,
  }
  // Would move the listener, need another server, or reach a limit of the account or its sockets.
  const fixed = new Set([
    ...Object.keys(least),
    'SHOPWIRE_ADMISSION',
    'SHOPWIRE_REDIS_URLS',
    'SHOPWIRE_DOCS_FOLDER',
    'SHOPWIRE_REQUESTS_PER_MINUTE',
    'SHOPWIRE_CONNECTIONS_MAX',
  ])
  const names = configReference().map(({ name }) => name)
  return TEMPTING.map((value) => {
    const env: Record<string, string> = { ...least, SHOPWIRE_EMULATOR: value, SHOPWIRE_ALLOW_HTTP: value }
    for (const name of names) {
      if (fixed.has(name)) continue
      try {
        loadConfig({ ...env, [name]: value })
        env[name] = value
      } catch {
        // Not a valid value of this setting.
      }
    }
    return env
  })
}
