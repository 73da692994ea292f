import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, loadConfig, loadDashboardConfig, loadSchemaUrl } from '../../src/config/config.ts'
import { mustMailBeEncrypted } from '../../src/config/transport.ts'

const PASSWORD = 'Zx81-long'
const DATABASE = `postgres://app:${PASSWORD}@db.internal:5433/shopwire`
const good = {
  SHOPWIRE_DATABASE_URL: `${DATABASE}?sslmode=verify-full`,
  SHOPWIRE_ENCRYPTION_KEYS: `k1:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`,
  SHOPWIRE_MAIL_FROM: 'store@example.com',
}

function problemsOf(load: () => unknown): readonly string[] {
  try {
    load()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
const problemsWith = (given: Record<string, string>) => problemsOf(() => loadConfig({ ...good, ...given }))

test.each([
  ['SHOPWIRE_DATABASE_URL', DATABASE, 'db.internal', /no sslmode.*add \?sslmode=verify-full/],
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?sslmode=disable`, 'db.internal', /sslmode is disable/],
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?sslmode=prefer`, 'db.internal', /sslmode is prefer/],
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?sslmode=require`, 'db.internal', /sslmode is require/],
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?sslmode=no-verify`, 'db.internal', /sslmode is no-verify/],
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?ssl=true`, 'db.internal', /no sslmode/],
  // The driver takes the last one, also when its name is encoded.
  ['SHOPWIRE_DATABASE_URL', `${DATABASE}?sslmode=verify-full&ssl%6Dode=no-verify`, 'db.internal', /sslmode/],
  [
    'SHOPWIRE_DATABASE_URL',
    `postgres://app:${PASSWORD}@localhost/x?host=db.internal`,
    'db.internal',
    /sslmode/,
  ],
  ['SHOPWIRE_DATABASE_OWNER_URL', DATABASE, 'db.internal', /sslmode/],
  ['SHOPWIRE_DASHBOARD_DATABASE_URL', DATABASE, 'db.internal', /sslmode/],
  ['SHOPWIRE_REDIS_URLS', `rediss://:${PASSWORD}@a,redis://:${PASSWORD}@Cache:6379`, 'cache', /rediss:/],
  ['SHOPWIRE_REDIS_URLS', `redis://:${PASSWORD}@[fd00::1]:6379`, 'fd00::1', /rediss:/],
  ['SHOPWIRE_REDIS_SENTINELS', `redis://:${PASSWORD}@watch:26379`, 'watch', /rediss:/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318', 'collector', /https:/],
  ['SHOPWIRE_STRIPE_API_URL', 'http://stripe.test', 'stripe.test', /https:/],
  ['SHOPWIRE_EGRESS_PROXY', `http://u:${PASSWORD}@proxy:3128`, 'proxy', /with a password/],
  ['SHOPWIRE_SMTP_URL', `smtp://u:${PASSWORD}@mail?ignoreTLS=true`, 'mail', /ignoreTLS/],
  ['SHOPWIRE_SMTP_URL', `smtps://u:${PASSWORD}@mail?tls.rejectUnauthorized=false`, 'mail', /tls\.reject/],
])('production refuses %s=%s unless %s is listed, and prints no password', (name, url, host, reason) => {
  const problems = problemsWith({ [name]: url })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(reason)
  expect(problems[0]?.toLowerCase()).toContain(`add ${host} to shopwire_plaintext_hosts`)
  expect(problems[0]).not.toContain(PASSWORD)
  expect(problemsWith({ [name]: url, SHOPWIRE_PLAINTEXT_HOSTS: `other, ${host}` })).toEqual([])
  expect(problemsWith({ [name]: url, SHOPWIRE_PLAINTEXT_HOSTS: 'other' })).toHaveLength(1)
  expect(problemsWith({ [name]: url, SHOPWIRE_ENV: 'development' })).toEqual([])
})

test.each([
  ['SHOPWIRE_DATABASE_URL', `postgres://app:${PASSWORD}@127.0.0.1/x`],
  ['SHOPWIRE_DATABASE_URL', `postgres://app:${PASSWORD}@[::1]/x`],
  ['SHOPWIRE_DATABASE_URL', `postgres://app:${PASSWORD}@%2Frun%2Fpostgresql/x`],
  ['SHOPWIRE_DATABASE_URL', `postgres://app:${PASSWORD}@/x?host=/run/postgresql`],
  ['SHOPWIRE_REDIS_URLS', 'redis://localhost:6379'],
  ['SHOPWIRE_REDIS_URLS', `rediss://:${PASSWORD}@cache:6379`],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://collector:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318'],
  // What goes through it is encrypted by itself.
  ['SHOPWIRE_EGRESS_PROXY', 'http://proxy:3128'],
  ['SHOPWIRE_EGRESS_PROXY', `https://u:${PASSWORD}@proxy:3128`],
  // STARTTLS is insisted on, see below.
  ['SHOPWIRE_SMTP_URL', `smtp://u:${PASSWORD}@mail:587`],
])('production accepts %s=%s', (name, url) => {
  expect(problemsWith({ [name]: url })).toEqual([])
})

test('the dashboard and the migration follow the same rule', () => {
  const { SHOPWIRE_DATABASE_URL: _, ...others } = good
  const dashboard = (given: Record<string, string>) =>
    problemsOf(() =>
      loadDashboardConfig({
        ...others,
        SHOPWIRE_DASHBOARD_ORIGIN: 'https://dashboard.example.com',
        SHOPWIRE_DASHBOARD_DATABASE_URL: DATABASE,
        ...given,
      }),
    )
  const migrate = (given: Record<string, string>) =>
    problemsOf(() => loadSchemaUrl('migrate', { SHOPWIRE_DATABASE_OWNER_URL: DATABASE, ...given }))
  for (const problems of [dashboard, migrate]) {
    expect(problems({})).toEqual([expect.stringMatching(/db\.internal is another machine/)])
    expect(problems({ SHOPWIRE_PLAINTEXT_HOSTS: 'db.internal' })).toEqual([])
  }
})

test.each(['db:5432', 'redis://cache', 'a b', '10.0.0.0/8'])('refuses "%s" in the list of hosts', (host) => {
  expect(problemsWith({ SHOPWIRE_PLAINTEXT_HOSTS: host })).toEqual([
    expect.stringMatching(/^SHOPWIRE_PLAINTEXT_HOSTS: must be host names or addresses/),
  ])
})

test('names the file when sslrootcert cannot be read, also in development', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'transport-')), 'authority.pem')
  const given = { SHOPWIRE_DATABASE_URL: `${DATABASE}?sslmode=verify-full&sslrootcert=${path}` }
  expect(problemsWith({ ...given, SHOPWIRE_ENV: 'development' })).toEqual([
    `SHOPWIRE_DATABASE_URL: the file ${path} of sslrootcert, sslcert or sslkey cannot be read (ENOENT)`,
  ])
  writeFileSync(path, 'a certificate')
  expect(problemsWith(given)).toEqual([])
})

test('mail has to be encrypted in production, except on this machine and to listed hosts', () => {
  const must = (url: string, SHOPWIRE_ENV = 'production') =>
    mustMailBeEncrypted(url, { SHOPWIRE_ENV, SHOPWIRE_PLAINTEXT_HOSTS: ['relay'] })
  expect(must('smtp://u:p@mail.example.com:587')).toBe(true)
  expect(must('smtp://u:p@mail.example.com:587', 'development')).toBe(false)
  expect(must('smtp://localhost:25')).toBe(false)
  expect(must('smtp://Relay:25')).toBe(false)
})
