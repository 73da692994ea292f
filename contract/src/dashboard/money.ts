import Type, { type Static } from 'typebox'
import { Cents, Count, Currency, closed, DateTime, nullable } from '../shapes.ts'
import { EmailAddress } from './identity.ts'
import { roles, treasurers } from './roles.ts'
import type { DashboardRoute } from './route.ts'

// Every member may read the balance, the statement and the top-ups: a developer has to see why an order got 402, a viewer is there to
// look. Owners and finance decide: they add funds and choose when whom to warn.

/** Of one account, confirmed or not. */
export const ALERT_ADDRESSES_MAX = 5

/** More than an account has members. */
const MEMBERS_CHOSEN_MAX = 1_000

/** The balance is in the past of nobody's time zone but UTC: months and days of statements begin at 00:00 UTC. */
const Month = Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' })
export const Day = Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' })
const SignedCents = Type.Integer()

export const transferKinds = ['order', 'refund', 'funding', 'adjustment'] as const
const TransferKind = Type.Enum(transferKinds, { type: 'string' })

export const topUpStates = ['pending', 'credited', 'review', 'failed', 'expired', 'rejected'] as const
export const topUpProviders = ['bank', 'stripe'] as const

/** opening + top_ups + refunds + adjustments - orders = closing. Only adjustments have a sign. */
export const MonthSums = closed({
  month: Month,
  from: DateTime,
  to: DateTime,
  /** The month has not ended: closing is the balance now. */
  is_current: Type.Boolean(),
  opening_cents: Cents,
  top_ups_cents: Cents,
  top_ups_count: Count,
  refunds_cents: Cents,
  refunds_count: Count,
  adjustments_cents: SignedCents,
  adjustments_count: Count,
  orders_cents: Cents,
  orders_count: Count,
  closing_cents: Cents,
})
export type MonthSums = Static<typeof MonthSums>

export const BalanceView = closed({
  balance_cents: Cents,
  currency: Currency,
  burn: closed({
    /** The average is over this many days. */
    days: Count,
    per_day_cents: Cents,
    /** Null when nothing was spent. */
    days_left: nullable(Count),
    runs_out_on: nullable(Day),
  }),
  /** Taken back by a bank after it was spent; the account is suspended until it is settled. */
  owed_cents: Cents,
  month: MonthSums,
  /** The first month that has a statement. */
  first_month: Month,
})
export type BalanceView = Static<typeof BalanceView>

export const TransferRow = closed({
  seq: Count,
  id: Type.String(),
  kind: TransferKind,
  /** Positive: to the balance. Negative: from it. */
  amount_cents: SignedCents,
  balance_before_cents: Cents,
  balance_after_cents: Cents,
  order_id: nullable(Type.String()),
  reference: nullable(Type.String()),
  note: nullable(Type.String()),
  created_at: DateTime,
})
export type TransferRow = Static<typeof TransferRow>

const filters = {
  kind: Type.Optional(TransferKind),
  month: Type.Optional(Month),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
  /** Of the amount without its sign. */
  min_cents: Type.Optional(Cents),
  max_cents: Type.Optional(Cents),
}

export const TransferFilters = closed(filters)

const TransferPage = closed({
  transfers: Type.Array(TransferRow),
  next: nullable(Type.String()),
  previous: nullable(Type.String()),
  /** The search stopped here because it had looked at many transfers; `next` continues it. Null when the page is complete. */
  searched_back_to: nullable(DateTime),
})

const Cursor = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,14}$' }))
const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 }))

export const SpendDay = closed({
  day: Day,
  spent_cents: Cents,
  refunded_cents: Cents,
  top_ups_cents: Cents,
  adjustments_cents: SignedCents,
  orders_count: Count,
  closing_cents: Cents,
})
export type SpendDay = Static<typeof SpendDay>

export const BalanceAlertView = closed({
  /** Null: nobody is warned. */
  threshold_cents: nullable(Cents),
  /** Members who get it, by their person id; who has not confirmed their e-mail gets none yet. */
  people: Type.Array(Type.String({ maxLength: 64 }), { maxItems: MEMBERS_CHOSEN_MAX }),
  /** Addresses of nobody in the team. One that has not confirmed gets nothing but the link to do so. */
  addresses: Type.Array(
    closed({
      email: Type.String(),
      is_confirmed: Type.Boolean(),
      asked_at: DateTime,
      confirmed_at: nullable(DateTime),
    }),
  ),
  state: Type.Enum(['ok', 'approaching', 'below'], { type: 'string' }),
  state_since: nullable(DateTime),
})
export type BalanceAlertView = Static<typeof BalanceAlertView>

const BankLine = closed({ label: Type.String(), value: Type.String() })

