import { randomBytes } from 'node:crypto'
import { nowS } from '../signer.ts'
import {
  answer,
  header,
  isSigned,
  json,
  type ProxiedRequest,
  type ProxiedResponse,
  type Secrets,
  setHeader,
  setJson,
  signAgain,
  type Wrong,
} from './proxy.ts'

export interface Fault {
  readonly name: string
  /** How the server is wrong. */
  readonly what: string
  /** Checks that are run against it: ids, or how they begin. */
  readonly checks: readonly string[]
  /** Uses up the limits of an account. */
  readonly isLimits?: boolean
  plant(secrets: Secrets): Wrong
}

const path = ({ target }: ProxiedRequest) => target.split('?')[0] ?? ''
const is = (request: ProxiedRequest, method: string, wanted: string) =>
  request.method === method && path(request) === wanted

/** Changes the JSON of successful answers to one request. */
const altering = (
  method: string,
  wanted: string | RegExp,
  // biome-ignore lint/suspicious/noExplicitAny: faults reach into answers of every shape
  change: (value: any, reply: ProxiedResponse, request: ProxiedRequest) => void,
): Wrong => ({
  onResponse(reply, request) {
    const isMeant = typeof wanted === 'string' ? path(request) === wanted : wanted.test(path(request))
    if (request.method !== method || !isMeant || reply.status >= 300) return
    const value = json(reply)
    change(value, reply, request)
    setJson(reply, value)
  },
})
/** Changes refusals with one status. */
const refusing = (
  status: number,
  change: (reply: ProxiedResponse, request: ProxiedRequest) => void,
): Wrong => ({
  onResponse(reply, request) {
    if (reply.status === status) change(reply, request)
  },
})

