import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Scope } from '@shopwire/contract'
import { LRUCache } from 'lru-cache'
import { findLiveKeys, type LiveKeyRow, openSecret } from '../accounts/api-key.ts'
import { type LookupLimits, sharedLookup } from '../platform/batching/shared-lookup.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'

/** A key as cached in this process. Admission confirms on every request that it is still valid. */
export interface KnownKey {
  readonly key_id: string
  readonly account_id: string
  readonly account_name: string
  readonly isSuspended: boolean
  readonly scopes: ReadonlySet<Scope>
  readonly hmacKey: KeyObject
  readonly access_version: number
  /** The epoch of the admission store in which this access version was last confirmed; undefined until it was. */
  epoch: string | undefined
}

export interface KnownKeys {
  /** The secret of a recently read key. It never changes, so it may be cached; it authenticates, but does not authorise. */
  secret(key_id: string): KeyObject | undefined
  /** The cached key, if the admission store has confirmed it since it was read. */
  cached(key_id: string): KnownKey | undefined
  /**
   * Stops using cached keys of the account that have an older access version. Returns false when this process already knew this
   * version.
   */
  invalidateBefore(account_id: string, access_version: number): boolean
  /** Reads the key from the database; undefined when it is unknown or revoked. */
  read(key_id: string): Promise<KnownKey | undefined>
  /** Does the same work as a `read` that finds nothing. */
  readNothing(): Promise<void>
}

/**
 * Limits what forged requests can make a process ask of its database: one statement at a time, 500 a second, 256 ids each, and
 * 10,000 requests waiting. See docs/decisions/0006.
 */
export const KEY_READS: LookupLimits = { idsMax: 256, everyMs: 2, waitingMax: 10_000 }
const KEYS_MAX = 100_000
const CACHED_MS_MAX = 10 * 60_000
/** Has the form of a key id and is never issued. */
const UNUSED_KEY_ID = 'key_c1_00000000000000000000000000'

export function createKnownKeys(db: Db, keyring: Keyring, reads: LookupLimits = KEY_READS): KnownKeys {
  const limits = { max: KEYS_MAX, ttl: CACHED_MS_MAX }
  const secrets = new LRUCache<string, KeyObject>(limits)
  const keys = new LRUCache<string, KnownKey>(limits)
  const accessVersions = new LRUCache<string, number>(limits)
  const look = sharedLookup<LiveKeyRow>(reads, (ids) => findLiveKeys(db, ids))
  return {
    secret: (key_id) => secrets.get(key_id),
    cached(key_id) {
      const key = keys.get(key_id)
      // Until the admission store has confirmed it, a key is valid only for the request that read it.
      if (key?.epoch === undefined || key.access_version < (accessVersions.get(key.account_id) ?? 0))
        return undefined
      return key
    },
    invalidateBefore(account_id, access_version) {
      if ((accessVersions.get(account_id) ?? 0) >= access_version) return false
      accessVersions.set(account_id, access_version)
      return true
    },
    async read(key_id) {
      const row = await look(key_id)
      if (!row) {
        keys.delete(key_id)
        return undefined
      }
      const hmacKey = secrets.get(key_id) ?? createSecretKey(await openSecret(keyring, row), 'utf8')
      secrets.set(key_id, hmacKey)
      const key: KnownKey = {
        key_id,
        account_id: row.account_id,
        account_name: row.account_name,
        isSuspended: row.account_status !== 'active',
        scopes: new Set(row.scopes),
        hmacKey,
        access_version: row.access_version,
        epoch: undefined,
      }
      keys.set(key_id, key)
      return key
    },
    async readNothing() {
      await look(UNUSED_KEY_ID)
    },
  }
}
