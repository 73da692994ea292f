import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CartItem } from '@shopwire/contract'
import { wakeRestocked } from '../../../src/orders/fulfilment/wake-waiting.ts'
import { hashCart, placeOrder } from '../../../src/orders/placing/place-order.ts'
import { sql } from '../../../src/platform/database/db.ts'
import { newId } from '../../../src/platform/text/ids.ts'
import { Refusal, refuse, Unavailable } from '../../../src/platform/trouble.ts'
import { setEndpoint } from '../../../src/webhooks/endpoint.ts'
import { itemOf, putItems } from '../../items.ts'
import type { Random } from '../../random.ts'
import { ScheduleFailed } from '../schedule-failed.ts'
import type { SimulatedStore } from '../store.ts'
import { FAULTS, type Fault } from './faulty-database.ts'
import { type Api, type Process, startApi, startWorker, troubleOf } from './processes.ts'
import type { Receiver, startReceivers } from './receiver.ts'

export interface Lane extends SimulatedStore {
  readonly receivers: Awaited<ReturnType<typeof startReceivers>>
}

interface Account {
  readonly id: string
  readonly key_id: string
  readonly receiver: Receiver
  funded_cents: number
}

/** One idempotency key, and what its caller has been told. */
interface Purchase {
  readonly account: Account
  readonly idempotency_key: string
  readonly items: readonly CartItem[]
  order_id?: string
  /** Answers that said so; later ones repeat an earlier purchase. */
  times_bought: number
}

const FAULTS_MIN = 5
const STEPS_MIN = 12
/** A batch of orders is one use of the database; a delivery is several. */
const API_USES_MAX = 2
const WORKER_USES_MAX = 8
const HOLDS_UP = new Set<Fault>(['paused', 'slow'])
const ACCOUNTS = 3
const FUNDS_CENTS = 2_000
const SKEW_MS_MAX = 90_000
const PAUSE_MS = 70 * 60_000
const SETTLING_ROUNDS_MAX = 12
const BATCHING = ['always', 'adaptive', 'off'] as const

const STEPS = {
  buy: 3,
  'buy together': 4,
  'ask again': 3,
  'buy something else': 1,
  fulfil: 3,
  'fulfil together': 3,
  announce: 4,
  cancel: 1,
  'load the pool': 3,
  'change a price': 1,
  'stop or start selling': 1,
  'suspend or resume': 1,
  fund: 1,
  'set a clock': 1,
  'wait an hour': 1,
}
type Step = keyof typeof STEPS

/**
 * Callers that buy from two API processes, and two workers that deliver, while their processes are killed and paused, their clocks are
 * wrong, and their database loses connections and answers, is slow or full. In the end every key bought once or not at all, as its caller
 * was told, every order is delivered or cancelled, and every event arrived.
 */
export async function runSchedule(lane: Lane, n: number, random: Random): Promise<void> {
  const steps: string[] = []
  const note = (line: string) => void steps.push(line)
  const fail = (what: string): never => {
    throw new ScheduleFailed(`${what}\nsteps:\n  ${steps.join('\n  ')}`)
  }
  try {
    const world = await openWorld(lane, n, random, note, fail)
    for (let done = 0; done < STEPS_MIN || world.faults() < FAULTS_MIN; done += 1) await world.step()
    note('everything settles')
    await world.settle()
    for (const wrong of await world.wrong()) fail(wrong)
  } catch (error) {
    if (error instanceof ScheduleFailed) throw error
    fail(`${(error as Error).stack}`)
  }
}

