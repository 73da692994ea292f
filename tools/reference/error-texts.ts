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
      'The body or the query breaks one of the [rules of their form](../guides/sign-a-request.md#bodies-and-queries).',
    ],
    todo: ['`message` names the field and the rule. Correct the code that builds the request.'],
  },
  order_total_exceeded: {
    when: ['The lines that can be bought cost more than 500,000 cents together.'],
    todo: ['Split the cart into several orders, each with an idempotency key of its own.'],
  },
  webhook_url_not_allowed: {
    when: [
      'The URL breaks one of its [rules](../guides/receive-webhooks.md#register-it), or its host is not public: `localhost`, a private or reserved address, a name that resolves to one, an unknown name.',
    ],
    todo: [
      'Register a public HTTPS address; for a development machine, use a tunnel. Check every address of the name, IPv6 too: one that is not public is enough.',
    ],
  },
  authentication_failed: {
    when: [
      'One of the four headers is missing, is given twice or has the wrong form. `message` then names it and its form.',
      'The key id is unknown or revoked, or the secret belongs to another key.',
      'The signature covers other bytes than those that arrived; the [usual causes](../guides/sign-a-request.md#common-errors).',
    ],
    todo: [
      'Run [`shopwire doctor`](command-line.md#doctor) with the key: it checks key, clock and proxies. [`shopwire doctor signature`](command-line.md#doctor-signature) and the [emulator](../../emulator/README.md#the-page) name the mistake in a signature.',
      'Check that key id and secret are a pair, and that the secret has no newline or quote around it.',
    ],
  },
  timestamp_out_of_range: {
    when: [
      'Your clock is more than 60 seconds off, or the request waited that long after it was signed.',
      'The store [lost its nonces](../guides/sign-a-request.md#clocks-nonces-and-outages) seconds ago.',
    ],
    todo: [
      'Synchronise the clock with NTP; the message says how far it is off. Sign right before sending, after your own queue or rate limiter.',
    ],
  },
  nonce_reused: {
    when: [
      'The same signed bytes came twice: an HTTP client or proxy repeated the request on its own, or a retry had the old signature. Or the nonce generator produces duplicates.',
    ],
    todo: [
      'Sign every attempt anew, with 16 random bytes in hex, and switch off automatic retries below your signing code.',
      'The first copy may have succeeded: for an order keep the idempotency key.',
    ],
  },
  insufficient_funds: {
    when: ['The balance was lower than the total at the moment of the order. Nothing was bought.'],
    todo: ['Add to the balance, then send the same order with the same idempotency key.'],
  },
  insufficient_scope: {
    when: [
      'The key was made without the [scope](endpoints.md) of this endpoint. A write scope never includes the read scope.',
    ],
    todo: [
      'Use a key that has the scope the message names, or ask the store for one. Scopes of a key never change.',
    ],
  },
  account_suspended: {
    when: ['The store suspended the account: all its requests are refused, and webhooks are paused.'],
    todo: ['Contact the store. Paid orders are kept.'],
  },
  not_found: {
    when: [
      'The path, the item or the order does not exist, or the order belongs to another account. Paths are exact: another case, a trailing slash or an escaped letter is another path.',
    ],
    todo: [
      'Compare the path with the [endpoints](endpoints.md), and check that the key belongs to the account that bought the order.',
    ],
  },
  method_not_allowed: {
    when: ['The path does not take this method. OPTIONS exists nowhere, HEAD for `/status` only.'],
    todo: ['Use one of the methods in the `Allow` header.'],
  },
  request_timeout: {
    when: [
      'The body did not arrive within 5 seconds after the headers, and nothing was done: a slow connection, a stalled proxy, or a `Content-Length` larger than what was sent.',
    ],
    todo: [
      'Send headers and body together, on a new connection: this one is closed. Check the proxies on the way.',
    ],
  },
  price_changed: {
    when: [
      '`expected_price_cents` of a line is not the price now; the message has both. Nothing was bought.',
    ],
    todo: [
      'Show your customer the new price, then order with it. That is another cart: give it a new idempotency key, although the old one is still free.',
    ],
  },
  item_unavailable: {
    when: ['An item is not for sale, has nothing to deliver it from, or is unknown. Nothing was bought.'],
    todo: [
      '`POST /quote` shows which lines can be bought. Take the others out, or wait until they are back.',
    ],
  },
  idempotency_conflict: {
    when: ['This key has bought already, with another cart: other items, quantities or expected prices.'],
    todo: [
      'For a retry send the first cart, which you stored with the key. For a new purchase make a new key; look at the earlier order with `GET /orders` first.',
    ],
  },
  webhook_not_configured: {
    when: ['The account has no endpoint.'],
    todo: ['Set one with `POST /webhook`, then ask for the test.'],
  },
  payload_too_large: {
    when: ['The body has more than 16,384 bytes; a full cart needs less than 3,000.'],
    todo: ['Send less.'],
  },
  rate_limited: {
    when: [
      'The account made 120 requests, or 20 order attempts, in the last 60 seconds, over all its keys.',
      'The account was refused more than 120 times in a minute, and this request was signed no later than one of those.',
      'Your endpoint has not accepted ten `test` events of the last 60 seconds; see `last_error` in `GET /webhook`.',
      'One address fetched too many public files, such as `/openapi.json`.',
    ],
    todo: [
      'Wait `Retry-After` seconds and sign again; a refusal does not count. Slow down before `RateLimit` reaches 0, and keep a [copy of the catalogue](../guides/sync-the-catalogue.md).',
    ],
  },
  internal_error: {
    when: ['A fault in the store, logged there under the `X-Request-Id` of the answer.'],
    todo: ['Try again later. If it persists, send the request id to the store.'],
  },
  store_closed: {
    when: [
      'An operator closed the store, or a planned closing is in effect. Reads, quotes and replays of orders continue.',
    ],
    todo: ['Poll `GET /status` until `store` is `open`, then send the same order with the same key.'],
  },
  service_unavailable: {
    when: [
      'There are [too many requests at the same time](../guides/sign-a-request.md#rate-limits), in all or of this account. The message says which; nothing was done.',
      'The database or the nonce store did not answer in time.',
      'Another request with the same idempotency key was still running after two seconds.',
    ],
    todo: [
      'For an order: **the same idempotency key and the same cart**, after a look at `GET /v1/status`.',
      'If this account has too many, send fewer at once. The fault [`overloaded`](../../emulator/README.md#faults) of the emulator lets you try it.',
    ],
  },
}
