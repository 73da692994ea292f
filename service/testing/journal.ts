import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPositionKeeper } from '../src/orders/journal/keep-position.ts'
import { systemClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/database/db.ts'
import { createLog } from '../src/platform/observability/log.ts'
import { createMetrics } from '../src/programs/metrics.ts'
import type { LinkVault } from '../src/supply/gift-link.ts'
import type { Journal } from '../src/supply/journal.ts'
import { openJournalFolder } from '../src/supply/journal-files.ts'

export interface TestJournal {
  readonly dir: string
  readonly journal: Journal
  /** As another process: with files of its own in the same folder. */
  another(): Journal
  remove(): Promise<void>
}

/** A journal in a folder of its own. */
export async function openTestJournal(): Promise<TestJournal> {
  const dir = await mkdtemp(join(tmpdir(), 'shopwire-journal-'))
  const opened: Journal[] = []
  const another = () => {
    const journal = openJournalFolder(dir, { nowMs: systemClock.nowMs, onError() {} })
    opened.push(journal)
    return journal
  }
  return {
    dir,
    journal: another(),
    another,
    async remove() {
      for (const journal of opened) await journal.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** What a worker does once a second. */
export const keeperOf = (db: Db, vault: LinkVault, journal: Journal | undefined) =>
  createPositionKeeper({
    db,
    vault,
    journal,
    log: createLog('silent'),
    metrics: createMetrics('test'),
    nowMs: systemClock.nowMs,
  })