async function openWorld(
  lane: Lane,
  n: number,
  random: Random,
  note: (line: string) => void,
  fail: (what: string) => never,
) {
  const { operator, admin, worker: db } = lane
  const [pooled, scarce, byHand] = [1, 2, 3].map((digit) => `6${String(n).padStart(15, '0')}${digit}`) as [
    string,
    string,
    string,
  ]
  const itemIds = [pooled, scarce, byHand]
  await putItems(
    admin,
    itemIds.map((id) => itemOf(id)),
  )
  for (const id of [pooled, scarce]) {
    await operator.chooseSource(id, { source: 'pool' })
    await operator.loadPool(id, [`https://gift.example/first/${id}`])
  }
  await operator.chooseSource(byHand, { source: 'hand' })
  const accounts: Account[] = []
  for (let k = 0; k < ACCOUNTS; k += 1) accounts.push(await openAccount(lane, `${n}-${k}`, random, note))
  const clockOf = () => {
    const skewMs = random.chance(0.5) ? 0 : random.below(2 * SKEW_MS_MAX) - SKEW_MS_MAX
    return { nowMs: () => lane.clock.nowMs() + skewMs }
  }
  const newApi = () => startApi(lane, random.pick(BATCHING), clockOf())
  const newWorker = () => startWorker(lane, clockOf())
  const apis = [newApi(), newApi()]
  const workers = [newWorker(), newWorker()]
  const purchases: Purchase[] = []
  const suspended = new Set<string>()
  let paused: Process | undefined
  let faults = 0
  let links = 0
  let references = 0

  const newLinks = (count: number) =>
    Array.from({ length: count }, () => {
      links += 1
      return `https://gift.example/pool/${n}/${links}`
    })
  const ordersOf = () => purchases.flatMap(({ order_id }) => order_id ?? [])

  function newPurchase(): Purchase {
    const items = itemIds
      .filter((id) => random.chance(id === byHand ? 0.1 : 0.5))
      .map((id) => ({
        id,
        qty: 1 + random.below(2),
        ...(random.chance(0.3) && { expected_price_cents: 100 }),
      }))
    const purchase = {
      account: random.pick(accounts),
      idempotency_key: `${n}-${purchases.length}`,
      items: items.length > 0 ? items : [{ id: pooled, qty: 1 }],
      times_bought: 0,
    }
    purchases.push(purchase)
    return purchase
  }

  async function buyerOf({ id: account_id, key_id }: Account) {
    const { status, access_version } = await db.one<{ status: string; access_version: number }>(
      sql`select status, access_version from accounts where id = ${account_id}`,
    )
    if (status !== 'active') throw refuse('account_suspended', 'suspended')
    return { account_id, key_id, access_version }
  }

  /** One request of a caller, and what it says about all requests before it. */
  async function ask(api: Api, purchase: Purchase, items = purchase.items): Promise<void> {
    const { account, idempotency_key } = purchase
    const request = { idempotency_key, items: [...items] }
    const attempt = {
      request_hash: hashCart(items),
      request_id: newId('req', lane.clock.nowMs()),
      client_address: null,
    }
    try {
      const buyer = await buyerOf(account)
      const outcome = await placeOrder(api.place, buyer, request, attempt, api.clock.nowMs(), () =>
        buyerOf(account),
      )
      const id = outcome.kind === 'bought' ? outcome.order.id : outcome.order_id
      note(`  ${idempotency_key}: ${outcome.kind} ${id}`)
      if (items !== purchase.items) fail(`${idempotency_key} bought a second cart`)
      if (outcome.kind === 'bought') purchase.times_bought += 1
      if (purchase.times_bought > 1 || ![undefined, id].includes(purchase.order_id))
        fail(`${idempotency_key} bought ${purchase.order_id} and then ${id}`)
      purchase.order_id = id
    } catch (error) {
      if (error instanceof Refusal) {
        note(`  ${idempotency_key}: ${error.type}`)
        const mayBe =
          items === purchase.items ? ['account_suspended'] : ['account_suspended', 'idempotency_conflict']
        if (purchase.order_id !== undefined && !mayBe.includes(error.type))
          fail(`${idempotency_key} bought ${purchase.order_id} and was then refused: ${error.type}`)
      } else note(`  ${idempotency_key}: ${troubleOf(error)}`)
    }
  }

  /** A process works while a fault waits for it; when it is held up, others work before it goes on. */
  async function withFault<P extends Process>(
    team: P[],
    usesMax: number,
    start: () => P,
    work: (process: P) => Promise<void>,
  ): Promise<void> {
    const process = random.pick(team)
    if (random.chance(0.3)) return work(process)
    const fault = random.pick(FAULTS)
    const at = 1 + random.below(usesMax)
    const meeting = process.meet(fault, at)
    const working = work(process)
    try {
      await Promise.race([meeting.happened, working])
      if (meeting.hasHappened()) {
        faults += 1
        note(`  ${fault} at ${at}`)
        if (HOLDS_UP.has(fault)) await meanwhile(process, team, work)
      }
    } finally {
      await meeting.release()
    }
    await working
    if (process.isDead()) team[team.indexOf(process)] = start()
  }

  async function meanwhile<P extends Process>(held: P, team: P[], work: (process: P) => Promise<void>) {
    paused = held
    const other = team.find((one) => one !== held)
    if (other) await work(other)
    if (random.chance(0.2)) await tryStep(random.pick(['cancel', 'load the pool', 'change a price'] as const))
    paused = undefined
  }

  const asking = (count: number, choose: () => Purchase) => {
    const chosen = Array.from({ length: count }, choose)
    return withFault(apis, API_USES_MAX, newApi, async (api) => {
      // Most of the same moment arrive at one process, and so in one batch; none at one that stands still.
      const anywhere = apis.filter((one) => one === api || one !== paused)
      await Promise.all(
        chosen.map((purchase) => ask(random.chance(0.8) ? api : random.pick(anywhere), purchase)),
      )
    })
  }

  async function fulfil(count: number): Promise<void> {
    const orders = Array.from({ length: Math.min(count, ordersOf().length) }, () => random.pick(ordersOf()))
    if (orders.length === 0) return
    await withFault(workers, WORKER_USES_MAX, newWorker, async (worker) => {
      for (const end of await worker.fulfil(orders)) note(`  ${end}`)
    })
  }

  const acts: Record<Step, () => Promise<void>> = {
    buy: () => asking(1, newPurchase),
    'buy together': () => asking(2 + random.below(5), newPurchase),
    async 'ask again'() {
      if (purchases.length > 0) await asking(1 + random.below(3), () => random.pick(purchases))
    },
    async 'buy something else'() {
      const bought = purchases.filter(({ order_id }) => order_id !== undefined)
      if (bought.length === 0) return
      const purchase = random.pick(bought)
      await ask(random.pick(apis), purchase, [{ id: pooled, qty: 9 }])
    },
    fulfil: () => fulfil(1),
    'fulfil together': () => fulfil(2 + random.below(6)),
    async announce() {
      const endpoints = await endpointsOf(lane, accounts)
      await withFault(workers, WORKER_USES_MAX, newWorker, async (worker) => {
        for (const end of await worker.announce(endpoints)) note(`  ${end}`)
      })
    },
    async cancel() {
      if (ordersOf().length > 0) await operator.cancelOrder(random.pick(ordersOf()), 'simulated')
    },
    async 'load the pool'() {
      const item = random.pick([pooled, pooled, scarce])
      await operator.loadPool(item, newLinks(item === scarce ? 1 : 1 + random.below(8)))
    },
    async 'change a price'() {
      await putItems(admin, [itemOf(random.pick(itemIds), { price_cents: random.pick([100, 150]) })])
    },
    async 'stop or start selling'() {
      await putItems(admin, [itemOf(random.pick(itemIds), { is_for_sale: random.chance(0.6) })])
    },
    async 'suspend or resume'() {
      const { id } = random.pick(accounts)
      if (suspended.delete(id)) return void (await operator.resumeAccount(id))
      suspended.add(id)
      await operator.suspendAccount(id, 'simulated')
    },
    fund: () => fund(random.pick(accounts)),
    async 'set a clock'() {
      if (random.chance(0.5)) apis[random.below(apis.length)] = newApi()
      else workers[random.below(workers.length)] = newWorker()
    },
    async 'wait an hour'() {
      lane.clock.advance(PAUSE_MS)
    },
  }

  async function fund(account: Account): Promise<void> {
    references += 1
    const fresh = { amount_cents: FUNDS_CENTS, reference: `${account.id} ${references}` }
    await operator.fundAccount(account.id, fresh)
    account.funded_cents += FUNDS_CENTS
  }

  /** What the store refuses, such as cancelling a delivered order, changes nothing; nor does what it could not do in time. */
  async function tryStep(what: Step): Promise<void> {
    note(what)
    try {
      await acts[what]()
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unavailable)) throw error
      note(`  ${error instanceof Refusal ? error.type : error.reason}`)
    }
  }

  async function settleOnce(): Promise<boolean> {
    lane.clock.advance(PAUSE_MS)
    const worker = startWorker(lane, lane.clock)
    while (await wakeRestocked(db));
    note(`  ${(await worker.fulfil(ordersOf())).join(', ')}`)
    note(`  ${(await worker.announce(await endpointsOf(lane, accounts))).join(', ')}`)
    const { open } = await db.one<{ open: number }>(sql`
      select (select count(*) from orders where account_id = any(${accounts.map(({ id }) => id)}) and status = 'paid')
             + (select count(*) from deliveries where account_id = any(${accounts.map(({ id }) => id)}) and state = 'pending')
               as open`)
    await nextTurn()
    return open === 0
  }

  return {
    faults: () => faults,
    step: () => tryStep(random.weighted(STEPS)),
    async settle() {
      for (const id of suspended) await operator.resumeAccount(id)
      await putItems(
        admin,
        itemIds.map((id) => itemOf(id)),
      )
      for (const account of accounts) {
        account.receiver.becomeReliable()
        await fund(account)
      }
      for (const id of itemIds) {
        await operator.chooseSource(id, { source: 'pool' })
        await operator.loadPool(id, newLinks(4 * purchases.length + 4))
      }
      for (const purchase of purchases) await ask(startApi(lane, 'off', lane.clock), purchase)
      for (let round = 0; round < SETTLING_ROUNDS_MAX; round += 1) if (await settleOnce()) return
      fail('orders or events are still open')
    },
    wrong: () => compare(lane, accounts, purchases),
  }
}

