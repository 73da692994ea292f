import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { startHttpServer } from './http-server.ts'
import {
  createStripeMerchant,
  newStripeId,
  type StripeMerchant,
  type StripePayment,
  type StripeReversal,
  type StripeSession,
} from './stripe-merchant.ts'

export interface StripeOptions {
  /** Where events go; nowhere without one. May be set later. */
  readonly webhookUrl?: string
  readonly webhookSecret?: string
  readonly port?: number
}

export type StripeServer = Awaited<ReturnType<typeof startStripe>>
type Reversed = Pick<StripeSession, 'payment_intent' | 'currency'>

/**
 * A stand-in for Stripe: opens Checkout sessions, answers about them, has a page with a button to pay, and sends events signed as Stripe
 * signs them.
 */
export async function startStripe(options: StripeOptions = {}) {
  const merchant = createStripeMerchant()
  const asked: { method: string; path: string; key: string | undefined }[] = []
  let webhookUrl = options.webhookUrl
  let secret = options.webhookSecret ?? `whsec_${randomBytes(16).toString('hex')}`
  let isAway = false

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', 'http://stripe')
    asked.push({ method: request.method ?? '', path: target.pathname, key: keyOf(request) })
    if (isAway) return void request.socket.destroy()
    const [, first, session_id] = target.pathname.split('/')
    if (first === 'pay' && session_id !== undefined) return answerPage(request, response, session_id)
    const { status, body } = request.headers.authorization?.startsWith('Bearer ')
      ? await answerApi(merchant, request, target, (made) => `${url}/pay/${made}`)
      : { status: 401, body: { error: { type: 'invalid_request_error', message: 'no key' } } }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  /** What a person sees at Stripe: an amount, one button to pay, one to go back. */
  async function answerPage(request: IncomingMessage, response: ServerResponse, session_id: string) {
    const session = merchant.sessions.get(session_id)
    if (!session) return void response.writeHead(404).end()
    if (request.method === 'POST') {
      merchant.pay(session_id)
      await send('checkout.session.completed', session).catch(() => {})
      return void response.writeHead(303, { location: session.success_url }).end()
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(paymentPage(session))
  }

  /** An event with its bytes and its signature, ready to be sent, repeated or changed. */
  function event(
    type: string,
    object: object,
    { nowMs = Date.now(), withSecret = secret, event_id = newStripeId('evt') } = {},
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
  const url = `http://127.0.0.1:${server.port}`
  const { sessions, payments, refunds, disputes, pay, setPageMax, setClock } = merchant
  return {
    url,
    sessions,
    /** Every request that came in. */
    asked,
    secret: () => secret,
    setSecret(next: string) {
      secret = next
    },
    sendTo(next: string) {
      webhookUrl = next
    },
    /** Closes every connection without an answer, or answers again. */
    away(yes: boolean) {
      isAway = yes
    },
    pay,
    event,
    send,
    payments,
    refunds,
    disputes,
    setPageMax,
    setClock,
    chargeOf,
    /** Both are the answers about it from now on; their status may be changed later. */
    refund: (session: Reversed, amount: number, status = 'succeeded') =>
      merchant.reverse('refund', session, amount, status),
    dispute: (session: Reversed, amount: number, status = 'needs_response') =>
      merchant.reverse('dispute', session, amount, status),
    close: server.close,
  }
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

async function answerApi(
  merchant: StripeMerchant,
  request: IncomingMessage,
  { pathname, searchParams: query }: URL,
  addressOf: (session_id: string) => string,
): Promise<Answer> {
  const [, version, kind = '', third, fourth, fifth] = pathname.split('/')
  if (version === 'v1' && kind === 'checkout' && third === 'sessions') {
    if (request.method === 'POST' && fourth === undefined)
      return { status: 200, body: merchant.open(await text(request), keyOf(request), addressOf) }
    const session = merchant.sessions.get(fourth ?? '')
    if (session && fifth === 'expire') {
      if (session.status !== 'open')
        return {
          status: 400,
          body: { error: { type: 'invalid_request_error', message: 'This session is not open' } },
        }
      session.status = 'expired'
    }
    if (session) return { status: 200, body: merchant.expanded(session, query) }
  }
  if (version === 'v1' && request.method === 'GET') {
    const known = keptOf(merchant, kind)
    if (known && third === undefined)
      return { status: 200, body: merchant.listed([...known.values()], query) }
    const thing = known?.get(third ?? '')
    if (thing) return { status: 200, body: thing }
  }
  return {
    status: 404,
    body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' } },
  }
}

function keptOf({ payments, refunds, disputes }: StripeMerchant, kind: string) {
  const kept = new Map<string, ReadonlyMap<string, StripePayment | StripeReversal>>([
    ['payment_intents', payments],
    ['refunds', refunds],
    ['disputes', disputes],
  ])
  return kept.get(kind)
}

function keyOf(request: IncomingMessage): string | undefined {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? key : undefined
}

function paymentPage({ amount_total, cancel_url }: StripeSession): string {
  return (
    `<!doctype html><html lang="en"><title>Pay</title><main><h1>Pay $${(amount_total / 100).toFixed(2)}</h1>` +
    `<form method="post"><button>Pay now</button></form><a href="${cancel_url.replaceAll('&', '&amp;')}">Back</a></main></html>`
  )
}

/** The charge behind a paid session, as events have it. */
function chargeOf({ payment_intent, amount_total, currency, metadata }: StripeSession) {
  return {
    id: `ch_${payment_intent}`,
    object: 'charge',
    amount: amount_total,
    currency,
    payment_intent,
    metadata,
  }
}
