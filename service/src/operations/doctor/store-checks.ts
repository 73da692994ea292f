import { join } from 'node:path'
import { isLocalHost } from '../../platform/process/local-host.ts'
import { problemsOf, readBackupStatus } from '../backup-status.ts'
import { STALE_AFTER_S } from '../status-page/document.ts'
import { type Check, failed, NotKnown, notApplicable, ok, reasonOf, warning } from './check.ts'
import { describeAge } from './database-checks.ts'

const OFFSET_MS_WARNED = 1_000
const OFFSET_MS_MAX = 5_000
const FREE_SHARE_WARNED = 0.2
const FREE_SHARE_MIN = 0.1
const VERIFIED_S_MAX = 2 * 86_400
const CERTIFICATE_DAYS_WARNED = 21
const CERTIFICATE_DAYS_MIN = 7
const MAIL_WAITING_S_MAX = 600
const GIGABYTE = 1024 ** 3
const DAY_MS = 86_400_000

/** Everything around the database: clocks, Redis, keys, other servers, and the state of the store itself. */
export const STORE_CHECKS: readonly Check[] = [
  {
    id: 'clocks',
    group: 'Machine',
    title: 'The clocks of this machine, PostgreSQL and Redis agree',
    why: 'A request is accepted within 60 seconds of its signature: with a wrong clock callers are refused, or a nonce is deleted too early.',
    fix: 'Time synchronisation on the machine that is off: `timedatectl set-ntp true` or chrony, then `chronyc tracking`.',
    async examine(about) {
      const { clock_offset_ms } = await about.database()
      const offsets = [{ name: 'PostgreSQL', ms: clock_offset_ms }]
      if (about.config().SHOPWIRE_ADMISSION !== 'postgres') {
        const redis = await about.redis().catch(() => undefined)
        if (redis) offsets.push({ name: 'Redis', ms: redis.clockOffsetMs })
      }
      const found = offsets
        .map(
          ({ name, ms }) => `${name} ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead'}`,
        )
        .join(', ')
      const worst = Math.max(...offsets.map(({ ms }) => Math.abs(ms)))
      if (worst > OFFSET_MS_MAX) return failed(found)
      return worst > OFFSET_MS_WARNED ? warning(found) : ok(found)
    },
  },
  {
    id: 'journal',
    group: 'Machine',
    title: 'The store keeps a journal of sold links',
    why: 'After a restore of the database only the journal shows which links were sold since the backup. Without it they are sold twice.',
    fix: 'SHOPWIRE_JOURNAL=/var/lib/shopwire/journal, a folder that the programs may write to; files there that root made: chown --reference=/var/lib/shopwire/journal /var/lib/shopwire/journal/*',
    async examine(about) {
      const path = about.config().SHOPWIRE_JOURNAL
      if (path === undefined) return failed('SHOPWIRE_JOURNAL is not set')
      try {
        const { folder, unusableFiles } = about.machine()
        if (!folder(path).isWritable) return failed(`${path} cannot be written by this user`)
        const [file, ...others] = unusableFiles(path)
        if (file !== undefined)
          return failed(
            `${path}/${file} cannot be read, or belongs to another user than the folder${others.length > 0 ? `, and ${others.length} more` : ''}`,
          )
      } catch (error) {
        return failed(`${path} cannot be used: ${(error as NodeJS.ErrnoException).code}`)
      }
      const { journal_id } = await about.store()
      return journal_id === null
        ? warning(`${path} is set, but no worker has started a journal there`)
        : ok(path)
    },
  },
  {
    id: 'failover-policy',
    group: 'Store',
    title: 'A store that is to resume by itself after a failover can',
    why: 'It needs a journal, and commits that wait for a standby; otherwise an operator opens it, as if nothing had been allowed.',
    fix: 'The items "journal" and "synchronous-standby", or: shopwire-admin recover policy --failover ask',
    async examine(about) {
      const { failover, journal_id } = await about.store()
      if (failover === 'ask') return notApplicable('an operator opens the store after every failover')
      if (journal_id === null) return warning('there is no journal')
      const { synchronous_standby_names } = (await about.database()).settings
      return synchronous_standby_names === '' ? warning('no commit waits for a standby') : ok('it can')
    },
  },
  {
    id: 'journal-disk',
    group: 'Machine',
    title: 'The journal is on another disk than the database',
    why: 'If they share a disk, losing it loses both, and filling it stops both.',
    fix: 'Another volume at the folder of SHOPWIRE_JOURNAL: stop the workers, move the files, mount it there, start them.',
    async examine(about) {
      const { SHOPWIRE_JOURNAL: path, SHOPWIRE_DATABASE_URL: url } = about.config()
      if (path === undefined) return notApplicable('there is no journal')
      const { version, data_directory } = await about.database()
      const { hostname, searchParams } = new URL(url)
      const host = searchParams.get('host') ?? hostname
      if (!isLocalHost(host)) return notApplicable(`PostgreSQL is at ${host}, which cannot be seen from here`)
      const { deviceOf } = about.machine()
      const [data, journal] = [data_directory ?? debianFolder(version), path].map(deviceOf)
      if (data === undefined || journal === undefined)
        return notApplicable('this login and this user cannot see where PostgreSQL has its data')
      return data === journal ? warning(`${path} is on the disk of the database`) : ok(path)
    },
  },
  {
    id: 'journal-retention',
    group: 'Machine',
    title: 'The journal reaches back further than the oldest backup',
    why: 'After a restore to a time before the journal it is unknown which links were sold since.',
    fix: 'SHOPWIRE_JOURNAL_DAYS=60, more days than backups are kept (repo1-retention-full in pgbackrest.conf is their weeks).',
    async examine(about) {
      const {
        SHOPWIRE_JOURNAL: path,
        SHOPWIRE_JOURNAL_DAYS: days,
        SHOPWIRE_BACKUP_STATE: state,
      } = about.config()
      if (path === undefined) return notApplicable('there is no journal')
      const window = (await readBackupStatus(state))?.window
      if (window == null) return notApplicable('no backups are known on this machine')
      const backDays = Math.ceil((Date.now() - Date.parse(window.from)) / DAY_MS)
      const found = `kept for ${days} days; the oldest backup is ${backDays} days old`
      return days < backDays ? failed(found) : ok(found)
    },
  },
  {
    id: 'disk-space',
    group: 'Machine',
    title: 'The disk of the journal has room',
    why: 'When nothing can be written to the journal, nothing is delivered.',
    fix: 'Enlarge the volume, or a lower SHOPWIRE_JOURNAL_DAYS. PostgreSQL reports its own disk with shopwire_database_writes_failing; watch both with the node exporter.',
    examine(about) {
      const path = about.config().SHOPWIRE_JOURNAL
      if (path === undefined) return notApplicable('there is no journal')
      try {
        const { freeBytes, freeShare } = about.machine().folder(path)
        const found = `${(freeBytes / GIGABYTE).toFixed(1)} GB free, ${Math.floor(freeShare * 100)} %`
        if (freeShare < FREE_SHARE_MIN) return failed(found)
        return freeShare < FREE_SHARE_WARNED ? warning(found) : ok(found)
      } catch {
        return notApplicable('the folder cannot be read; see the journal')
      }
    },
  },
  {
    id: 'status-page',
    group: 'Machine',
    title: 'The status page is written',
    why: 'Customers read there whether the store works, and an old page says nothing.',
    fix: 'SHOPWIRE_STATUS_FOLDER=/var/lib/shopwire/status, for the workers: a folder that they may write to (`chown shopwire`); then read the log of a worker.',
    examine(about) {
      const path = about.config().SHOPWIRE_STATUS_FOLDER
      if (path === undefined) return notApplicable('there is none')
      const { folder, ageOf } = about.machine()
      try {
        if (!folder(path).isWritable) return warning(`${path} cannot be written by this user`)
      } catch (error) {
        return warning(`${path} cannot be used: ${reasonOf(error)}`)
      }
      const ageMs = ageOf(join(path, 'status.json'))
      if (ageMs === undefined) return warning(`no worker has written to ${path}`)
      const found = `written ${describeAge(ageMs / 1_000)} ago`
      return ageMs > STALE_AFTER_S * 1_000 ? warning(found) : ok(found)
    },
  },
  {
    id: 'backups',
    group: 'PostgreSQL',
    title: 'There are recent backups, and one of them was restored within a week',
    why: 'A backup that was never restored may not work. The test restores one and ends in verify.',
    fix: 'shopwire backup init, then full and test-restore, and their timers; SHOPWIRE_BACKUP_STATE with the folder of their state, see "Backups".',
    async examine(about) {
      const status = await readBackupStatus(about.config().SHOPWIRE_BACKUP_STATE)
      if (status === undefined) return warning('no state of backups is known on this machine')
      const problems = problemsOf(status, Date.now(), undefined)
      return problems.length === 0 ? ok('recent, and restored') : failed(problems.join(' '))
    },
  },
  {
    id: 'redis',
    group: 'Redis',
    title: 'Redis answers, and never drops a nonce',
    why: 'While it does not answer, signed requests get 503. A policy that evicts keys would let a request be sent twice.',
    fix: 'config set maxmemory-policy noeviction, and the same line in redis.conf; SHOPWIRE_REDIS_URLS with the right address.',
    async examine(about) {
      if (about.config().SHOPWIRE_ADMISSION === 'postgres') return notApplicable('nonces are in PostgreSQL')
      try {
        const { evictionPolicies, versions } = await about.redis()
        const wrong = evictionPolicies.find((policy) => policy !== 'noeviction')
        if (wrong !== undefined) return failed(`maxmemory-policy is ${wrong}`)
        return ok(`Redis ${versions.join(', ')}, noeviction`)
      } catch (error) {
        return failed(`it does not answer: ${(error as Error).message}`)
      }
    },
  },
  {
    id: 'redis-tls',
    group: 'Redis',
    title: 'The connection to Redis is encrypted and has a password, unless it stays on this machine',
    why: 'Anybody who can reach Redis can delete nonces and the revocation of a key.',
    fix: 'SHOPWIRE_REDIS_URLS=rediss://user:password@host:6379; tls-port and requirepass or an ACL in redis.conf. A server on a private network: its name in SHOPWIRE_PLAINTEXT_HOSTS.',
    examine(about) {
      const {
        SHOPWIRE_ADMISSION: admission,
        SHOPWIRE_REDIS_URLS: servers = [],
        SHOPWIRE_REDIS_SENTINELS: sentinels = [],
        SHOPWIRE_PLAINTEXT_HOSTS: permitted,
      } = about.config()
      if (admission === 'postgres') return notApplicable('nonces are in PostgreSQL')
      const urls = [...servers, ...sentinels].map((url) => new URL(url))
      const remote = urls.filter(({ hostname }) => !isLocalHost(hostname))
      if (remote.length === 0) return ok('on this machine')
      const plain = remote.filter(({ protocol }) => protocol !== 'rediss:').map(({ hostname }) => hostname)
      if (plain.some((host) => !permitted.includes(host)))
        return failed(`not encrypted, to ${plain.join(', ')}`)
      const how =
        plain.length === 0
          ? 'encrypted'
          : `not encrypted, to ${plain.join(', ')}, as SHOPWIRE_PLAINTEXT_HOSTS permits`
      return remote.some(({ password }) => password === '')
        ? failed(`${how}, without a password`)
        : ok(`${how}, with a password`)
    },
  },
  {
    id: 'encryption-keys',
    group: 'Encryption and secrets',
    title: 'The encryption keys are those of this database',
    why: 'With a wrong key nothing sealed can be read: API secrets, links, webhook secrets. What it seals, the right one cannot read.',
    fix: 'Put the right keys into SHOPWIRE_ENCRYPTION_KEYS; a new key needs a new id. Keep a copy apart from the backups.',
    async examine(about) {
      const { keys, activeId } = about.config().encryption
      await about.store()
      try {
        await about.compareKeys()
      } catch (error) {
        if (error instanceof NotKnown) throw error
        return failed((error as Error).message)
      }
      return ok(
        `${keys.size} ${keys.size === 1 ? 'key opens' : 'keys open'} what was sealed; "${activeId}" is active`,
      )
    },
  },
  {
    id: 'secret-files',
    group: 'Encryption and secrets',
    title: 'Files with settings can be read by the programs alone',
    why: 'Any other user of the machine could read the encryption keys and the password of the database.',
    fix: 'chmod 600 on the files, and the user of the programs as their owner.',
    examine(about) {
      const { isContainer, modeOf } = about.machine()
      if (about.settingFiles.length === 0) return notApplicable('no setting is in a file')
      const open = about.settingFiles.filter(({ path }) => ((modeOf(path) ?? 0) & 0o007) !== 0)
      if (open.length === 0) return ok(`${about.settingFiles.length} files`)
      const found = `readable by every user: ${open.map(({ path }) => path).join(', ')}`
      return isContainer ? ok(`${found}; in this container only`) : failed(found)
    },
  },
  {
    id: 'public-api',
    group: 'Network',
    title: 'The API answers at its public address',
    why: 'DNS, proxy, certificate and API all have to work before a caller gets an answer.',
    fix: 'Check from outside: `curl -v $SHOPWIRE_API_URL/status`. Check DNS, the proxy and its certificate, and that an API process is ready.',
    async examine(about) {
      const url = about.config().SHOPWIRE_API_URL
      if (new URL(url).hostname.endsWith('.example')) return notApplicable('SHOPWIRE_API_URL is not set')
      try {
        const status = await about.statusOf(`${url}/status`)
        return status === 200 ? ok(`${url}/status answers 200`) : failed(`${url}/status answers ${status}`)
      } catch (error) {
        return failed(`${url} does not answer: ${reasonOf(error)}`)
      }
    },
  },
  {
    id: 'certificate',
    group: 'Network',
    title: 'The certificate of the API is renewed in time',
    why: 'When it expires, every caller is cut off at once.',
    fix: 'Let the proxy renew it (Caddy does by itself, otherwise certbot renew), and reload the proxy.',
    async examine(about) {
      const url = new URL(about.config().SHOPWIRE_API_URL)
      if (url.protocol !== 'https:') return notApplicable('no TLS')
      if (url.hostname.endsWith('.example')) return notApplicable('SHOPWIRE_API_URL is not set')
      try {
        const days = await about.certificateDaysLeft(url)
        const found = days < 0 ? `expired ${Math.floor(-days)} days ago` : `${Math.floor(days)} days left`
        if (days < CERTIFICATE_DAYS_MIN) return failed(found)
        return days < CERTIFICATE_DAYS_WARNED ? warning(found) : ok(found)
      } catch (error) {
        return notApplicable(`it cannot be read: ${reasonOf(error)}`)
      }
    },
  },
  {
    id: 'mail',
    group: 'Network',
    title: 'Mail can be sent',
    why: 'People sign in, reset passwords and learn of a low balance by mail.',
    fix: 'SHOPWIRE_SMTP_URL=smtps://user:password@mail.example.com and SHOPWIRE_MAIL_FROM, for the workers.',
    async examine(about) {
      const { SHOPWIRE_SMTP_URL: url, SHOPWIRE_DASHBOARD_ORIGIN: origin } = about.config()
      if (url === undefined)
        return origin === undefined
          ? notApplicable('there is no dashboard')
          : failed('there is a dashboard, and SHOPWIRE_SMTP_URL is not set')
      try {
        await about.tryMail(url)
      } catch (error) {
        const { hostname, port } = new URL(url)
        return failed(`${hostname}${port && `:${port}`} does not accept us: ${reasonOf(error)}`)
      }
      const { mail_waiting_s: waiting } = await about.store()
      return waiting > MAIL_WAITING_S_MAX
        ? warning(`the server answers, but mail has been waiting for ${describeAge(waiting)}`)
        : ok('the server answers')
    },
  },
  {
    id: 'alerts',
    group: 'Network',
    title: 'Alerts have a receiver',
    why: 'A dead worker, a full disk or a stale backup is noticed by an alert, or by customers.',
    fix: 'SHOPWIRE_ALERTMANAGER_URL=http://alertmanager:9093, and the rules of "Observability".',
    async examine(about) {
      const url = about.config().SHOPWIRE_ALERTMANAGER_URL
      if (url === undefined) return warning('SHOPWIRE_ALERTMANAGER_URL is not set')
      try {
        const status = await about.statusOf(`${url.replace(/\/$/, '')}/-/ready`)
        return status === 200 ? ok('Alertmanager is ready') : failed(`Alertmanager answers ${status}`)
      } catch (error) {
        return failed(`Alertmanager does not answer: ${reasonOf(error)}`)
      }
    },
  },
  {
    id: 'database-confirmed',
    group: 'Store',
    title: 'The database is the one that the store was opened on',
    why: 'A restored or failed-over store sells and delivers nothing until an operator has compared it with the journal.',
    fix: 'shopwire-admin recover status',
    async examine(about) {
      const { is_confirmed } = await about.store()
      return is_confirmed ? ok('it is') : failed('it was restored or failed over, and not opened since')
    },
  },
  {
    id: 'store-open',
    group: 'Store',
    title: 'The store is open',
    why: 'While it is closed, orders get 503.',
    fix: 'shopwire-admin store open; planned closings: shopwire-admin store show',
    async examine(about) {
      const { is_confirmed, is_open, closed_reason } = await about.store()
      if (!is_confirmed) return notApplicable('see the database')
      return is_open ? ok('open') : warning(`closed${closed_reason === null ? '' : `: ${closed_reason}`}`)
    },
  },
  {
    id: 'workers',
    group: 'Store',
    title: 'A worker runs',
    why: 'Without one, orders are paid and not delivered.',
    fix: 'Start a worker (`systemctl start shopwire-worker`, `./shopwire up`); if it ends, the last line of its log says why.',
    async examine(about) {
      const { alive, last_seen_s } = (await about.store()).workers
      if (alive > 0) return ok(`${alive} alive`)
      return failed(
        last_seen_s === null
          ? 'none has ever reported'
          : `the last one reported ${describeAge(last_seen_s)} ago`,
      )
    },
  },
  {
    id: 'dead-letters',
    group: 'Store',
    title: 'No job has been given up',
    why: 'Each is an order or an event that failed because of a defect, and waits for an operator.',
    fix: 'shopwire-admin jobs dead; then jobs retry or jobs drop',
    async examine(about) {
      const { dead_letters } = await about.store()
      return dead_letters === 0 ? ok('none') : warning(String(dead_letters))
    },
  },
  {
    id: 'invariants',
    group: 'Store',
    title: 'The books were verified within two days, without a violation',
    why: 'A wrong cent or link is found on the day it happens, not at the end of the year.',
    fix: 'shopwire-admin verify, every night; if a rule is violated, read "Invariants" before anything is changed.',
    async examine(about) {
      const { verified_s_ago, rules_violated } = await about.store()
      if (verified_s_ago === null) return warning('verify has never run')
      const found = `last run ${describeAge(verified_s_ago)} ago`
      if (rules_violated > 0) return failed(`${rules_violated} rules are violated; ${found}`)
      return verified_s_ago > VERIFIED_S_MAX ? warning(found) : ok(`all rules hold; ${found}`)
    },
  },
  {
    id: 'pools',
    group: 'Store',
    title: 'No pool is empty or low',
    why: 'An item whose pool is empty cannot be sold.',
    fix: 'shopwire-admin pool levels --low, then pool load',
    async examine(about) {
      const { pools_low, pools_empty } = await about.store()
      if (pools_low === 0 && pools_empty === 0) return ok('none')
      return warning(`${pools_empty} empty, ${pools_low} below their warning level`)
    },
  },
]

/** Debian's default, for a login that may not query the server. */
const debianFolder = (version: number) => `/var/lib/postgresql/${Math.floor(version / 10_000)}/main`