async function openAccount(
  { operator, admin, keyring, receivers, clock }: Lane,
  name: string,
  random: Random,
  note: (line: string) => void,
): Promise<Account> {
  const { id } = await operator.createAccount(name)
  await operator.fundAccount(id, { amount_cents: FUNDS_CENTS, reference: `opening ${id}` })
  const receiver = receivers.add(id, random, note)
  await admin.transaction((tx) =>
    setEndpoint(tx, keyring, { account_id: id, url: receiver.url, set_by: 'simulation' }, clock.nowMs()),
  )
  return { id, key_id: newId('key', clock.nowMs()), receiver, funded_cents: FUNDS_CENTS }
}

async function endpointsOf({ worker }: Lane, accounts: readonly Account[]): Promise<string[]> {
  const rows = await worker.many<{ id: string }>(
    sql`select id from webhook_endpoints where account_id = any(${accounts.map(({ id }) => id)})`,
  )
  return rows.map(({ id }) => id)
}

/** What callers were told and receivers got, against the database. */
async function compare(
  { worker }: Lane,
  accounts: readonly Account[],
  purchases: readonly Purchase[],
): Promise<string[]> {
  const ids = accounts.map(({ id }) => id)
  const orders = await worker.many<{
    id: string
    account_id: string
    key: string
    status: string
    total: number
  }>(sql`
    select id, account_id, idempotency_key as key, status, total_cents as total from orders where account_id = any(${ids})`)
  const balances = await worker.many<{ account_id: string; balance: number }>(
    sql`select account_id, balance_cents as balance from balances where account_id = any(${ids})`,
  )
  const wrong: string[] = []
  for (const { idempotency_key, order_id } of purchases) {
    const bought = orders.filter(({ key }) => key === idempotency_key).map(({ id }) => id)
    if (bought.join() !== (order_id ?? ''))
      wrong.push(
        `${idempotency_key} bought ${bought.join(' and ') || 'nothing'}; its caller was told ${order_id}`,
      )
  }
  const holders = new Map<string, string>()
  for (const { id, funded_cents, receiver } of accounts) {
    const own = orders.filter(({ account_id }) => account_id === id)
    const spent = own
      .filter(({ status }) => status !== 'cancelled')
      .reduce((sum, { total }) => sum + total, 0)
    const balance = balances.find(({ account_id }) => account_id === id)?.balance
    if (balance !== funded_cents - spent)
      wrong.push(`${id} has ${balance} cents of ${funded_cents}, and spent ${spent}`)
    for (const order of own) {
      const got = receiver.events.filter(({ data }) => 'order' in data && data.order.id === order.id)
      const missing = ['order.accepted', `order.${order.status}`].filter(
        (wanted) => !got.some(({ event }) => event === wanted),
      )
      if (missing.length > 0) wrong.push(`${order.id}: ${missing.join(' and ')} did not arrive`)
      for (const { data } of got) {
        for (const link of 'order' in data ? data.order.links : []) {
          const holder = holders.get(link) ?? order.id
          if (holder !== order.id) wrong.push(`${link} was given to ${holder} and to ${order.id}`)
          holders.set(link, order.id)
        }
      }
    }
  }
  return wrong
}
