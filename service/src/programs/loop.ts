import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { RemovalLimit } from '../platform/jobs/removal-limit.ts'
import type { Log } from '../platform/observability/log.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import type { Metrics } from './metrics.ts'

/** Repeated work of a worker. Every worker does all of it, and several may do the same piece at once. */
export interface Loop {
  readonly name: string
  /** The pause after each run. */
  readonly everyMs: number
  readonly needs: Need
  /** A backlog may take minutes: the work checks between its steps whether it should continue. */
  work(mayGoOn: () => boolean): Promise<unknown>
  /** Logged when it fails; it is retried after the pause. */
  readonly failure: string
}

/**
 * "confirmed": an operator has confirmed the database; before that, nothing is sent, refunded or removed. "trusted time": no clock
 * is wrong either; until then nothing is removed, refunded by rule, closed or sealed.
 */
export type Need = 'nothing' | 'confirmed database' | 'trusted time'

export interface LoopDeps {
  readonly db: Db
  readonly keyring: Keyring
  readonly vault: LinkVault
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly removals: RemovalLimit
  measureTime(): Promise<void>
  /** One worker counts and warns for all. */
  isLeader(): boolean
}
