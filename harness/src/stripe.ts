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
  const charges = new Map<string, object>()
  const disputes = new Map<string, object>()
  const asked: { method: string; path: string; key: string | undefined }[] = []
  let webhookUrl = options.webhookUrl
  let secret = options.webhookSecret ?? `whsec_${randomBytes(16).toString('hex')}`
  let isAway = false

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
    const { pathname } = new URL(request.url ?? '/', 'http://stripe')
    const key = request.headers['idempotency-key']
    asked.push({
      method: request.method ?? '',
      path: pathname,
      key: typeof key === 'string' ? key : undefined,
    })
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (isAway) return void request.socket.destroy()
    const [, first, second, third, fourth] = pathname.split('/')
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
      if (session) return void json(200, session)
    }
    const kept = second === 'charges' ? charges : disputes
    const thing = first === 'v1' && request.method === 'GET' ? kept.get(third ?? '') : undefined
    if (thing) return void json(200, thing)
    json(404, {
      error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' },
    })
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
    return session
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
    /** The charge behind a paid session, of which so much has been refunded; from now on the answer about it, too. */
    chargeOf(session: StripeSession, amount_refunded: number) {
      const charge = {
        id: `ch_${session.payment_intent}`,
        object: 'charge',
        amount: session.amount_total,
        amount_refunded,
        currency: session.currency,
        payment_intent: session.payment_intent,
        metadata: session.metadata,
      }
      charges.set(charge.id, charge)
      return charge
    },
    disputeOf(session: StripeSession, amount: number, status = 'needs_response') {
      const dispute = {
        id: `du_${session.payment_intent}`,
        object: 'dispute',
        amount,
        currency: session.currency,
        payment_intent: session.payment_intent,
        charge: `ch_${session.payment_intent}`,
        metadata: {},
        status,
      }
      disputes.set(dispute.id, dispute)
      return dispute
    },
    close: server.close,
  }
}
