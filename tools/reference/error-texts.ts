import type { ErrorType } from '@shopwire/contract'

export interface ErrorText {
  /** How one gets here. */
  readonly cause: readonly string[]
  /** What to do about it. */
  readonly fix: readonly string[]
  /** A message as the service writes it. Messages may change; `type` does not. */
  readonly message: string
  /** What the general words about sending it again leave open. */
  readonly retry?: string
}

/** What no schema can say about an error. A type without an entry here does not compile. */
export const errorTexts: Readonly<Record<ErrorType, ErrorText>> = {
  invalid_request: {
    cause: [
      'A field is missing, has another type, or is out of its bounds; a property is unknown; an item is twice in a cart.',
      'The body is not strict JSON: a name twice in one object, `1e0` or `1.5` where a whole number belongs, a byte order mark, more than 8 levels.',
      'A query parameter is given twice or is not plain decimal (`05`, `+5`, `1e2`).',
      'A GET or DELETE came with a body, or a body with a `Content-Encoding`.',
    ],
    fix: [
      'Read `message`: it names the field and the rule. Fix the code that builds the request.',
      'Send item ids as strings. As numbers they lose their last digits.',
    ],
    message: 'items[0].qty must be <= 10.',
  },
  order_total_exceeded: {
    cause: [
      'The lines that can be bought cost more than 500,000 cents together. Quotes and orders have the same cap.',
    ],
    fix: ['Split the cart into several orders, each with an idempotency key of its own.'],
    message: 'The cart costs 500100 cents; one order may cost 500000. Split it into several orders.',
  },
  webhook_url_not_allowed: {
    cause: [
      'The host is not public: `localhost`, a private or reserved address, a name that resolves to one, an unknown name.',
      'The URL carries credentials or a fragment, or its port is neither 443 nor 1024 and above.',
    ],
    fix: [
      'Register a public HTTPS address. For a development machine, use a tunnel with a public name.',
      'Check every address of the name, IPv6 too: a single one that is not public is refused.',
    ],
    message:
      'This URL cannot receive events: its host is not a public name. Use a public HTTPS address, port 443 or from 1024 on.',
  },
  authentication_failed: {
    cause: [
      'One of the four headers is missing, is given twice or has the wrong form. Then `message` names it and says the form, such as “X-Api-Timestamp must be Unix seconds in ten digits.” for milliseconds.',
      'The key id is unknown or revoked, or the secret belongs to another key.',
      'The signature covers other bytes than those that arrived. Most often the body was serialised twice, the query was re-encoded, `/v1` was left out, or a newline was added at the end.',
      'A proxy between you and the store rewrote the path, the query or the body, or dropped a header.',
    ],
    fix: [
      'Run [`shopwire doctor`](../command-line.md#doctor) with the key: it checks key, clock and proxies. [`shopwire doctor signature`](../command-line.md#doctor-signature) says which mistake a refused request was signed with.',
      'Send the request to the [emulator](../../../emulator/README.md#the-page): its page names the mistake beside every refused request.',
      'Sign the inputs of a [known answer](../../guides/sign-a-request.md#test-against-the-vectors) and compare the canonical text first, then the signature. If you get the `presented` value of a mistake, it says what to change.',
      'Put the same request into the [playground](../../guides/playground.md) and compare line by line.',
      'Check that key id and secret come from the same pair, and that the secret has no newline or quote around it.',
    ],
    message: 'The key or the signature is not valid. Check the key id, the secret and the canonical request.',
    retry:
      'The same mistake always gives the same answer: it never becomes a 429, and waiting does not help.',
  },
  timestamp_out_of_range: {
    cause: [
      'Your clock is more than 60 seconds off, or the request waited that long between signing and sending.',
      'The request was signed before the stored record of used nonces begins. That happens for a short time after the store lost its nonces (a crash, a failover).',
    ],
    fix: [
      'Synchronise the clock with NTP. The message says how far it is off, and `Date` is on every answer.',
      'Sign right before sending, after your own queue or rate limiter.',
    ],
    message:
      'X-Api-Timestamp is 74 s behind our clock, which says 1794721078; at most 60 s are allowed. Set your clock, then sign again.',
  },
  nonce_reused: {
    cause: [
      'The same signed bytes came twice: an HTTP client or proxy repeated the request on its own, or a retry was sent with the old signature.',
      'The nonce generator produces duplicates.',
    ],
    fix: [
      'Create a new nonce and timestamp for every attempt, retries too: 16 random bytes in hex.',
      'Switch off automatic retries below your signing code.',
    ],
    message: 'This nonce was used before. Sign again with a fresh nonce and timestamp; retries too.',
    retry:
      'The first copy may have succeeded. For an order keep the idempotency key: it returns what was bought.',
  },
  insufficient_funds: {
    cause: ['The balance was lower than the total at the moment of the order.'],
    fix: [
      'Add to the balance, then send the same order with the same idempotency key.',
      'Watch `GET /balance` and top up before it runs low.',
    ],
    message:
      'The balance does not cover the 7191 cents of this cart. Nothing was bought. Fund the account, then send the same request again.',
  },
  insufficient_scope: {
    cause: [
      'The key is live and the signature is right, but the key was made without the scope of this endpoint. A write scope never includes the read scope.',
      'Setting a webhook URL needs `orders:read` besides `webhooks:write`, because events contain orders and links.',
    ],
    fix: [
      'Use a key that has the scope the message names, or ask the store for one. Scopes of a key never change.',
    ],
    message: 'This key lacks the scope orders:write. Use a key that has it, or ask the store for one.',
  },
  account_suspended: {
    cause: [
      'The store suspended the account. Every signed request is refused, reads too, and webhook deliveries are paused.',
    ],
    fix: ['Contact the store. Paid orders are kept while the account is suspended.'],
    message: 'This account is suspended. Contact the store to have it resumed.',
  },
  not_found: {
    cause: [
      'There is no such path. Paths are exact: another case, a trailing slash or an escaped letter is another path.',
      'There is no item or order with this id, or the order belongs to another account. The answer is the same.',
    ],
    fix: [
      'Compare the path with the [endpoints](../endpoints.md).',
      'Check that the key belongs to the account that bought the order.',
    ],
    message: 'This account has no order with this id. GET /orders lists its orders.',
    retry: 'An unknown item id in a cart is `item_unavailable` instead.',
  },
  method_not_allowed: {
    cause: [
      'The path exists, but not with this method. OPTIONS is not offered either, and HEAD for `/status` only.',
    ],
    fix: ['Use one of the methods in the `Allow` header.'],
    message: 'PUT is not offered at this path; it takes GET, POST.',
  },
  request_timeout: {
    cause: [
      'The body did not arrive within 5 seconds after the headers. A slow connection, a stalled proxy, or a `Content-Length` larger than what was sent.',
    ],
    fix: [
      'Send headers and body together. If it happens again, check the proxies between you and the store.',
    ],
    message:
      'The body did not arrive within 5 seconds. Nothing was done; send it again with a fresh timestamp and nonce.',
    retry: 'The connection is closed; open a new one.',
  },
  price_changed: {
    cause: [
      '`expected_price_cents` of a line is not the price now. The message names the items with both prices.',
    ],
    fix: [
      'Show your customer the new price, then order with it and a new idempotency key.',
      'Keep a copy of the catalogue ([sync the catalogue](../../guides/sync-the-catalogue.md)), so that it happens rarely.',
    ],
    message:
      'A price is not the expected one: 1144058340327047001 costs 549 cents now, 499 were expected. Nothing was bought. Ask your customer, then order with the new price.',
    retry: 'The key is still free, so the new cart may also use the old one.',
  },
  item_unavailable: {
    cause: [
      'An item is not for sale, its sale has ended, there is nothing to deliver it from, or its id is unknown.',
    ],
    fix: ['`POST /quote` shows which lines can be bought. Take the others out, or wait until they are back.'],
    message:
      'Not for sale now: 1144058340328047004. Nothing was bought. POST /quote shows which lines can be.',
  },
  idempotency_conflict: {
    cause: ['This key has bought already, with another cart: other items, quantities or expected prices.'],
    fix: [
      'For a new purchase make a new key.',
      'For a retry send the first cart. Store it with the key, before the first attempt.',
    ],
    message: 'This idempotency key has already bought another cart. Use a new key for a new purchase.',
    retry:
      'Before you take a new key, make sure that the first order is not the one you wanted: `GET /orders` lists it.',
  },
  webhook_not_configured: {
    cause: ['`POST /webhook/test` was called while no endpoint is set.'],
    fix: ['Set one with `POST /webhook`, then ask for the test.'],
    message: 'There is no endpoint to send a test to. Set one with POST /webhook first.',
  },
  payload_too_large: {
    cause: ['The body has more than 16,384 bytes. A full cart needs less than 3,000.'],
    fix: ['Send less; look for padding or unrelated data.'],
    message: 'The body is larger than 16384 bytes, which is the most we read.',
  },
  rate_limited: {
    cause: [
      'The account made 120 requests, or 20 order attempts, in the last 60 seconds, over all its keys.',
      'The account kept sending while it was refused, more than 120 times in a minute, and this request was signed no later than one of those. `Retry-After` says when a newly signed request is accepted.',
      'Ten `test` events of the last 60 seconds have not been accepted by your endpoint. `last_error` in `GET /webhook` says why.',
      'Too many public files, such as `/openapi.json` or these pages, were fetched from one address.',
    ],
    fix: [
      'Wait `Retry-After` seconds. A refusal does not count, so that is enough.',
      'Read `RateLimit` on every answer and slow down before it reaches 0.',
      'Keep a copy of the catalogue instead of reading items one by one.',
    ],
    message:
      'This account has made 120 requests within 60 seconds. Wait 12 s, then sign again with a fresh timestamp and nonce.',
  },
  internal_error: {
    cause: ['A fault in the store. It is logged there under the `X-Request-Id` of the answer.'],
    fix: ['Try again later. If it persists, send the request id to the store.'],
    message: 'Something went wrong on our side. Tell us the X-Request-Id of this answer.',
  },
  store_closed: {
    cause: [
      'An operator closed the store, or a planned closing is in effect. Only new orders are refused: reads, quotes and replays of orders continue.',
    ],
    fix: ['Poll `GET /status` until `store` is `open`, then send the same order with the same key.'],
    message:
      'The store takes no new orders for now; nothing was bought. Try again with the same key when /status says it is open.',
  },
  service_unavailable: {
    cause: [
      'The service has more requests than it can answer in time: all of them, or too many of this account at the same time. The message says which, and that nothing was done; no nonce is spent, nothing counts towards the limits, and there are no `RateLimit` headers.',
      'The database or the nonce store did not answer in time.',
      'Another request with the same idempotency key was still running after two seconds.',
    ],
    fix: [
      'Wait `Retry-After` seconds and send the same request with a new signature; before an order, ask `GET /v1/status`.',
      'Send fewer requests at the same time if the message says that this account has too many. The fault [`overloaded`](../../../emulator/README.md#faults) of the emulator lets you try it.',
      'For an order: **the same idempotency key and the same cart**. The order may have been placed; the same key returns it and never buys twice.',
    ],
    message:
      'A part of the service did not answer in time. Try again in a moment; an order keeps its idempotency key.',
  },
}
