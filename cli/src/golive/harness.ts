import { randomBytes } from 'node:crypto'
import { WEBHOOK_TIMEOUT_MS_MAX } from '@shopwire/contract/limits'
import type { EmulatedOrder, RecordedDelivery, RecordedRequest } from '@shopwire/emulator'
import { type App, type AppAnswer, type AppState, isTwoHundred } from './app.ts'
import { cartKey, distinctCarts, itemsIn, type Line, type Priced, totalOf, unitsOf } from './carts.ts'
import type { Emulator, FaultToArm } from './emulator.ts'
import { type EventToSend, genuine } from './events.ts'
import { NotRun } from './problem.ts'
import { until } from './until.ts'

export interface Purchase {
  readonly id: string
  readonly items: readonly Line[]
  readonly total_cents: number
  /** Records up to this number are older than the purchase. */
  readonly since: number
  readonly scenario: string
}

export interface Outcome {
  readonly purchase: Purchase
  /** `under_way`: it answered 202 and did not finish. */
  readonly said: 'bought' | 'not_bought' | 'under_way'
  readonly answer: AppAnswer
  /** Order requests at the emulator, oldest first. */
  readonly attempts: readonly RecordedRequest[]
  readonly orders: readonly EmulatedOrder[]
}

export interface Sample {
  readonly purchase: Purchase
  readonly order: EmulatedOrder
  /** The body of its `order.delivered`, as the emulator sent it. */
  readonly delivered: string
  /** The result of that delivery. */
  readonly delivery: RecordedDelivery
}

export interface BenchParts {
  readonly emulator: Emulator
  readonly app: App
  readonly accountId: string
  readonly secret: string | undefined
  readonly previousSecret: string | undefined
  readonly items: readonly Priced[]
  readonly patienceMs: number
  /** Records up to this number are older than the run. */
  readonly since: number
  /** Orders from before the run. */
  readonly earlierOrders: ReadonlySet<string>
}

/** An app that answered 202 and has no state endpoint counts as finished after this time without requests. */
const SILENCE_MS = 5_000

const WRITTEN_DOWN_MS = 1_000

/** The test harness of the scenarios: it controls the emulator and calls the integrator's code. */
export class Harness {
  readonly emulator: Emulator
  readonly app: App
  readonly parts: BenchParts
  /** The id of the scenario that runs. */
  scenario = ''
  /** The last reported result of every purchase. */
  readonly said = new Map<Purchase, Outcome['said']>()
  readonly #run = randomBytes(3).toString('hex')
  readonly #carts: Generator<readonly Line[], void>
  readonly #purchases: Purchase[] = []
  readonly #strays = new Map<string, Purchase>()
  #sample: Promise<Sample> | undefined
  #control: Promise<AppAnswer> | undefined

  constructor(parts: BenchParts) {
    this.parts = parts
    this.emulator = parts.emulator
    this.app = parts.app
    this.#carts = distinctCarts(parts.items)
  }

  get patienceMs(): number {
    return this.parts.patienceMs
  }

  /** Creates a purchase with a cart that no other purchase of this run has, unless one is given. */
  async newPurchase(wanted: { cart?: readonly Line[]; linesMin?: number } = {}): Promise<Purchase> {
    const items = wanted.cart ?? this.#nextCart(wanted.linesMin ?? 1)
    const since = await this.emulator.last()
    const id = `golive-${this.#run}-${this.#purchases.length + 1}`
    const purchase = { id, items, total_cents: totalOf(items), since, scenario: this.scenario }
    this.#purchases.push(purchase)
    return purchase
  }

  /** Sends the purchase to the buy endpoint once. */
  click({ id, items }: Purchase): Promise<AppAnswer> {
    return this.app.buy(id, items, 2 * this.patienceMs)
  }

  /** Sends the purchase once and waits for its outcome. */
  async buy(purchase?: Purchase): Promise<Outcome> {
    const wanted = purchase ?? (await this.newPurchase())
    // Another purchase may have had the same cart.
    const { length: before } = await this.ordersFor(wanted)
    return this.settle(wanted, await this.click(wanted), before)
  }

  /** Waits until the app has finished a purchase, and collects its outcome. */
  async settle(purchase: Purchase, answer: AppAnswer, ordersBefore = 0): Promise<Outcome> {
    const said = await this.#whatItSays(purchase, answer, ordersBefore)
    this.said.set(purchase, said)
    // The emulator records a request after its answer was sent, so the app may finish before the record exists.
    const attempts = await until(async () => {
      const seen = await this.attemptsFor(purchase)
      return seen.length > 0 && seen
    }, WRITTEN_DOWN_MS)
    const orders = await this.ordersFor(purchase)
    return { purchase, said, answer, attempts: attempts ?? [], orders }
  }

  async withFault<Result>(fault: FaultToArm, act: () => Promise<Result>): Promise<Result> {
    await this.emulator.arm(fault)
    try {
      return await act()
    } finally {
      await this.emulator.disarm(fault)
    }
  }

