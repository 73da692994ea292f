import Stripe from 'stripe'
import { refuse, Unavailable } from '../platform/trouble.ts'
import type {
  Listed,
  ListedOne,
  ListWindow,
  Payer,
  PaymentEvent,
  PaymentFact,
  PaymentProvider,
  ReadEvent,
  ReadReversal,
  ReadSession,
} from './provider.ts'
import { printReference } from './reference.ts'

export interface StripeOptions {
  readonly secretKey: string
  /** Stripe's own by default; a stand-in for tests. */
  readonly apiUrl?: string | undefined
  /** Where Checkout sends the person back to: the origin of the dashboard. */
  readonly origin: string
  /** Through the egress proxy, if there is one. */
  readonly fetch?: typeof globalThis.fetch
}

const TIMEOUT_MS = 10_000
const RETRIES_MAX = 2
/** Recommended by Stripe. Events that Stripe repeats are signed again, so an old signature is a replayed one. */
const SIGNATURE_AGE_S_MAX = 300

/** Stripe Checkout, through the official package. */
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
      if (session.url === null) throw new Error(`Stripe created ${session.id} without a payment page`)
      return { session: session.id, url: session.url }
    },

    async readSession(id) {
      const session = await found(() => stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent'] }))
      return (
        session && {
          payment: idOf(session.payment_intent) ?? null,
          url: session.url,
          state: stateOf(session),
        }
      )
    },

    async readPayment(id) {
      const payment = await found(() => stripe.paymentIntents.retrieve(id))
      if (payment === null) return null
      const ofPayment = { payment_intent: id, limit: PAGE }
      const refunds = await reached(() =>
        stripe.refunds.list(ofPayment).autoPagingToArray({ limit: REVERSALS_MAX }),
      )
      const disputes = await reached(() =>
        stripe.disputes.list(ofPayment).autoPagingToArray({ limit: REVERSALS_MAX }),
      )
      return {
        payment: id,
        payer: payerOf(payment.metadata),
        amount_cents: payment.amount_received,
        currency: payment.currency,
        isPaid: payment.status === 'succeeded',
        reversals: [...refunds.map(describeRefund), ...disputes.map(describeDispute)],
      }
    },

    async endSession(id) {
      try {
        await reached(() => stripe.checkout.sessions.expire(id))
      } catch (error) {
        // Stripe reports this for a page that was paid, that has expired, and that it does not have.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error
      }
    },

    async list(what, window) {
      const { data, has_more } = await reached(() => listOf(stripe, what, window))
      const next = has_more ? data.at(-1)?.reference : undefined
      return { found: data, ...(next !== undefined && { next }) }
    },
  }
}

const PAGE = 100
const REVERSALS_MAX = 1_000

/** With the payment of each in the same answer, because its metadata says whose it is. */
async function listOf(stripe: Stripe, what: Listed, { from, until, after }: ListWindow) {
  const paging = {
    created: { gte: Math.floor(from.getTime() / 1000), lt: Math.ceil(until.getTime() / 1000) },
    limit: PAGE,
    ...(after !== undefined && { starting_after: after }),
  }
  if (what === 'payments') {
    const { data, has_more } = await stripe.paymentIntents.list(paging)
    return { data: data.map(describePayment), has_more }
  }
  const withPayment = { ...paging, expand: ['data.payment_intent'] }
  const { data, has_more } =
    what === 'refunds' ? await stripe.refunds.list(withPayment) : await stripe.disputes.list(withPayment)
  return { data: data.map(describeTaken), has_more }
}

function describePayment({ id, metadata, status, amount_received }: Stripe.PaymentIntent): ListedOne {
  const payer = status === 'succeeded' ? payerOf(metadata) : undefined
  return { reference: id, payment: id, payer, amount_cents: amount_received, status }
}

function describeTaken({ id, payment_intent, amount, status }: Stripe.Refund | Stripe.Dispute): ListedOne {
  const payer =
    payment_intent !== null && typeof payment_intent === 'object'
      ? payerOf(payment_intent.metadata)
      : undefined
  return {
    reference: id,
    payment: idOf(payment_intent) ?? '',
    payer,
    amount_cents: amount,
    status: status ?? '',
  }
}

