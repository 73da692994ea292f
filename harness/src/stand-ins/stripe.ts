import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { startHttpServer } from './http-server.ts'

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

export interface StripeOptions {
  /** Where events go; nowhere without one. May be set later. */
  readonly webhookUrl?: string
  readonly webhookSecret?: string
  readonly port?: number
}

export type StripeServer = Awaited<ReturnType<typeof startStripe>>

const id = (prefix: string) => `${prefix}_${randomBytes(12).toString('hex')}`

/**
 * A stand-in for Stripe: opens Checkout sessions, answers about them, has a page with a button to pay, and sends events signed as Stripe
 * signs them.
 */
export async function startStripe(options: StripeOptions = {}) {
  const sessions = new Map<string, StripeSession>()
  const byKey = new Map<string, { body: string; session: StripeSession }>()
  const payments = new Map<string, StripePayment>()
  const refunds = new Map<string, StripeReversal>()
  const disputes = new Map<string, StripeReversal>()
  const kept = { payment_intents: payments, refunds, disputes }
  const asked: { method: string; path: string; key: string | undefined }[] = []
  let webhookUrl = options.webhookUrl
  let secret = options.webhookSecret ?? `whsec_${randomBytes(16).toString('hex')}`
  let isAway = false
  let pageMax = 100
  let nowMs = () => Date.now()
  const created = () => Math.floor(nowMs() / 1000)

  function open(form: URLSearchParams, key: string | undefined, body: string): StripeSession {
    const earlier = key === undefined ? undefined : byKey.get(key)
    if (earlier) {
      if (earlier.body !== body) throw new Error('the idempotency key was used with other parameters')
      return earlier.session
    }
    const session_id = id('cs_test')
    const session: StripeSession = {
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
      url: `http://127.0.0.1:${server.port}/pay/${session_id}`,
      livemode: false,
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: null,
    }
    sessions.set(session_id, session)
    if (key !== undefined) byKey.set(key, { body, session })
    return session
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stripe')
    const key = request.headers['idempotency-key']
    asked.push({
      method: request.method ?? '',
      path: pathname,
      key: typeof key === 'string' ? key : undefined,
    })
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (isAway) return void request.socket.destroy()
    const [, first, second, third, fourth, fifth] = pathname.split('/')
    if (first === 'pay' && second !== undefined) return answerPage(request, response, second)
    if (!request.headers.authorization?.startsWith('Bearer ')) {
      return void json(401, { error: { type: 'invalid_request_error', message: 'no key' } })
    }
    if (first === 'v1' && second === 'checkout' && third === 'sessions') {
      if (request.method === 'POST' && fourth === undefined) {
        const body = await text(request)
        return void json(
          200,
          open(new URLSearchParams(body), typeof key === 'string' ? key : undefined, body),
        )
      }
      const session = sessions.get(fourth ?? '')
      if (session && fifth === 'expire') {
        if (session.status !== 'open')
          return void json(400, {
            error: { type: 'invalid_request_error', message: 'This session is not open' },
          })
        session.status = 'expired'
      }
      if (session) return void json(200, expanded(session, searchParams))
    }
    const things = first === 'v1' && request.method === 'GET' && second !== undefined && second in kept
    const known = things ? kept[second as keyof typeof kept] : new Map<string, StripePayment>()
    if (things && third === undefined) return void json(200, listed([...known.values()], searchParams))
    const thing = known.get(third ?? '')
    if (thing) return void json(200, thing)
    json(404, {
      error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' },
    })
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
    const from = after === null ? 0 : found.findIndex(({ id: listedId }) => listedId === after) + 1
    const until = from + Math.min(Number(query.get('limit') ?? 10), pageMax)
    const data = found.slice(from, until).map((one) => ('payment_intent' in one ? expanded(one, query) : one))
    return { object: 'list', url: '', data, has_more: until < found.length }
  }

  /** What a person sees at Stripe: an amount, one button to pay, one to go back. */
  async function answerPage(request: IncomingMessage, response: ServerResponse, session_id: string) {
    const session = sessions.get(session_id)
    if (!session) return void response.writeHead(404).end()
    if (request.method === 'POST') {
      pay(session_id)
      await send('checkout.session.completed', session).catch(() => {})
      return void response.writeHead(303, { location: session.success_url }).end()
    }
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end(
        `<!doctype html><html lang="en"><title>Pay</title><main><h1>Pay $${(session.amount_total / 100).toFixed(2)}</h1>` +
          `<form method="post"><button>Pay now</button></form><a href="${session.cancel_url.replaceAll('&', '&amp;')}">Back</a></main></html>`,
      )
  }

  function pay(session_id: string): StripeSession {
    const session = sessions.get(session_id)
    if (!session) throw new Error(`there is no session ${session_id}`)
    session.status = 'complete'
    session.payment_status = 'paid'
    session.payment_intent ??= id('pi')
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

  function reversal(
    object: StripeReversal['object'],
    { payment_intent, currency }: Pick<StripeSession, 'payment_intent' | 'currency'>,
    amount: number,
    status: string,
  ): StripeReversal {
    const made: StripeReversal = {
      id: id(object === 'refund' ? 're' : 'du'),
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

  /** An event with its bytes and its signature, ready to be sent, repeated or changed. */
  function event(
    type: string,
    object: object,
    { nowMs = Date.now(), withSecret = secret, event_id = id('evt') } = {},
  ) {
    const body = JSON.stringify({
      id: event_id,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: Math.floor(nowMs / 1000),
      livemode: false,
      type,
      data: { object },
    })
    const t = Math.floor(nowMs / 1000)
    const v1 = createHmac('sha256', withSecret).update(`${t}.${body}`).digest('hex')
    return { event_id, body, signature: `t=${t},v1=${v1}` }
  }

  async function send(type: string, object: object): Promise<number> {
    if (webhookUrl === undefined) return 0
    const { body, signature } = event(type, object)
    const response = await fetch(webhookUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
      body,
    })
    await response.arrayBuffer()
    return response.status
  }

  const server = await startHttpServer(
    (request, response) =>
      void answer(request, response).catch((error: Error) =>
        response.writeHead(400).end(JSON.stringify({ error: { message: error.message } })),
      ),
    options.port === undefined ? {} : { port: options.port },
  )
  return {
    url: `http://127.0.0.1:${server.port}`,
    sessions,
    /** Every request that came in. */
    asked,
    secret: () => secret,
    setSecret(next: string) {
      secret = next
    },
    sendTo(url: string) {
      webhookUrl = url
    },
    /** Closes every connection without an answer, or answers again. */
    away(yes: boolean) {
      isAway = yes
    },
    /** As if the card had been charged; sends nothing. */
    pay,
    event,
    send,
    payments,
    refunds,
    disputes,
    /** Answers are cut into pages of at most so many. */
    setPageMax(max: number) {
      pageMax = max
    },
    /** When what is made from now on was made. */
    setClock(clock: () => number) {
      nowMs = clock
    },
    /** The charge behind a paid session, as events have it. */
    chargeOf: (session: StripeSession) => ({
      id: `ch_${session.payment_intent}`,
      object: 'charge',
      amount: session.amount_total,
      currency: session.currency,
      payment_intent: session.payment_intent,
      metadata: session.metadata,
    }),
    /** Both are the answers about it from now on; their status may be changed later. */
    refund: (
      session: Pick<StripeSession, 'payment_intent' | 'currency'>,
      amount: number,
      status = 'succeeded',
    ) => reversal('refund', session, amount, status),
    dispute: (
      session: Pick<StripeSession, 'payment_intent' | 'currency'>,
      amount: number,
      status = 'needs_response',
    ) => reversal('dispute', session, amount, status),
    close: server.close,
  }
}
