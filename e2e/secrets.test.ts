import { until } from '@shopwire/engines'
import {
  dump,
  type Key,
  nowS,
  requestBytes,
  type SignedRequest,
  START_MS_MAX,
  type System,
  sign,
  startSystem,
} from '@shopwire/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConnectionLost, exchange } from './support/connection.ts'

const REQUESTS_PER_MINUTE = 40
const REDIS_PASSWORD = 'redis-password-of-the-secrets-test'
const SOON_MS = 20_000

let system: System
/** How the secrets came out: as a person reads them, and as a script does. */
let shownInWords: string
let words: Key
let json: Key
let account_id: string

beforeAll(async () => {
  system = await startSystem({
    admission: 'redis',
    redisSettings: { requirepass: REDIS_PASSWORD },
    settings: {
      SHOPWIRE_LOG_LEVEL: 'debug',
      SHOPWIRE_REQUESTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
      SHOPWIRE_REDIS_TIMEOUT_MS: '2000',
    },
  })
  account_id = (await system.admin('accounts', 'create', 'Secrets')).id
  json = await system.createKey(account_id)
  const create = ['keys', 'create', account_id, '--name', 'words', '--scopes', 'catalogue:read']
  shownInWords = (await system.runAdmin(...create)).stdout
  const [, id = '', secret = ''] = /^Key +(\S+)\nSecret +(\S+)$/m.exec(shownInWords) ?? []
  words = { id, secret }
}, START_MS_MAX)
afterAll(() => system?.stop())

test('a secret is shown once, when its key is created, and by no command afterwards', async () => {
  expect(words.secret).toMatch(/^sk_/)
  expect(shownInWords.split(words.secret)).toHaveLength(2)
  const commands = [['keys', 'list', account_id], ['accounts', 'show', account_id], ['audit'], ['config']]
  const printed = await Promise.all(
    commands.flatMap((args) => [system.runAdmin(...args), system.runAdmin(...args, '--json')]),
  )
  for (const { code, stdout, stderr } of printed) {
    expect(code).toBe(0)
    expect(found(stdout + stderr, spellings([words.secret, json.secret]))).toEqual([])
  }
})

test('threat 64: the database contains no secret in any encoding', async () => {
  const everything = await dump(system.superuserUrl)
  expect(everything).toContain(words.id)
  expect(everything).toContain(json.id)
  expect(found(everything, spellings([words.secret, json.secret]))).toEqual([])
})

test('threat 63: logs and metrics contain no secret, signature, nonce or password, whatever the outcome of a request', async ({
  annotate,
}) => {
  const port = system.ports[0] ?? 0
  const sent: SignedRequest[] = []
  const send = async (request: SignedRequest) => {
    sent.push(request)
    return (await exchange(port, request.bytes)).status
  }
  const call = (key: Key, target = '/v1/ping', body = '', timestamp = nowS()) =>
    send(sign(key, 'GET', target, body, { timestamp }))

  const first = sign(json, 'GET', '/v1/ping')
  expect([await send(first), await send(first)]).toEqual([200, 401])
  expect(await call(json, '/v1/balance')).toBe(200)
  expect(await call(words)).toBe(403)
  expect(await call({ ...json, secret: 'sk_wrong' })).toBe(401)
  expect(await call({ ...json, id: json.secret })).toBe(401)
  expect(await call(json, '/v1/ping', '', nowS() - 120)).toBe(401)
  expect(await call(json, `/v1/ping?secret=${json.secret}`)).toBe(200)
  expect(await call(json, `/v1/${json.secret}`)).toBe(404)
  expect(await call(json, '/v1/ping', `{"secret":"${json.secret}"}`)).toBe(400)
  expect(await call(json, '/v1/ping', json.secret.repeat(1_000))).toBe(413)
  const odd = [
    requestBytes('GET', '/v1/ping', { 'X-Api-Key': json.secret, 'X-Api-Signature': first.signature }),
    requestBytes('GET', '/v1/status', { Authorization: `Bearer ${json.secret}`, Cookie: json.secret }),
    Buffer.from(`${json.secret} / NOT-HTTP\r\n\r\n`),
  ]
  for (const bytes of odd) await exchange(port, bytes).catch(unlessLost)
  const limited = await Promise.all(Array.from({ length: REQUESTS_PER_MINUTE }, () => call(json)))
  expect(limited).toContain(429)

  await during(
    'Redis frozen',
    () => system.redis?.pause(),
    () => system.redis?.resume(),
  )
  await during(
    'Redis gone',
    () => system.redis?.kill9(),
    () => system.redis?.start({ empty: true }),
  )
  await during(
    'PostgreSQL gone',
    () => system.postgres.kill9(),
    () => system.postgres.start(),
  )
  async function during(what: string, lose: () => unknown, restore: () => unknown) {
    await lose()
    expect(await call(json), what).toBe(503)
    await restore()
    await until(
      async () => (await call(json)) !== 503,
      SOON_MS,
      () => `no recovery from: ${what}`,
    )
  }

  const logs = system.apis[0]?.logs() ?? ''
  const metrics = await (await fetch(`${system.apis[0]?.healthUrl}/metrics`)).text()
  const lines = logs.split('\n').filter((line) => line.includes('"request_id"'))
  await annotate(`${sent.length} signed requests, ${lines.length} log lines, ${logs.length} bytes of log`)
  // Otherwise there is nothing that could have been found.
  expect(lines.length).toBeGreaterThan(REQUESTS_PER_MINUTE)
  expect(logs).toContain(json.id)
  expect(metrics).toContain('shopwire_nonce_replays_total 1')
  const passwords = [system.database.appUrl, system.database.ownerUrl].map((url) => new URL(url).password)
  const [, encryptionKey = ''] = (system.settings.SHOPWIRE_ENCRYPTION_KEYS ?? '').split(':')
  const canaries = [
    ...spellings([words.secret, json.secret, encryptionKey, REDIS_PASSWORD, ...passwords]),
    ...sent.flatMap(({ nonce, signature }) => [nonce, signature]),
  ]
  expect(found(logs + metrics, canaries)).toEqual([])
})

/** As it is, as the bytes of a database dump, and as base64. */
function spellings(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    const bytes = Buffer.from(secret)
    return [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')]
  })
}

function found(text: string, canaries: readonly string[]): string[] {
  return canaries.filter((canary) => text.includes(canary))
}

function unlessLost(error: unknown): void {
  if (!(error instanceof ConnectionLost)) throw error
}