/** Set as metadata when pages are opened: see `open`. */
function payerOf(metadata: Stripe.Metadata): Payer | undefined {
  const { account_id, top_up_id } = metadata
  return account_id === undefined || top_up_id === undefined ? undefined : { account_id, top_up_id }
}

/** Whether Stripe has taken the money, and whether that can still change. */
type Effect = Pick<ReadReversal, 'isTaken' | 'isSettled'>

const REFUNDS: Readonly<Record<string, Effect>> = {
  pending: { isTaken: true, isSettled: false },
  requires_action: { isTaken: true, isSettled: false },
  succeeded: { isTaken: true, isSettled: true },
  failed: { isTaken: false, isSettled: true },
  canceled: { isTaken: false, isSettled: true },
}

const DISPUTES: Readonly<Record<string, Effect>> = {
  // An inquiry takes no money. It becomes a dispute of the same id, or ends.
  warning_needs_response: { isTaken: false, isSettled: false },
  warning_under_review: { isTaken: false, isSettled: false },
  warning_closed: { isTaken: false, isSettled: true },
  prevented: { isTaken: false, isSettled: true },
  needs_response: { isTaken: true, isSettled: false },
  under_review: { isTaken: true, isSettled: false },
  appeal_needs_response: { isTaken: true, isSettled: false },
  appeal_under_review: { isTaken: true, isSettled: false },
  lost: { isTaken: true, isSettled: true },
  won: { isTaken: false, isSettled: true },
}

const describeRefund = ({ id, amount, currency, status }: Stripe.Refund) =>
  describeReversal('refund', REFUNDS, { reference: id, amount_cents: amount, currency, status: status ?? '' })

const describeDispute = ({ id, amount, currency, status }: Stripe.Dispute) =>
  describeReversal('dispute', DISPUTES, { reference: id, amount_cents: amount, currency, status })

function describeReversal(
  kind: ReadReversal['kind'],
  effects: Readonly<Record<string, Effect>>,
  read: Pick<ReadReversal, 'reference' | 'amount_cents' | 'currency' | 'status'>,
): ReadReversal {
  const effect = effects[read.status]
  if (effect) return { kind, ...read, ...effect }
  throw refuse(
    'conflict',
    `The ${kind} ${read.reference} is "${read.status}" at the provider, which this release does not know.`,
  )
}

/** Verifies with any of the secrets, so that a new one can be added before the old one is removed. */
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

/** Events of other business in the same Stripe account are not recorded, where their metadata shows it. */
function readFact({ type, data }: Stripe.Event): { subject: string; fact: PaymentFact } | undefined {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired': {
      const { id: session, metadata, payment_intent } = data.object
      const payer = payerOf(metadata ?? {})
      return (
        payer && {
          subject: idOf(payment_intent) ?? session,
          fact: { what: type, page: { session, ...payer } },
        }
      )
    }
    case 'charge.refunded': {
      const { payment_intent, metadata } = data.object
      return payerOf(metadata) && ofPayment(payment_intent, { what: type })
    }
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return ofPayment(data.object.payment_intent, { what: type, reference: data.object.id })
    default:
      return undefined
  }
}

function ofPayment(payment: string | { id: string } | null, fact: PaymentFact) {
  const subject = idOf(payment)
  return subject === undefined ? undefined : { subject, fact }
}

function stateOf({ status, payment_status, payment_intent }: Stripe.Checkout.Session): ReadSession['state'] {
  if (payment_status === 'paid') return 'paid'
  if (status === 'expired') return 'expired'
  if (status !== 'complete') return 'open'
  // A bank debit takes days. When it fails, its payment waits for another card, which the page no longer asks for.
  const paid =
    payment_intent !== null && typeof payment_intent === 'object' ? payment_intent.status : undefined
  return paid === 'requires_payment_method' || paid === 'canceled' ? 'failed' : 'processing'
}

function idOf(thing: string | { id: string } | null): string | undefined {
  return typeof thing === 'string' ? thing : thing?.id
}

/** Null: Stripe has nothing with this id. */
async function found<Thing>(ask: () => Promise<Thing>): Promise<Thing | null> {
  try {
    return await reached(ask)
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing')
      return null
    throw error
  }
}

/** If Stripe does not answer, that is no defect of ours. A refusal is: a wrong key, a wrong parameter. */
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
