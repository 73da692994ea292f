import type { DashboardRouteName } from '@shopwire/contract/dashboard'

/** A valid input of one route, for the tests that walk the whole table. */
export interface RouteExample {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly id?: string
  /**
   * The same, naming something of another account: it must be answered as if it did not exist. A text says why nothing here belongs
   * to an account. Required where the path or the body has an id.
   */
  readonly foreign?: string | ((other: ForeignThings) => Pick<RouteExample, 'query' | 'body' | 'id'>)
  /** Searches that name something of another account: they must find nothing. Required where the query can name something. */
  readonly foreignSearches?: (other: ForeignThings) => readonly Readonly<Record<string, string>>[]
}

/** What another account has. A route that names another kind of thing adds it here. */
export interface ForeignThings {
  readonly account_id: string
  readonly person_id: string
  readonly session_id: string
  readonly passkey_id: string
  readonly key_id: string
  /** Delivered, with one link. */
  readonly order_id: string
  readonly idempotency_key: string
  readonly request_id: string
  readonly transfer_id: string
  readonly event_id: string
  readonly endpoint_id: string
  readonly top_up_id: string
  readonly token_id: string
  readonly invitation_id: string
  /** An address that only they have. */
  readonly email: string
  readonly audit_id: string
  readonly view_id: string
}

const ORDER_ID = `ord_${'0'.repeat(26)}`
const EVENT_ID = `evt_${'0'.repeat(26)}`
const ITEM_ID = '1144058340327047001'
const ATTEMPT = '7d3c1f6e-2a4b-4c8d-9e0f-1a2b3c4d5e6f'
const DAY = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
const EMAIL = 'new@example.com'
const PASSWORD = 'a long enough password'
const TOKEN = 'x'.repeat(43)
const WEBAUTHN = { id: 'a', rawId: 'a', type: 'public-key', response: {}, clientExtensionResults: {} }

const orderSearches = ({ order_id, idempotency_key, key_id }: ForeignThings) => [
  { q: order_id },
  { q: order_id.slice(-8) },
  { q: idempotency_key },
  { key_id },
]

