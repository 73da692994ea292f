// Made by "npm run generate" from contract/; do not edit.

export const SDK_VERSION = '0.1.0'

/** In front of every path; part of what is signed. */
export const BASE_PATH = '/v1'

export const CATALOGUE_LIMIT_MAX = 2000

export const ORDERS_LIMIT_MAX = 100

export const WEBHOOK_RECEIVER_TOLERANCE_S = 300

export const EVENT_ID_FORM = /^evt_[0-9a-hjkmnp-tv-z]{26}$/

export const KEY_ID_FORM = /^key_[a-z0-9]{1,16}_[0-9a-hjkmnp-tv-z]{26}$/

export const SIGNATURE_FORM = /^[0-9a-f]{64}$/

export const TIMESTAMP_FORM = /^[1-9][0-9]{9}$/

export const requestHeaders = {
  key: 'X-Api-Key',
  timestamp: 'X-Api-Timestamp',
  nonce: 'X-Api-Nonce',
  signature: 'X-Api-Signature',
} as const

export const webhookHeaders = {
  timestamp: 'X-Webhook-Timestamp',
  id: 'X-Webhook-Id',
  signature: 'X-Webhook-Signature',
  previousSignature: 'X-Webhook-Signature-Previous',
} as const

export const routes = {
  getStatus: {
    method: 'GET',
    path: '/status',
    isSigned: false,
    answers: ['status', 'api', 'store', 'queue', 'updated'],
  },
  getPing: {
    method: 'GET',
    path: '/ping',
    isSigned: true,
    answers: ['ok', 'name', 'status', 'account_status'],
  },
  getBalance: { method: 'GET', path: '/balance', isSigned: true, answers: ['balance_cents', 'currency'] },
  getCatalogue: {
    method: 'GET',
    path: '/catalogue',
    isSigned: true,
    answers: ['items', 'count', 'total', 'limit', 'offset'],
  },
  getCatalogueItem: {
    method: 'GET',
    path: '/catalogue/{id}',
    isSigned: true,
    answers: [
      'id',
      'name',
      'type',
      'collection',
      'price_cents',
      'currency',
      'image',
      'stock',
      'sellable',
      'available_until',
    ],
  },
  postQuote: {
    method: 'POST',
    path: '/quote',
    isSigned: true,
    answers: ['ok', 'currency', 'total_cents', 'lines'],
  },
  postOrders: {
    method: 'POST',
    path: '/orders',
    isSigned: true,
    answers: ['id', 'status', 'currency', 'total_cents', 'created_at', 'delivered_at', 'lines', 'links'],
  },
  getOrders: {
    method: 'GET',
    path: '/orders',
    isSigned: true,
    answers: ['orders', 'total', 'limit', 'offset'],
  },
  getOrder: {
    method: 'GET',
    path: '/orders/{id}',
    isSigned: true,
    answers: ['id', 'status', 'currency', 'total_cents', 'created_at', 'delivered_at', 'lines', 'links'],
  },
  getWebhook: {
    method: 'GET',
    path: '/webhook',
    isSigned: true,
    answers: ['webhook_url', 'pending', 'failed', 'last_delivered_at', 'last_failure_at', 'last_error'],
  },
  postWebhook: {
    method: 'POST',
    path: '/webhook',
    isSigned: true,
    answers: ['webhook_url', 'pending', 'failed', 'last_delivered_at', 'last_failure_at', 'last_error'],
  },
  deleteWebhook: {
    method: 'DELETE',
    path: '/webhook',
    isSigned: true,
    answers: ['webhook_url', 'pending', 'failed', 'last_delivered_at', 'last_failure_at', 'last_error'],
  },
  postWebhookTest: { method: 'POST', path: '/webhook/test', isSigned: true, answers: ['ok', 'queued'] },
} as const

/** Every `error.type`, its status, and whether the same request may be sent again under a fresh signature. */
export const errorTypes = {
  invalid_request: { status: 400, retry: 'no' },
  order_total_exceeded: { status: 400, retry: 'no' },
  webhook_url_not_allowed: { status: 400, retry: 'no' },
  authentication_failed: { status: 401, retry: 'after_change' },
  timestamp_out_of_range: { status: 401, retry: 'fresh_signature' },
  nonce_reused: { status: 401, retry: 'fresh_signature' },
  insufficient_funds: { status: 402, retry: 'after_change' },
  insufficient_scope: { status: 403, retry: 'after_change' },
  account_suspended: { status: 403, retry: 'after_change' },
  not_found: { status: 404, retry: 'no' },
  method_not_allowed: { status: 405, retry: 'no' },
  request_timeout: { status: 408, retry: 'fresh_signature' },
  price_changed: { status: 409, retry: 'no' },
  item_unavailable: { status: 409, retry: 'after_change' },
  idempotency_conflict: { status: 409, retry: 'no' },
  webhook_not_configured: { status: 409, retry: 'after_change' },
  payload_too_large: { status: 413, retry: 'no' },
  rate_limited: { status: 429, retry: 'after_wait' },
  internal_error: { status: 500, retry: 'after_wait' },
  store_closed: { status: 503, retry: 'after_wait' },
  service_unavailable: { status: 503, retry: 'after_wait' },
} as const

/** Refusals of an order that are given after its idempotency key was looked up: nothing was bought under that key. */
export const orderVerdicts = [
  'order_total_exceeded',
  'insufficient_funds',
  'price_changed',
  'item_unavailable',
  'idempotency_conflict',
  'store_closed',
] as const
