import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { scopes as allScopes, type Scope } from '@shopwire/contract'
import { signRequest } from '@shopwire/contract/signing'
import { inject } from 'vitest'
import type { Admission, AdmissionLimits } from '../src/access/admission.ts'
import { postgresAdmission } from '../src/access/admission-postgres.ts'
import { redisAdmission } from '../src/access/admission-redis.ts'
import { createKeyUsage } from '../src/access/key-usage.ts'
import { createKnownKeys } from '../src/access/known-keys.ts'
import { liveCatalogue } from '../src/catalogue/live-catalogue.ts'
import type { Endpoint } from '../src/edge/endpoints/endpoint.ts'
import { allEndpoints, type EndpointDeps } from '../src/edge/endpoints/index.ts'
import { publicFamily } from '../src/edge/public/public-family.ts'
import { ownFiles, type PublicFiles } from '../src/edge/public/public-files.ts'
import type { RouteFamily } from '../src/edge/route-family.ts'
import { createEdge, type EdgeDeps } from '../src/edge/server.ts'
import { signedFamily } from '../src/edge/signed/signed-family.ts'
import { createOperator } from '../src/operations/operator.ts'
import { createEvidenceWriter } from '../src/orders/placing/evidence.ts'
import type { BatchingMode } from '../src/platform/batching/batched.ts'
import { createLoadShedding } from '../src/platform/batching/load-shedding.ts'
import { type Clock, systemClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/database/db.ts'
import { type Keyring, localKeks, openKeyring } from '../src/platform/encryption/encryption.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import { createLinkVault } from '../src/supply/gift-link.ts'
import type { Journal } from '../src/supply/journal.ts'
import { openTestDatabase } from './database.ts'

export const admissionKinds = ['postgres', 'redis', 'redis-cluster'] as const
export type AdmissionKind = (typeof admissionKinds)[number]

export interface ShopOptions {
  readonly admission?: AdmissionKind
  readonly limits?: Partial<AdmissionLimits>
  readonly clock?: Clock
  readonly keyring?: Keyring
  /** Mounted in addition to or instead of the real ones, to test parts of the edge that no real endpoint uses. */
  readonly endpoints?: (db: Db) => Endpoint[]
  /** Instead of the usual ones. */
  readonly publicFiles?: PublicFiles
  /** Served beside the real families. */
  readonly families?: readonly RouteFamily[]
  readonly around?: EdgeDeps['around']
  /** Signed requests that are worked on at a time. */
  readonly inFlightMax?: number
  /** Of sold links; for deliveries by hand and by the worker of testing/worker.ts. */
  readonly journal?: Journal
  readonly log?: { write(line: string): void }
}

export interface TestKey {
  readonly id: string
  readonly secret: string
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came back; the test says what it should be
  readonly body: any
}

export type Shop = Awaited<ReturnType<typeof openShop>>

/**
 * A whole shop on a real port: real database, real admission store, one account with money and a key with all scopes. API, operator and
 * what tests start as a worker or a dashboard have the login of their process each.
 */
export async function openShop(options: ShopOptions = {}) {
  const database = await openTestDatabase()
  const keyring = options.keyring ?? testKeyring()
  const clock = options.clock ?? systemClock
  const kind = options.admission ?? 'postgres'
  const admission = createAdmission(kind, database.api, options.limits)
  await admission.open()
  const announcing = createAdmission(kind, database.operator, options.limits)
  const catalogue = liveCatalogue(database.api, () => {})
  await catalogue.open()
  const vault = createLinkVault(database.worker, keyring)
  await vault.open()
  const parts = { db: database.api, keyring, admission, catalogue, vault, clock, options }
  const operator = createOperator(
    {
      db: database.operator,
      keyring,
      clock,
      cell: 'c1',
      admission: async () => announcing,
      journal: options.journal,
    },
    'test',
  )
  const account = await operator.createAccount('Test Shop')
  await operator.fundAccount(account.id, { amount_cents: 25_000, reference: 'opening' })
  const api = await startApi(parts)
  const makeKey = async (scopes: readonly Scope[] = allScopes, account_id = account.id): Promise<TestKey> => {
    const { key, secret } = await operator.createKey(account_id, 'test', scopes)
    return { id: key.id, secret }
  }
  const key = await makeKey()
  return {
    database,
    keyring,
    operator,
    admission,
    catalogue,
    vault,
    journal: options.journal,
    account,
    key,
    port: api.port,
    metrics: api.metrics,
    evidence: api.evidence,
    usage: api.usage,
    makeKey,
    /** A second API process of the same shop: its own caches of keys and items, its own port. */
    async secondApi() {
      const own = liveCatalogue(database.api, () => {})
      await own.open()
      const second = await startApi({ ...parts, catalogue: own })
      return {
        ...second,
        catalogue: own,
        close: async () => {
          own.close()
          await second.close()
        },
      }
    },
    call: (method: string, target: string, how: CallOptions = {}) =>
      call(api.port, how.key ?? key, method, target, how),
    async close() {
      await api.close()
      catalogue.close()
      await admission.close()
      await announcing.close()
      await database.close()
    },
  }
}

export interface CallOptions {
  readonly key?: TestKey
  readonly body?: string | Uint8Array
  readonly headers?: Record<string, string>
  readonly nowMs?: number
}

/** Signs and sends one request as a caller would. */
export async function call(
  port: number,
  key: TestKey,
  method: string,
  target: string,
  { body, headers = {}, nowMs = Date.now() }: CallOptions = {},
): Promise<Answered> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const response = await fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    headers: { ...signedHeaders(key, method, target, bytes, nowMs), ...headers },
    ...(bytes && { body: bytes as Uint8Array<ArrayBuffer> }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

export function signedHeaders(
  key: TestKey,
  method: string,
  target: string,
  body: Uint8Array = new Uint8Array(),
  nowMs = Date.now(),
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000))
  const nonce = randomBytes(16).toString('hex')
  return {
    'X-Api-Key': key.id,
    'X-Api-Timestamp': timestamp,
    'X-Api-Nonce': nonce,
    'X-Api-Signature': signRequest(key.secret, { method, target, timestamp, nonce, body }),
  }
}

