import { randomBytes } from 'node:crypto'
import { nowS } from '../signer.ts'
import {
  type Asked,
  answer,
  header,
  isSigned,
  json,
  type Secrets,
  setHeader,
  setJson,
  signAgain,
  type Told,
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

const path = ({ target }: Asked) => target.split('?')[0] ?? ''
const is = (asked: Asked, method: string, wanted: string) => asked.method === method && path(asked) === wanted

/** Changes the JSON of successful answers to one request. */
const altering = (
  method: string,
  wanted: string | RegExp,
  // biome-ignore lint/suspicious/noExplicitAny: faults reach into answers of every shape
  change: (value: any, told: Told, asked: Asked) => void,
): Wrong => ({
  tell(told, asked) {
    const isMeant = typeof wanted === 'string' ? path(asked) === wanted : wanted.test(path(asked))
    if (asked.method !== method || !isMeant || told.status >= 300) return
    const value = json(told)
    change(value, told, asked)
    setJson(told, value)
  },
})
/** Changes refusals with one status. */
const refusing = (status: number, change: (told: Told, asked: Asked) => void): Wrong => ({
  tell(told, asked) {
    if (told.status === status) change(told, asked)
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
      ask(asked) {
        if (isSigned(asked, secrets, (text) => `${text}\n`)) signAgain(asked, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'signature-upper-case',
    what: 'signatures in upper case are accepted',
    checks: ['authentication/mistake-upper-case'],
    plant: () => ({
      ask(asked) {
        setHeader(asked, 'x-api-signature', header(asked, 'x-api-signature')?.toLowerCase())
        return undefined
      },
    }),
  },
  {
    name: 'query-not-signed',
    what: 'the query is not part of what is signed',
    checks: ['authentication/mistake-query-dropped'],
    plant: (secrets) => ({
      ask(asked) {
        if (isSigned({ ...asked, target: path(asked) }, secrets)) signAgain(asked, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'nonce-reuse',
    what: 'a nonce can be used again',
    checks: ['nonces/twice', 'nonces/at-once'],
    plant: (secrets) => ({
      ask(asked) {
        if (isSigned(asked, secrets)) signAgain(asked, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'clock-lax',
    what: 'timestamps may be 90 seconds off',
    checks: ['clock/refuses-61', 'clock/refuses-plus61'],
    plant: (secrets) => ({
      ask(asked) {
        const off = Math.abs(nowS() - Number(header(asked, 'x-api-timestamp')))
        if (off <= 90 && isSigned(asked, secrets)) signAgain(asked, secrets)
        return undefined
      },
    }),
  },
  {
    name: 'clock-strict',
    what: 'the sixtieth second does not count',
    checks: ['clock/takes-60', 'clock/takes-plus60'],
    plant: () => ({
      ask(asked) {
        const off = Math.abs(nowS() - Number(header(asked, 'x-api-timestamp')))
        return off >= 60
          ? answer(401, { error: { type: 'timestamp_out_of_range', message: 'Too late.' } })
          : undefined
      },
    }),
  },
  {
    name: 'key-oracle',
    what: 'an unknown key is told from a wrong signature',
    checks: ['authentication/one-text'],
    plant: (secrets) =>
      refusing(401, (told, asked) => {
        if (secrets(header(asked, 'x-api-key')) === undefined)
          setJson(told, { error: { type: 'authentication_failed', message: 'No such key.' } })
      }),
  },
  {
    name: 'scope-ignored',
    what: 'a balance needs no scope',
    checks: ['scopes/without-balance'],
    plant: () => ({
      tell: (told, asked) => {
        if (told.status === 403 && is(asked, 'GET', '/v1/balance'))
          Object.assign(told, answer(200, { balance_cents: 1, currency: 'USD' }))
      },
    }),
  },
  {
    name: 'suspension-ignored',
    what: 'a suspended account may still ping',
    checks: ['scopes/suspended-ping'],
    plant: () =>
      refusing(403, (told) =>
        Object.assign(
          told,
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
        ask(asked) {
          const key = header(asked, 'x-api-key') ?? ''
          if (!isSigned(asked, secrets)) return undefined
          counts.set(key, (counts.get(key) ?? 0) + 1)
          if ((counts.get(key) ?? 0) < 120) return undefined
          const told = answer(429, { error: { type: 'rate_limited', message: 'Too many.' } })
          setHeader(told, 'retry-after', '60')
          return told
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
      refusing(429, (told) =>
        Object.assign(told, answer(409, { error: { type: 'item_unavailable', message: 'No.' } })),
      ),
  },
  {
    name: 'retry-after-missing',
    what: '429 without Retry-After',
    checks: ['rate-limits/attempts-retry-after'],
    isLimits: true,
    plant: () => refusing(429, (told) => setHeader(told, 'retry-after', undefined)),
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
      ask: (asked) => rewriteQuery(asked, secrets, /offset=(\d+)/, (n) => `offset=${Math.max(0, n - 1)}`),
    }),
  },
  {
    name: 'limit-clamped',
    what: 'a limit over 2000 is silently cut',
    checks: ['catalogue/refuses-limit-2001'],
    plant: (secrets) => ({
      ask: (asked) => rewriteQuery(asked, secrets, /limit=(\d+)/, (n) => `limit=${Math.min(2_000, n)}`),
    }),
  },
  {
    name: 'etag-ignored',
    what: 'If-None-Match is not looked at',
    checks: ['catalogue/304-page'],
    plant: () => ({
      ask: (asked) => {
        setHeader(asked, 'if-none-match', undefined)
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
        tell(told, asked) {
          if (is(asked, 'POST', '/v1/quote')) quotes += 1
          if (is(asked, 'GET', '/v1/balance'))
            setJson(told, { ...json(told), balance_cents: json(told).balance_cents - quotes })
        },
      }
    },
  },
  {
    name: 'error-extra',
    what: 'errors have a third field',
    checks: ['errors/shape'],
    plant: () =>
      refusing(404, (told) => {
        const v = json(told)
        v.error.code = 404
        setJson(told, v)
      }),
  },
  {
    name: 'error-type',
    what: 'an item that is not there is "item_not_found"',
    checks: ['errors/shape'],
    plant: () =>
      refusing(404, (told) => setJson(told, { error: { type: 'item_not_found', message: 'No such item.' } })),
  },
  {
    name: 'too-large-is-400',
    what: '400 instead of 413',
    checks: ['errors/16-kib-and-one'],
    plant: () =>
      refusing(413, (told) => {
        told.status = 400
      }),
  },
  {
    name: 'content-type',
    what: 'JSON as text/html',
    checks: ['http-surface/json-type'],
    plant: () => ({ tell: (told) => setHeader(told, 'content-type', 'text/html') }),
  },
  {
    name: 'cacheable',
    what: 'answers may be stored',
    checks: ['http-surface/no-store'],
    plant: () => ({ tell: (told) => setHeader(told, 'cache-control', 'max-age=60') }),
  },
  {
    name: 'request-id-constant',
    what: 'X-Request-Id is always the same',
    checks: ['http-surface/request-id'],
    plant: () => ({ tell: (told) => setHeader(told, 'x-request-id', 'req_1') }),
  },
  {
    name: 'wrong-method-404',
    what: '404 instead of 405',
    checks: ['http-surface/405-post-ping'],
    plant: () =>
      refusing(405, (told) =>
        Object.assign(told, answer(404, { error: { type: 'not_found', message: 'No.' } })),
      ),
  },
  {
    name: 'allow-missing',
    what: '405 without Allow',
    checks: ['http-surface/405-post-ping', 'http-surface/405-put-webhook'],
    plant: () => refusing(405, (told) => setHeader(told, 'allow', undefined)),
  },
  {
    name: 'replay-201',
    what: 'a replay is 201',
    checks: ['orders/replay'],
    plant: () => ({
      tell: (told, asked) => {
        if (is(asked, 'POST', '/v1/orders') && told.status === 200) told.status = 201
      },
    }),
  },
  {
    name: 'bought-twice',
    what: 'the same key buys again',
    checks: ['orders/replay', 'orders/replay-free'],
    plant: (secrets) => ({
      ask(asked) {
        if (!is(asked, 'POST', '/v1/orders') || !isSigned(asked, secrets)) return undefined
        setJson(asked, { ...json(asked), idempotency_key: randomBytes(12).toString('hex') })
        signAgain(asked, secrets)
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
      refusing(402, (told) => {
        told.status = 400
      }),
  },
  {
    name: 'conflict-replayed',
    what: 'another cart under the same key gets the old order',
    checks: ['orders/conflict-qty'],
    plant: () => {
      let last: Told | undefined
      return {
        tell(told, asked) {
          if (!is(asked, 'POST', '/v1/orders')) return
          if (told.status === 201) last = { ...told, headers: [...told.headers] }
          else if (told.status === 409 && last) Object.assign(told, last, { status: 200 })
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
      ask: (asked) =>
        path(asked) === '/v1/orders'
          ? rewriteQuery(asked, secrets, /offset=(\d+)/, (n) => `offset=${Math.max(0, n - 1)}`)
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
      tell: (told, asked) => {
        if (told.status === 404 && !asked.target.includes('000000'))
          Object.assign(told, answer(403, { error: { type: 'insufficient_scope', message: 'Not yours.' } }))
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
        tell(told) {
          if (told.status !== 200) return
          const value = json(told)
          if (!Array.isArray(value?.links)) return
          if (value.links.length > 0) seen.set(value.id, value.links)
          setJson(told, { ...value, links: seen.get(value.id) ?? value.links })
        },
      }
    },
  },
  {
    name: 'private-url',
    what: 'a private address is taken as endpoint',
    checks: ['webhook-configuration/refuses-url-ten'],
    plant: () => refusing(400, (told) => Object.assign(told, answer(200, {}))),
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
  asked: Asked,
  secrets: Secrets,
  pattern: RegExp,
  change: (n: number) => string,
): undefined {
  const target = asked.target.replace(pattern, (_all, digits: string) => change(Number(digits)))
  if (target === asked.target || !isSigned(asked, secrets)) return
  asked.target = target
  signAgain(asked, secrets)
}
