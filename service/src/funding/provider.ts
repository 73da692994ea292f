/** What an event of a payment provider points to. Nothing of it is believed but that somebody should look. Kept as JSON in `payment_events`. */
export interface PaymentFact {
  /** The provider's name for what happened. */
  readonly what: string
  /** The refund or dispute that it is about. */
  readonly reference?: string
  /** The page that it is about, and whose it is. */
  readonly page?: Payer & { readonly session: string }
}

export interface PaymentEvent {
  readonly event_id: string
  /** The payment it is about, or the page of it while there is none. */
  readonly subject: string
  readonly fact: PaymentFact
}

/** Whose payment it is, by what was told to the provider when its page was opened. */
export interface Payer {
  readonly account_id: string
  readonly top_up_id: string
}

/** A payment page, as the provider describes it when asked. */
export interface ReadSession {
  readonly payment: string | null
  readonly state: 'open' | 'paid' | 'processing' | 'failed' | 'expired'
}

/** A payment with all that was taken back of it, as the provider describes it when asked. */
export interface ReadPayment {
  readonly payment: string
  /** Undefined: a payment for something else. */
  readonly payer: Payer | undefined
  readonly amount_cents: number
  readonly currency: string
  readonly isPaid: boolean
  readonly reversals: readonly ReadReversal[]
}

/** A refund or a dispute. */
export interface ReadReversal {
  readonly kind: 'refund' | 'dispute'
  /** The provider's id of it. */
  readonly reference: string
  readonly amount_cents: number
  readonly currency: string
  /** The provider's own word. */
  readonly status: string
  /** Whether the provider has taken money for it: not for an inquiry, and no longer after a failed refund or a dispute that was won. */
  readonly isTaken: boolean
  /** No change of it is expected any more. */
  readonly isSettled: boolean
}

export interface NewPayment {
  readonly account_id: string
  readonly top_up_id: string
  readonly amount_cents: number
  readonly reference: string
  /** Shown on the provider's page. */
  readonly account_name: string
  readonly email: string
}

/** What a provider lists by the time of its making. */
export type Listed = 'payments' | 'refunds' | 'disputes'

export interface ListWindow {
  readonly from: Date
  readonly until: Date
  /** The last id of the page before. */
  readonly after?: string | undefined
}

/** One of a list, with the payment that it belongs to. */
export interface ListedOne {
  readonly reference: string
  readonly payment: string
  /** Undefined: it belongs to a payment for something else, or to one that was never made. */
  readonly payer: Payer | undefined
  readonly amount_cents: number
  readonly status: string
}

/** A provider that takes the payment on a page of its own and reports by signed events. */
export interface PaymentProvider {
  readonly name: 'stripe'
  open(payment: NewPayment): Promise<{ readonly session: string; readonly url: string }>
  /** Null: there is no such page, payment. */
  readSession(session: string): Promise<ReadSession | null>
  readPayment(payment: string): Promise<ReadPayment | null>
  /** Nobody can pay on this page any more. Does nothing when it has ended already. */
  endSession(session: string): Promise<void>
  /** One page of them; `next` is missing on the last one. */
  list(
    what: Listed,
    window: ListWindow,
  ): Promise<{ readonly found: readonly ListedOne[]; readonly next?: string }>
}

/** Turns a signed request of the provider into an event. Refuses when the signature does not fit; undefined: of no interest to us. */
export type ReadEvent = (
  body: Buffer,
  signature: string | undefined,
  nowMs: number,
) => Promise<PaymentEvent | undefined>

/** Where to transfer money to, as an operator configured it: lines such as IBAN and its value, in this order. */
export type BankDetails = readonly { readonly label: string; readonly value: string }[]
