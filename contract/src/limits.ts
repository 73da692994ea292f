// Every limit of the interface, under one name. Units and bounds are suffixes. `test/limits.test.ts` checks the
// relations between them.

// Requests
export const BODY_BYTES_MAX = 16_384
/** Counted from the end of the headers, so fast headers do not give a slow body more time. */
export const BODY_ARRIVAL_MS_MAX = 5_000
export const JSON_DEPTH_MAX = 8
export const FILTER_LENGTH_MAX = 100

// Authentication
export const TIMESTAMP_TOLERANCE_S = 60
export const NONCE_LENGTH_MIN = 32
export const NONCE_LENGTH_MAX = 64
/** Longer than both sides of the tolerance together: a nonce deleted earlier could be used twice. */
export const NONCE_KEPT_S_MIN = 600

// Rate limits: one rolling window, two counts
export const RATE_WINDOW_S = 60
export const REQUESTS_PER_WINDOW_MAX = 120
export const ORDER_ATTEMPTS_PER_WINDOW_MAX = 20
/** Of public files, such as /openapi.json, from one address. One documentation page loads many files. */
export const PUBLIC_FILES_PER_WINDOW_MAX = 1_200
export const RETRY_AFTER_S_MIN = 1
export const RETRY_AFTER_STORE_CLOSED_S = 30
export const RETRY_AFTER_OVERLOADED_S = 2

// Carts and orders
export const ITEM_ID_LENGTH_MIN = 17
export const ITEM_ID_LENGTH_MAX = 20
export const CART_LINES_MIN = 1
export const CART_LINES_MAX = 25
export const QTY_MIN = 1
export const QTY_MAX = 10
export const QTY_DEFAULT = 1
export const EXPECTED_PRICE_CENTS_MIN = 1
export const EXPECTED_PRICE_CENTS_MAX = 500_000
export const ORDER_TOTAL_CENTS_MAX = 500_000
export const IDEMPOTENCY_KEY_LENGTH_MIN = 8
export const IDEMPOTENCY_KEY_LENGTH_MAX = 100
/** How long a second request waits for the first one with its key before it is answered with 503. */
export const IDEMPOTENCY_WAIT_MS_MAX = 2_000

// Paging
export const CATALOGUE_LIMIT_MIN = 1
export const CATALOGUE_LIMIT_MAX = 2_000
export const CATALOGUE_LIMIT_DEFAULT = 100
export const CATALOGUE_OFFSET_MIN = 0
export const CATALOGUE_OFFSET_MAX = 1_000_000
export const CATALOGUE_OFFSET_DEFAULT = 0
export const ORDERS_LIMIT_MIN = 1
export const ORDERS_LIMIT_MAX = 100
export const ORDERS_LIMIT_DEFAULT = 25
export const ORDERS_OFFSET_MIN = 0
export const ORDERS_OFFSET_MAX = 1_000_000
export const ORDERS_OFFSET_DEFAULT = 0

// Webhooks
export const WEBHOOK_URL_LENGTH_MAX = 2_048
export const WEBHOOK_TIMEOUT_MS_MAX = 10_000
export const WEBHOOK_FIRST_DELAY_S = 60
export const WEBHOOK_DELAY_S_MAX = 3_600
/** Jitter is only added, never subtracted, and the maximum wait includes it: both bounds are promised to receivers. */
export const WEBHOOK_JITTER_PERCENT_MAX = 10
/** The first attempt counts as one of these. */
export const WEBHOOK_ATTEMPTS_MAX = 12
export const WEBHOOK_HORIZON_S = 86_400
export const WEBHOOK_RECEIVER_TOLERANCE_S = 300
/** The most test events not yet accepted: per window, and pending in total. */
export const WEBHOOK_TESTS_QUEUED_MAX = 10
export const WEBHOOK_SECRET_BYTES = 32
/** How long events are also signed with the previous secret after a rotation. */
export const WEBHOOK_PREVIOUS_SECRET_S = 86_400
export const CATALOGUE_CHANGED_INTERVAL_S_MIN = 60

// Service status
export const STATUS_CACHE_MS_MAX = 1_000
