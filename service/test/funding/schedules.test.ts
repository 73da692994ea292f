import { expect, test } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { type CardSchedule, runCardSchedule, unexplained } from '../../testing/card-schedule.ts'
import { openFunding } from '../../testing/funding.ts'
import { randomOf } from '../../testing/random.ts'

const SCHEDULES = Number(process.env.SHOPWIRE_SCHEDULES ?? (IS_SHORT ? 60 : 200))
const SEED = Number(process.env.SHOPWIRE_SEED ?? 1)
/** Side by side, with one database and one provider. */
const LANES = 2
/** Schedules in one database. */
const BATCH = 200
const DAY_MS = 86_400_000

test(`threat 71: ${SCHEDULES} seeded schedules of card payments from seed ${SEED}: in the end the ledger equals the provider, or a person is asked`, {
  timeout: 7_200_000,
}, async () => {
  for (let from = 0; from < SCHEDULES; from += BATCH)
    await runBatch(SEED + from, Math.min(BATCH, SCHEDULES - from))
})

async function runBatch(seed: number, schedules: number): Promise<void> {
  const shop = await openFunding()
  shop.stripe.setPageMax(7)
  const ran: (CardSchedule & { seed: number })[] = []
  try {
    let next = 0
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        for (let n = next; n < schedules; n = next) {
          next += 1
          ran.push({ seed: seed + n, ...(await runCardSchedule(shop, randomOf(seed + n))) })
        }
      }),
    )
    // Whatever event has not come by now never comes.
    await shop.pass(DAY_MS)
    while ((await shop.worker.applyEvents()) + (await shop.worker.lookAtTopUps()) > 0);
    expect(await shop.reconcile()).toBe(true)
    const wrong = (await unexplained(shop)).map(({ account_id, what }) => {
      const schedule = ran.find((one) => one.account_id === account_id)
      return [`seed ${schedule?.seed}: ${what}`, ...(schedule?.steps ?? [])].join('\n  ')
    })
    expect(wrong, wrong[0]).toEqual([])
    expect(await shop.violated()).toEqual([])
  } finally {
    await shop.close()
  }
}
