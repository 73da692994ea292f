import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  ConfigError,
  configReference,
  configWarnings,
  DEVELOPMENT_ENCRYPTION_KEY,
  describeConfig,
  loadAllConfig,
  loadConfig,
  loadSchemaUrl,
} from '../../src/config/config.ts'
import { OTHER_SETTINGS } from '../../src/config/other-settings.ts'

const KEY = `k1:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`
const good = {
  SHOPWIRE_DATABASE_URL: 'postgres://app:Zx81-long@db.internal/shopwire?sslmode=verify-full',
  SHOPWIRE_ENCRYPTION_KEYS: KEY,
}

const problemsOf = (env: Record<string, string>) => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

test('two settings are enough to start, and the default environment is production', () => {
  expect(loadConfig(good)).toMatchObject({
    SHOPWIRE_ENV: 'production',
    SHOPWIRE_PORT: 8080,
    SHOPWIRE_ADMISSION: 'postgres',
  })
})

test('health and metrics listen on this machine alone, unless a setting opens them', () => {
  expect(loadConfig(good).SHOPWIRE_HEALTH_HOST).toBe('127.0.0.1')
  expect(loadConfig({ ...good, SHOPWIRE_HEALTH_HOST: '0.0.0.0' }).SHOPWIRE_HEALTH_HOST).toBe('0.0.0.0')
})

test('API and worker in one process: each has a login, and production refuses one login for two parts', () => {
  const urlOf = (login: string) => `postgres://${login}:Zx81-long@db.internal/shopwire?sslmode=verify-full`
  const problems = (env: Record<string, string>) => {
    try {
      loadAllConfig({ ...good, ...env })
      return []
    } catch (error) {
      return (error as ConfigError).problems
    }
  }
  const [worker, dashboard] = ['SHOPWIRE_WORKER_DATABASE_URL', 'SHOPWIRE_DASHBOARD_DATABASE_URL']
  expect(problems({})).toEqual([expect.stringMatching(/^SHOPWIRE_WORKER_DATABASE_URL is required/)])
  expect(problems({ [worker]: urlOf('worker'), [dashboard]: urlOf('web') })).toEqual([])
  expect(problems({ [worker]: urlOf('app') })).toEqual([
    expect.stringMatching(/^SHOPWIRE_WORKER_DATABASE_URL: signs in as app, like another part/),
  ])
  expect(problems({ [worker]: urlOf('worker'), [dashboard]: urlOf('worker') })).toEqual([
    expect.stringMatching(/^SHOPWIRE_DASHBOARD_DATABASE_URL: signs in as worker, like another part/),
  ])
  expect(problems({ [worker]: urlOf('app'), SHOPWIRE_ENV: 'development' })).toEqual([])
})

test.each([
  ['redis://a:6379/1', /database 0 only/],
  ['redis://:hunter1@a,redis://:hunter2@b', /same scheme .* user name and password/],
  ['rediss://a,redis://b', /same scheme/],
  ['redis://:50%@a', /percent-encode/],
])('rejects the cluster URLs %s, with a reason that contains none of them', (urls, reason) => {
  const cluster = { ...good, SHOPWIRE_ADMISSION: 'redis-cluster', SHOPWIRE_PLAINTEXT_HOSTS: 'a,b' }
  const [problem = ''] = problemsOf({ ...cluster, SHOPWIRE_REDIS_URLS: urls })
  expect(problem).toMatch(reason)
  expect(problem).not.toMatch(/hunter|50/)
  expect(problemsOf({ ...cluster, SHOPWIRE_REDIS_URLS: 'rediss://u:p@[::1]:7000,rediss://u:p@b/0' })).toEqual(
    [],
  )
})

