import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import {
  createAuthority,
  type RedisCluster,
  type RedisTls,
  startRedis,
  startRedisCluster,
} from '@shopwire/engines'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisAdmission } from '../../src/access/admission-redis.ts'
import { createAccount } from '../../src/accounts/account.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'

const PASSWORD = 'p@ss/word:1%'
const trustedBefore = tls.getCACertificates('default')

let database: TestDatabase
let authority: Awaited<ReturnType<typeof createAuthority>>
let folder: string
let encrypted: RedisTls
beforeAll(async () => {
  authority = await createAuthority()
  folder = await mkdtemp(join(tmpdir(), 'shopwire-redis-tls-'))
  const { key, cert } = await authority.issue('DNS:localhost,IP:127.0.0.1')
  encrypted = {
    keyFile: join(folder, 'key.pem'),
    certFile: join(folder, 'cert.pem'),
    caFile: authority.file,
  }
  await writeFile(encrypted.keyFile, key, { mode: 0o600 })
  await writeFile(encrypted.certFile, cert)
  database = await openTestDatabase()
})
afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
  await authority.remove()
})

/** Has the effect of NODE_EXTRA_CA_CERTS at the start of a process. */
async function trustAuthority() {
  tls.setDefaultCACertificates([...trustedBefore, await readFile(authority.file, 'utf8')])
}

const admissionAt = (urls: string[], isCluster: boolean) =>
  redisAdmission(database.db, {
    urls,
    isCluster,
    timeoutMs: 2_000,
    limits: { requestsMax: 120, ordersMax: 20 },
    onError: () => {},
    onDataLost: () => {},
  })

async function openedWith(urls: string[], isCluster: boolean): Promise<unknown> {
  const admission = admissionAt(urls, isCluster)
  try {
    return await admission.open().then(
      () => 'opened',
      (error: unknown) => error,
    )
  } finally {
    await admission.close()
  }
}

async function attempt() {
  const { id } = await database.db.transaction((tx) => createAccount(tx, 'Caller', Date.now()))
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

describe('a Redis Cluster with TLS and a password', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    await trustAuthority()
    cluster = await startRedisCluster({
      masters: 3,
      settings: {
        requirepass: PASSWORD,
        masterauth: PASSWORD,
        // A certificate for a host name must be enough, as with most hosted clusters.
        'cluster-announce-hostname': 'localhost',
        'cluster-preferred-endpoint-type': 'hostname',
      },
      tls: encrypted,
    })
  }, 60_000)
  afterAll(() => cluster.stop())

  const urlWith = (password: string, host = '127.0.0.1') =>
    `rediss://:${encodeURIComponent(password)}@${host}:${cluster.nodes[0]?.port}`

  test.each(['127.0.0.1', 'localhost'])(
    'admits on every node when given one rediss:// URL with %s and the password',
    async (host) => {
      const admission = admissionAt([urlWith(PASSWORD, host)], true)
      await admission.open()
      // Spread over all slots, so that every master answers some of them.
      const verdicts = await Promise.all(
        Array.from({ length: 12 }, async () => admission.admit(await attempt())),
      )
      await admission.close()
      expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(['admitted']))
    },
  )

  test('accepts a user name as well', async () => {
    await Promise.all(
      cluster.nodes.map((node) => node.command('ACL', 'SETUSER', 'shop', 'on', '>of its own', '~*', '+@all')),
    )
    expect(await openedWith([`rediss://shop:of%20its%20own@127.0.0.1:${cluster.nodes[1]?.port}`], true)).toBe(
      'opened',
    )
  })

  test.each(['wrong', ''])('fails the start with the password "%s", and says why', async (password) => {
    const error = await openedWith([urlWith(password)], true)
    expect(error).not.toBeInstanceOf(Unavailable)
    expect(String(error)).toMatch(
      /Redis refuses the user name or password in SHOPWIRE_REDIS_URLS \((WRONGPASS|NOAUTH)/,
    )
  })

  test('fails the start when the certificate is from an unknown authority, and says why', async () => {
    tls.setDefaultCACertificates(trustedBefore)
    const error = await openedWith([urlWith(PASSWORD)], true)
    await trustAuthority()
    expect(error).not.toBeInstanceOf(Unavailable)
    expect(String(error)).toMatch(/certificate of Redis is not trusted .* NODE_EXTRA_CA_CERTS/)
  })
})

test('a single Redis with a wrong password fails the start too; one that is down is waited for', async () => {
  const redis = await startRedis({ settings: { requirepass: PASSWORD } })
  expect(await openedWith([redis.url], false)).toBe('opened')
  expect(String(await openedWith([redis.url.replace(/:[^:@]*@/, ':wrong@')], false))).toMatch(/WRONGPASS/)
  await redis.stop()
  expect(await openedWith([redis.url], false)).toBeInstanceOf(Unavailable)
})
