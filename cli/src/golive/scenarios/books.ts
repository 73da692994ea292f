import type { Bench, Outcome, Purchase } from '../bench.ts'
import { cartKey } from '../carts.ts'
import { Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'

/** Comes last: what was bought late, or twice, after its scenario was over. */
export function books(passed: ReadonlySet<string>): Scenario {
  return {
    id: 'books',
    title: 'At the end the books agree with what your code said',
    needs: [],
    does: 'Every purchase of the run is held against the orders at the emulator, and the emulator against the rules of the store.',
    means: 'Something was bought after your code had said no, or once more after it had said yes.',
    fix: 'A purchase that you told your customer is off must not be tried again; one that is bought must not either.',
    docs: 'guides/recover-after-an-outage.md#purchases-without-an-answer',
    run: (bench) => balance(bench, passed),
  }
}

async function balance(bench: Bench, passed: ReadonlySet<string>): Promise<void> {
  const wrong: string[] = []
  const settled = [...bench.said].filter(
    ([{ scenario }, said]) => passed.has(scenario) && said !== 'under_way',
  )
  for (const purchases of groupByCart(settled)) {
    const wanted = purchases.filter(([, said]) => said === 'bought').length
    const [first] = purchases
    const orders = first ? await bench.ordersFor(first[0]) : []
    if (orders.length === wanted) continue
    const ids = purchases.map(([{ id, scenario }]) => `${id} (${scenario})`).join(', ')
    wrong.push(`${ids}: said to be bought ${wanted} times, bought ${orders.length} times`)
  }
  if (wrong.length > 0) throw new Problem(`${wrong.length} purchases are not as your code said.`, wrong)

  const { ok, violations } = await bench.emulator.verify()
  if (!ok) {
    throw new Error(
      `The emulator's own books are wrong, which is not your fault: ${JSON.stringify(violations)}`,
    )
  }
}

function groupByCart(said: readonly [Purchase, Outcome['said']][]): [Purchase, Outcome['said']][][] {
  return Object.values(Object.groupBy(said, ([{ items }]) => cartKey(items) ?? '')).filter(
    (one) => one !== undefined,
  )
}