test.each([
  [
    'SHOPWIRE_REDIS_URLS',
    'rediss://u:hunter1@a,rediss://u:hunter1@b',
    /one URL, whose host is the name of the master/,
  ],
  ['SHOPWIRE_REDIS_URLS', 'rediss://u:hunter1@a?tls=x', /parameters after/],
  ['SHOPWIRE_REDIS_URLS', 'rediss://u:hunter1@a/one', /number of a database/],
  ['SHOPWIRE_REDIS_SENTINELS', 'rediss://:hunter1@a,rediss://:hunter2@b', /all sentinels must have the same/],
  ['SHOPWIRE_REDIS_SENTINELS', 'http://a', /redis:\/\/ or rediss:/],
  ['SHOPWIRE_ADMISSION', 'redis-cluster', /a cluster has none/],
  ['SHOPWIRE_REDIS_CA', 'hunter1', /not usable PEM/],
  ['SHOPWIRE_REDIS_CLIENT_CERT', 'hunter1', /needs its key/],
])('rejects %s=%s beside sentinels, with a reason that contains no password', (name, value, reason) => {
  const sentinels = {
    ...good,
    SHOPWIRE_ADMISSION: 'redis',
    SHOPWIRE_REDIS_URLS: 'rediss://u:p@shop-master/0',
    SHOPWIRE_REDIS_SENTINELS: 'rediss://u:p@a,rediss://u:p@[::1]:7000',
  }
  expect(problemsOf(sentinels)).toEqual([])
  const [problem = ''] = problemsOf({ ...sentinels, [name]: value })
  expect(problem).toMatch(reason)
  expect(problem).not.toMatch(/hunter/)
})

test('reports every problem at once, each with the name of its setting', () => {
  const problems = problemsOf({
    SHOPWIRE_PORT: 'eighty',
    SHOPWIRE_CELL: 'Cell One',
    SHOPWIRE_ADMISSION: 'redis',
    SHOPWIRE_ENCRYPTION_KEYS: 'k1:short',
    SHOPWIRE_HSOT: 'x',
    SHOPWIRE_API_SECRET: 'of a tool beside us',
  })
  for (const name of ['PORT', 'CELL', 'DATABASE_URL', 'REDIS_URLS', 'ENCRYPTION_KEYS', 'HSOT']) {
    expect(problems.filter((problem) => problem.startsWith(`SHOPWIRE_${name}`))).toHaveLength(1)
  }
  expect(problems).toHaveLength(6)
})

test('refuses to erase links earlier than the events that carry them, and keeps links by default', () => {
  expect(loadConfig(good).SHOPWIRE_LINK_RETENTION_DAYS).toBe(0)
  const [problem] = problemsOf({ ...good, SHOPWIRE_LINK_RETENTION_DAYS: '89' })
  expect(problem).toMatch(
    /^SHOPWIRE_LINK_RETENTION_DAYS: .* after 89 days while events, which carry them, are kept for 90/,
  )
  const both = (links: string, events: string) =>
    problemsOf({ ...good, SHOPWIRE_LINK_RETENTION_DAYS: links, SHOPWIRE_EVENT_RETENTION_DAYS: events })
  expect([both('30', '30'), both('90', '30'), both('0', '400')]).toEqual([[], [], []])
  expect(both('90', '91')).toHaveLength(1)
})

test('reads a value from NAME_FILE, and refuses NAME together with NAME_FILE', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'config-')), 'keys')
  writeFileSync(path, `${KEY}\n`)
  const { SHOPWIRE_ENCRYPTION_KEYS: _, ...rest } = good
  expect(loadConfig({ ...rest, SHOPWIRE_ENCRYPTION_KEYS_FILE: path }).encryption.activeId).toBe('k1')
  expect(problemsOf({ ...good, SHOPWIRE_ENCRYPTION_KEYS_FILE: path })[0]).toMatch(/both set/)
  expect(problemsOf({ ...rest, SHOPWIRE_ENCRYPTION_KEYS_FILE: `${path}.missing` })[0]).toMatch(/ENOENT/)
})

