import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { EmulatedOrder, Emulator, FaultName, RecordedDelivery } from '@shopwire/emulator'
import { Shopwire } from '@shopwire/sdk'
import { freePort } from '@shopwire/test-kit/servers'
import { expect, onTestFinished } from 'vitest'
import { type ExampleOptions, startExample } from './example.ts'

export const SECRET = 'whsec_example-of-today'
export const SECRET_PREVIOUS = 'whsec_example-of-yesterday'
/** Faults change prices for everybody, so tests that care have an item each. */
export const ITEMS = {
  buy: 'Aurora Ring',
  changes: 'Solar Wind',
  mirror: 'Polar Night',
  chat: 'Paper Lantern',
  chatChanges: 'Neon Rain',
}

/** An account with money, a key in the environment of its examples, and a folder for what they leave behind. */
export async function openBuyer(emulator: Emulator, { balanceCents = 50_000 } = {}) {
  const { accountId, key } = await emulator.createAccount({ balanceCents })
  const cwd = await makeFolder()
  const port = await freePort()
  const env = {
    SHOPWIRE_API_KEY: key.id,
    SHOPWIRE_API_SECRET: key.secret,
    SHOPWIRE_BASE_URL: emulator.baseUrl,
    SHOPWIRE_WEBHOOK_SECRET: SECRET,
    SHOPWIRE_WEBHOOK_SECRET_PREVIOUS: SECRET_PREVIOUS,
    PORT: String(port),
    SWEEP_EVERY_S: '1',
  }
  const options: ExampleOptions = { env, cwd }
  const shop = new Shopwire({ keyId: key.id, secret: key.secret, baseUrl: emulator.baseUrl })
  const idOf = async (name: string) => {
    const [item] = (await shop.catalogue.list({ search: name })).items
    if (!item) throw new Error(`the emulator does not sell ${name}`)
    return item.id
  }
  const inMirror = <Result>(work: (db: DatabaseSync) => Result) => {
    const db = new DatabaseSync(join(cwd, 'catalogue.db'), { timeout: 5_000 })
    try {
      return work(db)
    } finally {
      db.close()
    }
  }
  let bought = 0
  const buy = async (name: string) => {
    bought += 1
    return shop.orders.create({ items: [{ id: await idOf(name) }], idempotencyKey: `example-${bought}` })
  }
  return {
    options,
    shop,
    idOf,
    inMirror,
    arm: (name: FaultName, params: Record<string, unknown> = {}) =>
      emulator.arm({ name, account_id: accountId, ...params }),
    /** From now on events go to the example. */
    async listenAt() {
      const url = `http://localhost:${port}/hooks`
      await emulator.control('POST', '/webhook', { url, secret: SECRET, account_id: accountId })
      return url
    },
    async run(script: string, ...args: string[]) {
      const example = startExample([script, ...args], options)
      return { code: await example.end(), lines: example.lines(), printed: example.printed() }
    },
    buy,
    /** A fault strikes the next order that is fulfilled, so each has to be before the next is bought. */
    async buyAndAwait(status: string) {
      const order = await buy(ITEMS.buy)
      await expect.poll(async () => (await shop.orders.get(order.id)).status).toBe(status)
      return order
    },
    async orders() {
      const answer = await emulator.control<{ orders: EmulatedOrder[] }>(
        'GET',
        `/orders?account_id=${accountId}`,
      )
      return answer.orders
    },
    async deliveries(orderId: string, event: string) {
      const answer = await emulator.control<{ deliveries: RecordedDelivery[] }>(
        'GET',
        '/deliveries?limit=1000',
      )
      return answer.deliveries.filter((one) => one.order_id === orderId && one.event === event)
    },
    balanceCents: async () => (await shop.balance()).balance_cents,
    async catalogue() {
      const { items } = await shop.catalogue.list({ limit: 2_000 })
      return items.map(({ id, name, price_cents, sellable }) => ({ id, name, price_cents, sellable }))
    },
    mirrored: () =>
      inMirror((db) =>
        db
          .prepare(
            'select id, name, price_cents, sellable from items where vanished_at is null order by length(id), id',
          )
          .all()
          .map((row) => ({ ...row, sellable: row.sellable === 1 })),
      ),
  }
}

export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-example-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
