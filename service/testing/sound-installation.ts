import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { startRedis } from '@shopwire/test-kit/redis'
import { createAuthority, provisionDatabase, startPostgres } from '@shopwire/test-kit/servers'
import { SMTPServer } from 'smtp-server'
import { loadConfig } from '../src/config/config.ts'
import { SCHEMA } from '../src/installation.ts'
import { type BackupStatus, statusFile } from '../src/operations/backup-status.ts'
import { recordVerifyRun } from '../src/operations/verify.ts'
import { verifyEncryptionKeys } from '../src/platform/encryption/key-checks.ts'
import { recordHeartbeat } from '../src/platform/jobs/worker-heartbeats.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { migrate } from '../src/platform/schema/migrate.ts'
import { openDatabaseFrom, openKeyringFrom } from '../src/programs/wiring.ts'
import { asSuperuser } from './database.ts'

/** An installation in which `doctor` finds nothing wrong, on servers of its own, for tests that then spoil one thing. */
export async function openSoundInstallation() {
  const authority = await createAuthority({ days: 90 })
  const trustedBefore = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trustedBefore, await readFile(authority.file, 'utf8')])
  const address = anotherAddress()
  const certificate = await authority.issue(`DNS:localhost,IP:127.0.0.1${address ? `,IP:${address}` : ''}`)
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-doctor-'))
  const [postgres, redis] = await Promise.all([
    startPostgres({
      durable: true,
      settings: {
        archive_mode: 'on',
        wal_compression: 'lz4',
        listen_addresses: address ? `127.0.0.1,${address}` : '127.0.0.1',
      },
    }),
    startRedis({ settings: address ? { bind: `127.0.0.1 ${address}`, 'protected-mode': 'no' } : {} }),
  ])
  const superuserUrl = postgres.superuserUrl.replace(/[^/]*$/, 'shopwire')
  const asRoot = (...statements: string[]) =>
    asSuperuser(async (client) => {
      for (const statement of statements) await client.query(statement)
    }, superuserUrl)

  const { ownerUrl, processUrls } = await provisionDatabase(postgres, 'shopwire')
  await migrate(ownerUrl, SCHEMA)
  await encrypt(join(postgres.dir, 'data'), certificate)
  await asRoot(`alter system set ssl = on`, `alter system set archive_command = 'test -f %p'`, ...ARCHIVE_ONE)
  await asRoot(
    `grant pg_read_all_settings to shopwire_operator, shopwire_api, shopwire_worker, shopwire_web, shopwire_readonly`,
  )
  await asRoot(`update database_identity set journal_id = 'jrn_test', compared_start = database_start()`)

  const mail = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] })
  const api = createHttpsServer(certificate, (_, response) => response.end('{}'))
  const alertmanager = createHttpServer((_, response) => response.end('OK'))
  const ports = await Promise.all([listen(mail.server as Server), listen(api), listen(alertmanager)])

  // The journal on another disk than the database.
  const journal = await mkdtemp(join(await elsewhere(postgres.dir), 'shopwire-journal-'))
  const state = join(folder, 'backups')
  await mkdir(state)
  await writeFile(statusFile(state), JSON.stringify(backupsOf(new Date().toISOString())))

  const env: Record<string, string> = {
    SHOPWIRE_BACKUP_STATE: state,
    // A busy machine is not a misconfigured one.
    SHOPWIRE_DATABASE_CONNECT_MS: '30000',
    SHOPWIRE_DATABASE_URL: processUrls.operator,
    SHOPWIRE_DASHBOARD_DATABASE_URL: processUrls.dashboard,
    SHOPWIRE_DASHBOARD_ORIGIN: 'https://dashboard.shop.test',
    SHOPWIRE_ADMISSION: 'redis',
    SHOPWIRE_REDIS_URLS: redis.url,
    SHOPWIRE_ENCRYPTION_KEYS: `k1:${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`,
    SHOPWIRE_JOURNAL: journal,
    SHOPWIRE_API_URL: `https://localhost:${ports[1]}/v1`,
    SHOPWIRE_ALERTMANAGER_URL: `http://127.0.0.1:${ports[2]}`,
    SHOPWIRE_SMTP_URL: `smtp://127.0.0.1:${ports[0]}`,
    SHOPWIRE_MAIL_FROM: 'store@shop.test',
    SHOPWIRE_TRUSTED_PROXY_HOPS: '1',
    SHOPWIRE_CONNECTIONS_PER_ADDRESS: '0',
    SHOPWIRE_CONNECTIONS_MAX: '500',
    SHOPWIRE_WORKER_ENDPOINTS: '50',
  }
  const config = loadConfig(env)
  const log = createLog('silent')
  const db = openDatabaseFrom(config, 'test', log)
  const worker = openDatabaseFrom({ ...config, SHOPWIRE_DATABASE_URL: processUrls.worker }, 'test', log)
  await verifyEncryptionKeys(db, openKeyringFrom(config))
  await recordVerifyRun(db, [{ rule: 'M01', what: '', violations: 0, ids: [], ms: 1 }], Date.now())

  return {
    env,
    folder,
    postgres,
    redis,
    authority,
    ownerUrl,
    processUrls,
    superuserUrl,
    /** Of this machine, and not the loopback one; undefined where there is no network. */
    address,
    asRoot,
    /** A worker has just reported. */
    workerReports: () => recordHeartbeat(worker, 'wrk_test'),
    async close() {
      await Promise.all([db.close(), worker.close()])
      mail.close(() => {})
      for (const server of [api, alertmanager]) server.close()
      await Promise.all([postgres.stop(), redis.stop(), authority.remove()])
      for (const made of [folder, journal]) await rm(made, { recursive: true })
      tls.setDefaultCACertificates(trustedBefore)
    },
  }
}

