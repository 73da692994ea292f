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
