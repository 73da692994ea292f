import type { OrderRequest } from '@shopwire/contract'
import { type Buyer, newOrder } from '@shopwire/test-kit/people/buyer'
import { type Answer, type Connection, connect } from '@shopwire/test-kit/requests/connection'
import { outcomeOf, tally } from '@shopwire/test-kit/requests/load'
import { until } from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  createOperator,
  limitless,
  newLinks,
  type Operator,
  openSession,
  ownerSettings,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

const COPIES = 64
const KEYS = process.env.SHOPWIRE_LONG === '1' ? 200 : IS_SHORT ? 10 : 60
const SOON_MS = 60_000
const FLIPPING_MS_MAX = 120_000

let system: System
let shop: Shop

beforeAll(async () => {
  system = await startSystem({
    admission: 'postgres',
    apis: 2,
    settings: {
      ...limitless,
      // A hundred at once wait for ten connections: on a busy machine longer than the usual two seconds.
      SHOPWIRE_DATABASE_CONNECT_MS: '20000',
      SHOPWIRE_LOG_LEVEL: 'warn',
    },
  })
  shop = openShop(system)
}, START_MS_MAX)
afterAll(async () => {
  await system?.stop()
})

test(`threat 1: of ${COPIES} copies of one order sent at once to two processes, one gets 201 and all others 200 with the same order, ${KEYS} times over`, async ({
  annotate,
}) => {
  const [item = ''] = await shop.sell(100)
  const buyer = await shop.openBuyer(100 * KEYS)
  const connections = await connectAll(COPIES)
  let waitedTooLong = 0
  for (let n = 0; n < KEYS; n += 1) {
    const order = newOrder({ id: item })
    const answers = await Promise.all(connections.map((via) => buyer.place(via, order)))
    const { settled, repeated } = await settleAll(buyer, order, answers)
    waitedTooLong += repeated
    expect(tallyOf(settled)).toEqual({ '201': 1, '200': COPIES - 1 })
    expect(new Set(settled.map(({ body }) => body.id)).size).toBe(1)
  }
  closeAll(connections)
  await annotate(`${waitedTooLong} of ${KEYS * COPIES} got 503 and were sent again`)
  expect(await buyer.listOrders(firstPort())).toHaveLength(KEYS)
  expect(await buyer.readBalance(firstPort())).toBe(0)
  await shop.expectCleanBooks()
})

test('threat 2: of two carts racing under one idempotency key one gets 201, the other cart 409, and a copy of the first 200', async ({
  annotate,
}) => {
  const [cheap = '', dear = ''] = await shop.sell(100, 250)
  const rounds = 40
  const copies = 16
  const buyer = await shop.openBuyer(250 * rounds)
  const connections = await connectAll(copies)
  const wins = { cheap: 0, dear: 0 }
  for (let n = 0; n < rounds; n += 1) {
    const { idempotency_key } = newOrder()
    const carts = [cheap, dear].map((id): OrderRequest => ({ idempotency_key, items: [{ id }] }))
    const sent = connections.map((via, at) => ({ via, order: carts[(at + n) % 2] as OrderRequest }))
    const answers = await Promise.all(
      sent.map(async ({ via, order }) => ({ order, answer: await settleOn(buyer, via, order) })),
    )
    const bought = answers.filter(({ answer }) => answer.status === 201)
    expect(bought).toHaveLength(1)
    const [winner] = bought
    wins[winner?.order.items[0]?.id === cheap ? 'cheap' : 'dear'] += 1
    const same = answers.filter(({ order }) => order === winner?.order).map(({ answer }) => answer)
    const other = answers.filter(({ order }) => order !== winner?.order).map(({ answer }) => answer)
    expect(tallyOf(same)).toEqual({ '201': 1, '200': copies / 2 - 1 })
    expect(new Set(same.map(({ body }) => body.id)).size).toBe(1)
    expect(tallyOf(other)).toEqual({ '409 idempotency_conflict': copies / 2 })
  }
  closeAll(connections)
  await annotate(JSON.stringify(wins))
  expect(await buyer.listOrders(firstPort())).toHaveLength(rounds)
  await shop.expectCleanBooks()
})

test('threat 3: of 100 orders racing for a balance that covers 10, ten get 201, ninety get 402, and the balance is 0', async () => {
  const [item = ''] = await shop.sell(700)
  const connections = await connectAll(100)
  for (let n = 0; n < 5; n += 1) {
    const buyer = await shop.openBuyer(7_000)
    const answers = await Promise.all(connections.map((via) => settleOn(buyer, via, newOrder({ id: item }))))
    expect(tallyOf(answers)).toEqual({ '201': 10, '402 insufficient_funds': 90 })
    expect(await buyer.readBalance(firstPort())).toBe(0)
  }
  closeAll(connections)
  await shop.expectCleanBooks()
})