async function elsewhere(path: string): Promise<string> {
  const { dev } = await stat(path)
  for (const other of [tmpdir(), '/dev/shm']) if ((await stat(other)).dev !== dev) return other
  throw new Error(`no folder is on another disk than ${path}`)
}

/** Backups and a restore test that all ended at this time. */
export function backupsOf(at: string): BackupStatus {
  const backup = { label: 'F', finished_at: at, bytes: 1, repository_bytes: 1 }
  const run = { finished_at: at, seconds: 1, backup: 'F', orders: 1, rules: 1, problem: null }
  return {
    system_identifier: '',
    checked_at: at,
    check_problem: null,
    last_full: backup,
    last_diff: null,
    last_wal: { name: 'W', archived_at: at },
    window: { from: at, to: at },
    restore_test: run,
    last_good_restore_test: run,
  }
}

/** Has the server try to archive a file, and waits for what comes of it. */
export const ARCHIVE_ONE = [
  'select pg_reload_conf()',
  `select pg_stat_reset_shared('archiver')`,
  'select pg_switch_wal()',
  `do $$
   begin
     while (select archived_count + failed_count = 0 from pg_stat_archiver) loop
       perform pg_sleep(0.02);
       perform pg_stat_clear_snapshot();
     end loop;
   end $$`,
]

/** So that a connection to this machine looks like one that leaves it. */
function anotherAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
}

/** Lets every address in, and gives the server the certificate that `ssl = on` looks for. */
async function encrypt(data: string, { key, cert }: { key: string; cert: string }) {
  const { uid, gid } = await stat(data)
  for (const [name, text] of [
    ['server.key', key],
    ['server.crt', cert],
  ] as const) {
    await writeFile(join(data, name), text, { mode: 0o600 })
    await chown(join(data, name), uid, gid)
  }
  const rules = await readFile(join(data, 'pg_hba.conf'), 'utf8')
  await writeFile(join(data, 'pg_hba.conf'), `${rules}\nhost all all all scram-sha-256\n`)
}

async function listen(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
