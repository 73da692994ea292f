import { type Check, type CheckState, GROUPS, type Installation, NotKnown, type Outcome } from './check.ts'
import { DATABASE_CHECKS } from './database-checks.ts'
import { PATRONI_CHECK } from './patroni-check.ts'
import { SETTING_CHECKS } from './setting-checks.ts'
import { STORE_CHECKS } from './store-checks.ts'

export type { CheckState, Installation } from './check.ts'

/** The result of one item of the checklist. */
export interface CheckResult extends Omit<Check, 'examine'> {
  readonly state: CheckState
  readonly found: string
}

/** The production checklist, by group. */
export const CHECKS: readonly Check[] = [
  ...SETTING_CHECKS,
  ...DATABASE_CHECKS,
  PATRONI_CHECK,
  ...STORE_CHECKS,
].toSorted((a, b) => GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group))

/** Runs the checklist, or one item of it. It changes nothing, and a failing check does not stop the others. */
export function diagnose(about: Installation, only?: string): Promise<CheckResult[]> {
  const wanted = CHECKS.filter(({ id }) => only === undefined || id === only)
  return Promise.all(
    wanted.map(async ({ examine, ...texts }) => ({ ...texts, ...(await outcomeOf(examine, about)) })),
  )
}

async function outcomeOf(examine: Check['examine'], about: Installation): Promise<Outcome> {
  try {
    return await examine(about)
  } catch (error) {
    if (error instanceof NotKnown) return { state: 'not_applicable', found: `not checked: ${error.message}` }
    return { state: 'failed', found: `the check itself failed: ${(error as Error).message}` }
  }
}
