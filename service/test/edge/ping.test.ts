import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admissionKinds, openShop, type Shop } from '../../testing/shop.ts'

describe.each(admissionKinds)('with admission in %s', (admission) => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop({ admission })
  })
  afterAll(() => shop.close())

  test('a signed ping returns the account', async () => {
    const { status, body } = await shop.call('GET', '/v1/ping')
    expect({ status, body }).toEqual({
      status: 200,
      body: { ok: true, name: 'Test Shop', status: 'active', account_status: 'active' },
    })
  })

  test('the balance is the sum of the fundings', async () => {
    const { status, body } = await shop.call('GET', '/v1/balance')
    expect({ status, body }).toEqual({ status: 200, body: { balance_cents: 25_000, currency: 'USD' } })
  })
})