test('threat 3: of 32 one-cent orders racing for the last cent one gets 201, and no two-cent order does', async () => {
  const [one = '', two = ''] = await shop.sell(1, 2)
  const connections = await connectAll(64)
  for (let n = 0; n < 5; n += 1) {
    const buyer = await shop.openBuyer(1)
    const answers = await Promise.all(
      connections.map(async (via, at) => {
        const isOne = at % 2 === 0
        return { isOne, ...(await settleOn(buyer, via, newOrder({ id: isOne ? one : two }))) }
      }),
    )
    expect(tallyOf(answers)).toEqual({ '201': 1, '402 insufficient_funds': 63 })
    expect(answers.find(({ status }) => status === 201)?.isOne).toBe(true)
    expect(await buyer.readBalance(firstPort())).toBe(0)
  }
  closeAll(connections)
  await shop.expectCleanBooks()
})

test('threat 48: an order cancelled and delivered at once, each twice, ends refunded or delivered, never both', async ({
  annotate,
  onTestFinished,
}) => {
  const groups = 4
  const ordersPerGroup = 4
  const [item = ''] = await shop.sell(300)
  // A buyer each: two cancellations of one account would wait for its balance and not for the order.
  const buyers = await Promise.all(Array.from({ length: ordersPerGroup }, () => shop.openBuyer(300 * groups)))
  const patient = createOperator(() => ({
    ...system.settingsOf('operator'),
    ...ownerSettings(system.database),
    SHOPWIRE_DATABASE_LOCK_MS: '60000',
    SHOPWIRE_DATABASE_STATEMENT_MS: '60000',
  }))
  onTestFinished(() => patient.closeOperator())
  const ends = { cancelled: 0, delivered: 0 }
  for (let group = 0; group < groups; group += 1) {
    const orders = await Promise.all(
      buyers.map(async (buyer) => {
        const { status, body } = await buyer.settle(firstPort(), newOrder({ id: item }))
        expect(status).toBe(201)
        return { buyer, id: String(body.id) }
      }),
    )
    const ended = await raceToTheEnd(
      patient,
      orders.map(({ id }) => id),
      group,
    )
    for (const [at, { buyer, id }] of orders.entries()) {
      const { cancels, deliveries } = ended[at] as Race
      const order = await buyer.readOrder(firstPort(), id)
      const isDelivered = order.status === 'delivered'
      ends[isDelivered ? 'delivered' : 'cancelled'] += 1
      expect(order.status).toBe(isDelivered ? 'delivered' : 'cancelled')
      expect(order.links).toHaveLength(isDelivered ? 1 : 0)
      // Of those who asked for the end it came to, one did it. A second cancellation is the same one; a second delivery brought
      // another link, which was not used, and has to say so.
      const [winners, losers] = isDelivered ? [deliveries, cancels] : [cancels, deliveries]
      expect(winners.map(({ code }) => code).sort()).toEqual(isDelivered ? [0, OTHER_LINKS] : [0, 0])
      expect(winners.filter(({ isNew }) => isNew)).toHaveLength(1)
      expect(losers.every(({ code }) => code !== 0)).toBe(true)
      if (isDelivered) expect(order.links).toEqual([winners.find(({ isNew }) => isNew)?.link])
    }
  }
  await annotate(JSON.stringify(ends))
  const left = await Promise.all(buyers.map((buyer) => buyer.readBalance(firstPort())))
  expect(left.reduce((sum, cents) => sum + cents)).toBe(300 * ends.cancelled)
  await shop.expectCleanBooks()
})

/** The exit code of a delivery whose links are not those that were delivered. */
const OTHER_LINKS = 5

interface ActionResult {
  readonly code: number | null
  readonly isNew: boolean
  readonly link: string
}
interface Race {
  readonly cancels: ActionResult[]
  readonly deliveries: ActionResult[]
}