  /** An unknown cart is assigned to the latest purchase: the app changed the cart. */
  async attemptsFor(purchase: Purchase): Promise<RecordedRequest[]> {
    const { requests } = await this.emulator.requests(purchase.since)
    return requests.filter((request) => {
      if (request.method !== 'POST' || !/\/orders(\?|$)/.test(request.target) || !this.#isOurs(request))
        return false
      const owner = this.#ownerOf(cartKey(itemsIn(request.body))) ?? this.#purchases.at(-1)
      return isSameCart(owner, purchase)
    })
  }

  async looksAtStatus(purchase: Purchase): Promise<RecordedRequest[]> {
    const { requests } = await this.emulator.requests(purchase.since)
    return requests.filter(({ method, target }) => method === 'GET' && /\/status(\?|$)/.test(target))
  }

  async ordersFor(purchase: Purchase): Promise<EmulatedOrder[]> {
    const orders = await this.emulator.orders()
    return orders.filter(({ id, lines }) => {
      if (this.parts.earlierOrders.has(id)) return false
      const owner = this.#strays.get(id) ?? this.#ownerOf(cartKey(lines))
      // An order with an unknown cart is assigned to the purchase during which it first appeared, permanently.
      if (!owner) this.#strays.set(id, this.#purchases.at(-1) ?? purchase)
      return isSameCart(this.#strays.get(id) ?? owner, purchase)
    })
  }

  /** All purchases of this run that have finished, oldest first. */
  async deliveries(): Promise<RecordedDelivery[]> {
    const { deliveries } = await this.emulator.deliveries(this.parts.since)
    return deliveries.filter(({ account_id }) => account_id === this.parts.accountId)
  }

  async deliveriesOf(orderId: string, event?: string): Promise<RecordedDelivery[]> {
    const sent = await this.deliveries()
    return sent.filter((one) => one.order_id === orderId && (!event || one.event === event))
  }

  /** The first state that satisfies the condition, or undefined when none does in time. */
  untilState(purchase: Purchase, fits: (state: AppState) => boolean): Promise<AppState | undefined> {
    return until(async () => {
      const state = await this.app.state(purchase.id)
      return state && fits(state) ? state : undefined
    }, this.patienceMs)
  }

  /** One successful purchase with its event, created on first use. */
  sample(): Promise<Sample> {
    this.#sample ??= this.#makeSample()
    return this.#sample
  }

  send({ headers, body }: EventToSend): Promise<AppAnswer> {
    return this.app.event(headers, body, WEBHOOK_TIMEOUT_MS_MAX)
  }

  /** An event signed like the store's. */
  get secret(): string {
    if (!this.parts.secret) throw new NotRun('There is no webhook secret.')
    return this.parts.secret
  }

  /** An endpoint that refuses everything also refuses forgeries, so valid events are checked first. */
  async requireThatGenuineIsAccepted(): Promise<void> {
    const { delivered } = await this.sample()
    this.#control ??= this.send(genuine(delivered, this.secret))
    if (!isTwoHundred(await this.#control)) {
      throw new NotRun(
        'Your endpoint refuses genuine events too, so this result would prove nothing; see "genuine-event".',
      )
    }
  }

  /** With several lines, and a quantity above 1 in one of them. */
  #nextCart(linesMin: number): readonly Line[] {
    for (;;) {
      const { value: items, done } = this.#carts.next()
      if (done)
        throw new Error(
          'There are not enough items on sale to give every purchase its own cart. Name more with --items, or leave it out.',
        )
      if (linesMin === 1 || (items.length >= linesMin && unitsOf(items) > items.length)) return items
    }
  }

  async #makeSample(): Promise<Sample> {
    const purchase = await this.newPurchase()
    const { orders } = await this.buy(purchase)
    const [order] = orders
    if (!order || orders.length > 1) throw new NotRun('It needs one purchase that works; see "plain".')
    const delivery = await until(
      async () => (await this.deliveriesOf(order.id, 'order.delivered'))[0],
      // The emulator records a delivery after the endpoint answered or timed out.
      this.patienceMs + WEBHOOK_TIMEOUT_MS_MAX,
    )
    if (!delivery)
      throw new NotRun(
        'The emulator sent no order.delivered in time. Check that it is not set to fulfil late.',
      )
    return { purchase, order, delivered: delivery.body, delivery }
  }

  async #whatItSays(purchase: Purchase, answer: AppAnswer, ordersBefore: number): Promise<Outcome['said']> {
    if (answer.status !== 202) return isTwoHundred(answer) ? 'bought' : 'not_bought'
    if (this.app.urls.state) {
      const state = await this.untilState(purchase, ({ status }) => saysSettled(status) !== undefined)
      return (state && saysSettled(state.status)) ?? 'under_way'
    }
    // Without a state endpoint the emulator's records decide: there is an order, or no more requests arrive.
    let seen = -1
    let silentSince = performance.now()
    const bought = await until(async () => {
      if ((await this.ordersFor(purchase)).length > ordersBefore) return 'bought' as const
      const attempts = (await this.attemptsFor(purchase)).length
      if (attempts !== seen) silentSince = performance.now()
      seen = attempts
      return performance.now() - silentSince > SILENCE_MS ? ('under_way' as const) : undefined
    }, this.patienceMs)
    return bought ?? 'under_way'
  }

  #isOurs({ account_id }: RecordedRequest): boolean {
    // A request that was dropped before authentication has no account.
    return account_id === null || account_id === this.parts.accountId
  }

  #ownerOf(key: string | undefined): Purchase | undefined {
    return this.#purchases.findLast(({ items }) => cartKey(items) === key)
  }
}

function isSameCart(one: Purchase | undefined, other: Purchase): boolean {
  return one !== undefined && cartKey(one.items) === cartKey(other.items)
}

/** Undefined while it has not finished. */
function saysSettled(status: string): Outcome['said'] | undefined {
  if (['paid', 'delivered', 'cancelled'].includes(status)) return 'bought'
  return status === 'failed' ? 'not_bought' : undefined
}
