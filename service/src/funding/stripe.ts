import Stripe from 'stripe'
import { refuse, Unavailable } from '../platform/trouble.ts'
import type { PaidSession, PaymentEvent, PaymentFact, PaymentProvider, ReadEvent } from './provider.ts'
import { printReference } from './reference.ts'

export interface StripeOptions {
  readonly secretKey: string
  /** Stripe's own by default; a stand-in for tests. */
  readonly apiUrl?: string | undefined
  /** Where Checkout sends the person back to: the origin of the dashboard. */
  readonly origin: string
  /** Through the egress proxy where there is one. */
  readonly fetch?: typeof globalThis.fetch
}

const TIMEOUT_MS = 10_000
const RETRIES_MAX = 2
/** Stripe's own advice. Repeated events of one delivery are signed again, so an old signature is a copied one. */
const SIGNATURE_AGE_S_MAX = 300

/** Stripe Checkout by the official package. */
export function stripeProvider({ secretKey, apiUrl, origin, fetch }: StripeOptions): PaymentProvider {
  const stripe = new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES_MAX,
    telemetry: false,
    ...(fetch && { httpClient: Stripe.createFetchHttpClient(fetch) }),
    ...(apiUrl !== undefined && placeOf(new URL(apiUrl))),
  })
  return {
    name: 'stripe',

    async open({ account_id, top_up_id, amount_cents, reference, account_name, email }) {
      const metadata = { account_id, top_up_id }
      const session = await reached(() =>
        stripe.checkout.sessions.create(
          {
            mode: 'payment',
            client_reference_id: top_up_id,
            customer_email: email,
            metadata,
            // A refund names the payment and its charge, not the page: both get the metadata too.
            payment_intent_data: {
              metadata,
              description: `${account_name}: top-up ${printReference(reference)}`,
            },
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: 'usd',
                  unit_amount: amount_cents,
                  product_data: { name: `Top-up ${printReference(reference)}` },
                },
              },
            ],
            success_url: `${origin}/balance?top_up=${top_up_id}`,
            cancel_url: `${origin}/balance?top_up=${top_up_id}&cancelled=true`,
          },
          { idempotencyKey: top_up_id },
        ),
      )
      if (session.url === null) throw new Error(`Stripe opened ${session.id} without a page to pay on`)
      return { session: session.id, url: session.url }
    },

    async readSession(id) {
      return describeSession(await reached(() => stripe.checkout.sessions.retrieve(id)))
    },

    async readCharge(id) {
      const charge = await found(() => stripe.charges.retrieve(id))
      if (charge === null) return null
      const { payment_intent, amount_refunded: refunded_cents, currency } = charge
      return { payment: idOf(payment_intent) ?? null, refunded_cents, currency }
    },

    async readDispute(id) {
      const dispute = await found(() => stripe.disputes.retrieve(id))
      if (dispute === null) return null
      const { payment_intent, amount: amount_cents, currency, status } = dispute
      const state = isInquiry(status) ? 'inquiry' : status === 'won' ? 'won' : 'open'
      return { payment: idOf(payment_intent) ?? null, amount_cents, currency, state }
    },
  }
}

/** Verifies with any of the secrets, so that a new one can be added before the old one is taken away. */
export function stripeEvents(secrets: readonly string[]): ReadEvent {
  return async (body, signature, nowMs) => {
    if (signature === undefined) throw forged('has no Stripe-Signature header')
    for (const secret of secrets) {
      try {
        const event = Stripe.webhooks.constructEvent(
          body,
          signature,
          secret,
          SIGNATURE_AGE_S_MAX,
          undefined,
          nowMs,
        )
        return readEvent(event)
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) throw error
      }
    }
    throw forged('has no fresh signature by any configured secret')
  }
}

function forged(what: string) {
  return refuse(
    'authentication_failed',
    `This request ${what}. Nothing was recorded. Compare SHOPWIRE_STRIPE_WEBHOOK_SECRETS with the endpoint in Stripe, and the clocks.`,
  )
}

