import type { StoreWindow } from '../../catalogue/store-state.ts'
import { timeInId } from '../../platform/text/ids.ts'
import {
  type DaySeconds,
  type History,
  PARTS,
  type PartName,
  type Period,
  type StorePhase,
} from './history.ts'
import type { PartState, Present } from './present.ts'

/** status.json; the page and the feed say the same. Times are in UTC. */
export interface StatusDocument {
  readonly written_at: string
  /** An older copy says nothing about the present. */
  readonly stale_after_s: number
  /** As in the answer of /status. */
  readonly status: 'operational' | 'degraded'
  readonly store: {
    readonly state: StorePhase
    readonly reason: string | null
    /** Null: it is open, or it is not known. */
    readonly since: string | null
    readonly opens_at: string | null
  }
  readonly parts: Readonly<Record<PartName, PartState>>
  /** Some orders wait much longer than usual. */
  readonly orders_late: boolean
  readonly planned: readonly PlannedClosing[]
  /** Oldest first, today last. */
  readonly days: readonly StatusDay[]
  /** Newest first. */
  readonly incidents: readonly Incident[]
}

export interface PlannedClosing {
  readonly closes_at: string
  readonly opens_at: string
  readonly reason: string
  readonly planned_at: string
}

/** The minutes that are in none of the three were well. */
export interface StatusDay {
  readonly day: string
  readonly closed_min: number
  readonly degraded_min: number
  readonly unknown_min: number
}

export interface Incident {
  readonly kind: Exclude<StorePhase, 'open'> | 'degraded'
  readonly from: string
  /** Null: it lasts. */
  readonly until: string | null
  readonly reason: string | null
  /** What did not work as usual, when the store was open. */
  readonly parts: readonly PartName[]
}

export const STALE_AFTER_S = 300
const INCIDENTS_MAX = 50
const DAY_MS = 86_400_000
/** A few seconds between two sightings are no gap. */
const UNKNOWN_S_MIN = 60

/** What is known now; or since when the database does not answer, and nothing else is. */
export type Seen = Present | { readonly unavailableSince: Date }

export function documentOf(seen: Seen, history: History, nowMs: number): StatusDocument {
  const past = incidentsOf(history.periods)
  const isAnswering = 'store' in seen
  return {
    written_at: new Date(nowMs).toISOString(),
    stale_after_s: STALE_AFTER_S,
    status: isAnswering && isWell(seen) ? 'operational' : 'degraded',
    store: isAnswering
      ? storeOf(seen, past)
      : { ...NOT_ANSWERING, since: seen.unavailableSince.toISOString() },
    parts: isAnswering ? seen.parts : ALL_UNAVAILABLE,
    orders_late: isAnswering && seen.isLate,
    planned: isAnswering ? seen.store.windows.map(plannedOf) : [],
    days: history.days.map((day) => minutesOf(day, nowMs)),
    incidents: (isAnswering ? past : [outageSince(seen.unavailableSince), ...past]).slice(0, INCIDENTS_MAX),
  }
}

const NOT_ANSWERING = { state: 'unavailable', reason: null, opens_at: null } as const
const ALL_UNAVAILABLE = {
  buying: 'unavailable',
  reading: 'unavailable',
  delivery: 'unavailable',
  webhooks: 'unavailable',
} as const

const isWell = ({ parts }: Present) =>
  PARTS.every((part) => parts[part] === 'up' || parts[part] === 'unknown')

function storeOf({ phase, store }: Present, past: readonly Incident[]): StatusDocument['store'] {
  const isByOperator = phase === 'closed' || phase === 'planned'
  const current = past.find(({ until }) => until === null)
  const since = isByOperator ? store.since.toISOString() : phase === 'open' ? null : (current?.from ?? null)
  return {
    state: phase,
    reason: isByOperator ? store.reason : null,
    since,
    opens_at: store.opens_at?.toISOString() ?? null,
  }
}

const plannedOf = ({ id, closes_at, opens_at, reason }: StoreWindow): PlannedClosing => ({
  closes_at: closes_at.toISOString(),
  opens_at: opens_at.toISOString(),
  reason,
  planned_at: new Date(timeInId(id) ?? closes_at).toISOString(),
})

function minutesOf({ day, closed_s, degraded_s, seen_s }: DaySeconds, nowMs: number): StatusDay {
  const unknown_s = Math.min(DAY_MS, nowMs - day.getTime()) / 1_000 - seen_s
  return {
    day: day.toISOString().slice(0, 10),
    closed_min: minutes(closed_s),
    degraded_min: minutes(degraded_s),
    unknown_min: unknown_s < UNKNOWN_S_MIN ? 0 : minutes(unknown_s),
  }
}

/** Any trouble is at least a minute. */
const minutes = (seconds: number) => (seconds > 0 ? Math.max(1, Math.round(seconds / 60)) : 0)

/** Periods, newest first, that follow each other and differ only in the parts that were impaired are one incident. */
function incidentsOf(periods: readonly Period[]): Incident[] {
  const incidents: Incident[] = []
  for (const period of periods) {
    const one = incidentOf(period)
    const next = incidents.at(-1)
    if (next && next.from === one.until && next.kind === one.kind && next.reason === one.reason) {
      const parts = PARTS.filter((part) => next.parts.includes(part) || one.parts.includes(part))
      incidents[incidents.length - 1] = { ...next, from: one.from, parts }
    } else incidents.push(one)
  }
  return incidents
}

const incidentOf = ({ started_at, seen_until, isLast, store, reason, impaired }: Period): Incident => ({
  kind: store === 'open' ? 'degraded' : store,
  from: started_at.toISOString(),
  until: isLast ? null : seen_until.toISOString(),
  reason,
  parts: store === 'open' ? impaired : [],
})

const outageSince = (since: Date): Incident => ({
  kind: 'unavailable',
  from: since.toISOString(),
  until: null,
  reason: null,
  parts: [],
})
