import { closedUntil, listStoreWindows, readStoreState } from '../../catalogue/store-state.ts'
import { readDatabaseState } from '../../platform/database/database-identity.ts'
import { type Db, sql } from '../../platform/database/db.ts'
import { readRemovals } from '../../platform/jobs/removal-limit.ts'
import type { Journal } from '../../supply/journal.ts'
import { readRecovery } from '../actions/recovery-actions.ts'
import { countSealed } from '../sealed-columns.ts'
import type { PublishedDigest } from '../seals/check.ts'
import { exportSealed } from '../seals/export.ts'
import { selectDigests } from '../seals/queries.ts'
import { readStoreStatus } from '../store-status.ts'
import { type Finding, type Rule, recordVerifyRun, verifyData } from '../verify.ts'

/** The store as a whole: its state, its database, its seals. */
export function storeReads(db: Db) {
  return {
    readStoreStatus: () => readStoreStatus(db),

    async showStore() {
      const [state, windows, { journal_id }] = await Promise.all([
        readStoreState(db),
        listStoreWindows(db),
        readDatabaseState(db),
      ])
      return { state, windows, closed_until: closedUntil(windows, state.now), journal_id }
    },

    readRemovals: () => readRemovals(db),

    /** With the journal of sold links, if there is one. */
    systemIdentifier: async () => (await readDatabaseState(db)).present.system_identifier,

    showRecovery: (journal: Journal | undefined) => readRecovery(db, journal),

    countSealed: () => countSealed(db),

    /** Stored for the metrics of workers; it is no change that needs an audit row. */
    recordVerifyRun: (findings: readonly Finding[], nowMs: number) => recordVerifyRun(db, findings, nowMs),

    verify: (
      rules: readonly Rule[],
      progress: (rule: Rule) => void,
      published: readonly PublishedDigest[] = [],
    ) => verifyData(db, rules, progress, published),

    /** The newest digests, or all; when everything was last sealed, and what is still waiting to be sealed. */
    async showSeals(limit?: number) {
      const state = await db.one<{ sealed_at: Date; waiting: number }>(sql`
        select p.finished_at as sealed_at, (select count(*) from seal_waiting) as waiting
          from seal_progress p`)
      return { digests: await selectDigests(db, limit), ...state }
    },

    exportSealed: (path: string, progress: (segments: number, total: number) => void) =>
      exportSealed(db, path, progress),
  }
}
