import {
  type CodeClass,
  DELIVERIES_LIMIT_DEFAULT,
  type DeliveryFilters,
  type DeliveryState,
  type deliveriesRoutes,
  RECOVER_DAYS_MAX,
  RECOVER_EVENTS_MAX,
  type ResendOutcome,
  resendOutcomes,
} from '@shopwire/contract/dashboard'
import { LRUCache } from 'lru-cache'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { refuse } from '../../platform/trouble.ts'
import type { OpensLinks } from '../../supply/gift-link.ts'
import { type ResentEvents, resendEvent, resendEvents } from '../../webhooks/delivery-log.ts'
import {
  countDeliveries,
  type DeliveryFilter,
  type DeliveryFrom,
  type FoundDelivery,
  searchDeliveries,
} from '../../webhooks/delivery-search.ts'
import { countLost, type EventsToRecover, recoverEvents } from '../../webhooks/recover.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import { deliveriesCsv } from './deliveries-csv.ts'
import { RESEND_SEVERAL_ACTION, selectResent } from './deliveries-queries.ts'
import { readDelivery } from './delivery-page.ts'
import { presentRow } from './delivery-rows.ts'

export interface DeliveriesDeps {
  readonly db: Db
  readonly act: MemberAct
  readonly keyring: Keyring
  readonly vault: OpensLinks
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RANGES = {
  '24h': { barMs: HOUR_MS, bars: 24 },
  '7d': { barMs: 6 * HOUR_MS, bars: 28 },
} as const

/** How events reached the account's endpoint, and resending them. */
export const deliveriesArea = ({
  db,
  act,
  keyring,
  vault,
}: DeliveriesDeps): Area<typeof deliveriesRoutes> => {
  const countBars = barCounter(db)

  return {
    async deliveryHours({ member: { account_id }, query: { range = '24h' }, nowMs }) {
      const { barMs, bars } = RANGES[range]
      const lastMs = Math.floor(nowMs / barMs) * barMs
      const times = Array.from({ length: bars + 1 }, (_, n) => new Date(lastMs + (n + 1 - bars) * barMs))
      const counts = await countBars(account_id, range, times)
      return {
        bar_s: barMs / 1000,
        bars: counts.map(({ accepted, retrying, failed }, n) => ({
          from: (times[n] as Date).toISOString(),
          accepted,
          retrying,
          failed,
        })),
      }
    },

    async listDeliveries({ member: { account_id }, query }) {
      const { limit = DELIVERIES_LIMIT_DEFAULT, before, after } = query
      if (before !== undefined && after !== undefined)
        throw refuse('invalid_request', 'Give before or after, not both: a page has one direction.')
      const from: DeliveryFrom =
        before !== undefined
          ? { before: placeOf(before) }
          : after !== undefined
            ? { after: placeOf(after) }
            : {}
      // One row more than requested shows whether there is another page.
      const found = await inAccount(db, account_id, (tx) =>
        searchDeliveries(tx, account_id, filterOf(query), from, limit + 1),
      )
      const isMore = found.length > limit
      const rows = found.slice(0, limit)
      if (after !== undefined) rows.reverse()
      const [newest, oldest] = [rows[0], rows.at(-1)]
      const [isOlder, isNewer] = after === undefined ? [isMore, before !== undefined] : [true, isMore]
      return {
        deliveries: rows.map(presentRow),
        next: isOlder && oldest ? cursorOf(oldest) : null,
        previous: isNewer && newest ? cursorOf(newest) : null,
      }
    },

    async exportDeliveries({ member, query: { ids, ...query }, nowMs }) {
      const filter = { ...filterOf(query), ...(ids !== undefined && { event_ids: ids.split(',') }) }
      const day = new Date(nowMs).toISOString().slice(0, 10)
      const content = deliveriesCsv(db, member.account_id, filter)
      return { filename: `deliveries-${day}.csv`, content }
    },

    getDelivery: ({ member, id }) =>
      inAccount(db, member.account_id, (tx) => readDelivery(tx, { keyring, vault }, member, id)),

    resendEvent: ({ member, body: { event_id } }) =>
      act(member, 'webhook.resend', async (tx, nowMs) => {
        await resendEvent(tx, member.account_id, event_id, nowMs)
        return { result: { event_id }, target: event_id }
      }),

    resendEvents: ({ member, body: { event_ids, attempt } }) =>
      act(member, RESEND_SEVERAL_ACTION, async (tx, nowMs) => {
        const { account_id } = member
        // Two at the same time: acts of one account run one after the other.
        const before = await selectResent(tx, member, attempt, nowMs)
        const done = before ?? (await resendEvents(tx, account_id, event_ids, nowMs))
        if (done.not_found.length === event_ids.length)
          throw refuse(
            'not_found',
            'The account has none of these events, or they are past the retention of events.',
          )
        const results = event_ids.map((event_id) => ({ event_id, outcome: outcomeOf(event_id, done) }))
        const after = before ? { attempt, repeated: true } : { attempt, events: done.resent.length, ...done }
        return { result: { results }, target: 'webhook', after }
      }),

    previewRecover: ({ member: { account_id }, query }) =>
      inAccount(db, account_id, async (tx) => {
        const lost = await countLost(tx, account_id, wantedOf(query))
        const total = lost.reduce((sum, { events }) => sum + events, 0)
        const times = lost.flatMap(({ first_at, last_at }) => [first_at, last_at]).map(Number)
        return {
          total,
          sends_now: Math.min(total, RECOVER_EVENTS_MAX),
          first_at: total === 0 ? null : new Date(Math.min(...times)).toISOString(),
          last_at: total === 0 ? null : new Date(Math.max(...times)).toISOString(),
          counts: lost.map(({ type, state, events }) => ({ type, state, events })),
        }
      }),

    recoverEvents: ({ member, body }) =>
      act(member, 'webhook.recover', async (tx, nowMs) => {
        const { account_id } = member
        const wanted = wantedOf(body)
        const sent = await recoverEvents(tx, account_id, wanted, nowMs, RECOVER_EVENTS_MAX)
        const left = sent < RECOVER_EVENTS_MAX ? [] : await countLost(tx, account_id, wanted)
        const remaining = left.reduce((sum, { events }) => sum + events, 0)
        return { result: { sent, remaining }, target: 'webhook', after: { ...body, sent, remaining } }
      }),
  }
}

function outcomeOf(event_id: string, done: ResentEvents): ResendOutcome {
  const outcome = resendOutcomes.find((one) => done[one].includes(event_id))
  if (outcome) return outcome
  throw refuse(
    'conflict',
    'This request has sent other events before. Nothing was sent now; select the events again.',
  )
}

const FRESH_BARS = 2
const OLD_BARS_KEPT_MS = 30_000
const OLD_BARS_MAX = 2_000

/**
 * A busy account has tens of thousands of events a day, and every open page counts them again whenever one arrives. Then only the
 * latest bars are counted again; older ones change only when an event is retried, and may be half a minute old.
 */
function barCounter(db: Db) {
  const known = new LRUCache<string, ReturnType<typeof countDeliveries>>({
    max: OLD_BARS_MAX,
    ttl: OLD_BARS_KEPT_MS,
  })
  const count = (account_id: string, times: readonly Date[]) =>
    inAccount(db, account_id, (tx) => countDeliveries(tx, account_id, times))
  return async (account_id: string, range: string, times: readonly Date[]) => {
    const name = `${account_id} ${range} ${times[0]?.getTime()}`
    let old = known.get(name)
    if (!old) {
      old = count(account_id, times.slice(0, -FRESH_BARS))
      known.set(name, old)
      old.catch(() => known.delete(name))
    }
    return [...(await old), ...(await count(account_id, times.slice(-FRESH_BARS - 1)))]
  }
}

const STATES = {
  accepted: 'delivered',
  retrying: 'pending',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<DeliveryState, FoundDelivery['state']>

const NOT_ACCEPTED = ['pending', 'failed', 'cancelled'] as const
const ERRORS = {
  '3xx': ['http_3%'],
  '4xx': ['http_4%'],
  '5xx': ['http_5%'],
  timeout: ['timeout'],
  connection: ['connect', 'reset', 'dns'],
  tls: ['tls'],
  refused: ['blocked'],
} as const satisfies Record<Exclude<CodeClass, '2xx' | 'other'>, readonly string[]>

function filterOf(query: DeliveryFilters): DeliveryFilter {
  const { state, type, code, order_id, from, to } = query
  return {
    ...codeFilter(code, state && STATES[state]),
    ...(type !== undefined && { type }),
    ...(order_id !== undefined && { order_id }),
    ...(from !== undefined && { from: new Date(from) }),
    ...(to !== undefined && { until: new Date(to) }),
  }
}

/** Only rejected deliveries have an error, and those states have indexes. */
function codeFilter(code: CodeClass | undefined, state: FoundDelivery['state'] | undefined): DeliveryFilter {
  if (code === undefined) return state ? { states: [state] } : {}
  if (code === '2xx') return { states: state === undefined || state === 'delivered' ? ['delivered'] : [] }
  const states = NOT_ACCEPTED.filter((one) => state === undefined || one === state)
  return code === 'other'
    ? { states, errorsNot: Object.values(ERRORS).flat() }
    : { states, errors: ERRORS[code] }
}

const cursorOf = ({ event_id, endpoint_id }: FoundDelivery) => `${event_id}.${endpoint_id}`

function placeOf(cursor: string) {
  const [event_id = '', endpoint_id = ''] = cursor.split('.')
  return { event_id, endpoint_id }
}

function wantedOf({ from, to }: { readonly from?: string; readonly to?: string }): EventsToRecover {
  if (from === undefined && to === undefined) return 'given up'
  if (from === undefined || to === undefined)
    throw refuse('invalid_request', 'A period has a beginning and an end: give both, or neither.')
  const period = { from: new Date(from), until: new Date(to) }
  const ms = period.until.getTime() - period.from.getTime()
  if (ms <= 0) throw refuse('invalid_request', 'The period ends before it begins: choose a later end.')
  if (ms > RECOVER_DAYS_MAX * DAY_MS) {
    throw refuse(
      'invalid_request',
      `One recovery covers at most ${RECOVER_DAYS_MAX} days. Choose a shorter period, and repeat it for the rest.`,
    )
  }
  return period
}
