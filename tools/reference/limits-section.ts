import * as contract from '@shopwire/contract'
import { table } from './markdown.ts'

/** Every number the contract exports. */
type LimitName = {
  [Name in keyof typeof contract]: (typeof contract)[Name] extends number ? Name : never
}[keyof typeof contract]

interface Row {
  readonly what: string
  /** The limits it is made of; the first is the row's place. */
  readonly of: readonly LimitName[]
  readonly value: string
  readonly beyond: string
}

const number = (value: number) => value.toLocaleString('en-US')
const range = (min: number, max: number) => `${number(min)} to ${number(max)}`
const seconds = (s: number) =>
  s % 3600 === 0 ? `${s / 3600} h` : s % 60 === 0 && s >= 60 ? `${s / 60} min` : `${s} s`
const seconds1000 = (ms: number) => seconds(ms / 1000)

const c = contract

const ROWS: readonly Row[] = [
  row(
    'Signed requests per account',
    ['REQUESTS_PER_WINDOW_MAX'],
    `${c.REQUESTS_PER_WINDOW_MAX} in any ${c.RATE_WINDOW_S} s`,
    link('rate_limited'),
  ),
  row(
    'Order attempts per account, which count above too',
    ['ORDER_ATTEMPTS_PER_WINDOW_MAX', 'RATE_WINDOW_S'],
    `${c.ORDER_ATTEMPTS_PER_WINDOW_MAX} in any ${c.RATE_WINDOW_S} s`,
    link('rate_limited'),
  ),
  row(
    'Requests of one account at the same time',
    [],
    'as many as the process that answers has free',
    link('service_unavailable'),
  ),
  row(
    'Files such as `/openapi.json` per address',
    ['PUBLIC_FILES_PER_WINDOW_MAX'],
    `${c.PUBLIC_FILES_PER_WINDOW_MAX} in any ${c.RATE_WINDOW_S} s`,
    link('rate_limited'),
  ),
  row('`Retry-After` of a 429', ['RETRY_AFTER_S_MIN'], `whole seconds, at least ${c.RETRY_AFTER_S_MIN}`, ''),
  row(
    '`Retry-After` of a 503',
    ['RETRY_AFTER_STORE_CLOSED_S', 'RETRY_AFTER_OVERLOADED_S'],
    `${c.RETRY_AFTER_STORE_CLOSED_S} s when closed, otherwise ${c.RETRY_AFTER_OVERLOADED_S} s`,
    '',
  ),
  row(
    'Body of a request',
    ['BODY_BYTES_MAX'],
    `${number(c.BODY_BYTES_MAX)} bytes`,
    link('payload_too_large'),
  ),
  row(
    'Time for the body, from the end of the headers',
    ['BODY_ARRIVAL_MS_MAX'],
    seconds1000(c.BODY_ARRIVAL_MS_MAX),
    link('request_timeout'),
  ),
  row('Depth of JSON', ['JSON_DEPTH_MAX'], `${c.JSON_DEPTH_MAX} levels`, ''),
  row('`search`, `category`, `type`', ['FILTER_LENGTH_MAX'], `${c.FILTER_LENGTH_MAX} code points each`, ''),
  row(
    '`X-Api-Timestamp`, off the clock of the store',
    ['TIMESTAMP_TOLERANCE_S'],
    `±${c.TIMESTAMP_TOLERANCE_S} s`,
    link('timestamp_out_of_range'),
  ),
  row(
    '`X-Api-Nonce`',
    ['NONCE_LENGTH_MIN', 'NONCE_LENGTH_MAX'],
    `${range(c.NONCE_LENGTH_MIN, c.NONCE_LENGTH_MAX)} lower-case hex characters`,
    link('authentication_failed'),
  ),
  row(
    'Nonces are stored',
    ['NONCE_KEPT_S_MIN'],
    `at least ${seconds(c.NONCE_KEPT_S_MIN)}`,
    link('nonce_reused'),
  ),
  row(
    'Item id',
    ['ITEM_ID_LENGTH_MIN', 'ITEM_ID_LENGTH_MAX'],
    `${range(c.ITEM_ID_LENGTH_MIN, c.ITEM_ID_LENGTH_MAX)} digits, as a string`,
    '',
  ),
  row(
    'Lines in a cart',
    ['CART_LINES_MIN', 'CART_LINES_MAX'],
    `${range(c.CART_LINES_MIN, c.CART_LINES_MAX)}, each item once`,
    '',
  ),
  row(
    '`qty`',
    ['QTY_MIN', 'QTY_MAX', 'QTY_DEFAULT'],
    `${range(c.QTY_MIN, c.QTY_MAX)}, ${c.QTY_DEFAULT} by default`,
    '',
  ),
  row(
    '`expected_price_cents`',
    ['EXPECTED_PRICE_CENTS_MIN', 'EXPECTED_PRICE_CENTS_MAX'],
    range(c.EXPECTED_PRICE_CENTS_MIN, c.EXPECTED_PRICE_CENTS_MAX),
    '',
  ),
  row(
    'Total of one order',
    ['ORDER_TOTAL_CENTS_MAX'],
    `${number(c.ORDER_TOTAL_CENTS_MAX)} cents`,
    link('order_total_exceeded'),
  ),
  row(
    '`idempotency_key`',
    ['IDEMPOTENCY_KEY_LENGTH_MIN', 'IDEMPOTENCY_KEY_LENGTH_MAX'],
    `${range(c.IDEMPOTENCY_KEY_LENGTH_MIN, c.IDEMPOTENCY_KEY_LENGTH_MAX)} of \`A-Z a-z 0-9 . _ : -\``,
    '',
  ),
  row(
    'A concurrent copy of an order waits',
    ['IDEMPOTENCY_WAIT_MS_MAX'],
    seconds1000(c.IDEMPOTENCY_WAIT_MS_MAX),
    link('service_unavailable'),
  ),
  row(
    '`limit`, `offset` of the catalogue',
    [
      ...(['CATALOGUE_LIMIT_MIN', 'CATALOGUE_LIMIT_MAX', 'CATALOGUE_LIMIT_DEFAULT'] as const),
      ...(['CATALOGUE_OFFSET_MIN', 'CATALOGUE_OFFSET_MAX', 'CATALOGUE_OFFSET_DEFAULT'] as const),
    ],
    `${range(c.CATALOGUE_LIMIT_MIN, c.CATALOGUE_LIMIT_MAX)}, ${c.CATALOGUE_LIMIT_DEFAULT} by default; ${range(c.CATALOGUE_OFFSET_MIN, c.CATALOGUE_OFFSET_MAX)}, ${c.CATALOGUE_OFFSET_DEFAULT} by default`,
    '',
  ),
  row(
    '`limit`, `offset` of orders',
    [
      ...(['ORDERS_LIMIT_MIN', 'ORDERS_LIMIT_MAX', 'ORDERS_LIMIT_DEFAULT'] as const),
      ...(['ORDERS_OFFSET_MIN', 'ORDERS_OFFSET_MAX', 'ORDERS_OFFSET_DEFAULT'] as const),
    ],
    `${range(c.ORDERS_LIMIT_MIN, c.ORDERS_LIMIT_MAX)}, ${c.ORDERS_LIMIT_DEFAULT} by default; ${range(c.ORDERS_OFFSET_MIN, c.ORDERS_OFFSET_MAX)}, ${c.ORDERS_OFFSET_DEFAULT} by default`,
    '',
  ),
  row('Webhook URL', ['WEBHOOK_URL_LENGTH_MAX'], `${number(c.WEBHOOK_URL_LENGTH_MAX)} characters`, ''),
  row(
    'Your time to answer a webhook',
    ['WEBHOOK_TIMEOUT_MS_MAX'],
    seconds1000(c.WEBHOOK_TIMEOUT_MS_MAX),
    'tried again',
  ),
  row(
    'Waits between attempts of a webhook',
    ['WEBHOOK_FIRST_DELAY_S', 'WEBHOOK_DELAY_S_MAX', 'WEBHOOK_JITTER_PERCENT_MAX'],
    `${seconds(c.WEBHOOK_FIRST_DELAY_S)}, doubling up to ${seconds(c.WEBHOOK_DELAY_S_MAX)}; below that up to ${c.WEBHOOK_JITTER_PERCENT_MAX} % longer`,
    '',
  ),
  row(
    'Attempts of a webhook',
    ['WEBHOOK_ATTEMPTS_MAX', 'WEBHOOK_HORIZON_S'],
    `${c.WEBHOOK_ATTEMPTS_MAX}, and never after ${seconds(c.WEBHOOK_HORIZON_S)}`,
    'given up; counted in `failed`',
  ),
  row(
    'Webhook timestamp, off your clock',
    ['WEBHOOK_RECEIVER_TOLERANCE_S'],
    `±${c.WEBHOOK_RECEIVER_TOLERANCE_S} s`,
    'refuse it',
  ),
  row(
    '`test` events not yet accepted',
    ['WEBHOOK_TESTS_QUEUED_MAX', 'RATE_WINDOW_S'],
    `${c.WEBHOOK_TESTS_QUEUED_MAX} within ${c.RATE_WINDOW_S} s, and ${c.WEBHOOK_TESTS_QUEUED_MAX} queued`,
    link('rate_limited'),
  ),
  row('Random bytes in a webhook secret', ['WEBHOOK_SECRET_BYTES'], String(c.WEBHOOK_SECRET_BYTES), ''),
  row(
    'A rotated webhook secret still signs',
    ['WEBHOOK_PREVIOUS_SECRET_S'],
    seconds(c.WEBHOOK_PREVIOUS_SECRET_S),
    '',
  ),
  row(
    '`catalogue.changed`',
    ['CATALOGUE_CHANGED_INTERVAL_S_MIN'],
    `at most one in ${c.CATALOGUE_CHANGED_INTERVAL_S_MIN} s`,
    'many changes together',
  ),
  row('Age of `GET /status`', ['STATUS_CACHE_MS_MAX'], `${seconds1000(c.STATUS_CACHE_MS_MAX)} at most`, ''),
]

/** Of docs/reference/endpoints.md. Throws when the contract exports a number that no row is about. */
export function limitsSection(): string {
  const listed = new Set(ROWS.flatMap((one) => one.of))
  const missing = numbersOf(contract).filter((name) => !listed.has(name))
  if (missing.length > 0) throw new Error(`The limits have no row for ${missing.join(', ')}.`)
  return `## Limits

Values are never clamped: what is out of bounds is refused with 400 ${link('invalid_request')},
unless the table says otherwise. A store can set its own rates; \`RateLimit-Policy\` has those in force.

${table(
  ['What', 'Limit', 'Beyond it'],
  ROWS.map(({ what, value, beyond }) => [what, value, beyond]),
)}
`
}

function row(what: string, of: LimitName[], value: string, beyond: string): Row {
  return { what, of, value, beyond }
}

function link(type: contract.ErrorType): string {
  return `[\`${type}\`](errors.md#${type})`
}

function numbersOf(module: Record<string, unknown>): LimitName[] {
  return Object.keys(module).filter((name) => typeof module[name] === 'number') as LimitName[]
}
