import type { Operator } from '@shopwire/test-kit/systems'
import { Accounts } from '../../conformance/accounts.ts'
import { runChecks } from '../../conformance/check.ts'
import { furnish } from '../../conformance/furnish.ts'
import { checks, groups } from '../../conformance/groups/index.ts'
import type { Receiver } from '../../conformance/receiver.ts'
import { asText, type Totals, totalsOf } from '../../conformance/report.ts'
import { baseOf } from '../../conformance/tools.ts'
import { say } from './command.ts'

/** All conformance checks from outside, through the port that compose publishes. */
export async function checkConformance(url: string, operator: Operator, receiver: Receiver): Promise<Totals> {
  say('making what the conformance checks need')
  const fixtures = { ...(await furnish(operator)), receiver }
  const startedMs = performance.now()
  let done = 0
  const outcomes = await runChecks({
    base: baseOf(url),
    fixtures,
    allowed: { spend: true, webhooks: true, limits: true },
    checks,
    accounts: new Accounts(fixtures.buyers),
    onOutcome: ({ result, check }) => {
      done += 1
      if (result === 'failed') say(`FAILED ${check.id}`)
      if (done % 100 === 0) say(`${done} of ${checks.length} checks done`)
    },
  })
  const section = { name: `the image at ${url}`, outcomes, seconds: (performance.now() - startedMs) / 1000 }
  process.stdout.write(asText(section, groups))
  return totalsOf(outcomes)
}
