import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Redis,
  type RedisCluster,
  type RedisTls,
  startRedis,
  startRedisCluster,
} from '@shopwire/test-kit/redis'
import { createAuthority, until } from '@shopwire/test-kit/servers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Verdict } from '../../src/access/admission.ts'
import { redisAdmission } from '../../src/access/admission-redis.ts'
import { readRedisFacts } from '../../src/access/redis-facts.ts'
import type { RedisSettings } from '../../src/access/redis-urls.ts'
import { createAccount } from '../../src/accounts/account.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'

const PASSWORD = 'p@ss/word:1%'
const SENTINEL_PASSWORD = 'of-the-sentinels'
const MASTER = 'shop-master'
/** As in docs/self-hosting/network.md. */
const RIGHTS =
  '~shopwire:* -@all +@hash +@list +@string +exists +expire +pexpire +eval +evalsha +info +time +cluster|slots +cluster|info'
const SECURED = { requirepass: PASSWORD, masterauth: PASSWORD, 'user shop': `on >${PASSWORD} ${RIGHTS}` }
const REPLICATED = {
  'min-replicas-to-write': '1',
  'min-replicas-max-lag': '10',
  'repl-diskless-sync-delay': '0',
}
const START_MS_MAX = 120_000
const FAILOVER_MS_MAX = 60_000

let database: TestDatabase
let authority: Awaited<ReturnType<typeof createAuthority>>
let stranger: Awaited<ReturnType<typeof createAuthority>>
let folder: string
let client: { key: string; cert: string }
let ca: string
let single: Redis
let cluster: RedisCluster
let servers: Redis[]
let sentinel: Redis

beforeAll(async () => {
  ;[authority, stranger, database, folder] = await Promise.all([
    createAuthority(),
    createAuthority(),
    openTestDatabase(),
    mkdtemp(join(tmpdir(), 'shopwire-redis-tls-')),
  ])
  ca = await readFile(authority.file, 'utf8')
  client = await authority.issue('DNS:shopwire')
  // A certificate for a host name must be enough for a cluster, as with most hosted ones.
  const [both, addressOnly] = await Promise.all([
    tlsFor('DNS:localhost,IP:127.0.0.1'),
    tlsFor('IP:127.0.0.1'),
  ])
  const startGroup = async (): Promise<[Redis[], Redis]> => {
    const settings = { ...SECURED, ...REPLICATED }
    const master = await startRedis({ settings, tls: both })
    const replicas = await Promise.all(
      [1, 2].map(() =>
        startRedis({ settings: { ...settings, replicaof: `127.0.0.1 ${master.port}` }, tls: both }),
      ),
    )
    const watcher = await startRedis({
      isSentinel: true,
      settings: {
        requirepass: SENTINEL_PASSWORD,
        'sentinel monitor': `${MASTER} 127.0.0.1 ${master.port} 1`,
        'sentinel auth-pass': `${MASTER} ${PASSWORD}`,
        'sentinel down-after-milliseconds': `${MASTER} 1500`,
      },
      tls: both,
    })
    return [[master, ...replicas], watcher]
  }
  ;[single, cluster, [servers, sentinel]] = await Promise.all([
    startRedis({ settings: SECURED, tls: addressOnly }),
    startRedisCluster({
      masters: 3,
      settings: {
        ...SECURED,
        'cluster-announce-hostname': 'localhost',
        'cluster-preferred-endpoint-type': 'hostname',
      },
      tls: both,
    }),
    startGroup(),
  ])
}, START_MS_MAX)
afterAll(async () => {
  await Promise.all([single, sentinel, ...servers].map((server) => server.kill9()))
  await Promise.all([cluster, single, sentinel, ...servers].map((server) => server.stop()))
  await database.close()
  await Promise.all([rm(folder, { recursive: true }), authority.remove(), stranger.remove()])
})

