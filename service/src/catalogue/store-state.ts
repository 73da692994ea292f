import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'

/** Whether the store accepts new orders. Reads, quotes and replays of orders work while it is closed. */
export interface StoreState {
  /** As the operator last set it. */
  readonly is_open: boolean
  readonly reason: string | null
  readonly changed_at: Date
}

/** A planned closing: the store is closed from one time to the other. */
export interface StoreWindow {
  readonly id: string
  readonly closes_at: Date
  readonly opens_at: Date
  readonly reason: string
}

export const readStoreState = (db: Queryable) =>
  db.one<StoreState & { is_open_now: boolean; is_database_confirmed: boolean; now: Date }>(sql`
    select is_open, reason, changed_at, store_is_open() as is_open_now, clock_timestamp() as now,
           database_is_confirmed() as is_database_confirmed
      from store_state`)

export const setStoreState = (tx: Tx, is_open: boolean, reason: string | null, changed_at: Date) =>
  tx.one<StoreState>(sql`
    update store_state
       set is_open = ${is_open},
           reason = ${reason},
           changed_at = ${changed_at}
    returning is_open, reason, changed_at`)

/** What callers meet, and what they may expect. */
export interface StoreNow {
  readonly is_open: boolean
  /** Whether this is the database that the store was opened on. Until an operator confirms it, nothing is sold or delivered. */
  readonly is_database_confirmed: boolean
  readonly reason: string | null
  readonly since: Date
  /** Null while an operator keeps it closed: when it opens is unknown. */
  readonly opens_at: Date | null
  /** Planned, and not begun; the next one first. */
  readonly windows: readonly StoreWindow[]
  readonly now: Date
}

export async function readStoreNow(db: Queryable): Promise<StoreNow> {
  const state = await readStoreState(db)
  const windows = await listStoreWindows(db)
  const { is_open, is_open_now, is_database_confirmed, now } = state
  const current = windows.find(({ closes_at }) => closes_at <= now)
  const reason = is_open ? (current?.reason ?? null) : state.reason
  return {
    is_open: is_open_now,
    is_database_confirmed,
    reason: is_open_now ? null : reason,
    since: is_open && current ? current.closes_at : state.changed_at,
    opens_at: is_open && current && is_database_confirmed ? closedUntil(windows, now) : null,
    windows: windows.filter(({ closes_at }) => closes_at > now),
    now,
  }
}

/** Windows may overlap or follow one another without a gap. They are sorted by their start. */
export function closedUntil(windows: readonly StoreWindow[], now: Date): Date {
  return windows.reduce(
    (until, { closes_at, opens_at }) => (closes_at <= until && opens_at > until ? opens_at : until),
    now,
  )
}

/** Current and future windows, the next one first. */
export const listStoreWindows = (db: Queryable) =>
  db.many<StoreWindow>(sql`
    select id, closes_at, opens_at, reason
      from store_windows
     where cancelled_at is null
       and opens_at > clock_timestamp()
     order by closes_at, id`)

export async function planStoreWindow(
  tx: Tx,
  window: Omit<StoreWindow, 'id'>,
  nowMs: number,
): Promise<StoreWindow> {
  const { closes_at, opens_at, reason } = window
  if (!(closes_at < opens_at)) throw refuse('invalid_request', 'A window has to open after it closes.')
  if (opens_at.getTime() <= nowMs) throw refuse('invalid_request', 'This window would be over already.')
  return tx.one<StoreWindow>(sql`
    insert into store_windows (id, closes_at, opens_at, reason, created_at)
    values (${newId('win', nowMs)}, ${closes_at}, ${opens_at}, ${reason}, ${new Date(nowMs)})
    returning id, closes_at, opens_at, reason`)
}

export async function cancelStoreWindow(tx: Tx, id: string, nowMs: number): Promise<StoreWindow> {
  const window = await tx.maybeOne<StoreWindow & { isOver: boolean }>(sql`
    update store_windows
       set cancelled_at = coalesce(cancelled_at, ${new Date(nowMs)})
     where id = ${id}
    returning id, closes_at, opens_at, reason, opens_at <= clock_timestamp() as "isOver"`)
  if (!window) throw refuse('not_found', `There is no window ${id}. "store show" lists those ahead.`)
  const { isOver, ...cancelled } = window
  if (isOver) {
    throw refuse(
      'idempotency_conflict',
      `Window ${id} ended ${window.opens_at.toISOString()}; there is nothing to cancel. "store show" lists those ahead.`,
    )
  }
  return cancelled
}
