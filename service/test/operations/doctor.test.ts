import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPostgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { DEVELOPMENT_ENCRYPTION_KEY } from '../../src/config/config.ts'
import { statusFile } from '../../src/operations/backup-status.ts'
import type { CheckResult, CheckState, Installation } from '../../src/operations/doctor/doctor.ts'
import { readMachineFacts } from '../../src/operations/doctor/machine-facts.ts'
import { runDoctor } from '../../src/programs/doctor-wiring.ts'
import { ARCHIVE_ONE, backupsOf, openSoundInstallation } from '../../testing/sound-installation.ts'

type Sound = Awaited<ReturnType<typeof openSoundInstallation>>

let sound: Sound
let badServer: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  ;[sound, badServer] = await Promise.all([
    openSoundInstallation(),
    startPostgres({
      settings: {
        wal_level: 'minimal',
        max_wal_senders: '0',
        autovacuum: 'off',
        log_timezone: 'Europe/Berlin',
        max_connections: '20',
      },
    }),
  ])
  const backups = backupsOf(new Date().toISOString())
  const from = new Date(Date.now() - 39.5 * 86_400_000).toISOString()
  await mkdir(join(sound.folder, 'kept-long'))
  await writeFile(
    statusFile(join(sound.folder, 'kept-long')),
    JSON.stringify({ ...backups, window: { from, to: backups.checked_at } }),
  )
  await mkdir(join(sound.folder, 'journal'))
  await mkdir(join(sound.folder, 'old-status'))
  await writeFile(join(sound.folder, 'old-status/status.json'), '{}')
  const hoursAgo = new Date(Date.now() - 36_000_000)
  await utimes(join(sound.folder, 'old-status/status.json'), hoursAgo, hoursAgo)
  const ofRoot = join(String(sound.env.SHOPWIRE_JOURNAL), 'of-root')
  await mkdir(ofRoot)
  const file = join(ofRoot, 'position.a.json')
  await writeFile(file, '', { mode: 0o000 })
  // Root may read everything; as in life, the owner gives it away.
  if (process.getuid?.() === 0) await chown(file, 12_345, 12_345)
}, 120_000)
afterAll(async () => {
  await Promise.all([sound?.close(), badServer?.stop()])
})

/** The tests have no standby, may run as root, with core dumps, and on a PostgreSQL whose initdb makes no checksums by default. */
const ALWAYS_WARNED = new Set(['synchronous-standby', 'not-root', 'checksums', 'core-dumps'])

test('a sound installation has no item that failed, and warnings of nothing but the machine of the tests', async () => {
  await sound.workerReports()
  const results = await examine({})
  const problems = results.filter(({ state }) => state === 'failed' || state === 'warning')
  expect(problems.filter(({ id, state }) => state === 'failed' || !ALWAYS_WARNED.has(id))).toEqual([])
  expect(results.filter(({ state }) => state === 'ok').length).toBeGreaterThan(35)
  expect(new Set(results.map(({ id }) => id)).size).toBe(results.length)
})

test('Patroni as deploy/ha configures it, of a release without the fault, is in order; without its address nothing is asked', async () => {
  const stateWith = async (how: Partial<Plant>) => named(await examine(how), 'patroni').state
  expect(await stateWith(patroni('4.0.4', { synchronous_mode: 'quorum' }))).toBe('ok')
  expect(await stateWith({})).toBe('not_applicable')
})

/** One thing that is wrong, which item notices, and what it says about it. */
interface Plant {
  readonly item: string
  readonly state?: CheckState
  readonly found: RegExp
  readonly fix: RegExp
  readonly env?: (sound: Sound) => Record<string, string | undefined>
  readonly sql?: readonly string[]
  readonly undo?: readonly string[]
  readonly nowMs?: () => number
  readonly replaced?: Partial<Installation>
}

