import { expect, test } from 'vitest'
import { checkChains } from '../../src/operations/seals/read-chains.ts'
import { sealNext } from '../../src/operations/seals/sealer.ts'
import { placeInBatches } from '../../src/orders/placing/order-batches.ts'
import { hashCart, placeOrder } from '../../src/orders/placing/place-order.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop } from '../../testing/shop.ts'

const ITEM = '10000000000000001'
const ROUNDS = 14
const ROUND_MS = 2_000
const BUYERS = 20

/** Two seconds of orders while everything that was bought since the last time is sealed, once, against two seconds without, in turn. Prints one line of JSON. */
test.runIf(process.env.SHOPWIRE_LONG === '1')(
  'what sealing costs orders is measured, and every order that was placed meanwhile is sealed',
  async () => {
    const shop = await openShop()
    await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 1 })])
    await shop.operator.chooseSource(ITEM, { source: 'hand' })
    const accounts: { id: string; access_version: number }[] = []
    for (let n = 0; n < BUYERS; n += 1) {
      const { id } = await shop.operator.createAccount(`Buyer ${n}`)
      await shop.operator.fundAccount(id, { amount_cents: 10_000_000, reference: `buyer ${n}` })
      accounts.push({ id, access_version: await versionOf(id) })
    }
    async function versionOf(id: string) {
      const { access_version } = await shop.database.owner.one<{ access_version: number }>({
        name: 'version',
        text: 'select access_version from accounts where id = $1',
        values: [id],
      })
      return access_version
    }
    const place = placeInBatches(shop.database.api, { mode: 'always' })
    let count = 0
    let nowMs = Date.now()
    const items = [{ id: ITEM }]
    async function buyUntil(endMs: number, account: (typeof accounts)[number]) {
      let bought = 0
      while (performance.now() < endMs) {
        count += 1
        await placeOrder(
          place,
          { account_id: account.id, key_id: 'test', access_version: account.access_version },
          { items, idempotency_key: `cost-${count}` },
          { request_hash: hashCart(items), request_id: 'req_test', client_address: '192.0.2.1' },
          Date.now(),
          () => Promise.reject(new Error('the account changed')),
        )
        bought += 1
      }
      return bought
    }
    async function sealAll() {
      nowMs += 3_600_000
      while (await sealNext(shop.database.worker, nowMs));
    }
    async function round(isSealing: boolean) {
      const beganMs = performance.now()
      const endMs = beganMs + ROUND_MS
      const sealing = isSealing ? sealAll() : undefined
      const bought = await Promise.all(accounts.map((account) => buyUntil(endMs, account)))
      const perSecond = (bought.reduce((sum, one) => sum + one, 0) * 1_000) / (performance.now() - beganMs)
      await sealing
      return perSecond
    }
    await round(true)
    const ratios: number[] = []
    for (let n = 0; n < ROUNDS; n += 1) {
      const isFirst = n % 2 === 0
      const [first, second] = [await round(isFirst), await round(!isFirst)]
      ratios.push(isFirst ? first / second : second / first)
    }
    ratios.sort((one, other) => one - other)
    const median = ((ratios[ROUNDS / 2 - 1] ?? 0) + (ratios[ROUNDS / 2] ?? 0)) / 2
    process.stdout.write(`${JSON.stringify({ orders: count, with_sealing_to_without: median, ratios })}\n`)
    await sealAll()
    expect(await checkChains(shop.database.operator)).toEqual({ C01: [], C02: [], C03: [] })
    await shop.close()
  },
  300_000,
)
