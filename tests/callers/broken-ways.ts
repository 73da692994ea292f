export interface BrokenWay {
  /** The scenario that must fail. */
  readonly fails: string
  /** Others that the same mistake breaks, and that may fail too. */
  readonly also?: readonly string[] | 'any'
  /** Neighbours that must not fail. */
  readonly beside?: readonly string[]
  /** It changes what everybody sees (a price, whether the store is open), so no other run may be under way. */
  readonly isAlone?: true
}

const FORGERIES = ['tampered-body', 'missing-signature', 'other-secret', 'empty-secret']
const AFTER_COMMIT = ['lost-answer', 'unavailable-after', 'server-error-after']

/** Ways to get it wrong, and what golive has to say about each. */
export const brokenWays = {
  'new-key-per-attempt': {
    fails: 'same-request',
    also: [...AFTER_COMMIT, 'twice-at-once', 'bad-gateway'],
    beside: ['twice-in-a-row'],
  },
  'key-per-click': { fails: 'twice-in-a-row', also: ['twice-at-once'], beside: ['lost-answer'] },
  'check-then-act': { fails: 'twice-at-once', beside: ['twice-in-a-row'] },
  'key-from-cart': { fails: 'same-cart', beside: ['twice-in-a-row'] },
  'ignores-quantity': { fails: 'plain', also: 'any', isAlone: true },
  'no-expected-price': { fails: 'price-changed', beside: ['sold-out'], isAlone: true },
  'follows-price': { fails: 'price-changed', beside: ['sold-out'], isAlone: true },
  'retries-402': { fails: 'no-funds', beside: ['twice-in-a-row'] },
  'retries-sold-out': { fails: 'sold-out', beside: ['no-funds'], isAlone: true },
  'refused-is-bought': { fails: 'sold-out', also: ['price-changed'], beside: ['no-funds'], isAlone: true },
  'buys-later': { fails: 'books', beside: ['sold-out', 'duplicate-event'], isAlone: true },
  'hammers-closed': { fails: 'store-closed', beside: ['unavailable'], isAlone: true },
  'hammers-401': { fails: 'clock-skew', beside: ['no-funds'] },
  'ignores-retry-after': {
    fails: 'rate-limited-requests',
    also: ['rate-limited-orders'],
    beside: ['lost-answer'],
  },
  'reuses-nonce': {
    fails: 'fresh-signature',
    also: [...AFTER_COMMIT, 'unavailable', 'bad-gateway', 'lost-event'],
    beside: ['dropped-connection'],
  },
  'reuses-timestamp': { fails: 'fresh-signature', beside: ['lost-answer'] },
  'drops-price-on-retry': { fails: 'same-request', also: AFTER_COMMIT, beside: ['twice-in-a-row'] },
  'gives-up-on-lost-answer': {
    fails: 'lost-answer',
    also: ['dropped-connection', 'own-deadline'],
    beside: ['unavailable'],
  },
  impatient: {
    fails: 'slow-answer',
    also: ['own-deadline', 'lost-answer', 'dropped-connection'],
    beside: ['unavailable'],
  },
  'aborts-the-call': { fails: 'own-deadline', beside: ['lost-answer', 'slow-answer'] },
  'gives-up-on-408': { fails: 'request-timeout', beside: ['lost-answer'] },
  'gives-up-on-429': {
    fails: 'rate-limited-orders',
    also: ['rate-limited-requests', 'fresh-signature'],
    beside: ['lost-answer'],
  },
  'gives-up-on-500': { fails: 'server-error-after', also: ['same-request'], beside: ['lost-answer'] },
  'gives-up-on-503': {
    fails: 'unavailable-after',
    also: ['unavailable', 'overloaded'],
    beside: ['lost-answer'],
  },
  // Looks at /status have no account, so those of others would be taken for its own.
  'ignores-status': {
    fails: 'unavailable',
    also: ['overloaded'],
    beside: ['lost-answer'],
    isAlone: true,
  },
  'gives-up-on-502': { fails: 'bad-gateway', beside: ['lost-answer', 'server-error-after'] },
  '503-is-bought': { fails: 'unavailable', also: ['overloaded'], beside: ['lost-answer'] },
  'wrong-secret': {
    fails: 'genuine-event',
    beside: ['delivered', 'raw-bytes', 'forged-signature', 'cancelled'],
  },
  'reserialised-body': {
    fails: 'raw-bytes',
    beside: ['genuine-event', 'delivered', 'unknown-fields', 'forged-signature'],
  },
  'no-signature-check': {
    fails: 'forged-signature',
    also: [...FORGERIES, 'stale-timestamp'],
    beside: ['delivered'],
  },
  'signature-if-present': { fails: 'missing-signature', beside: ['forged-signature', 'other-secret'] },
  'no-timestamp-check': { fails: 'stale-timestamp', beside: ['forged-signature'] },
  'empty-secret': { fails: 'empty-secret', beside: ['other-secret', 'rotation'] },
  'single-secret': { fails: 'rotation', beside: ['rotated-first', 'other-secret'] },
  'reads-one-header': { fails: 'rotated-first', beside: ['rotation'] },
  'crashes-on-forgery': {
    fails: 'forged-signature',
    also: [...FORGERIES, 'stale-timestamp'],
    beside: ['raw-bytes'],
  },
  'handles-twice': { fails: 'duplicate-event', beside: ['delivered', 'out-of-order'] },
  'refuses-copies': { fails: 'duplicate-event', beside: ['delivered'] },
  'older-overwrites': { fails: 'out-of-order', beside: ['delivered', 'duplicate-event'] },
  'refuses-unknown-event': { fails: 'unknown-event', beside: ['test-event', 'unknown-fields'] },
  'strict-fields': { fails: 'unknown-fields', beside: ['unknown-event', 'raw-bytes'] },
  'fails-on-test': { fails: 'test-event', beside: ['unknown-event'] },
  'slow-webhook': { fails: 'prompt-answer', also: ['genuine-event'], beside: ['lost-answer'] },
  'no-refund': { fails: 'cancelled', beside: ['delivered'] },
  'drops-links': { fails: 'delivered', also: ['out-of-order'], beside: ['cancelled'] },
  'echoes-event': { fails: 'keeps-secrets', beside: ['delivered'] },
  'no-reconcile': { fails: 'lost-event', beside: ['delivered'] },
} as const satisfies Record<string, BrokenWay>

export type Way = keyof typeof brokenWays