export function createAdmission(
  kind: AdmissionKind,
  db: Db,
  limits: Partial<AdmissionLimits> = {},
  batching: BatchingMode = 'adaptive',
): Admission {
  const options = {
    limits: { requestsMax: 120, ordersMax: 20, ...limits },
    batching,
    onError: () => {},
    onDataLost: () => {},
  }
  if (kind === 'postgres') return postgresAdmission(db, options)
  return redisAdmission(db, {
    ...options,
    urls: kind === 'redis' ? [inject('redisUrl')] : inject('redisClusterUrls'),
    isCluster: kind === 'redis-cluster',
    timeoutMs: 2_000,
  })
}

/** An endpoint of a test replaces the real one of that name. */
function mountedFor(deps: EndpointDeps, options: ShopOptions): Endpoint[] {
  const own = options.endpoints?.(deps.db) ?? []
  return [...allEndpoints(deps).filter(({ name }) => own.every((endpoint) => endpoint.name !== name)), ...own]
}

export function testKeyring(): Keyring {
  return openKeyring(localKeks(new Map([['test', randomBytes(32)]]), 'test'))
}

interface Parts extends Omit<EndpointDeps, 'metrics'> {
  readonly admission: Admission
  readonly clock: Clock
  readonly options: ShopOptions
}

async function startApi(parts: Parts) {
  const { db, keyring, admission, clock, options } = parts
  const metrics = createMetrics('test')
  const endpoints = mountedFor({ ...parts, metrics }, options)
  const log = options.log ? createLog('debug', options.log) : createLog('silent')
  const evidence = createEvidenceWriter(db, { log, metrics })
  evidence.start()
  const addressOf = (request: IncomingMessage) => request.socket.remoteAddress ?? ''
  const usage = createKeyUsage(db, { addressOf, log })
  usage.start()
  const load = createLoadShedding({
    inFlightMax: options.inFlightMax ?? 10_000,
    lagMs: () => 0,
    onShed: (reason) => metrics.requestsShed.inc({ reason }),
  })
  const edge = createEdge(
    {
      log,
      metrics,
      connectionsMax: 10_000,
      connectionsPerAddressMax: 10_000,
      ...(options.around && { around: options.around }),
    },
    [
      signedFamily(
        {
          clock,
          addressOf,
          load,
          evidence,
          usage,
          access: { keys: createKnownKeys(db, keyring), admission, metrics },
          metrics,
        },
        endpoints,
      ),
      publicFamily(
        {
          clock,
          metrics,
          addressOf,
          files: options.publicFiles ?? ownFiles(),
        },
        endpoints,
      ),
      ...(options.families ?? []),
    ],
  )
  await edge.listen({ host: '127.0.0.1', port: 0 })
  return {
    port: (edge.server.address() as AddressInfo).port,
    metrics,
    evidence,
    usage,
    async close() {
      await edge.close()
      await evidence.stop()
      await usage.stop()
    },
  }
}