/** So that they really race, the orders stay locked until all commands wait for them. */
async function raceToTheEnd(patient: Operator, ids: readonly string[], group: number): Promise<Race[]> {
  const run = async (link: string, ...args: string[]): Promise<ActionResult> => {
    const { code, stdout } = await patient.runCommand('--json', 'orders', ...args)
    return { code, link, isNew: code === 0 && JSON.parse(stdout).isNew }
  }
  const waiting = () =>
    system.query(
      "select count(*) from pg_stat_activity where application_name = 'shopwire-admin' and wait_event_type = 'Lock'",
    )
  const untilWaiting = (count: number) =>
    until(
      async () => Number(await waiting()) >= count,
      SOON_MS,
      () => `fewer than ${count} commands wait`,
    )
  const session = await openSession(system.superuserUrl)
  await session.run(
    `begin; select from orders where id in (${ids.map((id) => `'${id}'`).join(', ')}) for update;`,
  )
  const cancel = (id: string) => run('', 'cancel', id, '--reason', 'e2e')
  const deliver = async (id: string) => {
    const [link = ''] = newLinks(1)
    return run(link, 'deliver', id, await shop.writeLines([link]))
  }
  // The first to ask is first in the lock queue: cancel in one group, deliver in the next, any order in the others.
  const isCancelFirst = group % 2 === 0
  const races = ids.map((id) => {
    const first = [0, 1].map(() => (isCancelFirst ? cancel(id) : deliver(id)))
    return { id, first }
  })
  if (group < 2) await untilWaiting(2 * ids.length)
  const all = races.map(({ id, first }) => {
    const second = [0, 1].map(() => (isCancelFirst ? deliver(id) : cancel(id)))
    return isCancelFirst ? { cancels: first, deliveries: second } : { cancels: second, deliveries: first }
  })
  await untilWaiting(4 * ids.length)
  await session.run('commit;')
  await session.end()
  const ended = await Promise.all(
    all.map(async ({ cancels, deliveries }) => ({
      cancels: await Promise.all(cancels),
      deliveries: await Promise.all(deliveries),
    })),
  )
  return ended
}

test('threat 47: while two prices change together a hundred times a second, nobody pays an unexpected price, and no cart mixes old and new prices', async ({
  annotate,
}) => {
  const flips = IS_SHORT ? 300 : 1_000
  const [first = '', second = ''] = await shop.sell(100, 200)
  const low = [100, 200] as const
  const high = [130, 250] as const
  const buyer = await shop.openBuyer(100_000_000)
  const session = await openSession(system.database.ownerUrl)
  let isFlipping = true
  const flipping = session
    .run(flipPrices({ [first]: [low[0], high[0]], [second]: [low[1], high[1]] }, flips), FLIPPING_MS_MAX)
    .finally(() => {
      isFlipping = false
    })

  const seen: Answer[] = []
  const paid = new Map<string, number>()
  const expectations = [undefined, low, high]
  const order = async (via: Connection, n: number) => {
    const expected = expectations[n % expectations.length]
    const ids = [first, second] as const
    const wanted = newOrder(
      ...ids.map((id, at) => ({ id, ...(expected && { expected_price_cents: expected[at] as number }) })),
    )
    const answer = await buyer.place(via, wanted)
    seen.push(answer)
    if (answer.status !== 201) return
    const prices = answer.body.lines.map((line: { unit_price_cents: number }) => line.unit_price_cents)
    expect([low, high]).toContainEqual(prices)
    if (expected) expect(prices).toEqual(expected)
    expect(answer.body.total_cents).toBe(prices[0] + prices[1])
    const name = `${expected ? 'expected' : 'any'} ${prices}`
    paid.set(name, (paid.get(name) ?? 0) + 1)
  }
  const connections = await connectAll(8)
  await Promise.all(
    connections.map(async (via, at) => {
      for (let n = at; isFlipping; n += 1) await order(via, n)
    }),
  )
  await flipping
  await session.end()
  closeAll(connections)
  await annotate(JSON.stringify({ ...tallyOf(seen), ...Object.fromEntries(paid) }))
  expect(Object.keys(tallyOf(seen)).sort()).toSatisfy(
    onlyOf('201', '409 price_changed', '503 service_unavailable'),
  )
  // Both prices were seen with and without an expected price; otherwise the test proves nothing.
  expect(paid.size).toBe(4)
  await shop.expectCleanBooks()
})

/** As an import does it: the revision first, then the items, in one commit. The whole loop is one statement. */
function flipPrices(prices: Record<string, readonly [number, number]>, flips: number): string {
  const cases = Object.entries(prices).map(
    ([id, [low, high]]) => `when '${id}' then case price_cents when ${low} then ${high} else ${low} end`,
  )
  const ids = Object.keys(prices).map((id) => `'${id}'`)
  return `
    do $$
    begin
      for n in 1..${flips} loop
        update catalogue_state set revision = revision + 1, changed_at = clock_timestamp();
        update items
           set price_cents = case id ${cases.join(' ')} end,
               revision = (select revision from catalogue_state)
         where id in (${ids.join(', ')});
        commit;
        perform pg_sleep(0.01);
      end loop;
    end $$;`
}

