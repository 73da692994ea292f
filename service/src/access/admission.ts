/**
 * Admission: may this correctly signed request be served now? One round trip spends the nonce and counts the request in both
 * rolling windows, exactly, however many processes call it at once.
 *
 * The admission store (unlogged tables, or Redis) is fast but may lose its data. It detects such a loss and then refuses
 * everything signed up to that moment. See docs/decisions/0005.
 */
export interface Admission {
  admit(attempt: Attempt): Promise<Verdict>
  /** Announces that the rights of a key or an account changed. Once this returns, every process applies the change. */
  announce(account_id: string, access_version: number): Promise<void>
  /**
   * Why no request can be admitted, here or in any other process; undefined when they can be, or when the database has the same
   * problem.
   */
  problem(): string | undefined
  /** Prepares the store, so that the first caller does not have to wait. */
  open(): Promise<void>
  close(): Promise<void>
}

export interface Attempt {
  readonly account_id: string
  readonly key_id: string
  readonly nonce: string
  /** Unix seconds, as signed. */
  readonly signed_at: number
  readonly isOrder: boolean
  /** The account's access version when the key was read. */
  readonly access_version: number
  /** The store's epoch in which this version was last confirmed; undefined for a key just read. A loss of data starts a new epoch. */
  readonly epoch: string | undefined
}

export type Verdict =
  | { readonly kind: 'admitted' | 'limited'; readonly epoch: string; readonly usage: Usage }
  /** The account changed since its key was read: read the key again and repeat the call. */
  | { readonly kind: 'changed' }
  /** The store has just lost its data: no request can be admitted for a second or two. */
  | { readonly kind: 'warming' }
  /** Signed at or before the moment from which the store has all nonces. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'replayed' }

/** How full the two windows are, including this request when it was admitted. */
export interface Usage {
  readonly requests: WindowUsage
  readonly orders: WindowUsage
  /** How long to wait before this request, signed again, would be admitted; 0 when it was admitted. */
  readonly waitMs: number
}

export interface WindowUsage {
  readonly max: number
  readonly used: number
  /** Time until the oldest counted request leaves the window. */
  readonly oldestLeavesMs: number
}

export interface AdmissionLimits {
  readonly requestsMax: number
  readonly ordersMax: number
}
