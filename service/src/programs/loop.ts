import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/database/db.ts'
import type { Keyring } from '../platform/encryption/encryption.ts'
import type { RemovalLimit } from '../platform/jobs/removal-limit.ts'
import type { Log } from '../platform/observability/log.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import type { Metrics } from './metrics.ts'

/** One thing that a worker does again and again. Every worker does all of it; each piece tolerates the others. */
export interface Loop {
  readonly name: string
  /** The pause after each run. */
  readonly everyMs: number
  readonly needs: Need
  /** What was piled up may take minutes: asks between its steps whether it should go on. */
  work(mayGoOn: () => boolean): Promise<unknown>
  /** Said when it fails; it is tried again after the pause. */
  readonly failure: string
}

/**
 * "confirmed": an operator has confirmed the database; before, nothing is sent, refunded or removed. "trusted time": no clock is wrong
 * either; until then nothing is removed, refunded by rule, closed or sealed.
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
