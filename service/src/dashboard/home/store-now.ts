import type { StoreNow } from '@shopwire/contract/dashboard'
import { readStoreNow } from '../../catalogue/store-state.ts'
import type { Queryable } from '../../platform/database/db.ts'
import { readWorkers } from '../../platform/jobs/worker-heartbeats.ts'

/** What a process knows about its installation. */
export interface Installation {
  readonly version: string
  readonly docs_url: string | null
}

/** Whether the store takes orders; if not, why, and until when, as far as it is known. */
export async function presentStoreNow(db: Queryable, installation: Installation): Promise<StoreNow> {
  const { is_open, is_database_confirmed, reason, since, opens_at, windows, now } = await readStoreNow(db)
  const { is_missing } = await readWorkers(db)
  return {
    is_open,
    reason,
    since: since.toISOString(),
    opens_at: opens_at?.toISOString() ?? null,
    windows: windows.map((window) => ({
      closes_at: window.closes_at.toISOString(),
      opens_at: window.opens_at.toISOString(),
      reason: window.reason,
    })),
    api: is_missing || !is_database_confirmed ? 'degraded' : 'up',
    ...installation,
    now: now.toISOString(),
  }
}
