import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ALERT_MAILS_PER_DAY_MAX,
  type AlertState,
  checkBalances,
  nextState,
} from '../../src/funding/balance-alert.ts'
import { type FundingShop, openFunding } from '../../testing/funding.ts'

let shop: FundingShop
beforeAll(async () => {
  shop = await openFunding()
})
afterAll(() => shop.close())

const THRESHOLD = 1_000
const walks = fc.array(fc.integer({ min: 0, max: 3 * THRESHOLD }), { maxLength: 200 })

/** The states that a walk of balances leads to, each with the balance. */
function walk(balances: readonly number[]) {
  let state: AlertState = 'ok'
  return balances.map((balance) => {
    const before = state
    state = nextState(state, balance, THRESHOLD)
    return { balance, before, state }
  })
}

test('however a balance moves, there are at most two warnings until it has recovered to twice the threshold', () => {
  fc.assert(
    fc.property(walks, (balances) => {
      let warnings = 0
      for (const { balance, before, state } of walk(balances)) {
        if (balance >= 2 * THRESHOLD) warnings = 0
        else if (state !== before) warnings += 1
        expect(warnings).toBeLessThanOrEqual(2)
        if (state === 'ok' && before !== 'ok') expect(balance).toBeGreaterThanOrEqual(2 * THRESHOLD)
      }
    }),
  )
})

test('a balance that stays between threshold and twice the threshold causes one mail at most', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: THRESHOLD + 1, max: 2 * THRESHOLD - 1 }), { maxLength: 200 }),
      (balances) => {
        expect(walk(balances).filter(({ before, state }) => before !== state).length).toBeLessThanOrEqual(1)
      },
    ),
  )
})

test('at or below the threshold the state is below, and at twice the threshold it is ok, whatever came before', () => {
  fc.assert(
    fc.property(walks, (balances) => {
      for (const { balance, state } of walk(balances)) {
        if (balance <= THRESHOLD) expect(state).toBe('below')
        if (balance >= 2 * THRESHOLD) expect(state).toBe('ok')
        if (state === 'ok') expect(balance).toBeGreaterThan(1.5 * THRESHOLD)
      }
    }),
  )
})

test('a balance that falls, moves around the threshold and recovers sends three mails, with two workers', async () => {
  const { operator, area, call, clock, notify, letters } = shop
  const { id } = await operator.createAccount('Acme Bots')
  let balance = 0
  let n = 0
  const setBalance = async (cents: number) => {
    n += 1
    const change_cents = cents - balance
    if (change_cents !== 0)
      await operator.adjustAccount(id, { change_cents, reference: `walk-${n}`, note: 'test' })
    balance = cents
    await Promise.all([1, 2].map(() => checkBalances({ db: shop.database.worker, clock, notify })))
  }
  letters.length = 0
  await setBalance(5_000)
  await area.setBalanceAlert(call({ body: { threshold_cents: THRESHOLD, people: ['per_1'] } }, id) as never)
  for (const cents of [
    5_000, 1_600, 1_500, 1_450, 1_501, 1_000, 1_100, 990, 1_900, 400, 2_000, 2_500, 1_501,
  ]) {
    await setBalance(cents)
  }
  expect(letters.map(({ letter }) => letter.subject)).toEqual([
    'Balance of Acme Bots is getting low: $15.00',
    'Balance of Acme Bots is below $10.00: $10.00',
    'Balance of Acme Bots has recovered: $20.00',
  ])
  expect(letters[0]).toMatchObject({ kind: 'balance_alert', emails: [] })
  expect(await area.getBalanceAlert(call({}, id) as never)).toMatchObject({
    threshold_cents: 1_000,
    state: 'ok',
  })
})

test('a new threshold is judged afresh: one mail when the balance is below it, none when it is not', async () => {
  const { operator, area, call, clock, notify, letters } = shop
  const { id } = await operator.createAccount('Threshold')
  await operator.fundAccount(id, { amount_cents: 5_000, reference: 'threshold' })
  const set = async (threshold_cents: number | null) => {
    await area.setBalanceAlert(call({ body: { threshold_cents, people: ['per_1'] } }, id) as never)
    await checkBalances({ db: shop.database.worker, clock, notify })
  }
  letters.length = 0
  await set(6_000)
  await set(5_500)
  expect(letters.map(({ letter }) => letter.subject)).toEqual([
    'Balance of Threshold is below $60.00: $50.00',
  ])
  await set(1_000)
  await set(null)
  expect(letters).toHaveLength(1)
})

test('the mail says how long the balance lasts at the present burn', async () => {
  const { operator, area, call, clock, notify, letters } = shop
  const { id } = await operator.createAccount('Burn')
  await operator.fundAccount(id, { amount_cents: 10_000, reference: 'burn' })
  await area.setBalanceAlert(call({ body: { threshold_cents: 9_000, people: ['per_1'] } }, id) as never)
  letters.length = 0
  await checkBalances({ db: shop.database.worker, clock, notify })
  expect(letters[0]?.letter.paragraphs?.join()).toContain('Nothing was spent lately')
})

test('refuses an alert that no owner would get, and audits one with its values before and after', async () => {
  const { operator, area, call } = shop
  const { id } = await operator.createAccount('Nobody')
  const set = (body: object) => area.setBalanceAlert(call({ body }, id) as never)
  await expect(set({ threshold_cents: 100, people: [] })).rejects.toMatchObject({
    type: 'conflict',
  })
  await set({ threshold_cents: 100, people: ['per_1'] })
  await set({ threshold_cents: 200, people: ['per_1'] })
  const [latest] = await operator.listActions(id, 1)
  expect(latest).toMatchObject({
    action: 'balance.set_alert',
    details: { before: { threshold_cents: 100 }, after: { threshold_cents: 200 } },
  })
})

test('threat 74: a threshold that is moved to and fro causes six mails a day, and what is due beyond that comes the next day', async () => {
  const { operator, area, call, notify, letters } = shop
  const { id } = await operator.createAccount('To and fro')
  let nowMs = Date.now()
  const clock = { nowMs: () => nowMs }
  const check = () => checkBalances({ db: shop.database.worker, clock, notify })
  const move = async (threshold_cents: number) => {
    await area.setBalanceAlert(call({ body: { threshold_cents, people: ['per_1'] } }, id) as never)
    await check()
  }
  await operator.fundAccount(id, { amount_cents: 5_000, reference: 'to and fro' })
  letters.length = 0
  const subjects = () =>
    letters.map(({ letter }) => letter.subject).filter((subject) => subject.includes('To and fro'))
  for (let n = 0; n < 20; n += 1) {
    await move(9_000 + n)
    await move(1)
  }
  await move(9_999)
  expect(subjects()).toHaveLength(ALERT_MAILS_PER_DAY_MAX)
  nowMs += 86_400_000
  await check()
  expect(subjects().slice(ALERT_MAILS_PER_DAY_MAX)).toEqual(['Balance of To and fro is below $99.99: $50.00'])
  await check()
  expect(subjects()).toHaveLength(ALERT_MAILS_PER_DAY_MAX + 1)
})
