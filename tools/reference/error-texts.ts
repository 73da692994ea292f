import type { ErrorType } from '@shopwire/contract'

export interface ErrorText {
  readonly when: readonly string[]
  readonly todo: readonly string[]
}

/** What no schema can say about an error. A type without an entry here does not compile. */
export const errorTexts: Readonly<Record<ErrorType, ErrorText>> = {
  invalid_request: {
    when: [
      'A field is missing, has another type or is out of bounds; a property is unknown; an item is twice in a cart.',
      'The body is not strict JSON: a name twice in one object, `1e0` or `1.5` where a whole number belongs, a byte order mark, more than 8 levels.',
      'A query parameter is given twice or is not plain decimal (`05`, `+5`, `1e2`).',
      'A GET or DELETE came with a body, or a body with a `Content-Encoding`.',
    ],
    todo: [
      'Read `message`: it names the field and the rule. Correct the code that builds the request.',
      'Send item ids as strings. As numbers they lose their last digits.',
    ],
  },
  order_total_exceeded: {
    when: [
      'The lines that can be bought cost more than 500,000 cents together. Quotes and orders have the same limit.',
    ],
    todo: ['Split the cart into several orders, each with an idempotency key of its own.'],
  },
  webhook_url_not_allowed: {
    when: [
      'The host is not public: `localhost`, a private or reserved address, a name that resolves to one, an unknown name.',
      'The URL carries credentials or a fragment, or its port is neither 443 nor 1024 and above.',
    ],
    todo: [
      'Register a public HTTPS address. For a development machine, use a tunnel with a public name.',
      'Check every address of the name, IPv6 too: one that is not public is enough for a refusal.',
    ],
  },
  authentication_failed: {
    when: [
      'One of the four headers is missing, is given twice or has the wrong form. `message` then names it and its form, such as “X-Api-Timestamp must be Unix seconds in ten digits.” for milliseconds.',
      'The key id is unknown or revoked, or the secret belongs to another key.',
      'The signature covers other bytes than those that arrived. [Sign a request](../guides/sign-a-request.md#common-errors) has the usual causes, such as a proxy that rewrites the path.',
    ],
    todo: [
      'Run [`shopwire doctor`](command-line.md#doctor) with the key: it checks key, clock and proxies. [`shopwire doctor signature`](command-line.md#doctor-signature) and the page of the [emulator](../../emulator/README.md#the-page) name the mistake in a signature.',
      'Compare with the [vectors](../guides/sign-a-request.md#test-against-the-vectors), or line by line with the [playground](../guides/sign-a-request.md#playground).',
      'Check that key id and secret come from the same pair, and that the secret has no newline or quote around it.',
    ],
  },
  timestamp_out_of_range: {
    when: [
      'Your clock is more than 60 seconds off, or the request waited that long between signing and sending.',
      'The request was signed before the stored record of used nonces begins: for seconds after the store lost its nonces.',
    ],
    todo: [
      'Synchronise the clock with NTP. The message says how far it is off, and `Date` is on every answer.',
      'Sign right before sending, after your own queue or rate limiter.',
    ],
  },
  nonce_reused: {
    when: [
      'The same signed bytes came twice: an HTTP client or proxy repeated the request on its own, or a retry was sent with the old signature.',
      'The nonce generator produces duplicates.',
    ],
    todo: [
      'Create a new nonce and timestamp for every attempt, retries too: 16 random bytes in hex.',
      'Switch off automatic retries below your signing code.',
      'The first copy may have succeeded. For an order keep the idempotency key: it returns what was bought.',
    ],
  },
  insufficient_funds: {
    when: ['The balance was lower than the total at the moment of the order. Nothing was bought.'],
    todo: ['Add to the balance, then send the same order with the same idempotency key.'],
  },
  insufficient_scope: {
    when: [
      'The signature is right, but the key was made without the scope of this endpoint. A write scope never includes the read scope. Setting a webhook URL needs `orders:read` besides `webhooks:write`, because events contain orders and links.',
    ],
    todo: [
      'Use a key that has the scope the message names, or ask the store for one. Scopes of a key never change.',
    ],
  },
  account_suspended: {
    when: [
      'The store suspended the account. All its requests are refused, reads too, and webhooks are paused.',
    ],
    todo: ['Contact the store. Paid orders are kept while the account is suspended.'],
  },
  not_found: {
    when: [
      'The path does not exist. Paths are exact: another case, a trailing slash or an escaped letter is another path.',
      'The item or order does not exist, or the order belongs to another account. The answer is the same.',
    ],
    todo: [
      'Compare the path with the [endpoints](endpoints.md), and check that the key belongs to the account that bought the order. An unknown item in a cart is [`item_unavailable`](#item_unavailable) instead.',
    ],
  },
  method_not_allowed: {
    when: ['The path does not take this method. OPTIONS is not offered anywhere, HEAD for `/status` only.'],
    todo: ['Use one of the methods in the `Allow` header.'],
  },
  request_timeout: {
    when: [
      'The body did not arrive within 5 seconds after the headers, and nothing was done: a slow connection, a stalled proxy, or a `Content-Length` larger than what was sent.',
    ],
    todo: [
      'Send headers and body together, on a new connection: this one is closed. If it happens again, check the proxies between you and the store.',
    ],
  },
  price_changed: {
    when: [
      '`expected_price_cents` of a line is not the price now. The message names the items with both prices. Nothing was bought.',
    ],
    todo: [
      'Show your customer the new price, then order with it. That is another cart: give it a new idempotency key. The old one is still free and works too.',
    ],
  },
  item_unavailable: {
    when: [
      'An item is not for sale, its sale has ended, there is nothing to deliver it from, or its id is unknown. Nothing was bought.',
    ],
    todo: [
      '`POST /quote` shows which lines can be bought. Take the others out, or wait until they are back.',
    ],
  },
  idempotency_conflict: {
    when: ['This key has bought already, with another cart: other items, quantities or expected prices.'],
    todo: [
      'For a retry send the first cart. Store it with the key, before the first attempt.',
      'For a new purchase make a new key. Look at the earlier order with `GET /orders` first.',
    ],
  },
  webhook_not_configured: {
    when: ['The account has no endpoint.'],
    todo: ['Set one with `POST /webhook`, then ask for the test.'],
  },
  payload_too_large: {
    when: ['The body has more than 16,384 bytes. A full cart needs less than 3,000.'],
    todo: ['Send less; look for padding or unrelated data.'],
  },
  rate_limited: {
    when: [
      'The account made 120 requests, or 20 order attempts, in the last 60 seconds, over all its keys.',
      'The account kept sending while it was refused, more than 120 times in a minute, and this request was signed no later than one of those. `Retry-After` says when a newly signed request is accepted.',
      'Ten `test` events of the last 60 seconds have not been accepted by your endpoint. `last_error` in `GET /webhook` says why.',
      'Too many public files, such as `/openapi.json` or these pages, were fetched from one address.',
    ],
    todo: [
      'Wait `Retry-After` seconds. A refusal does not count, so that is enough.',
      'Read `RateLimit` on every answer, and slow down before it reaches 0.',
      'Keep a [copy of the catalogue](../guides/sync-the-catalogue.md) instead of reading items one by one.',
    ],
  },
  internal_error: {
    when: ['A fault in the store, logged there under the `X-Request-Id` of the answer.'],
    todo: ['Try again later. If it persists, send the request id to the store.'],
  },
  store_closed: {
    when: [
      'An operator closed the store, or a planned closing is in effect. Only new orders are refused: reads, quotes and replays of orders continue.',
    ],
    todo: ['Poll `GET /status` until `store` is `open`, then send the same order with the same key.'],
  },
  service_unavailable: {
    when: [
      'The service has more requests than it can answer in time: all of them, or too many of this account at the same time. The message says which, and that [nothing was done](../guides/sign-a-request.md#rate-limits).',
      'The database or the nonce store did not answer in time.',
      'Another request with the same idempotency key was still running after two seconds.',
    ],
    todo: [
      'For an order: **the same idempotency key and the same cart**. It never buys twice. Ask `GET /v1/status` before you send it.',
      'Send fewer requests at the same time if the message says that this account has too many. The fault [`overloaded`](../../emulator/README.md#faults) of the emulator lets you try it.',
    ],
  },
}