async function tlsFor(names: string): Promise<RedisTls> {
  const { key, cert } = await authority.issue(names)
  const path = join(folder, names.replaceAll(/\W/g, '-'))
  await writeFile(`${path}.key`, key, { mode: 0o600 })
  await writeFile(`${path}.pem`, cert)
  return { keyFile: `${path}.key`, certFile: `${path}.pem`, caFile: authority.file }
}

interface Wanted {
  readonly scheme?: 'redis' | 'rediss'
  readonly password?: string
  readonly host?: string
  readonly ca?: string
}
type Kind = 'single' | 'sentinels' | 'cluster'
const KINDS = ['single', 'sentinels', 'cluster'] as const

/** Settings that are right but for what is wanted otherwise. */
function settingsOf(kind: Kind, wanted: Wanted = {}): RedisSettings {
  const { scheme = 'rediss', password = PASSWORD, host = '127.0.0.1' } = wanted
  const url = (address: string) => `${scheme}://shop:${encodeURIComponent(password)}@${address}`
  const certificates = { ca: wanted.ca ?? ca }
  if (kind === 'single') return { urls: [url(`${host}:${single.port}`)], isCluster: false, certificates }
  if (kind === 'cluster')
    return { urls: [url(`${host}:${cluster.nodes[0]?.port}`)], isCluster: true, certificates }
  return { urls: [url(MASTER)], isCluster: false, sentinels: [sentinelUrl()], certificates }
}
const sentinelUrl = (password = SENTINEL_PASSWORD) => `rediss://:${password}@127.0.0.1:${sentinel.port}`

const admissionAt = (settings: RedisSettings) =>
  redisAdmission(database.api, {
    ...settings,
    timeoutMs: 2_000,
    limits: { requestsMax: 120, ordersMax: 20 },
    onError: () => {},
    onDataLost: () => {},
  })

async function openedWith(settings: RedisSettings): Promise<unknown> {
  const admission = admissionAt(settings)
  try {
    return await admission.open().then(
      () => 'opened',
      (error: unknown) => error,
    )
  } finally {
    await admission.close()
  }
}

async function expectRefused(settings: RedisSettings, reason: RegExp): Promise<void> {
  const error = await openedWith(settings)
  expect(error).not.toBeInstanceOf(Unavailable)
  expect(String(error)).toMatch(reason)
  expect(String(error)).not.toMatch(/p@ss|p%40ss|not-the|of-the-sentinels/)
}

async function attempt() {
  const { id } = await database.operator.transaction((tx) => createAccount(tx, 'Caller', Date.now()))
  return {
    account_id: id,
    key_id: 'key_c1_0000000000000000000000000a',
    nonce: randomBytes(16).toString('hex'),
    signed_at: Math.floor(Date.now() / 1000),
    isOrder: false,
    access_version: 1,
    epoch: undefined,
  }
}

describe.each(KINDS)('Redis with TLS and a user who may do what is needed: %s', (kind) => {
  test('admits, on every server of it', async () => {
    const admission = admissionAt(settingsOf(kind))
    await admission.open()
    // Spread over all slots, so that every master of a cluster answers some of them.
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, async () => admission.admit(await attempt())),
    )
    await admission.close()
    expect(new Set(verdicts.map((verdict) => verdict.kind))).toEqual(new Set(['admitted']))
  }, 30_000)

  test('is asked about itself by doctor', async () => {
    const facts = await readRedisFacts(settingsOf(kind), { timeoutMs: 5_000, nowMs: Date.now })
    expect(facts.evictionPolicies).toEqual(['noeviction'])
  })

  test.each(['not-the-password', ''])('fails the start with the password "%s", and says why', (password) =>
    expectRefused(
      settingsOf(kind, { password }),
      /Redis refuses the user name or password in SHOPWIRE_REDIS_URLS \((WRONGPASS|NOAUTH)/,
    ),
  )

  test('fails the start when the certificate is from another authority, and says why', async () => {
    const wrong = { ca: await readFile(stranger.file, 'utf8') }
    await expectRefused(settingsOf(kind, wrong), /certificate .* is not trusted .* SHOPWIRE_REDIS_CA_FILE/)
  })

  test('fails the start with redis:// at a TLS port, and says so', () =>
    expectRefused(
      settingsOf(kind, { scheme: 'redis' }),
      /expects TLS, .* SHOPWIRE_REDIS_URLS .* Use rediss:/,
    ))
})

