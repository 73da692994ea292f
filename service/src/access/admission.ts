/**
 * Admission: may this correctly signed request come in now? One round trip spends the nonce and counts the request in both
 * rolling windows, exactly, however many processes ask at once.
 *
 * The memory behind it is fast and forgetful (unlogged tables, or Redis), and knows when it has forgotten: everything
 * signed up to that moment is refused from then on. See docs/decisions/0004.
 */
export interface Admission {
  admit(attempt: Attempt): Promise<Verdict>
  /** A key or an account changed what it may do; holds on every process once this returns. */
  announce(account_id: string, access_version: number): Promise<void>
  /** Prepares the memory, so that the first caller does not have to wait for it. */
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
  /** The account's access version when the key was read, and which memory vouched for it since; none for a key just read. */
  readonly access_version: number
  readonly memory: string | undefined
}

export type Verdict =
  | { readonly kind: 'admitted' | 'limited'; readonly memory: string; readonly usage: Usage }
  /** The account changed since its key was read: read it again and ask again. */
  | { readonly kind: 'changed' }
  /** The memory has just been lost: nobody can be admitted for a second or two. */
  | { readonly kind: 'warming' }
  /** Signed at or before the moment from which nonces are remembered. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'replayed' }

/** How full the two windows are, this request included when it was admitted. */
export interface Usage {
  readonly requests: WindowUsage
  readonly orders: WindowUsage
  /** After how long this request, signed anew, would fit; 0 when it was admitted. */
  readonly waitMs: number
}

export interface WindowUsage {
  readonly max: number
  readonly used: number
  /** Until the oldest counted request leaves the window. */
  readonly oldestLeavesMs: number
}

export interface AdmissionLimits {
  readonly requestsMax: number
  readonly ordersMax: number
}
