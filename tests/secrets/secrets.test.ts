import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { totpCode } from '@shopwire/test-kit/people/authenticator'
import { startCollector } from '@shopwire/test-kit/receivers/collector'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { type PublicReceiver, startPublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { ConnectionLost, exchange } from '@shopwire/test-kit/requests/connection'
import { type Key, nowS, requestBytes, sign, signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import {
  type ApiProcess,
  dump,
  newEncryptionKey,
  newItem,
  newLinks,
  runProgram,
  START_MS_MAX,
  type System,
  startApi,
  startDashboard,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCanaries, readCommandLines, readTree } from './canaries.ts'
import { createVisitor } from './without-browser.ts'

const REQUESTS_PER_MINUTE = 60
const SOON_MS = 60_000
/** What they name is in the order's row, where disputes are settled; without the API secret they are of no use to anybody. */
const IDEMPOTENCY_KEY = 'idempotency key'

const canaries = createCanaries()
const random = (prefix = '') => `${prefix}${randomBytes(18).toString('hex')}`
const passwords = {
  redis: canaries.plant('password of Redis', random()),
  smtp: canaries.plant('password of the mail server', random()),
  proxy: canaries.plant('password of the egress proxy', random()),
  collector: canaries.plant('key of the collector', random()),
  issuer: canaries.plant('client secret of the issuer', random()),
  stripe: canaries.plant('key of Stripe', random('sk_test_')),
  stripeEvents: canaries.plant('webhook secret of Stripe', random('whsec_')),
}
const encryptionKeys = [newEncryptionKey('second'), newEncryptionKey('first')]
canaries.plant('encryption key', ...encryptionKeys.map((key) => key.split(':')[1] ?? ''))
const [pooled, made] = [newItem(100), newItem(200)]
const links = newLinks(12)
canaries.plant('gift link', ...links)

let folder: string
let system: System
let collector: Awaited<ReturnType<typeof startCollector>>
let receiver: PublicReceiver
let supplier: Awaited<ReturnType<typeof startSupplier>>
let api: ApiProcess
let dashboard: ApiProcess
let worker: WorkerProcess
/** Everything that callers, people and operators were answered, but for the answers that show a secret once. */
const answers: string[] = []
/** What PostgreSQL remembers of statements, until it is killed. */
let statements: string
/** How the secrets of keys came out: as a person reads them, and as a script does. */
let shownInWords: string
let words: Key
let json: Key
let account_id: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-secrets-'))
  await mkdir(join(folder, 'journal'))
  ;[collector, receiver, supplier] = await Promise.all([
    startCollector(),
    startPublicReceiver(),
    startSupplier(),
  ])
  system = await startSystem({
    admission: 'redis',
    apis: 0,
    postgresSettings: { shared_preload_libraries: 'pg_stat_statements' },
    redisSettings: { requirepass: passwords.redis },
    settings: {
      SHOPWIRE_LOG_LEVEL: 'debug',
      SHOPWIRE_REQUESTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
      SHOPWIRE_REDIS_TIMEOUT_MS: '2000',
      SHOPWIRE_ENCRYPTION_KEYS: encryptionKeys.join(','),
      SHOPWIRE_EGRESS_PROXY: receiver.settings.SHOPWIRE_EGRESS_PROXY.replace(
        '//',
        `//someone:${passwords.proxy}@`,
      ),
      SHOPWIRE_SMTP_URL: `smtp://someone:${passwords.smtp}@127.0.0.1:9`,
      SHOPWIRE_MAIL_FROM: 'store@shop.test',
      SHOPWIRE_OIDC_ISSUER: 'http://127.0.0.1:9',
      SHOPWIRE_OIDC_CLIENT_ID: 'shopwire',
      SHOPWIRE_OIDC_CLIENT_SECRET: passwords.issuer,
      SHOPWIRE_OIDC_NAME: 'Example',
      SHOPWIRE_OIDC_EMAIL_DOMAINS: 'example.com',
      SHOPWIRE_STRIPE_SECRET_KEY: passwords.stripe,
      SHOPWIRE_STRIPE_WEBHOOK_SECRETS: passwords.stripeEvents,
      SHOPWIRE_STRIPE_API_URL: 'http://127.0.0.1:9',
      SHOPWIRE_DASHBOARD_ORIGIN: 'https://dashboard.shop.test',
      SHOPWIRE_JOURNAL: join(folder, 'journal'),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${passwords.collector}`,
      NODE_EXTRA_CA_CERTS: receiver.settings.NODE_EXTRA_CA_CERTS,
    },
  })
  const { ownerUrl, processUrls } = system.database
  for (const url of [ownerUrl, ...Object.values(processUrls)])
    canaries.plant('password of PostgreSQL', new URL(url).password)
  await system.query('create extension pg_stat_statements')
  // The logins were made with their passwords in a statement, which an operator does by \\password.
  await system.query('select pg_stat_statements_reset()')
  await system.query("alter system set log_statement = 'all'")
  await system.query('select pg_reload_conf()')

  ;[api, worker, dashboard] = await Promise.all([
    startApi(await secretsInFiles(system.settingsOf('api'))),
    startWorker(await secretsInFiles(system.settingsOf('worker'))),
    startDashboard(await secretsInFiles(system.settingsOf('dashboard'))),
  ])
  for (const one of [api, worker, dashboard]) system.owns(one)

  await system.importItems([pooled, made])
  await system.loadPool(pooled.id, links)
  const { secret } = await system.admin('suppliers', 'create', 'maker', supplier.url)
  supplier.setSecret(canaries.plant('secret of a supplier', secret))
  await system.admin('supply', 'set', made.id, '--source', 'supplier', '--supplier', 'maker')
  ;({ account_id, key: json } = await system.createAccount({ balanceCents: 1_000 }))
  const create = ['keys', 'create', account_id, '--name', 'words', '--scopes', 'catalogue:read']
  shownInWords = (await system.runAdmin(...create)).stdout
  const [, id = '', shown = ''] = /^Key +(\S+)\nSecret +(\S+)$/m.exec(shownInWords) ?? []
  words = { id, secret: shown }
  canaries.plant('API secret', json.secret, words.secret)
}, START_MS_MAX)
afterAll(async () => {
  await system?.stop()
  await Promise.all([collector?.close(), receiver?.close(), supplier?.close()])
  await rm(folder, { recursive: true, force: true })
})

test('a secret is shown once, when its key is created, and by no command afterwards', async () => {
  expect(words.secret).toMatch(/^sk_/)
  expect(shownInWords.split(words.secret)).toHaveLength(2)
  const commands = [['keys', 'list', account_id], ['accounts', 'show', account_id], ['audit'], ['config']]
  const printed = await Promise.all(
    commands.flatMap((args) => [system.runCommand(...args), system.runCommand(...args, '--json')]),
  )
  for (const { code, stdout, stderr } of printed) {
    expect(code).toBe(0)
    expect(canaries.findIn('a command', stdout + stderr)).toEqual([])
  }
})

test('callers buy, fail and send nonsense: nobody is answered with a secret of somebody else, or with their own again', async () => {
  const first = sign(json, 'GET', '/v1/ping')
  expect([await send(first.bytes), await send(first.bytes)]).toEqual([200, 401])
  expect(await call(words, 'GET', '/v1/ping')).toBe(403)
  expect(await call({ ...json, secret: 'sk_wrong' }, 'GET', '/v1/ping')).toBe(401)
  expect(await call({ ...json, id: json.secret }, 'GET', '/v1/ping')).toBe(401)
  expect(await send(sign(json, 'GET', '/v1/ping', '', { timestamp: nowS() - 120 }).bytes)).toBe(401)
  expect(await call(json, 'GET', `/v1/ping?secret=${json.secret}`)).toBe(200)
  expect(await call(json, 'GET', `/v1/${json.secret}`)).toBe(404)
  expect(await call(json, 'GET', '/v1/ping', `{"secret":"${json.secret}"}`)).toBe(400)
  expect(await call(json, 'GET', '/v1/ping', json.secret.repeat(1_000))).toBe(413)
  const odd = [
    requestBytes('GET', '/v1/ping', { 'X-Api-Key': json.secret, 'X-Api-Signature': first.signature }),
    requestBytes('GET', '/v1/status', { Authorization: `Bearer ${json.secret}`, Cookie: json.secret }),
    Buffer.from(`${json.secret} / NOT-HTTP\r\n\r\n`),
  ]
  for (const bytes of odd) await send(bytes)

  const hook = async () => {
    const set = await shown('POST', '/v1/webhook', { url: receiver.url })
    canaries.plant('webhook secret', set.secret as string)
  }
  await hook()
  expect(await call(json, 'DELETE', '/v1/webhook')).toBe(200)
  await hook()
  const idempotency_key = () => canaries.plant(IDEMPOTENCY_KEY, random('order-'))
  const buy = (key: string, ...items: object[]) =>
    call(json, 'POST', '/v1/orders', JSON.stringify({ idempotency_key: key, items }))
  const twice = idempotency_key()
  const bought = await shown('POST', '/v1/orders', {
    idempotency_key: twice,
    items: [{ id: pooled.id, qty: 2 }, { id: made.id }],
  })
  expect(await buy(twice, { id: made.id })).toBe(409)
  expect(await buy(idempotency_key(), { id: pooled.id, qty: 10 })).toBe(402)
  expect(await buy(idempotency_key(), { id: pooled.id, qty: 'all' })).toBe(400)
  expect(await buy(`${random()}\u0000`, { id: pooled.id })).toBe(400)
  await until(
    () => receiver.arrivals.some(({ body }) => body.includes('order.delivered')),
    SOON_MS,
    () => 'the order was not delivered',
  )
  const order = await shown('GET', `/v1/orders/${bought.id}`)
  const given = order.links as string[]
  expect(given).toHaveLength(3)
  canaries.plant('gift link', ...given)

  // Links in an answer that breaks the protocol, and in an answer of a receiver.
  const refused = canaries.plant('gift link', `https://gift.example/${random()}`)
  supplier.answers(() => ({ status: 200, body: { links: refused, reason: refused } }))
  receiver.answersWith(500, `{"received":"${refused}"}`)
  const seen = receiver.arrivals.length
  await buy(idempotency_key(), { id: made.id })
  await until(
    () =>
      receiver.arrivals.length > seen &&
      /"outcome":"(?!given)\w+".*"msg":"supplier call"/.test(worker.logs()),
    SOON_MS,
    () => 'the broken answers were not noticed',
  )
})

test('people are invited, sign in and fail to: no answer repeats a token, a password or a code', async () => {
  const invite = ['people', 'invite', account_id, '--email', 'ann@shop.test', '--role', 'owner']
  const { link } = await system.admin(...invite)
  const operator = await system.admin('operators', 'invite', '--email', 'op@shop.test', '--name', 'Op')
  const [token = ''] = [link, operator.link].map((one) =>
    canaries.plant('token of an invitation', /[A-Za-z0-9_-]{20,}$/.exec(one)?.[0] ?? ''),
  )
  const added = await system.admin('operators', 'add', 'op@shop.test')
  const asOperator = {
    ...system.settingsOf('operator'),
    SHOPWIRE_OPERATOR_TOKEN: canaries.plant('operator token', added.token),
  }
  for (const command of [
    ['accounts', 'create', 'By a person'],
    ['config'],
    ['operators', 'revoke', 'op@shop.test', '--reason', 'test'],
    ['accounts', 'create', 'Refused'],
  ]) {
    const { stdout, stderr } = await runProgram('admin', command, asOperator)
    answers.push(stdout, stderr)
  }
  expect(answers.at(-1)).toContain('Your operator token is not valid')
  const password = canaries.plant('password of a person', random('Pw-'))
  const visitor = createVisitor(dashboard.port, 'https://dashboard.shop.test')
  const ok = async (path: string, body: object) => {
    const { status, text } = await visitor.post(path, body)
    expect(status, `${path}: ${text}`).toBe(200)
    return JSON.parse(text)
  }
  const refusedWith = async (path: string, body: object, expected: number) => {
    const { status, text } = await visitor.post(path, body)
    expect(status, `${path}: ${text}`).toBe(expected)
    answers.push(text)
  }
  await ok('/api/invitations/accept', { token, name: 'Ann', password })
  const { secret } = await ok('/api/security/totp/begin', { password })
  canaries.plant('secret of an authenticator app', secret)
  const { recovery_codes } = await ok('/api/security/totp/confirm', { code: totpCode(secret) })
  canaries.plant('recovery code', ...recovery_codes)
  const made = await ok('/api/tokens/create', {
    name: 'listener',
    rights: ['events:listen'],
    with_links: true,
    days: 1,
  })
  canaries.plant('personal token', made.secret)
  canaries.plant('cookie of a session', ...visitor.cookies().filter((value) => value.length > 20))
  await refusedWith('/api/invitations/accept', { token, name: 'Ann', password }, 410)
  await refusedWith('/api/step-up/totp', { code: '000000' }, 401)
  const stranger = createVisitor(dashboard.port, 'https://dashboard.shop.test')
  answers.push(
    (await stranger.post('/api/sign-in/password', { email: 'ann@shop.test', password: random('No-') })).text,
    (await stranger.post('/api/sign-in/password', { email: password, password: secret })).text,
    (await stranger.post('/api/sign-in/recovery', { code: recovery_codes[0] })).text,
    await textOf('/payments/stripe', { 'stripe-signature': `t=1,v1=${random()}` }),
    await textOf('/tokens/events', { authorization: `Bearer ${made.secret}x` }),
    await textOf('/api/sign-in/company', {}),
  )
})

test('threat 63: engines fail, settings are wrong: at least 40 secrets, none in logs, errors, traces, metrics, process lists and environments', async ({
  annotate,
}) => {
  const commandLines: string[] = []
  const sampling = setInterval(() => commandLines.push(readCommandLines()), 50)
  const limited = await Promise.all(
    Array.from({ length: REQUESTS_PER_MINUTE + 1 }, () => call(json, 'GET', '/v1/ping')),
  )
  expect(limited).toContain(429)
  statements = await system.query(
    'select query from pg_stat_statements union all select query from pg_stat_activity',
  )
  expect(statements).toContain('place_order')
  const { redis } = system
  await during('Redis frozen', () => redis?.pause(), () => redis?.resume()) // biome-ignore format: a line each
  await during('Redis gone', () => redis?.kill9(), () => redis?.start({ empty: true })) // biome-ignore format: a line each
  await during('PostgreSQL gone', () => system.postgres.kill9(), () => system.postgres.start()) // biome-ignore format: a line each
  const broken = await runBroken()
  for (const args of [['doctor'], ['config'], ['verify'], ['encryption', 'status'], ['orders', 'list']])
    answers.push(...texts(await system.runAdmin(...args)))
  clearInterval(sampling)
  commandLines.push(readCommandLines())

  const processes = { api, worker, dashboard }
  const metrics = await Promise.all(
    Object.values(processes).map(async ({ healthUrl }) => (await fetch(`${healthUrl}/metrics`)).text()),
  )
  const isLinux = process.platform === 'linux'
  const environments = await Promise.all(
    Object.values(processes).map((one) => (isLinux ? readFile(`/proc/${one.pid()}/environ`, 'utf8') : '')),
  )
  if (!isLinux) await annotate("environments were not read: only Linux's /proc shows them")
  const logs = Object.values(processes).map((one) => one.logs())
  await annotate(
    `${canaries.count()} canaries, ${answers.length} answers, ${logs.join('').length} bytes of log, ${commandLines.length} process lists`,
  )
  // Otherwise there is nothing that could have been found.
  expect(canaries.count()).toBeGreaterThanOrEqual(40)
  expect(logs[0]).toContain(json.id)
  expect(logs[1]).toContain('"msg":"webhook attempt"')
  expect(metrics[0]).toContain('shopwire_nonce_replays_total 1')
  expect(collector.sent()).toContain(account_id)
  expect(collector.headers[0]?.authorization).toBe(`Bearer ${passwords.collector}`)
  if (isLinux) expect(environments[0]).toContain('SHOPWIRE_DATABASE_URL_FILE')
  expect(broken).toContain('SHOPWIRE_STRIPE_SECRET_KEY')
  expect([
    ...Object.keys(processes).flatMap((name, n) => canaries.findIn(`the log of the ${name}`, logs[n] ?? '')),
    ...canaries.findIn('metrics', metrics.join()),
    ...canaries.findIn('answers', answers.join('\n')),
    ...canaries.findIn('errors at the start', broken),
    ...canaries.findIn('traces', collector.sent()),
    ...canaries.findIn('process lists', commandLines.join()),
    ...canaries.findIn('environments', environments.join()),
  ]).toEqual([])

  async function during(what: string, lose: () => unknown, restore: () => unknown) {
    await lose()
    expect(await call(json, 'GET', '/v1/ping'), what).toBe(503)
    await restore()
    await until(
      async () => (await call(json, 'GET', '/v1/ping')) !== 503,
      SOON_MS,
      () => `no recovery from: ${what}`,
    )
  }
})

test('threat 64: no secret in a dump, in what PostgreSQL logs and remembers of statements, in a snapshot of Redis, or in the journal', async () => {
  const everything = await dump(system.superuserUrl)
  expect(everything).toContain(words.id)
  const log = await readFile(join(system.postgres.dir, 'postgres.log'))
  expect(log.toString()).toContain('parameters: $1')
  await system.redis?.command('SAVE')
  const engineFiles = Buffer.concat([log, await readTree(system.redis?.dir ?? '')])
  const journal = await readTree(join(folder, 'journal'))
  expect(journal.length).toBeGreaterThan(0)
  const but = [IDEMPOTENCY_KEY]
  expect([
    ...canaries.findIn('the dump', everything, { but }),
    ...canaries.findIn('what PostgreSQL remembers of statements', statements),
    ...canaries.findIn('the logs and files of the engines', engineFiles, {
      but: [...but, 'password of Redis'],
    }),
    ...canaries.findIn('the journal', journal),
  ]).toEqual([])
})

/** Sends bytes of any kind, and notes the answer. */
async function send(bytes: Buffer): Promise<number | undefined> {
  const answer = await exchange(api.port, bytes).catch((error: unknown) => {
    if (!(error instanceof ConnectionLost)) throw error
  })
  if (answer) answers.push(String(answer.body))
  return answer?.status
}

const call = (key: Key, method: string, target: string, body = '') =>
  send(sign(key, method, target, body).bytes)

/** The answer shows a secret, as it has to, so it is not noted. */
async function shown(method: string, target: string, content?: object): Promise<Record<string, unknown>> {
  const body = content && JSON.stringify(content)
  const response = await fetch(`${api.url}${target}`, {
    method,
    headers: { ...signedHeaders(json, method, target, body), 'content-type': 'application/json' },
    ...(body !== undefined && { body }),
  })
  expect(response.ok, `${method} ${target}`).toBe(true)
  return (await response.json()) as Record<string, unknown>
}

async function textOf(path: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`${dashboard.url}${path}`, {
    method: path.startsWith('/payments') ? 'POST' : 'GET',
    headers: { host: 'dashboard.shop.test', ...headers },
    redirect: 'manual',
  })
  return `${response.headers.get('location')} ${await response.text()}`
}

const texts = ({ stdout, stderr }: { stdout: string; stderr: string }) => [stdout, stderr]

/** What programs say about settings with the right secrets in the wrong form, and about servers that refuse them. */
async function runBroken(): Promise<string> {
  const { settings, database } = system
  const redisUrl = settings.SHOPWIRE_REDIS_URLS ?? ''
  const misspelt = {
    SHOPWIRE_DATABASE_URL: database.processUrls.api.replace('postgres:', 'mysql:'),
    SHOPWIRE_DASHBOARD_DATABASE_URL: database.processUrls.dashboard.replace('postgres:', 'mysql:'),
    SHOPWIRE_REDIS_URLS: redisUrl.replace('redis:', 'http:'),
    SHOPWIRE_ENCRYPTION_KEYS: `${encryptionKeys[0]}AA`,
    SHOPWIRE_SMTP_URL: `mail://someone:${passwords.smtp}@127.0.0.1:9`,
    SHOPWIRE_EGRESS_PROXY: `socks://someone:${passwords.proxy}@127.0.0.1:9`,
    SHOPWIRE_STRIPE_SECRET_KEY: `${passwords.stripe}!`,
    SHOPWIRE_STRIPE_WEBHOOK_SECRETS: `x${passwords.stripeEvents}`,
    OTEL_EXPORTER_OTLP_HEADERS: `Authorization: Bearer ${passwords.collector}`,
  }
  const elsewhere = database.processUrls.operator.replace(/@[^/]+/, '@127.0.0.1:9')
  const runs = await Promise.all([
    runProgram('api', [], { ...settings, ...misspelt }),
    runProgram('admin', ['config'], { ...settings, ...misspelt }),
    runProgram('admin', ['accounts', 'list'], { ...settings, SHOPWIRE_DATABASE_URL: elsewhere }),
    runProgram('admin', ['accounts', 'list'], {
      ...settings,
      SHOPWIRE_DATABASE_URL: database.processUrls.operator.replace('_operator:', '_nobody:'),
    }),
    runProgram('admin', ['doctor'], {
      ...system.settingsOf('operator'),
      SHOPWIRE_REDIS_URLS: redisUrl.replace('redis://:', 'redis://:wrong'),
    }),
  ])
  expect(runs.map(({ code }) => code === 0)).toEqual(runs.map(() => false))
  return runs.flatMap(texts).join('\n')
}

/** As container platforms and systemd give them, so that the environment of a process holds no secret either. */
async function secretsInFiles(settings: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const secret =
    /_DATABASE_URL$|_KEYS$|_REDIS_URLS$|_SMTP_URL$|_EGRESS_PROXY$|_SECRETS?$|_SECRET_KEY$|_HEADERS$/
  const place = await mkdtemp(join(folder, 'settings-'))
  const entries = Object.entries(settings).map(async ([name, value]) => {
    if (!secret.test(name)) return [name, value]
    await writeFile(join(place, name), value, { mode: 0o600 })
    return [`${name}_FILE`, join(place, name)]
  })
  return Object.fromEntries(await Promise.all(entries))
}