test('a name that is not in the certificate fails the start', async () => {
  await expectRefused(
    settingsOf('single', { host: 'localhost' }),
    /not trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
  )
  expect(await openedWith(settingsOf('cluster', { host: 'localhost' }))).toBe('opened')
})

test('a server that asks for a client certificate gets the one of the settings, and without it fails the start', async () => {
  await single.command('CONFIG', 'SET', 'tls-auth-clients', 'yes')
  await expectRefused(settingsOf('single'), /client certificate .* SHOPWIRE_REDIS_CLIENT_CERT_FILE/)
  expect(await openedWith({ ...settingsOf('single'), certificates: { ca, ...client } })).toBe('opened')
})

test('wrong credentials at a sentinel, or a master that it does not know, fail the start', async () => {
  const right = settingsOf('sentinels')
  await expectRefused(
    { ...right, sentinels: [sentinelUrl('not-theirs')] },
    /refuses the user name or password in SHOPWIRE_REDIS_SENTINELS/,
  )
  const [url = ''] = right.urls
  await expectRefused({ ...right, urls: [url.replace(MASTER, 'other')] }, /know no master "other"/)
})

test('a master behind sentinels that accepts writes without a replica fails the start', async () => {
  const [master] = servers
  await master?.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  await expectRefused(settingsOf('sentinels'), /min-replicas-to-write 1/)
  await master?.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
})

test(
  'a nonce that was used before a failover by sentinels is refused after it, also when the old master comes back',
  async () => {
    const processes = [admissionAt(settingsOf('sentinels')), admissionAt(settingsOf('sentinels'))] as const
    await Promise.all(processes.map((admission) => admission.open()))
    const [one] = processes
    const used = await attempt()
    expect(await one.admit(used)).toMatchObject({ kind: 'admitted' })
    // It hangs: connections stay open, and it does not learn that it was replaced.
    servers[0]?.pause()
    const admitted = async (admission: typeof one) => {
      let found: Awaited<ReturnType<typeof attempt>> | undefined
      const isAdmitting = async () => {
        const next = await attempt()
        const verdict: Verdict | undefined = await admission.admit(next).catch(() => undefined)
        if (verdict?.kind === 'admitted') found = next
        return found !== undefined
      }
      await until(isAdmitting, FAILOVER_MS_MAX, () => 'nothing is admitted after the failover')
      return found as Awaited<ReturnType<typeof attempt>>
    }
    const since = await Promise.all(processes.map(admitted))
    servers[0]?.resume()
    for (const request of [used, ...since]) {
      for (const admission of processes) {
        let verdict: Verdict | undefined
        const isDecided = async () => {
          verdict = await admission.admit(request)
          // The slots of other accounts begin their epochs a little later.
          return verdict.kind !== 'warming'
        }
        await until(isDecided, FAILOVER_MS_MAX, () => 'nothing is decided after the failover')
        expect(verdict?.kind).toMatch(/^(forgotten|replayed)$/)
      }
    }
    await Promise.all(processes.map((admission) => admission.close()))
  },
  FAILOVER_MS_MAX + 30_000,
)

test('a Redis without TLS and with a wrong password fails the start too; one that is down is waited for', async () => {
  const redis = await startRedis({ settings: { requirepass: PASSWORD } })
  const at = (url: string) => ({ urls: [url], isCluster: false })
  expect(await openedWith(at(redis.url))).toBe('opened')
  await expectRefused(at(redis.url.replace(/:[^:@]*@/, ':not-the-one@')), /WRONGPASS/)
  await redis.stop()
  expect(await openedWith(at(redis.url))).toBeInstanceOf(Unavailable)
})