/** A route without an example does not pass the type check. */
export const routeExamples: Readonly<Record<DashboardRouteName, RouteExample>> = {
  getSession: {},
  signInWithPassword: { body: { email: EMAIL, password: PASSWORD } },
  signInWithTotp: { body: { code: '123456' } },
  signInWithRecoveryCode: { body: { code: 'abcd-efgh' } },
  beginPasskeySignIn: { body: {} },
  signInWithPasskey: { body: { response: WEBAUTHN } },
  beginCompanySignIn: {},
  finishCompanySignIn: {},
  signOut: { body: {} },
  signOutEverywhere: { body: {} },
  forgotPassword: { body: { email: EMAIL } },
  resetPassword: { body: { token: TOKEN, password: PASSWORD } },
  sendEmailVerification: { body: {} },
  verifyEmail: { body: { token: TOKEN } },
  confirmAlertAddress: { body: { token: TOKEN } },
  openInvitation: { body: { token: TOKEN } },
  acceptInvitation: { body: { token: TOKEN } },
  stepUpWithTotp: { body: { code: '123456' } },
  stepUpWithRecoveryCode: { body: { code: 'abcd-efgh' } },
  beginPasskeyStepUp: { body: {} },
  stepUpWithPasskey: { body: { response: WEBAUTHN } },
  switchAccount: { body: { account_id: 'acct_1' }, foreign: ({ account_id }) => ({ body: { account_id } }) },
  getSecurity: {},
  beginTotp: { body: {} },
  confirmTotp: { body: { code: '123456' } },
  removeTotp: { body: {} },
  beginPasskey: { body: {} },
  addPasskey: { body: { name: 'laptop', response: WEBAUTHN } },
  renamePasskey: {
    body: { id: 'pk_1', name: 'phone' },
    foreign: ({ passkey_id }) => ({ body: { id: passkey_id, name: 'mine' } }),
  },
  removePasskey: { body: { id: 'pk_1' }, foreign: ({ passkey_id }) => ({ body: { id: passkey_id } }) },
  renewRecoveryCodes: { body: {} },
  endSession: { body: { id: 'ses_1' }, foreign: ({ session_id }) => ({ body: { id: session_id } }) },
  changePassword: { body: { current: PASSWORD, new: `${PASSWORD}!` } },
  renamePerson: { body: { name: 'Ada' } },
  getTeam: {},
  invite: { body: { email: EMAIL, role: 'viewer' } },
  withdrawInvitation: {
    body: { id: 'inv_1' },
    foreign: ({ invitation_id }) => ({ body: { id: invitation_id } }),
  },
  changeRole: {
    body: { person_id: 'per_1', role: 'viewer' },
    foreign: ({ person_id }) => ({ body: { person_id, role: 'viewer' } }),
  },
  removeMember: {
    body: { person_id: 'per_1' },
    foreign: ({ person_id }) => ({ body: { person_id } }),
  },
  leaveAccount: { body: {} },
  renameAccount: { body: { name: 'Acme' } },
  getMailPreferences: {},
  setOwnMail: { body: { kind: 'top_up', is_on: true } },
  setMemberMail: {
    body: { person_id: 'per_1', kind: 'top_up', is_on: false },
    foreign: ({ person_id }) => ({ body: { person_id, kind: 'top_up', is_on: false } }),
  },
  listViews: {},
  saveView: { body: { list: 'orders', name: 'Large ones', query: 'min=10000' } },
  renameView: {
    body: { id: 'view_1', name: 'Larger ones' },
    foreign: ({ view_id }) => ({ body: { id: view_id, name: 'mine' } }),
  },
  deleteView: { body: { id: 'view_1' }, foreign: ({ view_id }) => ({ body: { id: view_id } }) },
  listKeys: {},
  readKey: { id: 'key_1', foreign: ({ key_id }) => ({ id: key_id }) },
  createKey: { body: { name: 'checkout', scopes: ['account:read'] } },
  renameKey: {
    body: { id: 'key_1', name: 'checkout' },
    foreign: ({ key_id }) => ({ body: { id: key_id, name: 'mine' } }),
  },
  rotateKey: { body: { id: 'key_1' }, foreign: ({ key_id }) => ({ body: { id: key_id } }) },
  revokeKey: { body: { id: 'key_1' }, foreign: ({ key_id }) => ({ body: { id: key_id } }) },
  listTokens: {},
  createToken: { body: { name: 'laptop', rights: ['events:listen'], with_links: false, days: 30 } },
  revokeToken: { body: { id: 'pat_1' }, foreign: ({ token_id }) => ({ body: { id: token_id } }) },
  listAudit: {
    foreignSearches: ({ person_id, key_id, audit_id }) => [
      { person_id },
      { target: key_id },
      { before: audit_id },
    ],
  },
  live: {},
  getBalance: {},
  listTransfers: { foreignSearches: ({ transfer_id }) => [{ before: transfer_id }, { after: transfer_id }] },
  exportStatement: {},
  statementPdf: { query: { month: new Date().toISOString().slice(0, 7) } },
  getSpend: {},
  getBalanceAlert: {},
  setBalanceAlert: {
    body: { threshold_cents: 100, people: ['per_1'] },
    foreign: 'names people; who is not a member gets no mail',
  },
  addAlertAddress: { body: { email: EMAIL } },
  removeAlertAddress: { body: { email: EMAIL } },
  getFunding: {},
  listTopUps: { foreignSearches: ({ top_up_id }) => [{ before: top_up_id }] },
  getTopUp: { id: 'top_1', foreign: ({ top_up_id }) => ({ id: top_up_id }) },
  startTopUp: {
    body: { provider: 'bank', amount_cents: 10_000, attempt: ATTEMPT },
  },
  getHome: {},
  getStore: {},
  find: {
    query: { q: 'cart-88213' },
    foreignSearches: (other) =>
      [
        other.order_id,
        other.order_id.slice(-8),
        other.idempotency_key,
        other.request_id,
        other.event_id,
        other.key_id,
      ].map((q) => ({ q })),
  },
  listOrders: { foreignSearches: (other) => [...orderSearches(other), { before: other.order_id }] },
  sumOrders: { foreignSearches: orderSearches },
  exportOrders: { foreignSearches: (other) => [...orderSearches(other), { ids: other.order_id }] },
  getOrder: { id: ORDER_ID, foreign: ({ order_id }) => ({ id: order_id }) },
  revealLink: {
    body: { order_id: ORDER_ID, n: 1 },
    foreign: ({ order_id }) => ({ body: { order_id, n: 1 } }),
  },
  getProof: { id: ORDER_ID, foreign: ({ order_id }) => ({ id: order_id }) },
  listItems: {},
  catalogueSummary: {},
  getItem: { id: ITEM_ID, foreign: 'items are the same for every account' },
  quoteCart: { body: { items: [{ id: ITEM_ID, qty: 1 }] } },
  deliveryHours: {},
  listDeliveries: {
    foreignSearches: ({ order_id, event_id, endpoint_id }) => [
      { order_id },
      { before: `${event_id}.${endpoint_id}` },
    ],
  },
  exportDeliveries: {
    foreignSearches: ({ order_id, event_id }) => [{ order_id }, { ids: event_id }],
  },
  getDelivery: { id: EVENT_ID, foreign: ({ event_id }) => ({ id: event_id }) },
  resendEvent: { body: { event_id: EVENT_ID }, foreign: ({ event_id }) => ({ body: { event_id } }) },
  resendEvents: {
    body: { event_ids: [EVENT_ID], attempt: ATTEMPT },
    foreign: ({ event_id }) => ({ body: { event_ids: [event_id], attempt: ATTEMPT } }),
  },
  previewRecover: { query: DAY },
  recoverEvents: { body: DAY },
  getWebhook: {},
  setWebhook: { body: { url: 'https://example.com/hooks' } },
  testWebhook: { body: {} },
  listEventKinds: {},
  sendExampleEvent: { body: { type: 'order.delivered' } },
  rotateSecret: { body: {} },
  endPreviousSecret: { body: {} },
}