/** As its REST address answers, when it is configured as in deploy/ha, but for `changed`. */
function patroni(version: string, changed: object): Pick<Plant, 'env' | 'replaced'> {
  const config = { synchronous_mode: true, synchronous_mode_strict: true, failsafe_mode: true, ...changed }
  return {
    env: () => ({ SHOPWIRE_PATRONI_URL: 'http://patroni.example:8008/' }),
    replaced: {
      jsonOf: async (url) =>
        url === 'http://patroni.example:8008/patroni' ? { state: 'running', patroni: { version } } : config,
    },
  }
}

const elsewhere = (url: string, host: string, query = '') => {
  const changed = new URL(url)
  changed.hostname = host
  changed.search = query
  return changed.href
}

const PLANTS: readonly Plant[] = [
  {
    item: 'settings',
    found: /SHOPWIRE_CONNECTIONS_MAXX is not a setting: did you mean SHOPWIRE_CONNECTIONS_MAX\?/,
    fix: /config --reference/,
    env: () => ({ SHOPWIRE_CONNECTIONS_MAXX: '9' }),
  },
  {
    item: 'settings',
    found: /development key/,
    fix: /Correct the settings/,
    env: () => ({ SHOPWIRE_ENCRYPTION_KEYS: DEVELOPMENT_ENCRYPTION_KEY }),
  },
  {
    item: 'environment',
    found: /development/,
    fix: /SHOPWIRE_ENV=production/,
    env: () => ({ SHOPWIRE_ENV: 'development' }),
  },
  {
    item: 'operator-identity',
    state: 'warning',
    found: /any user of this machine/,
    fix: /operators add/,
    env: () => ({ SHOPWIRE_OPERATOR_IDENTITY: 'machine' }),
  },
  {
    item: 'public-urls',
    found: /not encrypted: http:\/\/api\.shop\.test\/v1/,
    fix: /SHOPWIRE_API_URL=https/,
    env: () => ({ SHOPWIRE_API_URL: 'http://api.shop.test/v1' }),
    replaced: { statusOf: async () => 200 },
  },
  {
    item: 'proxy-hops',
    state: 'warning',
    found: /HOPS is 0/,
    fix: /SHOPWIRE_TRUSTED_PROXY_HOPS=1/,
    env: () => ({ SHOPWIRE_TRUSTED_PROXY_HOPS: undefined }),
  },
  {
    item: 'rate-limits',
    state: 'warning',
    found: /^5000 requests/,
    fix: /Remove SHOPWIRE_REQUESTS_PER_MINUTE/,
    env: () => ({ SHOPWIRE_REQUESTS_PER_MINUTE: '5000' }),
  },
  {
    item: 'shutdown-delay',
    found: /DELAY_MS is 0/,
    fix: /SHOPWIRE_SHUTDOWN_DELAY_MS=5000/,
    env: () => ({ SHOPWIRE_SHUTDOWN_DELAY_MS: '0' }),
  },
  {
    item: 'ports',
    found: /^SHOPWIRE_PORT and SHOPWIRE_HEALTH_PORT have port 9090$/,
    fix: /Different numbers/,
    env: () => ({ SHOPWIRE_PORT: '9090' }),
  },
  {
    item: 'log-level',
    state: 'warning',
    found: /silent/,
    fix: /SHOPWIRE_LOG_LEVEL=info/,
    env: () => ({ SHOPWIRE_LOG_LEVEL: 'silent' }),
  },
  {
    item: 'payments',
    found: /test key/,
    fix: /live key/,
    env: () => ({
      SHOPWIRE_STRIPE_SECRET_KEY: 'sk_test_abc123',
      SHOPWIRE_STRIPE_WEBHOOK_SECRETS: 'whsec_12345678',
    }),
  },
  {
    item: 'node-version',
    found: /Node 22/,
    fix: /Install Node 24/,
    replaced: { machine: () => ({ ...readMachineFacts(), node: '22.19.0' }) },
  },
  {
    item: 'not-root',
    state: 'warning',
    found: /root/,
    fix: /User=shopwire/,
    replaced: { machine: () => ({ ...readMachineFacts(), isRoot: true }) },
  },
  {
    item: 'core-dumps',
    state: 'warning',
    found: /core dumps are on/,
    fix: /LimitCORE=0/,
    replaced: { machine: () => ({ ...readMachineFacts(), coreMax: Number.POSITIVE_INFINITY }) },
  },
  {
    item: 'metrics-not-public',
    found: /port 9090 is open on 93\.184\.216\.34/,
    fix: /SHOPWIRE_HEALTH_HOST=127\.0\.0\.1/,
    env: () => ({ SHOPWIRE_HEALTH_HOST: '93.184.216.34' }),
  },
  {
    item: 'outbound-networks',
    found: /SHOPWIRE_OUTBOUND_ALLOW has no public network: 10\.0\.0\.0\/8/,
    fix: /SHOPWIRE_OUTBOUND_DENY/,
    env: () => ({ SHOPWIRE_OUTBOUND_ALLOW: '10.0.0.0/8' }),
  },
  {
    item: 'api-behind-tls',
    found: /plain HTTP on 93\.184\.216\.34/,
    fix: /SHOPWIRE_HOST=127\.0\.0\.1/,
    replaced: { machine: () => ({ ...readMachineFacts(), publicAddresses: ['93.184.216.34'] }) },
  },
  {
    item: 'database',
    found: /did not answer/,
    fix: /SHOPWIRE_DATABASE_URL/,
    env: ({ env }) => ({ SHOPWIRE_DATABASE_URL: String(env.SHOPWIRE_DATABASE_URL).replace(/:\d+\//, ':9/') }),
  },
  {
    item: 'schema',
    found: /migrate|version/,
    fix: /shopwire-admin migrate/,
    sql: [`update schema_functions set checksum = reverse(checksum)`],
    undo: [`update schema_functions set checksum = reverse(checksum)`],
  },
  {
    item: 'database-role',
    found: /is superuser/,
    fix: /in role shopwire_operator_rights/,
    sql: ['alter role shopwire_operator superuser'],
    undo: ['alter role shopwire_operator nosuperuser'],
  },
  {
    item: 'database-role',
    found: /owns \d\d+ tables/,
    fix: /SHOPWIRE_DATABASE_URL/,
    env: ({ ownerUrl }) => ({ SHOPWIRE_DATABASE_URL: ownerUrl }),
  },
  {
    item: 'dashboard-role',
    found: /both use shopwire_/,
    fix: /shopwire_dashboard/,
    env: ({ env }) => ({ SHOPWIRE_DASHBOARD_DATABASE_URL: String(env.SHOPWIRE_DATABASE_URL) }),
  },
  {
    item: 'synchronous-commit',
    found: /is off/,
    fix: /synchronous_commit = on/,
    sql: ['alter role shopwire_operator set synchronous_commit = off'],
    undo: ['alter role shopwire_operator reset synchronous_commit'],
  },
  {
    item: 'synchronous-commit',
    found: /is off for shopwire_api$/,
    fix: /alter role … reset synchronous_commit/,
    sql: ['alter role shopwire_api set synchronous_commit = off'],
    undo: ['alter role shopwire_api reset synchronous_commit'],
  },
  {
    item: 'jit',
    state: 'warning',
    found: /^jit is on for shopwire_worker$/,
    fix: /alter role … reset jit/,
    sql: ['alter role shopwire_worker set jit = on'],
    undo: ['alter role shopwire_worker reset jit'],
  },
  {
    item: 'synchronous-standby',
    found: /none is connected/,
    fix: /synchronous_standby_names/,
    sql: [`alter system set synchronous_standby_names = 'ANY 1 (*)'`, 'select pg_reload_conf()'],
    undo: ['alter system reset synchronous_standby_names', 'select pg_reload_conf()'],
  },
  {
    item: 'archiving',
    found: /could not be archived/,
    fix: /pg_stat_archiver/,
    sql: [`alter system set archive_command = 'test ! -f %p'`, 'create table something ()', ...ARCHIVE_ONE],
    undo: [`alter system set archive_command = 'test -f %p'`, 'drop table something', ...ARCHIVE_ONE],
  },
  {
    item: 'archiving',
    found: /without copying the file/,
    fix: /archive_command/,
    sql: [`alter system set archive_command = 'true'`, 'select pg_reload_conf()'],
    undo: [`alter system set archive_command = 'test -f %p'`, 'select pg_reload_conf()'],
  },
  {
    item: 'timeouts',
    found: /no limit for shopwire_api, shopwire_operator, shopwire_web, shopwire_worker/,
    fix: /alter role shopwire_api set statement_timeout/,
    env: () => ({ SHOPWIRE_DATABASE_NAMED_STATEMENTS: 'false' }),
  },
  {
    item: 'statement-log',
    state: 'warning',
    found: /log_statement is all/,
    fix: /log_statement = ddl/,
    sql: ['alter role shopwire_operator set log_statement = $$all$$'],
    undo: ['alter role shopwire_operator reset log_statement'],
  },
  {
    item: 'replication-slots',
    state: 'warning',
    found: /gone keeps \d+ MB/,
    fix: /pg_drop_replication_slot/,
    sql: [`select pg_create_physical_replication_slot('gone', true)`],
    undo: [`select pg_drop_replication_slot('gone')`],
  },
  {
    item: 'pending-restart',
    state: 'warning',
    found: /max_prepared_transactions/,
    fix: /Restart PostgreSQL/,
    sql: ['alter system set max_prepared_transactions = 7', 'select pg_reload_conf()'],
    undo: ['alter system reset max_prepared_transactions', 'select pg_reload_conf()'],
  },
  {
    item: 'connections',
    found: /need 910/,
    fix: /max_connections/,
    env: () => ({ SHOPWIRE_DATABASE_CONNECTIONS: '300' }),
  },
  {
    item: 'clocks',
    found: /PostgreSQL 60\d\.\d s ahead, Redis 60\d\.\d s ahead/,
    fix: /chronyc tracking/,
    nowMs: () => Date.now() - 600_000,
  },
  {
    item: 'journal',
    found: /not set/,
    fix: /SHOPWIRE_JOURNAL=/,
    env: () => ({ SHOPWIRE_JOURNAL: undefined }),
  },
  {
    item: 'journal',
    found: /ENOENT/,
    fix: /may write/,
    env: () => ({ SHOPWIRE_JOURNAL: '/nowhere/journal' }),
  },
  {
    item: 'journal',
    found: /of-root\/position\.a\.json cannot be read, or belongs to another user/,
    fix: /chown --reference/,
    env: ({ env }) => ({ SHOPWIRE_JOURNAL: join(String(env.SHOPWIRE_JOURNAL), 'of-root') }),
  },
  {
    item: 'status-page',
    state: 'warning',
    found: /cannot be used: ENOENT/,
    fix: /chown shopwire/,
    env: () => ({ SHOPWIRE_STATUS_FOLDER: '/nowhere/status' }),
  },
  {
    item: 'status-page',
    state: 'warning',
    found: /no worker has written to/,
    fix: /log of a worker/,
    env: ({ folder }) => ({ SHOPWIRE_STATUS_FOLDER: join(folder, 'journal') }),
  },
  {
    item: 'status-page',
    state: 'warning',
    found: /written 10 hours ago/,
    fix: /log of a worker/,
    env: ({ folder }) => ({ SHOPWIRE_STATUS_FOLDER: join(folder, 'old-status') }),
  },
  {
    item: 'journal-disk',
    state: 'warning',
    found: /is on the disk of the database/,
    fix: /Another volume/,
    env: ({ folder }) => ({ SHOPWIRE_JOURNAL: join(folder, 'journal') }),
  },
  {
    item: 'journal-retention',
    found: /kept for 35 days; the oldest backup is 40 days old/,
    fix: /SHOPWIRE_JOURNAL_DAYS=60/,
    env: ({ folder }) => ({ SHOPWIRE_BACKUP_STATE: join(folder, 'kept-long') }),
  },
  {
    item: 'disk-space',
    found: /^0\.\d GB free, 5 %/,
    fix: /Enlarge/,
    replaced: {
      machine: () => ({
        ...readMachineFacts(),
        folder: () => ({ isWritable: true, freeBytes: 50_000_000, freeShare: 0.05 }),
      }),
    },
  },
  {
    item: 'redis',
    found: /ECONNREFUSED/,
    fix: /SHOPWIRE_REDIS_URLS/,
    env: () => ({ SHOPWIRE_REDIS_URLS: 'redis://127.0.0.1:9' }),
  },
  {
    item: 'encryption-keys',
    found: /"k1".*does not match/,
    fix: /SHOPWIRE_ENCRYPTION_KEYS/,
    env: () => ({
      SHOPWIRE_ENCRYPTION_KEYS: `k1:${Buffer.from('another key of thirty-two bytes!').toString('base64')}`,
    }),
  },
  {
    item: 'public-api',
    found: /ECONNREFUSED/,
    fix: /curl/,
    env: () => ({ SHOPWIRE_API_URL: 'https://127.0.0.1:5/v1' }),
  },
  {
    item: 'mail',
    found: /127\.0\.0\.1:9 does not accept us/,
    fix: /SHOPWIRE_SMTP_URL=/,
    env: () => ({ SHOPWIRE_SMTP_URL: 'smtp://:hidden@127.0.0.1:9' }),
  },
  {
    item: 'alerts',
    found: /ECONNREFUSED/,
    fix: /SHOPWIRE_ALERTMANAGER_URL=/,
    env: () => ({ SHOPWIRE_ALERTMANAGER_URL: 'http://127.0.0.1:5' }),
  },
  {
    item: 'failover-policy',
    state: 'warning',
    found: /no commit waits for a standby/,
    fix: /recover policy --failover ask/,
    sql: [`update database_identity set failover = 'synchronous'`],
    undo: [`update database_identity set failover = 'ask'`],
  },
  {
    item: 'patroni',
    found: /Patroni does not answer: ECONNREFUSED/,
    fix: /Patroni 3\.0\.3/,
    env: () => ({ SHOPWIRE_PATRONI_URL: 'http://127.0.0.1:5' }),
  },
  {
    item: 'patroni',
    state: 'warning',
    found: /orders are lost when a paused primary returns, unless patroni-3\.0\.2\.patch/,
    fix: /Patroni 3\.0\.3/,
    ...patroni('3.0.2', {}),
  },
  {
    item: 'patroni',
    found: /Patroni 3\.0\.1/,
    fix: /Patroni 3\.0\.3/,
    ...patroni('3.0.1', {}),
  },
  {
    item: 'patroni',
    state: 'warning',
    found: /synchronous_mode_strict: not true/,
    fix: /patronictl edit-config/,
    ...patroni('4.0.4', { synchronous_mode_strict: false }),
  },
  {
    item: 'patroni',
    state: 'warning',
    found: /failsafe_mode: not true/,
    fix: /patronictl edit-config/,
    ...patroni('4.0.4', { failsafe_mode: undefined }),
  },
  {
    item: 'database-confirmed',
    found: /restored or failed over/,
    fix: /recover status/,
    sql: [`update database_identity set timeline = timeline + 1`],
    undo: [`update database_identity set timeline = timeline - 1`],
  },
  {
    item: 'store-open',
    state: 'warning',
    found: /closed: stocktaking/,
    fix: /store open/,
    sql: [`update store_state set is_open = false, reason = 'stocktaking'`],
    undo: [`update store_state set is_open = true, reason = null`],
  },
  {
    item: 'workers',
    found: /the last one reported 2 minutes ago/,
    fix: /Start a worker/,
    sql: [`update worker_heartbeats set seen_at = now() - interval '2 minutes'`],
  },
  {
    item: 'dead-letters',
    state: 'warning',
    found: /^1$/,
    fix: /jobs dead/,
    sql: [
      `insert into accounts (id, name, created_at) values ('acct_06fejxdhfqv7c8w4y7xvk2n1mr', 'x', now()) on conflict do nothing`,
      `insert into balances (account_id) values ('acct_06fejxdhfqv7c8w4y7xvk2n1mr') on conflict do nothing`,
      `insert into jobs (account_id, queue, subject, run_at, created_at, dead_at)
       values ('acct_06fejxdhfqv7c8w4y7xvk2n1mr', 'fulfil', 'ord_x', 'infinity', now(), now())`,
    ],
    undo: [`delete from jobs`],
  },
  {
    item: 'invariants',
    found: /1 rules are violated/,
    fix: /"Invariants"/,
    sql: [`update verify_runs set violated = 1`],
    undo: [`update verify_runs set violated = 0`],
  },
  {
    item: 'pools',
    state: 'warning',
    found: /1 empty/,
    fix: /pool load/,
    sql: [`insert into item_supply (item_id, source) values ('11440583403270470', 'pool')`],
    undo: [`delete from item_supply`],
  },
]

const LOGINS = ['operator', 'readonly', 'api', 'worker', 'dashboard'] as const
/** They may not read the store: one item says so, and whose login it is. */
const BLIND: ReadonlySet<string> = new Set(['readonly', 'api', 'dashboard'])

describe.each(IS_SHORT ? LOGINS.slice(0, 1) : LOGINS)('as %s', (login) => {
  const problemsOf = (results: readonly CheckResult[]) =>
    results
      .filter(({ id, state }) => state === 'failed' || (state === 'warning' && !ALWAYS_WARNED.has(id)))
      // A setting that was put back is reported as changed until PostgreSQL is restarted.
      .filter(({ found }) => found !== 'max_prepared_transactions')
      .map(({ id, state, found }) => ({ id, state, found }))
  const url = () => sound.processUrls[login]
  /** All items, not the planted one alone. */
  const withLogin = ({ item: _, env, ...plant }: Partial<Plant>) =>
    examine({
      ...plant,
      env: (of) => ({
        SHOPWIRE_DATABASE_URL: url(),
        ...env?.({ ...of, env: { ...of.env, SHOPWIRE_DATABASE_URL: url() } }),
      }),
    })
  const asLogin = (statements: readonly string[] = []) =>
    sound.asRoot(...statements.map((text) => text.replaceAll('shopwire_operator', new URL(url()).username)))

  test('a sound installation has no problem, but for the login itself where it may not read the store', async () => {
    await sound.workerReports()
    const named = BLIND.has(login)
      ? [
          {
            id: 'database-role',
            state: 'failed',
            found: expect.stringContaining('needs the login of operators'),
          },
        ]
      : []
    expect(problemsOf(await withLogin({}))).toEqual(named)
  })

  test.each(PLANTS)('$item: $found is found as the one cause, and the repair is named', async (plant) => {
    await sound.workerReports()
    await asLogin(plant.sql)
    try {
      const results = await withLogin(plant)
      const others = problemsOf(results).filter(
        ({ id }) => id !== plant.item && !(BLIND.has(login) && id === 'database-role'),
      )
      expect(others).toEqual([])
      const { state, found } = named(results, plant.item)
      if (BLIND.has(login) && state === 'not_applicable')
        expect(found).toMatch(/may not read the store|login of this command/)
      else expectNamed(results, plant)
    } finally {
      await asLogin(plant.undo)
    }
  })
})

test('every wrong setting of a server is found at once', async () => {
  const results = await examine({ env: () => ({ SHOPWIRE_DATABASE_URL: badServer.superuserUrl }) })
  const wrong: readonly Plant[] = [
    { item: 'fsync', found: /fsync is off/, fix: /fsync = on/ },
    { item: 'full-page-writes', found: /full_page_writes is off/, fix: /full_page_writes = on/ },
    { item: 'autovacuum', found: /autovacuum is off/, fix: /autovacuum = on/ },
    { item: 'wal-level', found: /minimal/, fix: /wal_level = replica/ },
    { item: 'jit', state: 'warning', found: /^jit is on$/, fix: /jit = off/ },
    { item: 'wal-compression', state: 'warning', found: /^off$/, fix: /wal_compression = lz4/ },
    { item: 'archiving', found: /archive_mode is off/, fix: /archive_mode = on/ },
    { item: 'log-timezone', state: 'warning', found: /Berlin/, fix: /log_timezone/ },
    { item: 'connections', found: /^17 for the programs/, fix: /max_connections/ },
    { item: 'schema', found: /migrate/, fix: /shopwire-admin migrate/ },
  ]
  for (const plant of wrong) expectNamed(results, plant)
  expect(named(results, 'workers')).toMatchObject({
    state: 'not_applicable',
    found: 'not checked: the schema does not fit this program',
  })
})

test('a connection that leaves the machine has to be encrypted and checked, unless its host is listed', async ({
  skip,
}) => {
  const { address, env, redis } = sound
  if (address === undefined) return skip('this machine has no address but the loopback one')
  const listed = { SHOPWIRE_PLAINTEXT_HOSTS: address }
  const inDevelopment = { SHOPWIRE_ENV: 'development' }
  const url = String(env.SHOPWIRE_DATABASE_URL)
  const database = async (query: string, others: Record<string, string> = {}) => {
    const SHOPWIRE_DATABASE_URL = elsewhere(url, address, query)
    return examine({ env: () => ({ SHOPWIRE_DATABASE_URL, ...others }) })
  }
  const tlsOf = async (query: string, others?: Record<string, string>) =>
    named(await database(query, others), 'database-tls')
  expectNamed(await database(''), {
    item: 'settings',
    found: new RegExp(`SHOPWIRE_DATABASE_URL: ${address} is another machine`),
    fix: /Correct the settings/,
  })
  expect(await tlsOf('', inDevelopment)).toMatchObject({
    state: 'failed',
    found: `not encrypted, to ${address}`,
  })
  expect(await tlsOf('', listed)).toMatchObject({
    state: 'ok',
    found: `not encrypted, to ${address}, as SHOPWIRE_PLAINTEXT_HOSTS permits`,
  })
  expect(await tlsOf('?sslmode=no-verify', listed)).toMatchObject({ state: 'failed' })
  expect(await tlsOf('?sslmode=verify-full')).toMatchObject({ state: 'ok' })
  const redisOf = async (others: Record<string, string>) => {
    const SHOPWIRE_REDIS_URLS = elsewhere(redis.url, address)
    return examine({ env: () => ({ SHOPWIRE_REDIS_URLS, ...others }) })
  }
  expectNamed(await redisOf(inDevelopment), {
    item: 'redis-tls',
    found: /^not encrypted, to [^ ]+$/,
    fix: /rediss:/,
  })
  expectNamed(await redisOf(listed), {
    item: 'redis-tls',
    found: /permits, without a password/,
    fix: /rediss:/,
  })
})

test('a Redis that may evict nonces is found', async () => {
  await sound.redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  onTestFinished(() => void sound.redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction'))
  expectNamed(await examine({}), { item: 'redis', found: /allkeys-lru/, fix: /noeviction/ })
})

test('a file with keys that every user may read is found, but for a container', async () => {
  const path = join(sound.folder, 'encryption_keys')
  await writeFile(path, String(sound.env.SHOPWIRE_ENCRYPTION_KEYS))
  await chmod(path, 0o644)
  const env = () => ({ SHOPWIRE_ENCRYPTION_KEYS: undefined, SHOPWIRE_ENCRYPTION_KEYS_FILE: path })
  const at = (isContainer: boolean) =>
    examine({ env, replaced: { machine: () => ({ ...readMachineFacts(), isContainer }) } })
  expectNamed(await at(false), { item: 'secret-files', found: /encryption_keys/, fix: /chmod 600/ })
  expect(named(await at(true), 'secret-files').state).toBe('ok')
  await chmod(path, 0o600)
  expect(named(await at(false), 'secret-files').state).toBe('ok')
})

test('backups that nobody has restored for a week are found', async () => {
  const state = String(sound.env.SHOPWIRE_BACKUP_STATE)
  const of = async (at: Date) => {
    await writeFile(statusFile(state), JSON.stringify(backupsOf(at.toISOString())))
    return examine({})
  }
  onTestFinished(async () => void (await of(new Date())))
  const results = await of(new Date(Date.now() - 8 * 86_400_000))
  expectNamed(results, { item: 'backups', found: /last good restore test is of/, fix: /test-restore/ })
})

test('a certificate that expires within a week is found', async () => {
  const certificate = await sound.authority.issue('DNS:localhost', { days: 3 })
  const server = createServer(certificate, (_, response) => response.end('{}'))
  await new Promise<void>((resolve) => server.listen(0, resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const results = await examine({ env: () => ({ SHOPWIRE_API_URL: `https://localhost:${port}/v1` }) })
  expectNamed(results, { item: 'certificate', found: /^2 days left/, fix: /certbot renew/ })
})

test('the command prints what failed with its repair, exits with 1, and shows no secret', async () => {
  const reports = setInterval(() => void sound.workerReports(), 1_000)
  onTestFinished(() => clearInterval(reports))
  const env: Record<string, string | undefined> = {
    ...sound.env,
    NODE_EXTRA_CA_CERTS: sound.authority.file,
    SHOPWIRE_DATABASE_NAMED_STATEMENTS: 'false',
    PATH: process.env.PATH,
  }
  const admin = fileURLToPath(new URL('../../bin/admin.ts', import.meta.url))
  // Fewer files than the sockets that the settings allow.
  const ended = await promisify(execFile)(
    'bash',
    ['--norc', '-c', `ulimit -n 700; exec "${process.execPath}" "${admin}" doctor --problems`],
    { env: env as NodeJS.ProcessEnv },
  ).then(
    () => ({ code: 0, stdout: '', stderr: '' }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  expect(ended.code).toBe(1)
  expect(ended.stdout).toMatch(/FAILED {3}A process may open as many files as it has sockets: 700 files/)
  expect(ended.stdout).toMatch(/Fix: LimitNOFILE=65536/)
  expect(ended.stdout).toMatch(/FAILED {3}Statements and idle transactions have a time limit/)
  expect(ended.stderr).toMatch(/^shopwire-admin: 2 of \d+ items failed: file-descriptors, timeouts\./m)
  for (const name of ['SHOPWIRE_DATABASE_URL', 'SHOPWIRE_DASHBOARD_DATABASE_URL'])
    expect(ended.stdout).not.toContain(new URL(String(sound.env[name])).password)
})

/** All items, or the one that is given. */
async function examine({ env, nowMs, replaced, item }: Partial<Plant>): Promise<CheckResult[]> {
  return runDoctor({ ...sound.env, ...env?.(sound) }, nowMs, replaced, item)
}

function named(results: readonly CheckResult[], item: string): CheckResult {
  return results.find(({ id }) => id === item) as CheckResult
}

function expectNamed(results: readonly CheckResult[], { item, state = 'failed', found, fix }: Plant) {
  const result = named(results, item)
  expect(result).toMatchObject({ id: item, state })
  expect(result.found).toMatch(found)
  expect(result.fix).toMatch(fix)
}

test('an API with needs the login of operators is a warning; one with its own is not', async () => {
  const signInAs = async (connectionString: string) => {
    const client = new pg.Client({ connectionString, application_name: 'shopwire-api' })
    await client.connect()
    onTestFinished(() => client.end())
  }
  const processRoles = async () => (await examine({})).find(({ id }) => id === 'process-roles')
  await signInAs(sound.processUrls.api)
  expect(await processRoles()).toMatchObject({ state: 'ok' })
  for (const process of ['worker', 'operator'] as const) {
    await signInAs(sound.processUrls[process])
    expect(await processRoles()).toMatchObject({
      state: 'warning',
      found: expect.stringContaining(`shopwire-api signs in as shopwire_${process}`),
      fix: expect.stringContaining('docs/database-roles.md'),
    })
  }
})
