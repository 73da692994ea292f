import type { StoreNow } from '@shopwire/contract/dashboard'
import { listStoreWindows, readStoreState } from '../../catalogue/store-state.ts'
import type { Queryable } from '../../platform/database/db.ts'
import { readWorkers } from '../../platform/jobs/worker-heartbeats.ts'

/** What a process knows about its installation. */
export interface Installation {
  readonly version: string
  readonly docs_url: string | null
}

/** Whether the store takes orders; if not, why, and until when, as far as it is known. */
export async function readStoreNow(db: Queryable, installation: Installation): Promise<StoreNow> {
  const state = await readStoreState(db)
  const windows = await listStoreWindows(db)
  const { is_missing } = await readWorkers(db)
  const { is_open, is_open_now, is_database_confirmed, now } = state
  const current = windows.find(({ closes_at }) => closes_at <= now)
  const reason = is_open ? (current?.reason ?? null) : state.reason
  return {
    is_open: is_open_now,
    reason: is_open_now ? null : reason,
    since: (is_open && current ? current.closes_at : state.changed_at).toISOString(),
    // An operator who closed the store opens it again; the time is unknown.
    opens_at: is_open && !is_open_now ? (current?.opens_at.toISOString() ?? null) : null,
    windows: windows
      .filter(({ closes_at }) => closes_at > now)
      .map((window) => ({
        closes_at: window.closes_at.toISOString(),
        opens_at: window.opens_at.toISOString(),
        reason: window.reason,
      })),
    api: is_missing || !is_database_confirmed ? 'degraded' : 'up',
    ...installation,
    now: now.toISOString(),
  }
}