export const TopUpView = closed({
  id: Type.String(),
  provider: Type.Enum(topUpProviders, { type: 'string' }),
  amount_cents: Cents,
  state: Type.Enum(topUpStates, { type: 'string' }),
  /** ISO 11649, without spaces. */
  reference: Type.String(),
  created_by_name: Type.String(),
  created_at: DateTime,
  decided_at: nullable(DateTime),
  credited_cents: nullable(Cents),
  /** Of the credit, in the statement. */
  transfer_id: nullable(Type.String()),
  /** Why it needs a person, or was rejected. */
  note: nullable(Type.String()),
  /** Taken back later by a refund or a dispute, and not returned. */
  reversed_cents: Cents,
})
export type TopUpView = Static<typeof TopUpView>

const WithInstructions = closed({
  top_up: TopUpView,
  /** Where to transfer the money to; null for other providers. */
  instructions: nullable(Type.Array(BankLine)),
})

export const moneyRoutes = [
  {
    name: 'getBalance',
    method: 'GET',
    path: '/api/balance',
    access: roles,
    query: closed({ month: Type.Optional(Month) }),
    reply: BalanceView,
  },
  {
    name: 'listTransfers',
    method: 'GET',
    path: '/api/balance/transfers',
    access: roles,
    query: closed({ ...filters, before: Cursor, after: Cursor, limit: Limit }),
    reply: TransferPage,
  },
  {
    name: 'exportStatement',
    method: 'GET',
    path: '/api/balance/statement.csv',
    access: roles,
    query: TransferFilters,
    reply: null,
    download: 'text/csv',
  },
  {
    name: 'statementPdf',
    method: 'GET',
    path: '/api/balance/statement.pdf',
    access: roles,
    query: closed({ month: Month }),
    reply: null,
    download: 'application/pdf',
  },
  {
    name: 'getSpend',
    method: 'GET',
    path: '/api/balance/spend',
    access: roles,
    query: closed({ days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90, default: 30 })) }),
    reply: closed({ days: Type.Array(SpendDay) }),
  },
  {
    name: 'getBalanceAlert',
    method: 'GET',
    path: '/api/balance/alert',
    access: roles,
    reply: BalanceAlertView,
  },
  {
    name: 'setBalanceAlert',
    method: 'POST',
    path: '/api/balance/set-alert',
    access: treasurers,
    body: closed({
      threshold_cents: nullable(Type.Integer({ minimum: 1, maximum: 100_000_000_00 })),
      /** At least one owner among them, unless the alert is turned off: then their choices stay as they are. */
      people: BalanceAlertView.properties.people,
    }),
    reply: BalanceAlertView,
  },
  // Adds one, or mails the link again to one that is waiting: every call is a mail to an address that somebody typed.
  {
    name: 'addAlertAddress',
    method: 'POST',
    path: '/api/balance/alert/add-address',
    access: treasurers,
    isStepUp: true,
    body: closed({ email: EmailAddress }),
    reply: BalanceAlertView,
  },
  {
    name: 'removeAlertAddress',
    method: 'POST',
    path: '/api/balance/alert/remove-address',
    access: treasurers,
    body: closed({ email: EmailAddress }),
    reply: BalanceAlertView,
  },
  {
    name: 'getFunding',
    method: 'GET',
    path: '/api/funding',
    access: roles,
    reply: closed({
      /** Empty: the store takes top-ups in no way that the dashboard offers. */
      providers: Type.Array(Type.Enum(topUpProviders, { type: 'string' })),
      min_cents: Cents,
      max_cents: Cents,
      /** Whom to ask for funds. */
      contact: nullable(Type.String()),
    }),
  },
  {
    name: 'listTopUps',
    method: 'GET',
    path: '/api/top-ups',
    access: roles,
    query: closed({
      before: Type.Optional(Type.String({ maxLength: 64 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
    }),
    reply: closed({ top_ups: Type.Array(TopUpView), next: nullable(Type.String()), previous: Type.Null() }),
  },
  {
    name: 'getTopUp',
    method: 'GET',
    path: '/api/top-ups/{id}',
    access: roles,
    reply: WithInstructions,
  },
  {
    name: 'startTopUp',
    method: 'POST',
    path: '/api/funding/start',
    access: treasurers,
    body: closed({
      provider: Type.Enum(topUpProviders, { type: 'string' }),
      amount_cents: Type.Integer({ minimum: 1, maximum: 100_000_000_00 }),
      /** Made when the dialog asks. A repeat gets the top-up that the first one started. */
      attempt: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
    }),
    reply: closed({
      top_up: TopUpView,
      instructions: nullable(Type.Array(BankLine)),
      /** The page where it is paid; null for a bank transfer. */
      pay_url: nullable(Type.String()),
    }),
  },
] as const satisfies readonly DashboardRoute[]
