import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { type Config, ConfigError, loadConfig, settingFiles } from '../config/config.ts'
import { mustMailBeEncrypted } from '../config/transport.ts'
import { SCHEMA } from '../installation.ts'
import { type Installation, NotKnown } from '../operations/doctor/check.ts'
import { readDatabaseFacts } from '../operations/doctor/database-facts.ts'
import { type CheckResult, diagnose } from '../operations/doctor/doctor.ts'
import { readMachineFacts } from '../operations/doctor/machine-facts.ts'
import { readStoreData } from '../operations/doctor/store-data.ts'
import type { Db } from '../platform/database/db.ts'
import { compareEncryptionKeys } from '../platform/encryption/key-checks.ts'
import { createLog } from '../platform/observability/log.ts'
import { schemaMismatch } from '../platform/schema/schema-version.ts'
import { openDatabaseFrom, openKeyringFrom, redisSettings } from './wiring.ts'

type Environment = Readonly<Record<string, string | undefined>>
type NowMs = () => number

const ANSWER_MS_MAX = 5_000
const DAY_MS = 86_400_000

const log = createLog('silent')

/**
 * What `shopwire-admin doctor` does. The parameters are for tests; `replaced` holds conditions that a test cannot create on a
 * machine, `only` names one item.
 */
export async function runDoctor(
  env?: Environment,
  nowMs: NowMs = Date.now,
  replaced: Partial<Installation> = {},
  only?: string,
): Promise<CheckResult[]> {
  const surroundings = {
    settingFiles: settingFiles(env),
    machine: readMachineFacts,
    certificateDaysLeft: (url: URL) => certificateDaysLeft(url, nowMs),
    statusOf: async (url: string) => (await get(url)).status,
    jsonOf: async (url: string) => (await get(url)).json(),
  }
  const config = loadOrProblems(env)
  if ('problems' in config)
    return diagnose({ ...surroundings, ...unknown(config.problems), ...replaced }, only)
  const db = openDatabaseFrom(config, 'shopwire-doctor', log)
  try {
    return await diagnose({ ...surroundings, ...partsOf(config, db, nowMs), ...replaced }, only)
  } finally {
    await db.close()
  }
}

function loadOrProblems(env: Environment | undefined): Config | ConfigError {
  try {
    return loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

const get = (url: string) => fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })

type Parts = Omit<Installation, 'settingFiles' | 'machine' | 'certificateDaysLeft' | 'statusOf' | 'jsonOf'>

function unknown(settingsProblems: readonly string[]): Parts {
  const notKnown = () => {
    throw new NotKnown('the settings have mistakes')
  }
  const rejected = async () => notKnown()
  return {
    settingsProblems,
    config: notKnown,
    database: rejected,
    schemaMismatch: rejected,
    store: rejected,
    redis: rejected,
    compareKeys: rejected,
    tryMail: rejected,
  }
}

function partsOf(config: Config, db: Db, nowMs: NowMs): Parts {
  const dashboardUrl = config.SHOPWIRE_DASHBOARD_DATABASE_URL
  const dashboardRole = dashboardUrl && decodeURIComponent(new URL(dashboardUrl).username)
  const database = shared(() =>
    readDatabaseFacts(db, { nowMs, dashboardRole }).catch((error: Error & { cause?: Error }) => {
      throw new NotKnown(`the database did not answer (${error.cause?.message ?? error.message})`)
    }),
  )
  const mismatch = shared(async () => {
    await database()
    return schemaMismatch((text) => db.many({ text, values: [], name: 'schema_version' }), SCHEMA).catch(
      notAllowed,
    )
  })
  return {
    settingsProblems: [],
    config: () => config,
    database,
    schemaMismatch: mismatch,
    store: shared(async () => {
      if ((await mismatch()) !== undefined) throw new NotKnown('the schema does not fit this program')
      return readStoreData(db).catch(notAllowed)
    }),
    redis: shared(async () => {
      // Loaded only when needed, as everywhere.
      const { readRedisFacts } = await import('../access/redis-facts.ts')
      return readRedisFacts(redisSettings(config), { timeoutMs: ANSWER_MS_MAX, nowMs })
    }),
    compareKeys: () => compareEncryptionKeys(db, openKeyringFrom(config)).catch(notAllowed),
    async tryMail(url) {
      const { tryMailServer } = await import('../platform/mail/mail.ts')
      await tryMailServer(url, ANSWER_MS_MAX, { mustEncrypt: mustMailBeEncrypted(url, config) })
    },
  }
}

/** For the API's address; undefined when it has none, or is not set. */
export async function certificateDays(config: Config, nowMs: NowMs): Promise<number | undefined> {
  const url = new URL(config.SHOPWIRE_API_URL)
  if (url.protocol !== 'https:' || url.hostname.endsWith('.example')) return undefined
  return certificateDaysLeft(url, nowMs)
}

/** A login that lacks the rights for a check has not found a problem; "database-role" says which login is needed. */
function notAllowed(error: Error & { code?: string }): never {
  if (error.code === INSUFFICIENT_PRIVILEGE) throw new NotKnown('this login may not read the store')
  throw error
}
const INSUFFICIENT_PRIVILEGE = '42501'

async function certificateDaysLeft({ hostname, port }: URL, nowMs: NowMs): Promise<number> {
  // Accepts any authority and name: another check tells whether the certificate is trusted.
  const socket = connect({
    host: hostname,
    port: Number(port || 443),
    ...(isIP(hostname) === 0 && { servername: hostname }),
    rejectUnauthorized: false,
    timeout: ANSWER_MS_MAX,
  })
  socket.on('timeout', () => socket.destroy(new Error('no answer')))
  try {
    await once(socket, 'secureConnect')
    return (Date.parse(socket.getPeerCertificate().valid_to) - nowMs()) / DAY_MS
  } finally {
    socket.destroy()
  }
}

function shared<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}
