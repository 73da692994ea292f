/** What a verified event of a payment provider says, in the terms of every provider. Kept as JSON in `payment_events`. */
export type PaymentFact =
  | {
      readonly kind: 'paid'
      readonly account_id: string
      readonly top_up_id: string
      readonly session: string
    }
  | {
      readonly kind: 'ended'
      readonly account_id: string
      readonly top_up_id: string
      readonly session: string
      readonly how: 'failed' | 'expired'
    }
  /** `amount_cents` is all that had been refunded of this charge when it was reported. */
  | {
      readonly kind: 'refunded'
      readonly charge: string
      readonly amount_cents: number
      readonly currency: string
    }
  | {
      readonly kind: 'disputed'
      readonly dispute: string
      readonly amount_cents: number
      readonly currency: string
    }
  | { readonly kind: 'dispute-won'; readonly dispute: string }
  /** Something that only a person can decide, in words. */
  | { readonly kind: 'unclear'; readonly what: string }

export interface PaymentEvent {
  readonly event_id: string
  /** The payment it is about, or the page of it while there is none. */
  readonly subject: string
  readonly fact: PaymentFact
}

/** A payment page as the provider describes it when asked: the truth that an event only points to. */
export interface PaidSession {
  readonly session: string
  readonly payment: string | null
  readonly account_id: string | null
  readonly top_up_id: string | null
  readonly amount_cents: number
  readonly currency: string
  readonly state: 'open' | 'paid' | 'processing' | 'expired'
}

/** A charge as the provider describes it when asked. */
export interface ReadCharge {
  readonly payment: string | null
  /** All that has been refunded of it so far. */
  readonly refunded_cents: number
  readonly currency: string
}

export interface ReadDispute {
  readonly payment: string | null
  readonly amount_cents: number
  readonly currency: string
  /** `inquiry`: no money was taken. */
  readonly state: 'inquiry' | 'open' | 'won'
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

/** A provider that takes the payment on a page of its own and reports by signed events. */
export interface PaymentProvider {
  readonly name: 'stripe'
  open(payment: NewPayment): Promise<{ readonly session: string; readonly url: string }>
  readSession(session: string): Promise<PaidSession>
  /** Null: there is no such charge. */
  readCharge(charge: string): Promise<ReadCharge | null>
  readDispute(dispute: string): Promise<ReadDispute | null>
}

/** Turns a signed request of the provider into an event. Refuses when the signature does not fit; undefined: of no interest to us. */
export type ReadEvent = (
  body: Buffer,
  signature: string | undefined,
  nowMs: number,
) => Promise<PaymentEvent | undefined>

/** Where to transfer money to, as an operator configured it: lines such as IBAN and its value, in this order. */
export type BankDetails = readonly { readonly label: string; readonly value: string }[]