test('nothing sent after "store close" returned is bought; replays are still answered, and buying works again after "store open"', async ({
  annotate,
}) => {
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(10_000_000)
  const early = newOrder({ id: item })
  expect((await buyer.settle(firstPort(), early)).status).toBe(201)
  const flood = await startFlood(buyer, item)
  await flood.answered(({ status }) => status === 201)

  await system.admin('store', 'close', '--reason', 'e2e')
  const closedMs = performance.now()
  await flood.answered(({ sentMs }) => sentMs > closedMs)
  const replays = await Promise.all(
    system.ports.map(async (port) => {
      const via = await connect(port)
      const answer = await buyer.place(via, early)
      via.close()
      return answer
    }),
  )
  expect(tallyOf(replays)).toEqual({ '200': system.ports.length })

  const openingMs = performance.now()
  await system.admin('store', 'open')
  const openedMs = performance.now()
  await flood.answered(({ sentMs, status }) => sentMs > openedMs && status === 201)
  const answers = await flood.stop()
  const during = answers.filter(({ sentMs, receivedMs }) => sentMs > closedMs && receivedMs < openingMs)
  const afterwards = answers.filter(({ sentMs }) => sentMs > openedMs)
  await annotate(JSON.stringify({ during: tallyOf(during), afterwards: tallyOf(afterwards) }))
  expect(tallyOf(during)).toEqual({ '503 store_closed': during.length })
  expect(tallyOf(afterwards)).toEqual({ '201': afterwards.length })
  await shop.expectCleanBooks()
})

test('threat 31: nothing sent after "keys revoke" returned is bought', async ({ annotate }) => {
  const [item = ''] = await shop.sell(1)
  const buyer = await shop.openBuyer(10_000_000)
  const flood = await startFlood(buyer, item)
  await flood.answered(({ status }) => status === 201)

  await shop.revokeKey(buyer)
  const revokedMs = performance.now()
  const atRevocation = await countOrders(buyer)
  await flood.answered(({ sentMs }) => sentMs > revokedMs)
  const answers = await flood.stop()
  const after = answers.filter(({ sentMs }) => sentMs > revokedMs)
  await annotate(JSON.stringify({ all: tallyOf(answers), after: tallyOf(after) }))
  expect(Object.keys(tallyOf(after))).toSatisfy(onlyOf('401 authentication_failed', '429 rate_limited'))
  expect(await countOrders(buyer)).toBe(atRevocation)
  await shop.expectCleanBooks()
})

const FLOOD_CONNECTIONS = 16
const FLOOD_ANSWERS_MIN = 50

/** Orders, each with a key of its own, on every connection as fast as answers come. */
async function startFlood(buyer: Buyer, item: string) {
  const answers: Answer[] = []
  const connections = await connectAll(FLOOD_CONNECTIONS)
  let isRunning = true
  const driving = connections.map(async (via) => {
    while (isRunning) answers.push(await buyer.place(via, newOrder({ id: item })))
  })
  return {
    answered: (isMeant: (answer: Answer) => boolean) =>
      until(
        () => answers.filter(isMeant).length >= FLOOD_ANSWERS_MIN,
        SOON_MS,
        () => `too few answers: ${JSON.stringify(tallyOf(answers))}`,
      ),
    async stop() {
      isRunning = false
      await Promise.all(driving)
      closeAll(connections)
      return answers
    },
  }
}

/** Evenly over the processes, and already open before the first byte goes out, so that what is sent truly races. */
function connectAll(count: number): Promise<Connection[]> {
  return Promise.all(
    Array.from({ length: count }, (_, n) => connect(system.ports[n % system.ports.length] ?? 0)),
  )
}

function closeAll(connections: readonly Connection[]): void {
  for (const connection of connections) connection.close()
}

function firstPort(): number {
  return system.ports[0] ?? 0
}

/** A request that waited for the lock for more than two seconds gets 503 and is sent again. */
async function settleOn(buyer: Buyer, via: Connection, order: OrderRequest): Promise<Answer> {
  const answer = await buyer.place(via, order)
  return answer.status === 503 ? buyer.settle(firstPort(), order) : answer
}

async function settleAll(buyer: Buyer, order: OrderRequest, answers: readonly Answer[]) {
  const refused = answers.filter(({ status }) => status === 503)
  const again = await Promise.all(refused.map(() => buyer.settle(firstPort(), order)))
  return {
    settled: [...answers.filter(({ status }) => status !== 503), ...again],
    repeated: refused.length,
  }
}

async function countOrders({ account_id }: Buyer): Promise<number> {
  return Number(await system.query(`select count(*) from orders where account_id = '${account_id}'`))
}

function tallyOf(answers: readonly Answer[]): Record<string, number> {
  return tally(answers.map((answer) => outcomeOf(0, answer)))
}

const onlyOf =
  (...allowed: string[]) =>
  (seen: string[]) =>
    seen.every((kind) => allowed.includes(kind))
