import {
  type Attention,
  type Home,
  type homeRoutes,
  SPEND_DAYS,
  type StoreNow,
} from '@shopwire/contract/dashboard'
import { dayOf, readAccountDays } from '../../ledger/account-days.ts'
import { type Burn, daysLeft, readBurn } from '../../ledger/statement.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'
import { refuse } from '../../platform/trouble.ts'
import type { Area } from '../area.ts'
import { createRemembered } from '../live/remembered.ts'
import type { Member } from '../member.ts'
import { countPaid, searchOrders } from '../orders/order-list-queries.ts'
import { presentRow } from '../orders/order-rows.ts'
import { readAttention, readLeaving } from './attention.ts'
import type { LeavingItem } from './attention-queries.ts'
import { type FirstCalls, readChecklist } from './checklist.ts'
import { deliveryOf, HOURS, spendOf, todayOf, webhookOf } from './home-figures.ts'
import { type Place, selectPlace, selectRecentOrders, selectWebhookHours } from './home-queries.ts'
import { type Installation, presentStoreNow } from './store-now.ts'

/** What other areas add to the home page. */
export interface HomeSources {
  /** The balance below which a mail is sent; null when none is set. */
  alertCents(tx: Tx, account_id: string): Promise<number | null>
  firstCalls(tx: Tx, account_id: string): Promise<FirstCalls>
  /** Keys that can be revoked, and a missing second factor. */
  attention(tx: Tx, member: Member, nowMs: number): Promise<readonly Attention[]>
}

export interface HomeDeps {
  readonly db: Db
  readonly installation: Installation
  readonly sources: HomeSources
  /** How old sums over a whole day may be at most, for an account where they are slow. 0: nothing is cached. */
  readonly figuresAgeMsMax?: number
}

const DAY_MS = 86_400_000
const LATEST = 6
/** A day of 25 hours, plus a clock that is off by an hour. */
const TODAY_MS_MAX = 26 * 3_600_000
const FIGURES_AGE_MS_MAX = 5_000
/** The same for every account, and requested by every page. */
const STORE_AGE_MS = 1_000
/** Days ahead, so a minute does not matter; searching the latest orders for it does. */
const LEAVING_AGE_MS = 60_000

export function homeArea({
  db,
  installation,
  sources,
  figuresAgeMsMax = FIGURES_AGE_MS_MAX,
}: HomeDeps): Area<typeof homeRoutes> {
  const remembered = createRemembered<Figures>(figuresAgeMsMax)
  const ageMs = (ms: number) => (figuresAgeMsMax === 0 ? 0 : ms)
  const store = createRemembered<StoreNow>(ageMs(STORE_AGE_MS), ageMs(STORE_AGE_MS))
  const leaving = createRemembered<readonly LeavingItem[]>(ageMs(LEAVING_AGE_MS), ageMs(LEAVING_AGE_MS))
  const storeNow = (tx: Tx) => store('', () => presentStoreNow(tx, installation))
  return {
    getHome({ member, query, nowMs }) {
      const sinceMs = startOfToday(query.today_since, nowMs)
      const { account_id } = member
      return inAccount(db, account_id, async (tx) => {
        const place = await selectPlace(tx, account_id)
        if (!place) throw refuse('not_found', 'This account does not exist.')
        const figures = await remembered(`${account_id} ${sinceMs}`, () =>
          readFigures(tx, account_id, place, sinceMs, nowMs),
        )
        const known = {
          place,
          figures,
          nowMs,
          store: await storeNow(tx),
          leaving: await leaving(account_id, () => readLeaving(tx, account_id, place, nowMs)),
        }
        return readHome(tx, sources, member, known)
      })
    },

    getStore: ({ member }) => inAccount(db, member.account_id, storeNow),
  }
}

/** Sums over the last day and the last weeks. */
type Figures = Pick<Home, 'today' | 'delivery' | 'webhook' | 'spend'> & { readonly burn: Burn }

async function readFigures(
  tx: Tx,
  account_id: string,
  place: Place,
  sinceMs: number,
  nowMs: number,
): Promise<Figures> {
  const dayAgoMs = nowMs - HOURS * 3_600_000
  const days = await readAccountDays(tx, account_id, dayOf(nowMs - SPEND_DAYS * DAY_MS))
  const recent = await selectRecentOrders(tx, account_id, { todayMs: sinceMs, deliveryMs: dayAgoMs })
  const hours = place.has_endpoint ? await selectWebhookHours(tx, account_id, dayAgoMs) : undefined
  return {
    today: todayOf(recent, sinceMs, nowMs),
    delivery: deliveryOf(recent),
    webhook: hours ? webhookOf(hours) : null,
    spend: spendOf(days, nowMs),
    burn: await readBurn(tx, account_id, place.created_at, nowMs),
  }
}

interface Known {
  readonly place: Place
  readonly figures: Figures
  readonly store: StoreNow
  readonly leaving: readonly LeavingItem[]
  readonly nowMs: number
}

async function readHome(tx: Tx, sources: HomeSources, member: Member, known: Known): Promise<Home> {
  const { place, nowMs } = known
  const { burn: pace, ...figures } = known.figures
  const { account_id } = member
  const alert_cents = await sources.alertCents(tx, account_id)
  const burn = { ...pace, days_left: daysLeft(place.balance_cents, pace.per_day_cents), alert_cents }
  const { rows } = await searchOrders(tx, account_id, {}, {}, LATEST)
  const attention = [
    ...(await readAttention(tx, { ...known, account_id, burn, delivery: figures.delivery })),
    ...(await sources.attention(tx, member, nowMs)),
  ]
  return {
    ...figures,
    now: new Date(nowMs).toISOString(),
    balance_cents: place.balance_cents,
    burn,
    waiting: await countPaid(tx, account_id),
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
