import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { RATE_WINDOW_S, RETRY_AFTER_OVERLOADED_S, RETRY_AFTER_S_MIN } from '@shopwire/contract'
import { signatureMatches } from '@shopwire/contract/signing'
import { Refusal, refuse, Unavailable } from '../platform/trouble.ts'
import type { Admission, Usage } from './admission.ts'
import type { Caller } from './caller.ts'
import { type Credentials, NOT_PROVEN } from './credentials.ts'
import type { KnownKey, KnownKeys } from './known-keys.ts'
import type { AccessMetrics } from './metrics.ts'

export interface AccessDeps {
  readonly keys: KnownKeys
  readonly admission: Admission
  readonly metrics: Pick<AccessMetrics, 'authFailures' | 'nonceReplays' | 'rateLimited'>
}

export interface SignedRequest {
  readonly method: string
  /** Path and query exactly as received. */
  readonly target: string
  readonly body: Uint8Array
  readonly isOrder: boolean
}

const READS_MAX = 3

/**
 * Turns a signed request into a Caller or refuses it: key and signature, then nonce, then limits. `onProven` may refuse it in
 * between, when its account is certain and nothing is spent yet.
 */
export async function admitCaller(
  deps: AccessDeps,
  credentials: Credentials,
  request: SignedRequest,
  onProven?: (account_id: string) => void,
): Promise<Caller> {
  let key = await proveSigner(deps, credentials, request)
  onProven?.(key.account_id)
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const verdict = await deps.admission.admit({
      account_id: key.account_id,
      key_id: key.key_id,
      nonce: credentials.nonce,
      signed_at: credentials.signed_at,
      isOrder: request.isOrder,
      access_version: key.access_version,
      epoch: key.epoch,
    })
    switch (verdict.kind) {
      case 'admitted':
        key.epoch = verdict.epoch
        return toCaller(key, verdict.usage)
      case 'limited':
        key.epoch = verdict.epoch
        throw limited(deps, verdict.usage, request.isOrder)
      case 'replayed':
        deps.metrics.nonceReplays.inc()
        throw refuse(
          'nonce_reused',
          'This nonce was used before. Sign again with a fresh nonce and timestamp; retries too.',
        )
      case 'forgotten':
        throw refuse(
          'timestamp_out_of_range',
          'This request was signed before the record of used nonces begins. Sign again with a fresh timestamp and nonce.',
        )
      case 'warming':
        throw new Refusal(
          'service_unavailable',
          'The record of used nonces is being renewed. Sign again with a fresh timestamp and nonce in a moment.',
          {},
          { 'retry-after': String(RETRY_AFTER_OVERLOADED_S) },
        )
      case 'changed': {
        const fresh = await deps.keys.read(key.key_id)
        if (!fresh) throw badCredentials(deps, 'revoked', key.key_id)
        key = fresh
      }
    }
  }
  throw new Unavailable('admission', new Error('the account kept changing while it was being read'))
}

/** Reads the caller's key and account again; refuses when the key was revoked since the request was admitted. */
export async function rereadCaller(deps: AccessDeps, { key_id, usage }: Caller): Promise<Caller> {
  const key = await deps.keys.read(key_id)
  if (!key) throw badCredentials(deps, 'revoked', key_id)
  return toCaller(key, usage)
}

/**
 * Every failure costs one signature and then one read that finds nothing, in this order, so that timing does not reveal whether a
 * key exists. Reads of concurrent requests are combined, so that forged requests stay cheap and get 401 however many there are.
 * Only the first request with a key that this process has not cached decrypts its secret and computes a second signature.
 */
async function proveSigner(
  deps: AccessDeps,
  credentials: Credentials,
  request: SignedRequest,
): Promise<KnownKey> {
  const { key_id } = credentials
  const secret = deps.keys.secret(key_id)
  const isSigned = isSignedWith(secret ?? DUMMY_SECRET, credentials, request)
  if (secret && !isSigned) {
    await deps.keys.readNothing()
    throw badCredentials(deps, 'signature', key_id)
  }
  const key = deps.keys.cached(key_id) ?? (await deps.keys.read(key_id))
  if (!key) throw badCredentials(deps, secret ? 'revoked' : 'key', key_id)
  if (!secret && !isSignedWith(key.hmacKey, credentials, request)) {
    throw badCredentials(deps, 'signature', key_id)
  }
  return key
}

function isSignedWith(secret: KeyObject, credentials: Credentials, request: SignedRequest): boolean {
  const { method, target, body } = request
  const { timestamp, nonce, signature } = credentials
  return signatureMatches(secret, { method, target, timestamp, nonce, body }, signature)
}

/** For keys that do not exist, so that the check takes as long as for existing ones. */
const DUMMY_SECRET = createSecretKey(randomBytes(32))

/** The same answer for all of them, always 401: a caller that got 429 would wait instead of checking its secret. */
function badCredentials(deps: AccessDeps, reason: 'key' | 'signature' | 'revoked', key_id: string): Refusal {
  deps.metrics.authFailures.inc({ reason })
  return refuse('authentication_failed', NOT_PROVEN, { key_id, reason })
}

function limited(deps: AccessDeps, usage: Usage, isOrder: boolean): Refusal {
  const policy = usage.requests.used < usage.requests.max && isOrder ? 'orders' : 'req'
  deps.metrics.rateLimited.inc({ policy })
  const seconds = Math.max(RETRY_AFTER_S_MIN, Math.ceil(usage.waitMs / 1000))
  return new Refusal(
    'rate_limited',
    `${whyLimited(usage, isOrder)} Wait ${seconds} s, then sign again with a fresh timestamp and nonce.`,
    {},
    { 'retry-after': String(seconds), ...rateHeaders(usage) },
  )
}

function whyLimited({ requests, orders }: Usage, isOrder: boolean): string {
  const made = (what: string) => `This account has made ${what} within ${RATE_WINDOW_S} seconds.`
  if (requests.used >= requests.max) return made(`${requests.max} requests`)
  if (isOrder && orders.used >= orders.max) return made(`${orders.max} order attempts`)
  return 'This account kept sending requests while it was refused, and this request was signed before it stopped.'
}

/** Both windows on every signed answer, so that callers see a limit before they reach it. */
export function rateHeaders({ requests, orders }: Usage): Record<string, string> {
  const left = ({ max, used, oldestLeavesMs }: Usage['requests']) => {
    const nextS = Math.min(RATE_WINDOW_S, Math.max(0, Math.ceil(oldestLeavesMs / 1000)))
    return `r=${Math.max(0, max - used)};t=${nextS}`
  }
  return {
    'ratelimit-policy': `"req";q=${requests.max};w=${RATE_WINDOW_S}, "orders";q=${orders.max};w=${RATE_WINDOW_S}`,
    ratelimit: `"req";${left(requests)}, "orders";${left(orders)}`,
  }
}

function toCaller(key: KnownKey, usage: Usage): Caller {
  const { key_id, account_id, account_name, isSuspended, scopes, access_version } = key
  return { key_id, account_id, account_name, isSuspended, scopes, access_version, usage }
}