const http: Fault[] = [
  {
    name: 'status-value',
    what: 'status has a value of its own',
    checks: ['status/field-status'],
    plant: () =>
      altering('GET', '/v1/status', (v) => {
        v.status = 'ok'
      }),
  },
  {
    name: 'status-field-missing',
    what: 'queue is left out when it is 0',
    checks: ['status/shape'],
    plant: () =>
      altering('GET', '/v1/status', (v) => {
        delete v.queue
      }),
  },
  {
    name: 'status-field-extra',
    what: 'an undocumented field',
    checks: ['status/shape'],
    plant: () =>
      altering('GET', '/v1/status', (v) => {
        v.version = '1.2.3'
      }),
  },
  {
    name: 'date-without-milliseconds',
    what: 'moments have no milliseconds',
    checks: ['status/field-updated'],
    plant: () =>
      altering('GET', '/v1/status', (v) => {
        v.updated = v.updated.replace(/\.\d+Z/, 'Z')
      }),
  },
  {
    name: 'trailing-newline',
    what: 'a newline at the end of the canonical text is accepted',
    checks: ['authentication/mistake-trailing-newline'],
    plant: (secrets) => ({
      onRequest(request) {
        if (isSigned(request, secrets, (text) => `${text}\n`)) signAgain(request, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'signature-upper-case',
    what: 'signatures in upper case are accepted',
    checks: ['authentication/mistake-upper-case'],
    plant: () => ({
      onRequest(request) {
        setHeader(request, 'x-api-signature', header(request, 'x-api-signature')?.toLowerCase())
        return undefined
      },
    }),
  },
  {
    name: 'query-not-signed',
    what: 'the query is not part of what is signed',
    checks: ['authentication/mistake-query-dropped'],
    plant: (secrets) => ({
      onRequest(request) {
        if (isSigned({ ...request, target: path(request) }, secrets)) signAgain(request, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'nonce-reuse',
    what: 'a nonce can be used again',
    checks: ['nonces/twice', 'nonces/at-once'],
    plant: (secrets) => ({
      onRequest(request) {
        if (isSigned(request, secrets)) signAgain(request, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'clock-lax',
    what: 'timestamps may be 90 seconds off',
    checks: ['clock/refuses-61', 'clock/refuses-plus61'],
    plant: (secrets) => ({
      onRequest(request) {
        const off = Math.abs(nowS() - Number(header(request, 'x-api-timestamp')))
        if (off <= 90 && isSigned(request, secrets)) signAgain(request, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'clock-strict',
    what: 'the sixtieth second does not count',
    checks: ['clock/takes-60', 'clock/takes-plus60'],
    plant: () => ({
      onRequest(request) {
        const off = Math.abs(nowS() - Number(header(request, 'x-api-timestamp')))
        return off >= 60
          ? answer(401, { error: { type: 'timestamp_out_of_range', message: 'Too late.' } })
          : undefined
      },
    }),
  },
  {
    name: 'key-oracle',
    what: 'an unknown key gets another answer than a wrong signature',
    checks: ['authentication/one-text', 'authentication/names-header'],
    plant: (secrets) =>
      refusing(401, (reply, request) => {
        if (secrets(header(request, 'x-api-key')) === undefined)
          setJson(reply, { error: { type: 'authentication_failed', message: 'No such key.' } })
      }),
  },
  {
    name: 'scope-ignored',
    what: 'a balance needs no scope',
    checks: ['scopes/without-balance'],
    plant: () => ({
      onResponse: (reply, request) => {
        if (reply.status === 403 && is(request, 'GET', '/v1/balance'))
          Object.assign(reply, answer(200, { balance_cents: 1, currency: 'USD' }))
      },
    }),
  },
  {
    name: 'suspension-ignored',
    what: 'a suspended account may still ping',
    checks: ['scopes/suspended-ping'],
    plant: () =>
      refusing(403, (reply) =>
        Object.assign(
          reply,
          answer(200, { ok: true, name: 'A', status: 'active', account_status: 'suspended' }),
        ),
      ),
  },
  {
    name: 'limit-one-short',
    what: 'the 120th request is refused',
    checks: ['rate-limits/120-pass'],
    isLimits: true,
    plant: (secrets) => {
      const counts = new Map<string, number>()
      return {
        onRequest(request) {
          const key = header(request, 'x-api-key') ?? ''
          if (!isSigned(request, secrets)) return undefined
          counts.set(key, (counts.get(key) ?? 0) + 1)
          if ((counts.get(key) ?? 0) < 120) return undefined
          const reply = answer(429, { error: { type: 'rate_limited', message: 'Too many.' } })
          setHeader(reply, 'retry-after', '60')
          return reply
        },
      }
    },
  },
  {
    name: 'limit-one-over',
    what: 'the 21st order attempt is let in',
    checks: ['rate-limits/21st-attempt'],
    isLimits: true,
    plant: () =>
      refusing(429, (reply) =>
        Object.assign(reply, answer(409, { error: { type: 'item_unavailable', message: 'No.' } })),
      ),
  },
  {
    name: 'retry-after-missing',
    what: '429 without Retry-After',
    checks: ['rate-limits/attempts-retry-after'],
    isLimits: true,
    plant: () => refusing(429, (reply) => setHeader(reply, 'retry-after', undefined)),
  },
  {
    name: 'stock-count',
    what: 'stock is a number',
    checks: ['catalogue/item-stock'],
    plant: () =>
      altering('GET', '/v1/catalogue', (v) => {
        for (const one of v.items) one.stock = 3
      }),
  },
  {
    name: 'frame-image',
    what: 'frames have an image',
    checks: ['catalogue/frame-image'],
    plant: () =>
      altering('GET', '/v1/catalogue', (v) => {
        for (const one of v.items) one.image = 'https://cdn.example.com/x.png'
      }),
  },
  {
    name: 'order-as-text',
    what: 'ids are sorted as text',
    checks: ['catalogue/numeric-order'],
    plant: () =>
      altering('GET', '/v1/catalogue', (v) =>
        v.items.sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)),
      ),
  },
  {
    name: 'catalogue-overlap',
    what: 'pages overlap by one',
    checks: ['catalogue/paging'],
    plant: (secrets) => ({
      onRequest: (request) =>
        rewriteQuery(request, secrets, /offset=(\d+)/, (n) => `offset=${Math.max(0, n - 1)}`),
    }),
  },
  {
    name: 'limit-clamped',
    what: 'a limit over 2000 is silently cut',
    checks: ['catalogue/refuses-limit-2001'],
    plant: (secrets) => ({
      onRequest: (request) =>
        rewriteQuery(request, secrets, /limit=(\d+)/, (n) => `limit=${Math.min(2_000, n)}`),
    }),
  },
  {
    name: 'etag-ignored',
    what: 'If-None-Match is not looked at',
    checks: ['catalogue/304-page'],
    plant: () => ({
      onRequest: (request) => {
        setHeader(request, 'if-none-match', undefined)
        return undefined
      },
    }),
  },
  {
    name: 'cent-off',
    what: 'a quote is one cent too high',
    checks: ['quote/ok', 'quote/qty-10'],
    plant: () =>
      altering('POST', '/v1/quote', (v) => {
        v.total_cents += 1
      }),
  },
  {
    name: 'quote-unknown-null',
    what: 'what is not known is null instead of left out',
    checks: ['quote/unknown'],
    plant: () =>
      altering('POST', '/v1/quote', (v) => {
        for (const line of v.lines) if (line.status === 'sold_out') line.name = null
      }),
  },
  {
    name: 'quote-costs',
    what: 'a quote takes a cent',
    checks: ['quote/spends-nothing'],
    plant: () => {
      let quotes = 0
      return {
        onResponse(reply, request) {
          if (is(request, 'POST', '/v1/quote')) quotes += 1
          if (is(request, 'GET', '/v1/balance'))
            setJson(reply, { ...json(reply), balance_cents: json(reply).balance_cents - quotes })
        },
      }
    },
  },
  {
    name: 'error-extra',
    what: 'errors have a third field',
    checks: ['errors/shape'],
    plant: () =>
      refusing(404, (reply) => {
        const v = json(reply)
        v.error.code = 404
        setJson(reply, v)
      }),
  },
  {
    name: 'error-type',
    what: 'an item that is not there is "item_not_found"',
    checks: ['errors/shape'],
    plant: () =>
      refusing(404, (reply) =>
        setJson(reply, { error: { type: 'item_not_found', message: 'No such item.' } }),
      ),
  },
  {
    name: 'too-large-is-400',
    what: '400 instead of 413',
    checks: ['errors/16-kib-and-one'],
    plant: () =>
      refusing(413, (reply) => {
        reply.status = 400
      }),
  },
  {
    name: 'content-type',
    what: 'JSON as text/html',
    checks: ['http-surface/json-type'],
    plant: () => ({ onResponse: (reply) => setHeader(reply, 'content-type', 'text/html') }),
  },
  {
    name: 'cacheable',
    what: 'answers may be stored',
    checks: ['http-surface/no-store'],
    plant: () => ({ onResponse: (reply) => setHeader(reply, 'cache-control', 'max-age=60') }),
  },
  {
    name: 'request-id-constant',
    what: 'X-Request-Id is always the same',
    checks: ['http-surface/request-id'],
    plant: () => ({ onResponse: (reply) => setHeader(reply, 'x-request-id', 'req_1') }),
  },
  {
    name: 'wrong-method-404',
    what: '404 instead of 405',
    checks: ['http-surface/405-post-ping'],
    plant: () =>
      refusing(405, (reply) =>
        Object.assign(reply, answer(404, { error: { type: 'not_found', message: 'No.' } })),
      ),
  },
  {
    name: 'allow-missing',
    what: '405 without Allow',
    checks: ['http-surface/405-post-ping', 'http-surface/405-put-webhook'],
    plant: () => refusing(405, (reply) => setHeader(reply, 'allow', undefined)),
  },
  {
    name: 'replay-201',
    what: 'a replay is 201',
    checks: ['orders/replay'],
    plant: () => ({
      onResponse: (reply, request) => {
        if (is(request, 'POST', '/v1/orders') && reply.status === 200) reply.status = 201
      },
    }),
  },
  {
    name: 'bought-twice',
    what: 'the same key buys again',
    checks: ['orders/replay', 'orders/replay-free'],
    plant: (secrets) => ({
      onRequest(request) {
        if (!is(request, 'POST', '/v1/orders') || !isSigned(request, secrets)) return undefined
        setJson(request, { ...json(request), idempotency_key: randomBytes(12).toString('hex') })
        signAgain(request, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'delivered-at-missing',
    what: 'delivered_at is left out while it is null',
    checks: ['orders/created'],
    plant: () =>
      altering('POST', '/v1/orders', (v) => {
        if (v.delivered_at === null) delete v.delivered_at
      }),
  },
  {
    name: 'funds-400',
    what: '400 instead of 402',
    checks: ['orders/funds'],
    plant: () =>
      refusing(402, (reply) => {
        reply.status = 400
      }),
  },
  {
    name: 'conflict-replayed',
    what: 'another cart under the same key gets the old order',
    checks: ['orders/conflict-qty'],
    plant: () => {
      let last: ProxiedResponse | undefined
      return {
        onResponse(reply, request) {
          if (!is(request, 'POST', '/v1/orders')) return
          if (reply.status === 201) last = { ...reply, headers: [...reply.headers] }
          else if (reply.status === 409 && last) Object.assign(reply, last, { status: 200 })
        },
      }
    },
  },
  {
    name: 'oldest-first',
    what: 'orders are listed oldest first',
    checks: ['order-reading/newest-first'],
    plant: () => altering('GET', '/v1/orders', (v) => v.orders.reverse()),
  },
  {
    name: 'orders-overlap',
    what: 'pages of orders overlap by one',
    checks: ['order-reading/paging'],
    plant: (secrets) => ({
      onRequest: (request) =>
        path(request) === '/v1/orders'
          ? rewriteQuery(request, secrets, /offset=(\d+)/, (n) => `offset=${Math.max(0, n - 1)}`)
          : undefined,
    }),
  },
  {
    name: 'summary-with-links',
    what: 'the list of orders has a links field',
    checks: ['order-reading/summaries'],
    plant: () =>
      altering('GET', '/v1/orders', (v) => {
        for (const one of v.orders) one.links = []
      }),
  },
  {
    name: 'not-yours-403',
    what: 'the order of another account is 403',
    checks: ['order-reading/not-yours'],
    plant: () => ({
      onResponse: (reply, request) => {
        if (reply.status === 404 && !request.target.includes('000000'))
          Object.assign(reply, answer(403, { error: { type: 'insufficient_scope', message: 'Not yours.' } }))
      },
    }),
  },
  {
    name: 'links-leaked',
    what: 'a key with orders:write alone sees the links of a replay',
    checks: ['links/replay-write-only'],
    plant: () => {
      const seen = new Map<string, unknown>()
      return {
        onResponse(reply) {
          if (reply.status !== 200) return
          const value = json(reply)
          if (!Array.isArray(value?.links)) return
          if (value.links.length > 0) seen.set(value.id, value.links)
          setJson(reply, { ...value, links: seen.get(value.id) ?? value.links })
        },
      }
    },
  },
  {
    name: 'private-url',
    what: 'a private address is taken as endpoint',
    checks: ['webhook-configuration/refuses-url-ten'],
    plant: () => refusing(400, (reply) => Object.assign(reply, answer(200, {}))),
  },
  {
    name: 'secret-again',
    what: 'the secret is shown whenever the URL is set',
    checks: ['webhook-configuration/again'],
    plant: () =>
      altering('POST', '/v1/webhook', (v) => {
        v.secret ??= 'whsec_x'
      }),
  },
]

const events: Fault[] = [
  {
    name: 'event-other-body',
    what: 'the signature is of another body',
    checks: ['events/signature'],
    plant: () => ({
      event: (event) => {
        event.body = Buffer.from(event.body.toString().replace('{', '{ '))
      },
    }),
  },
  {
    name: 'event-id-header',
    what: 'X-Webhook-Id is not the id of the event',
    checks: ['events/header-id'],
    plant: () => ({ event: (event) => setHeader(event, 'x-webhook-id', `evt_${'0'.repeat(26)}`) }),
  },
  {
    name: 'event-timestamp',
    what: 'X-Webhook-Timestamp in milliseconds',
    checks: ['events/header-timestamp'],
    plant: () => ({
      event: (event) => setHeader(event, 'x-webhook-timestamp', `${header(event, 'x-webhook-timestamp')}000`),
    }),
  },
  {
    name: 'event-signature-form',
    what: 'the signature has a prefix',
    checks: ['events/header-signature'],
    plant: () => ({
      event: (event) => setHeader(event, 'x-webhook-signature', `v1=${header(event, 'x-webhook-signature')}`),
    }),
  },
  {
    name: 'event-nulls',
    what: 'members of data that are not used are null',
    checks: ['events/test-data', 'events/body'],
    plant: () => ({
      event: (event) => setJson(event, { ...json(event), data: { ...json(event).data, order: null } }),
    }),
  },
  {
    name: 'event-id-per-attempt',
    what: 'every attempt has an id of its own',
    checks: ['events/retry-id'],
    plant: () => ({
      event: (event) => setHeader(event, 'x-webhook-id', `evt_${randomBytes(13).toString('hex')}`),
    }),
  },
]

export const faults: readonly Fault[] = [...http, ...events]
export const isEventFault = (fault: Fault) => events.includes(fault)

function rewriteQuery(
  request: ProxiedRequest,
  secrets: Secrets,
  pattern: RegExp,
  change: (n: number) => string,
): undefined {
  const target = request.target.replace(pattern, (_all, digits: string) => change(Number(digits)))
  if (target === request.target || !isSigned(request, secrets)) return
  request.target = target
  signAgain(request, secrets)
}
