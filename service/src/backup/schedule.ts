import type { BackupStatus } from '../operations/backup-status.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const CHECK_EVERY_MS = HOUR_MS
const DIFF_EVERY_MS = DAY_MS
const FULL_EVERY_MS = 7 * DAY_MS
/** Twice a week: one that fails has a second chance before the last good one is a week old. */
const TEST_EVERY_MS = 3.5 * DAY_MS
const TEST_AGAIN_MS = 6 * HOUR_MS

/**
 * For machines without timers: the command to run next, undefined when nothing is due. A command that failed is due again with the
 * next check.
 */
export function dueNow(
  status: BackupStatus | undefined,
  nowMs: number,
): 'full' | 'diff' | 'check' | 'test-restore' | undefined {
  const since = (at: string | undefined) =>
    at === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(at)
  const isCheckDue = since(status?.checked_at) >= CHECK_EVERY_MS
  const full = since(status?.last_full?.finished_at)
  if (isCheckDue && full >= FULL_EVERY_MS) return 'full'
  if (isCheckDue && Math.min(full, since(status?.last_diff?.finished_at)) >= DIFF_EVERY_MS) return 'diff'
  if (isCheckDue) return 'check'
  const isTestDue =
    since(status?.last_good_restore_test?.finished_at) >= TEST_EVERY_MS &&
    since(status?.restore_test?.finished_at) >= TEST_AGAIN_MS
  return status?.last_full && isTestDue ? 'test-restore' : undefined
}
