import { type Queryable, sql } from '../platform/db.ts'

/** Whether the shop takes new orders. Reads, quotes and replays go on while it is closed. */
export interface StoreState {
  readonly is_open: boolean
  readonly reason: string | null
  readonly changed_at: Date
}

export const readStoreState = (db: Queryable) =>
  db.one<StoreState>(sql`
    select is_open, reason, changed_at
      from store_state`)

export const setStoreState = (tx: Queryable, is_open: boolean, reason: string | null, changed_at: Date) =>
  tx.one<StoreState>(sql`
    update store_state
       set is_open = ${is_open},
           reason = ${reason},
           changed_at = ${changed_at}
    returning is_open, reason, changed_at`)
