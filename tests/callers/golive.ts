import type { GoliveReport } from '@shopwire/cli/golive'

export const SECRET = 'whsec_golive-current'
export const PREVIOUS_SECRET = 'whsec_golive-previous'
/** What a whole run may take against code that is right. */
export const RUN_MS_MAX = 90_000

/** The ids of what failed, each with the reason. */
export function failuresOf({ results }: GoliveReport): [string, string | null][] {
  return results.filter(({ verdict }) => verdict === 'failed').map(({ id, reason }) => [id, reason])
}
