import type { Scenario } from '../scenario.ts'
import { books } from './books.ts'
import { deliveries } from './deliveries.ts'
import { purchases } from './purchases.ts'
import { retries } from './retries.ts'
import { signatures } from './signatures.ts'

const LAST = 'clock-skew'

/** In the order they are run. The clock scenario is late, so that a client's corrected clock affects no other scenario. */
export function allScenarios(passed: ReadonlySet<string> = new Set()): readonly Scenario[] {
  const buying = [...purchases.slice(0, 1), ...retries, ...purchases.slice(1)]
  const isLast = ({ id }: Scenario) => id === LAST
  return [
    ...buying.filter((scenario) => !isLast(scenario)),
    ...deliveries,
    ...signatures,
    ...buying.filter(isLast),
    books(passed),
  ]
}
