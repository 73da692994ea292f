/**
 * The object that an event of a payment provider refers to. Its content is not trusted: it only triggers a query. Stored as JSON in
 * `payment_events`.
 */
export interface PaymentFact {
  /** The provider's name for what happened. */
  readonly what: string
  /** The refund or dispute that it is about. */
  readonly reference?: string
  /** The page that it is about, and its account. */
  readonly page?: Payer & { readonly session: string }
}

export interface PaymentEvent {
  readonly event_id: string
  /** The payment it is about; before there is one, its page. */
  readonly subject: string
  readonly fact: PaymentFact
}

/** Whose payment it is, by the metadata that the provider got when the page was opened. */
export interface Payer {
  readonly account_id: string
  readonly top_up_id: string
}

/** A payment page, as the provider reports it. */
export interface ReadSession {
  readonly payment: string | null
  /** Where it is paid; null when it cannot be any more. */
  readonly url: string | null
  readonly state: 'open' | 'paid' | 'processing' | 'failed' | 'expired'
}

/** A payment with all refunds and disputes, as the provider reports it. */
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
  /** The provider's id for it. */
  readonly reference: string
  readonly amount_cents: number
  readonly currency: string
  /** The status in the provider's own words. */
  readonly status: string
  /** Whether the provider has taken money for it: not for an inquiry, and no longer after a failed refund or a won dispute. */
  readonly isTaken: boolean
  /** It is final. */
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

/** What a provider lists by creation time. */
export type Listed = 'payments' | 'refunds' | 'disputes'

export interface ListWindow {
  readonly from: Date
  readonly until: Date
  /** The last id of the previous page. */
  readonly after?: string | undefined
}

/** An entry of a list, with the payment that it belongs to. */
export interface ListedOne {
  readonly reference: string
  readonly payment: string
  /** Undefined: it belongs to a payment for something else, or to one that was never made. */
  readonly payer: Payer | undefined
  readonly amount_cents: number
  readonly status: string
}

/** A provider that takes the payment on its own page and reports by signed events. */
export interface PaymentProvider {
  readonly name: 'stripe'
  open(payment: NewPayment): Promise<{ readonly session: string; readonly url: string }>
  /** Null: there is no such page or payment. */
  readSession(session: string): Promise<ReadSession | null>
  readPayment(payment: string): Promise<ReadPayment | null>
  /** Expires the page, so that it takes no payment any more. Does nothing when it has expired already. */
  endSession(session: string): Promise<void>
  /** One page of the list; `next` is missing on the last one. */
  list(
    what: Listed,
    window: ListWindow,
  ): Promise<{ readonly found: readonly ListedOne[]; readonly next?: string }>
}

/** Turns a signed request of the provider into an event. Refuses it when the signature is wrong; undefined: not relevant here. */
export type ReadEvent = (
  body: Buffer,
  signature: string | undefined,
  nowMs: number,
) => Promise<PaymentEvent | undefined>

/** Where to transfer money to, as an operator configured it: lines such as IBAN and its value, in this order. */
export type BankDetails = readonly { readonly label: string; readonly value: string }[]