function readEvent(event: Stripe.Event): PaymentEvent | undefined {
  const found = readFact(event)
  return found && { event_id: event.id, ...found }
}

/** Events of other business in the same Stripe account are not ours to record. */
function readFact(event: Stripe.Event): { subject: string; fact: PaymentFact } | undefined {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return fromSession(event.data.object, (about) =>
        event.data.object.payment_status === 'unpaid' ? undefined : { kind: 'paid', ...about },
      )
    case 'checkout.session.async_payment_failed':
      return fromSession(event.data.object, (about) => ({ kind: 'ended', ...about, how: 'failed' }))
    case 'checkout.session.expired':
      return fromSession(event.data.object, (about) => ({ kind: 'ended', ...about, how: 'expired' }))
    case 'charge.refunded': {
      const {
        id: charge,
        amount_refunded: amount_cents,
        currency,
        payment_intent,
        metadata,
      } = event.data.object
      if (metadata.top_up_id === undefined) return undefined
      return ofPayment(payment_intent, { kind: 'refunded', charge, amount_cents, currency })
    }
    case 'refund.failed': {
      const { id, payment_intent, amount } = event.data.object
      const what = `The refund ${id} of ${amount} cents failed at the bank, and Stripe has the money again`
      return ofPayment(payment_intent, { kind: 'unclear', what })
    }
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn': {
      const { id: dispute, amount: amount_cents, currency, payment_intent, status } = event.data.object
      if (isInquiry(status)) return undefined
      return ofPayment(payment_intent, { kind: 'disputed', dispute, amount_cents, currency })
    }
    case 'charge.dispute.funds_reinstated':
      return ofPayment(event.data.object.payment_intent, {
        kind: 'dispute-won',
        dispute: event.data.object.id,
      })
    default:
      return undefined
  }
}

function fromSession(
  session: Stripe.Checkout.Session,
  fact: (about: { account_id: string; top_up_id: string; session: string }) => PaymentFact | undefined,
) {
  const { account_id, top_up_id } = session.metadata ?? {}
  if (account_id === undefined || top_up_id === undefined) return undefined
  const found = fact({ account_id, top_up_id, session: session.id })
  return found && { subject: idOf(session.payment_intent) ?? session.id, fact: found }
}

function ofPayment(payment: string | { id: string } | null, fact: PaymentFact) {
  const subject = idOf(payment)
  return subject === undefined ? undefined : { subject, fact }
}

function describeSession(session: Stripe.Checkout.Session): PaidSession {
  const { id, payment_intent, metadata, amount_total, currency, status, payment_status } = session
  return {
    session: id,
    payment: idOf(payment_intent) ?? null,
    account_id: metadata?.account_id ?? null,
    top_up_id: metadata?.top_up_id ?? null,
    amount_cents: amount_total ?? 0,
    currency: currency ?? '',
    state:
      payment_status === 'paid'
        ? 'paid'
        : status === 'expired'
          ? 'expired'
          : status === 'complete'
            ? 'processing'
            : 'open',
  }
}

function idOf(thing: string | { id: string } | null): string | undefined {
  return typeof thing === 'string' ? thing : thing?.id
}

/** An inquiry takes no money. It becomes a dispute of the same id, or nothing. */
const isInquiry = (status: string) => status.startsWith('warning_')

/** Null: Stripe knows nothing by this id. */
async function found<Thing>(ask: () => Promise<Thing>): Promise<Thing | null> {
  try {
    return await reached(ask)
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing')
      return null
    throw error
  }
}

/** Stripe that does not answer is no defect of ours. What it refuses is: a wrong key, a wrong parameter. */
async function reached<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    const isAway =
      error instanceof Stripe.errors.StripeConnectionError ||
      error instanceof Stripe.errors.StripeRateLimitError ||
      error instanceof Stripe.errors.StripeAPIError
    throw isAway ? new Unavailable('stripe', error) : error
  }
}

function placeOf({ protocol, hostname, port }: URL) {
  return {
    protocol: protocol === 'http:' ? ('http' as const) : ('https' as const),
    host: hostname,
    ...(port !== '' && { port }),
  }
}
