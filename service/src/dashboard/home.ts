import { type Attention, type Home, type homeRoutes, SPEND_DAYS } from '@shopwire/contract/dashboard'
import { dayOf, readAccountDays } from '../ledger/account-days.ts'
import { inAccount } from '../platform/account-scope.ts'
import type { Db, Tx } from '../platform/db.ts'
import { refuse } from '../platform/trouble.ts'
import type { Area } from './area.ts'
import { readAttention } from './attention.ts'
import { type FirstCalls, readChecklist } from './checklist.ts'
import { burnOf, deliveryOf, HOURS, spendOf, todayOf, webhookOf } from './home-figures.ts'
import { selectPlace, selectRecentOrders, selectWebhookHours } from './home-queries.ts'
import type { Member } from './member.ts'
import { countPaid, searchOrders } from './order-list-queries.ts'
import { presentRow } from './order-rows.ts'
import { readStoreNow } from './store-now.ts'

/** What other areas add to the home page. */
export interface HomeSources {
  /** The balance below which a mail is sent; null when none is set. */
  alertCents(tx: Tx, account_id: string): Promise<number | null>
  firstCalls(tx: Tx, account_id: string): Promise<FirstCalls>
  /** Keys that can be revoked, a second factor that is missing. */
  attention(tx: Tx, member: Member, nowMs: number): Promise<readonly Attention[]>
}

export interface HomeDeps {
  readonly db: Db
  readonly version: string
  readonly sources: HomeSources
}

const DAY_MS = 86_400_000
const LATEST = 6
/** A day of 25 hours, and a clock that is an hour wrong. */
const TODAY_MS_MAX = 26 * 3_600_000

export const homeArea = ({ db, version, sources }: HomeDeps): Area<typeof homeRoutes> => ({
  getHome({ member, query, nowMs }) {
    const sinceMs = startOfToday(query.today_since, nowMs)
    return inAccount(db, member.account_id, (tx) =>
      readHome(tx, { version, sources }, member, sinceMs, nowMs),
    )
  },

  getStore: ({ member }) => inAccount(db, member.account_id, (tx) => readStoreNow(tx, version)),
})

async function readHome(
  tx: Tx,
  { version, sources }: Omit<HomeDeps, 'db'>,
  member: Member,
  sinceMs: number,
  nowMs: number,
): Promise<Home> {
  const { account_id } = member
  const place = await selectPlace(tx, account_id)
  if (!place) throw refuse('not_found', 'This account does not exist.')
  const dayAgoMs = nowMs - HOURS * 3_600_000
  const store = await readStoreNow(tx, version)
  const since = dayOf(nowMs - SPEND_DAYS * DAY_MS)
  const spend = spendOf(await readAccountDays(tx, account_id, since), nowMs)
  const alert_cents = await sources.alertCents(tx, account_id)
  const burn = { ...burnOf(spend, place.balance_cents), alert_cents }
  const recent = await selectRecentOrders(tx, account_id, { todayMs: sinceMs, deliveryMs: dayAgoMs })
  const today = todayOf(recent, sinceMs, nowMs)
  const delivery = deliveryOf(recent)
  const hours = place.has_endpoint ? await selectWebhookHours(tx, account_id, dayAgoMs) : undefined
  const { rows } = await searchOrders(tx, account_id, {}, {}, LATEST)
  const paid = await countPaid(tx, account_id)
  const attention = [
    ...(await readAttention(tx, { account_id, place, store, burn, delivery, nowMs })),
    ...(await sources.attention(tx, member, nowMs)),
  ]
  return {
    now: new Date(nowMs).toISOString(),
    balance_cents: place.balance_cents,
    burn,
    today,
    delivery,
    webhook: hours ? webhookOf(hours) : null,
    spend,
    waiting: paid,
    latest: rows.slice(0, LATEST).map(presentRow),
    attention: attention.toSorted((a, b) => URGENCY.indexOf(a.kind) - URGENCY.indexOf(b.kind)),
    checklist: await readChecklist(tx, account_id, place, () => sources.firstCalls(tx, account_id)),
  }
}

const URGENCY: readonly Attention['kind'][] = [
  'account_suspended',
  'store_closed',
  'endpoint_failing',
  'events_given_up',
  'balance_low',
  'orders_waiting',
  'second_factor_missing',
  'key_safe_to_revoke',
  'item_leaving',
  'closing_planned',
]

function startOfToday(today_since: string | undefined, nowMs: number): number {
  const sinceMs = today_since === undefined ? Math.floor(nowMs / DAY_MS) * DAY_MS : Date.parse(today_since)
  if (!(sinceMs <= nowMs && sinceMs >= nowMs - TODAY_MS_MAX))
    throw refuse(
      'invalid_request',
      'today_since must be a time of the last 26 hours: when the day of the reader began.',
    )
  return sinceMs
}
