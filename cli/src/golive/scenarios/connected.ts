import { TIMESTAMP_FORM } from '@shopwire/contract/signing'
import type { RecordedRequest } from '@shopwire/emulator'
import { describeAnswer } from '../app.ts'
import { cartKey, itemsIn } from '../carts.ts'
import type { Harness } from '../harness.ts'
import { Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'
import { until } from '../until.ts'

/** Runs first: checks that the code buys at this emulator at all. Otherwise the other results would be meaningless. */
export function connected(baseUrl: string): Scenario {
  return {
    id: 'connected',
    title: 'Your code buys at the emulator',
    needs: [],
    does: 'One purchase; its request must arrive at the emulator with a valid signature.',
    means: 'Your code calls another store, or none. No other scenario was run.',
    fix: `Start your code with SHOPWIRE_BASE_URL=${baseUrl} and the key that the emulator printed.`,
    docs: 'guides/go-live.md#what-your-code-offers',
    run: buysHere,
  }
}

async function buysHere(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const answer = await harness.click(purchase)
  if (answer.status === null) {
    throw new Problem(`Your buy endpoint ${harness.app.urls.buy} ${describeAnswer(answer)}.`)
  }
  const { accountId } = harness.parts
  const isLetIn = ({ account_id, status }: RecordedRequest) =>
    account_id === accountId && status !== 401 && status !== 403
  let arrived: RecordedRequest[] = []
  await until(
    async () => {
      const { requests } = await harness.emulator.requests(purchase.since)
      arrived = requests.filter(({ method, target }) => method === 'POST' && target.endsWith('/orders'))
      return arrived.some(isLetIn)
    },
    answer.status === 202 ? harness.patienceMs : 0,
  )
  const last = arrived.at(-1)
  if (!last) throw new Problem(`Your code ${describeAnswer(answer)}, and no order arrived at the emulator.`)
  const own = arrived.filter(isLetIn)
  if (own.length === 0) throw new Problem(explain(last, accountId))
  if (!own.some(({ body }) => cartKey(itemsIn(body)) === cartKey(purchase.items))) {
    throw new Problem(
      'An order arrived, but for another cart than the one that was sent to your buy endpoint.',
      own.map(({ body }) => body),
    )
  }
  await harness.settle(purchase, answer)
}

function explain(
  { mistake, account_id, key_id, status, error_type, timestamp }: RecordedRequest,
  accountId: string,
): string {
  if (mistake) return `Your request was refused. ${mistake.title}. ${mistake.fix}`
  if (account_id !== accountId) {
    return `Your request used the key ${key_id ?? '(none)'}, which is not one of this account.`
  }
  const isTime = error_type === 'timestamp_out_of_range' || !TIMESTAMP_FORM.test(timestamp ?? '')
  const hint = isTime
    ? `Its X-Api-Timestamp was ${timestamp ?? 'missing'}; it is the time of signing in Unix seconds, ten digits.`
    : 'Check that the secret belongs to this key.'
  return `Your request was refused: ${status} ${error_type}. ${hint}`
}