test.each([
  ['the development encryption key', { SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY }],
  ['a key of zeros', { SHOPWIRE_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}` }],
  ['a well-known password', { SHOPWIRE_DATABASE_URL: 'postgres://app:postgres@127.0.0.1/shopwire' }],
])('production refuses %s, development accepts it', (_, given) => {
  expect(problemsOf({ ...good, ...given })).toHaveLength(1)
  expect(problemsOf({ ...good, ...given, SHOPWIRE_ENV: 'development' })).toEqual([])
})

test('secrets appear neither in the summary nor in a problem', () => {
  const secrets = ['Zx81-long', KEY.slice(3)]
  const printed = [
    JSON.stringify(describeConfig(loadConfig(good))),
    ...problemsOf({ ...good, SHOPWIRE_DATABASE_URL: 'mysql://app:Zx81-long@db/x', SHOPWIRE_PORT: 'x' }),
  ].join('\n')
  for (const secret of secrets) expect(printed).not.toContain(secret)
  expect(printed).toContain('masked')
})

test('the active encryption key is the first one unless set, and must exist', () => {
  const two = {
    ...good,
    SHOPWIRE_ENCRYPTION_KEYS: `${KEY},k2:${Buffer.from('vutsrqponmlkjihgfedcba9876543210').toString('base64')}`,
  }
  expect(loadConfig(two).encryption.activeId).toBe('k1')
  expect(loadConfig({ ...two, SHOPWIRE_ENCRYPTION_KEY_ACTIVE: 'k2' }).encryption.activeId).toBe('k2')
  expect(problemsOf({ ...two, SHOPWIRE_ENCRYPTION_KEY_ACTIVE: 'k3' })).toHaveLength(1)
})

test('production refuses an unknown name with our prefix and says how to list all settings', () => {
  const unknown = { SHOPWIRE_WEBHOOK_ALLOWLIST: '10.0.0.0/8', SHOPWIRE_WEBHOOK_ALLOWLIST_FILE: '/run/x' }
  const problems = problemsOf({ ...good, ...unknown })
  expect(problems).toHaveLength(2)
  expect(problems[0]).toBe(
    'SHOPWIRE_WEBHOOK_ALLOWLIST is not a setting: correct or unset it ("shopwire-admin config --reference" lists all)',
  )
  expect(problemsOf({ ...good, ...unknown, SHOPWIRE_ENV: '' })).toHaveLength(2)
  expect(problemsOf({ ...good, ...unknown, SHOPWIRE_ENV: 'development' })).toEqual([])
  expect(problemsOf({ ...good, SHOPWIRE_HSOT: 'x', SHOPWIRE_ENV: 'development' })).toHaveLength(1)
})

test('accepts settings of our other programs and the variables that Kubernetes sets for Services', () => {
  expect(problemsOf({ ...good, SHOPWIRE_API_SECRET: 'sk', SHOPWIRE_PG_BIN: '/usr/bin' })).toEqual([])
  const links = {
    SHOPWIRE_API_SERVICE_HOST: '10.0.0.1',
    SHOPWIRE_API_SERVICE_PORT: '80',
    SHOPWIRE_API_SERVICE_PORT_HTTP: '80',
    SHOPWIRE_API_PORT: 'tcp://10.0.0.1:80',
    SHOPWIRE_API_PORT_80_TCP: 'tcp://10.0.0.1:80',
    SHOPWIRE_API_PORT_80_TCP_ADDR: '10.0.0.1',
  }
  expect(problemsOf({ ...good, ...links })).toEqual([])
  const { SHOPWIRE_API_SERVICE_HOST: _, ...alone } = links
  expect(problemsOf({ ...good, ...alone })).toHaveLength(5)
  const own = { SHOPWIRE_SERVICE_HOST: '10.0.0.1', SHOPWIRE_PORT: 'tcp://10.0.0.1:80' }
  expect(problemsOf({ ...good, ...own })).toEqual([expect.stringContaining('enableServiceLinks: false')])
})

test('every name with our prefix in this repository is a setting or listed for another program, and no listed name is unused', () => {
  const known = new Set([...configReference().map(({ name }) => name), ...OTHER_SETTINGS])
  const used = namesInRepository()
  expect([...used].filter((name) => !known.has(name) && !MADE_UP.has(name))).toEqual([])
  expect([...OTHER_SETTINGS].filter((name) => !used.has(name))).toEqual([])
})

/** Names that occur only in tests of the refusal itself, and of how files of settings are read. */
const MADE_UP = new Set(
  ['HSOT', 'WORKER_ORDER', 'TYPO', 'A', 'B', 'C', 'BRAND'].map((name) => `SHOPWIRE_${name}`),
)
const PROGRAMS =
  '.ci bench cli conformance contract deploy/test docs emulator examples packaging sdk test-kit tests tools'.split(
    ' ',
  )
const NOT_SOURCES = /(^|\/)(node_modules|dist|\.site|\.data|\.[a-z-]*cache)(\/|$)/

function namesInRepository(): Set<string> {
  const root = new URL('../../../', import.meta.url).pathname
  const files = PROGRAMS.flatMap((folder) =>
    globSync(`${folder}/**/*`, {
      cwd: root,
      withFileTypes: true,
      exclude: (entry) => NOT_SOURCES.test(entry.name),
    })
      .filter((entry) => entry.isFile() && !/\.(png|woff2|ico|gz)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  // A name may be followed by _FILE; a bare prefix, as in SHOPWIRE_*, is not a name.
  const names = files.flatMap(
    (file) => readFileSync(file, 'utf8').match(/\bSHOPWIRE_[A-Z][A-Z0-9_]*[A-Z0-9]\b/g) ?? [],
  )
  return new Set(names.map((name) => name.replace(/_FILE$/, '')))
}

test('a migration needs only the owner URL, and refuses a well-known password', () => {
  const owner = { SHOPWIRE_DATABASE_OWNER_URL: 'postgres://owner:Zx81-long@127.0.0.1/shopwire' }
  expect(loadSchemaUrl('migrate', { ...owner, SHOPWIRE_PORT: 'eighty' })).toBe(
    owner.SHOPWIRE_DATABASE_OWNER_URL,
  )
  expect(() => loadSchemaUrl('migrate', good)).toThrow(
    /1 problem.*\n.*SHOPWIRE_DATABASE_OWNER_URL is required/,
  )
  expect(loadSchemaUrl('look', good)).toBe(good.SHOPWIRE_DATABASE_URL)
  expect(() =>
    loadSchemaUrl('migrate', { SHOPWIRE_DATABASE_OWNER_URL: 'postgres://o:postgres@db/x' }),
  ).toThrow(/well-known/)
})

test('every setting has a description', () => {
  expect(configReference().filter(({ meaning }) => meaning === '')).toEqual([])
})

test('refuses to start in production with NODE_TLS_REJECT_UNAUTHORIZED=0, and warns in development', () => {
  const unchecked = { ...good, NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  expect(problemsOf(unchecked)).toEqual([
    expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED is 0.*NODE_EXTRA_CA_CERTS/),
  ])
  expect(problemsOf({ ...unchecked, SHOPWIRE_ENV: 'development' })).toEqual([])
  expect(configWarnings(unchecked)).toEqual(problemsOf(unchecked))
  // The owner of the schema has the most rights.
  const owner = { SHOPWIRE_DATABASE_OWNER_URL: good.SHOPWIRE_DATABASE_URL, NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  expect(() => loadSchemaUrl('migrate', owner)).toThrow(/NODE_TLS_REJECT_UNAUTHORIZED is 0/)
  for (const harmless of ['1', '']) {
    expect(problemsOf({ ...unchecked, NODE_TLS_REJECT_UNAUTHORIZED: harmless })).toEqual([])
    expect(configWarnings({ NODE_TLS_REJECT_UNAUTHORIZED: harmless })).toEqual([])
  }
})
