import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createOperator } from '../../src/operations/operator.ts'
import { countSealed } from '../../src/operations/sealed-columns.ts'
import { openLinks } from '../../src/orders/read-orders.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { localKeks, openKeyring } from '../../src/platform/encryption.ts'
import { createLinkVault } from '../../src/supply/gift-link.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { call, openShop } from '../../testing/shop.ts'

test('links, supplier secrets and our own keys are rewrapped under a new encryption key, and the old one can be removed', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const shop = await openShop({ keyring: openKeyring(localKeks(new Map([['old', old]]), 'old')) })
  const item = '10000000000000001'
  await putItems(shop.db, [itemOf(item)])
  await shop.operator.createSupplier({
    name: 'acme',
    url: 'https://acme.example/links',
    timeout_ms: 1_000,
    allowHttp: false,
  })
  const link = 'https://gift.example/bought'
  const bought = await call(shop.port, shop.key, 'POST', '/v1/orders', {
    body: JSON.stringify({ items: [{ id: item }], idempotency_key: 'rewrap-1' }),
  })
  await shop.operator.deliverOrder(bought.body.id, [link])
  await shop.operator.loadPool(item, ['https://gift.example/pooled'])

  const both = openKeyring(
    localKeks(
      new Map([
        ['old', old],
        ['next', next],
      ]),
      'next',
    ),
  )
  const operator = createOperator(
    { db: shop.db, keyring: both, clock: systemClock, cell: 'c1', admission: async () => shop.admission },
    'test',
  )
  const before = await countSealed(shop.db)
  expect(before).toEqual([{ kek_id: 'old', secrets: 5 }])
  const report = { onUnopened: () => {} }
  expect(await operator.rewrapSecrets(report)).toEqual({ rewrapped: 5, unopened: 0 })
  expect(await countSealed(shop.db)).toEqual([{ kek_id: 'next', secrets: 5 }])
  expect(await operator.rewrapSecrets(report)).toEqual({ rewrapped: 0, unopened: 0 })

  const onlyNext = createLinkVault(shop.db, openKeyring(localKeks(new Map([['next', next]]), 'next')))
  const order = { account_id: shop.account.id, id: bought.body.id as string }
  expect(await openLinks(shop.db, onlyNext, order)).toEqual([link])
  // The fingerprints still recognise links that came in under the old key.
  expect(await operator.loadPool(item, [link])).toMatchObject({ loaded: 0, known: [1] })
  await shop.close()
})
