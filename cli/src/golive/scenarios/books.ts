import { cartKey } from '../carts.ts'
import type { Harness, Outcome, Purchase } from '../harness.ts'
import { Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'

/** Runs last: finds purchases that were bought late, or twice, after their scenario was over. */
export function books(passed: ReadonlySet<string>): Scenario {
  return {
    id: 'books',
    title: 'At the end the orders agree with what your code answered',
    needs: [],
    does: "Every purchase of the run is compared with the orders at the emulator, and the emulator's database is checked against the invariants of the store.",
    means:
      'Something was bought after your code had reported a failure, or bought again after it had reported success.',
    fix: 'Do not retry a purchase that was reported to the customer as failed, or one that is bought.',
    docs: 'guides/recover-after-an-outage.md#purchases-without-an-answer',
    run: (harness) => balance(harness, passed),
  }
}

async function balance(harness: Harness, passed: ReadonlySet<string>): Promise<void> {
  const wrong: string[] = []
  const settled = [...harness.said].filter(
    ([{ scenario }, said]) => passed.has(scenario) && said !== 'under_way',
  )
  for (const purchases of groupByCart(settled)) {
    const wanted = purchases.filter(([, said]) => said === 'bought').length
    const [first] = purchases
    const orders = first ? await harness.ordersFor(first[0]) : []
    if (orders.length === wanted) continue
    const ids = purchases.map(([{ id, scenario }]) => `${id} (${scenario})`).join(', ')
    wrong.push(`${ids}: reported as bought ${wanted} times, bought ${orders.length} times`)
  }
  if (wrong.length > 0)
    throw new Problem(`${wrong.length} purchases differ from what your code answered.`, wrong)

  const { ok, violations } = await harness.emulator.verify()
  if (!ok) {
    throw new Error(
      `The emulator's data is inconsistent; this is an error of the emulator, not of your code: ${JSON.stringify(violations)}`,
    )
  }
}

function groupByCart(said: readonly [Purchase, Outcome['said']][]): [Purchase, Outcome['said']][][] {
  return Object.values(Object.groupBy(said, ([{ items }]) => cartKey(items) ?? '')).filter(
    (one) => one !== undefined,
  )
}
