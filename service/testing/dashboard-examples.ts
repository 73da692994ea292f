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
}

/** What another account has. A route that names another kind of thing adds it here. */
export interface ForeignThings {
  readonly account_id: string
  readonly person_id: string
  readonly key_id: string
}

const ORDER_ID = `ord_${'0'.repeat(26)}`
const OTHER_ORDER_ID = `ord_${'1'.repeat(26)}`
const EMAIL = 'new@example.com'
const PASSWORD = 'a long enough password'
const TOKEN = 'x'.repeat(43)
const WEBAUTHN = { id: 'a', rawId: 'a', type: 'public-key', response: {}, clientExtensionResults: {} }
const OWN = 'belongs to the person, not to an account'

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
  renamePasskey: { body: { id: 'pk_1', name: 'phone' }, foreign: OWN },
  removePasskey: { body: { id: 'pk_1' }, foreign: OWN },
  renewRecoveryCodes: { body: {} },
  endSession: { body: { id: 'ses_1' }, foreign: OWN },
  changePassword: { body: { current: PASSWORD, new: `${PASSWORD}!` } },
  renamePerson: { body: { name: 'Ada' } },
  getTeam: {},
  invite: { body: { email: EMAIL, role: 'viewer' } },
  withdrawInvitation: { body: { id: 'inv_1' }, foreign: () => ({ body: { id: 'inv_other' } }) },
  changeRole: {
    body: { person_id: 'per_1', role: 'viewer' },
    foreign: ({ person_id }) => ({ body: { person_id, role: 'viewer' } }),
  },
  removeMember: {
    body: { person_id: 'per_1' },
    foreign: ({ person_id }) => ({ body: { person_id } }),
  },
  leaveAccount: { body: {} },
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
  revokeToken: { body: { id: 'pat_1' }, foreign: OWN },
  listAudit: {},
  live: {},
  getBalance: {},
  listTransfers: {},
  exportStatement: {},
  statementPdf: { query: { month: new Date().toISOString().slice(0, 7) } },
  getSpend: {},
  getBalanceAlert: {},
  setBalanceAlert: {
    body: { threshold_cents: 100, people: ['per_1'], emails: [] },
    foreign: 'names people; who is not a member gets no mail',
  },
  getFunding: {},
  listTopUps: {},
  getTopUp: { id: 'top_1', foreign: () => ({ id: 'top_other' }) },
  startTopUp: { body: { provider: 'bank', amount_cents: 10_000 } },
  getHome: {},
  getStore: {},
  find: { query: { q: 'cart-88213' } },
  listOrders: {},
  exportOrders: {},
  getOrder: { id: ORDER_ID, foreign: () => ({ id: OTHER_ORDER_ID }) },
  revealLink: {
    body: { order_id: ORDER_ID, n: 1 },
    foreign: () => ({ body: { order_id: OTHER_ORDER_ID, n: 1 } }),
  },
  getProof: { id: ORDER_ID, foreign: () => ({ id: OTHER_ORDER_ID }) },
}
