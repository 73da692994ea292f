import { type Db, sql } from '../platform/database/db.ts'
import { every } from '../platform/process/every.ts'
import type { Admission } from './admission.ts'
import type { KnownKeys } from './known-keys.ts'

/** How long a revocation may take effect late when the process that made it ended before announcing it, plus round trips. */
const POLL_EVERY_MS = 500
/** Longer than any process caches a key, and longer than Redis keeps an announcement. The database refuses to delete anything younger. */
const KEPT_S = 3_600

export interface AccessChanges {
  /** From now on every change is noticed. */
  open(): Promise<void>
  close(): Promise<void>
}

/**
 * Follows accounts whose access version changed, for an admission store that has its own copy of it. A command that changes the
 * version also announces it and returns only when that is in force; this covers a process that is killed between commit and
 * announcement. First the cached keys of this process are invalidated, which needs no other system, then the change is announced
 * again.
 */
export function followAccessChanges(
  db: Db,
  { keys, admission }: { keys: KnownKeys; admission: Admission },
  onError: (error: unknown) => void,
): AccessChanges {
  let seenTo = '0'
  const unannounced = new Map<string, number>()

  async function poll() {
    const rows = await db.many<ChangeRow>(sql`
      select s.seen_to::text, c.account_id, c.access_version
        from (select pg_snapshot_xmin(pg_current_snapshot()) as seen_to) s
        left join access_changes c on c.changed_in >= ${seenTo}::text::xid8`)
    for (const { account_id, access_version } of rows) {
      if (account_id === null || !keys.invalidateBefore(account_id, access_version)) continue
      unannounced.set(account_id, access_version)
    }
    seenTo = rows[0]?.seen_to ?? seenTo
    for (const [account_id, access_version] of unannounced) {
      await admission.announce(account_id, access_version)
      unannounced.delete(account_id)
    }
  }
  const polling = every(POLL_EVERY_MS, poll, onError)

  return {
    async open() {
      const { seen_to } = await db.one<{ seen_to: string }>(sql`
        select pg_snapshot_xmin(pg_current_snapshot())::text as seen_to`)
      seenTo = seen_to
      polling.start()
    },
    close: () => polling.stop(),
  }
}

interface ChangeRow {
  /** The oldest transaction that was still running; the same in every row. */
  readonly seen_to: string
  /** Null in the single row of a result without changes. */
  readonly account_id: string | null
  readonly access_version: number
}

/** Deletes changes that every process has seen long ago. */
export const purgeAccessChanges = (db: Db) =>
  db.run(sql`
    delete from access_changes
     where changed_at < clock_timestamp() - ${KEPT_S}::integer * interval '1 s'`)
