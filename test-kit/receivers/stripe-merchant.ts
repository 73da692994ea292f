import { randomBytes } from 'node:crypto'

export interface StripeSession {
  readonly id: string
  readonly object: 'checkout.session'
  readonly amount_total: number
  readonly currency: string
  readonly metadata: Readonly<Record<string, string>>
  readonly client_reference_id: string | null
  readonly success_url: string
  readonly cancel_url: string
  readonly url: string
  readonly livemode: false
  status: 'open' | 'complete' | 'expired'
  payment_status: 'unpaid' | 'paid'
  payment_intent: string | null
}

export interface StripePayment {
  readonly id: string
  readonly object: 'payment_intent'
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  status: string
  amount_received: number
  currency: string
}

/** A refund or a dispute. */
export interface StripeReversal {
  readonly id: string
  readonly object: 'refund' | 'dispute'
  readonly amount: number
  readonly currency: string
  readonly payment_intent: string
  readonly created: number
  readonly metadata: Readonly<Record<string, string>>
  status: string
}

export type StripeMerchant = ReturnType<typeof createStripeMerchant>

export const newStripeId = (prefix: string) => `${prefix}_${randomBytes(12).toString('hex')}`

/** What Stripe keeps of one merchant: sessions, payments, refunds and disputes, and how it lists them. */
export function createStripeMerchant() {
  const sessions = new Map<string, StripeSession>()
  const byKey = new Map<string, { body: string; session: StripeSession }>()
  const payments = new Map<string, StripePayment>()
  const refunds = new Map<string, StripeReversal>()
  const disputes = new Map<string, StripeReversal>()
  let pageMax = 100
  let nowMs = () => Date.now()
  const created = () => Math.floor(nowMs() / 1000)

  function open(
    body: string,
    key: string | undefined,
    addressOf: (session_id: string) => string,
  ): StripeSession {
    const earlier = key === undefined ? undefined : byKey.get(key)
    if (earlier) {
      if (earlier.body !== body) throw new Error('the idempotency key was used with other parameters')
      return earlier.session
    }
    const session = newSession(new URLSearchParams(body), addressOf)
    sessions.set(session.id, session)
    if (key !== undefined) byKey.set(key, { body, session })
    return session
  }

  /** With its payment in place of the id, if the caller asked for that. */
  function expanded<Thing extends { payment_intent: string | null }>(thing: Thing, query: URLSearchParams) {
    const isAsked = [...query].some(
      ([name, value]) => name.startsWith('expand') && value.endsWith('payment_intent'),
    )
    return isAsked ? { ...thing, payment_intent: payments.get(thing.payment_intent ?? '') ?? null } : thing
  }

  /** Newest first, as Stripe lists. */
  function listed(all: readonly (StripePayment | StripeReversal)[], query: URLSearchParams) {
    const after = query.get('starting_after')
    const found = all
      .filter(({ created }) => created >= Number(query.get('created[gte]') ?? 0))
      .filter(({ created }) => created < Number(query.get('created[lt]') ?? Number.POSITIVE_INFINITY))
      .filter(
        (one) =>
          !query.has('payment_intent') ||
          ('payment_intent' in one && one.payment_intent === query.get('payment_intent')),
      )
      .reverse()
    const from = after === null ? 0 : found.findIndex(({ id }) => id === after) + 1
    const until = from + Math.min(Number(query.get('limit') ?? 10), pageMax)
    const data = found.slice(from, until).map((one) => ('payment_intent' in one ? expanded(one, query) : one))
    return { object: 'list', url: '', data, has_more: until < found.length }
  }

  function pay(session_id: string): StripeSession {
    const session = sessions.get(session_id)
    if (!session) throw new Error(`there is no session ${session_id}`)
    session.status = 'complete'
    session.payment_status = 'paid'
    session.payment_intent ??= newStripeId('pi')
    const payment: StripePayment = {
      id: session.payment_intent,
      object: 'payment_intent',
      metadata: session.metadata,
      created: created(),
      status: 'succeeded',
      amount_received: session.amount_total,
      currency: session.currency,
    }
    payments.set(payment.id, payment)
    return session
  }

  function reverse(
    object: StripeReversal['object'],
    { payment_intent, currency }: Pick<StripeSession, 'payment_intent' | 'currency'>,
    amount: number,
    status: string,
  ): StripeReversal {
    const made: StripeReversal = {
      id: newStripeId(object === 'refund' ? 're' : 'du'),
      object,
      amount,
      currency,
      payment_intent: payment_intent ?? '',
      created: created(),
      metadata: {},
      status,
    }
    ;(object === 'refund' ? refunds : disputes).set(made.id, made)
    return made
  }

  return {
    sessions,
    payments,
    refunds,
    disputes,
    /** A second request with the same idempotency key gets the session of the first. */
    open,
    expanded,
    listed,
    /** As if the card had been charged; sends nothing. */
    pay,
    reverse,
    /** Answers are cut into pages of at most so many. */
    setPageMax(max: number) {
      pageMax = max
    },
    /** When what is made from now on was made. */
    setClock(clock: () => number) {
      nowMs = clock
    },
  }
}

function newSession(form: URLSearchParams, addressOf: (session_id: string) => string): StripeSession {
  const session_id = newStripeId('cs_test')
  return {
    id: session_id,
    object: 'checkout.session',
    amount_total:
      Number(form.get('line_items[0][price_data][unit_amount]')) *
      Number(form.get('line_items[0][quantity]')),
    currency: form.get('line_items[0][price_data][currency]') ?? '',
    metadata: Object.fromEntries(
      [...form].flatMap(([name, value]) => {
        const [, part] = /^metadata\[(\w+)\]$/.exec(name) ?? []
        return part === undefined ? [] : [[part, value]]
      }),
    ),
    client_reference_id: form.get('client_reference_id'),
    success_url: form.get('success_url') ?? '',
    cancel_url: form.get('cancel_url') ?? '',
    url: addressOf(session_id),
    livemode: false,
    status: 'open',
    payment_status: 'unpaid',
    payment_intent: null,
  }
}
