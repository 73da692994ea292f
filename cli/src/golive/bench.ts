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
  /** Records up to this one were there before. */
  readonly since: number
  readonly scenario: string
}

export interface Outcome {
  readonly purchase: Purchase
  /** `under_way`: it answered 202, and did not come to an end. */
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
  /** How that went. */
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
  /** Records up to this one were there before the run. */
  readonly since: number
  /** Orders that were there before the run. */
  readonly earlierOrders: ReadonlySet<string>
}

/** For how long an app that says "under way" and has no state endpoint may be silent until it counts as finished. */
const SILENCE_MS = 5_000

const WRITTEN_DOWN_MS = 1_000

/** What the scenarios work with: the emulator on one side, the integrator's code on the other. */
export class Bench {
  readonly emulator: Emulator
  readonly app: App
  readonly parts: BenchParts
  /** The id of the scenario that runs. */
  scenario = ''
  /** What was said at last of every purchase. */
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

  /** With a cart that no other purchase of this run has, unless one is given. */
  async newPurchase(wanted: { cart?: readonly Line[]; linesMin?: number } = {}): Promise<Purchase> {
    const items = wanted.cart ?? this.#nextCart(wanted.linesMin ?? 1)
    const since = await this.emulator.last()
    const id = `golive-${this.#run}-${this.#purchases.length + 1}`
    const purchase = { id, items, total_cents: totalOf(items), since, scenario: this.scenario }
    this.#purchases.push(purchase)
    return purchase
  }

  /** One click of the customer. */
  click({ id, items }: Purchase): Promise<AppAnswer> {
    return this.app.buy(id, items, 2 * this.patienceMs)
  }

  /** A click, and whatever follows from it. */
  async buy(purchase?: Purchase): Promise<Outcome> {
    const wanted = purchase ?? (await this.newPurchase())
    return this.settle(wanted, await this.click(wanted))
  }

  /** Waits until the app has come to an end with a purchase, and looks at what became of it. */
  async settle(purchase: Purchase, answer: AppAnswer): Promise<Outcome> {
    const said = await this.#whatItSays(purchase, answer)
    this.said.set(purchase, said)
    // A request is written down when its answer has left, and the app may be quicker.
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

  /** A cart nobody knows belongs to the latest purchase: somebody changed it on the way. */
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
      // An order with a cart nobody sent belongs to the purchase during which it came up, and stays there.
      if (!owner) this.#strays.set(id, this.#purchases.at(-1) ?? purchase)
      return isSameCart(this.#strays.get(id) ?? owner, purchase)
    })
  }

  /** All that were sent in this run and came to an end, oldest first. */
  async deliveries(): Promise<RecordedDelivery[]> {
    const { deliveries } = await this.emulator.deliveries(this.parts.since)
    return deliveries.filter(({ account_id }) => account_id === this.parts.accountId)
  }

  async deliveriesOf(orderId: string, event?: string): Promise<RecordedDelivery[]> {
    const sent = await this.deliveries()
    return sent.filter((one) => one.order_id === orderId && (!event || one.event === event))
  }

  /** The first state that fits, or undefined when none does in time. */
  untilState(purchase: Purchase, fits: (state: AppState) => boolean): Promise<AppState | undefined> {
    return until(async () => {
      const state = await this.app.state(purchase.id)
      return state && fits(state) ? state : undefined
    }, this.patienceMs)
  }

  /** One purchase that went well, with its event; made when first needed. */
  sample(): Promise<Sample> {
    this.#sample ??= this.#makeSample()
    return this.#sample
  }

  send({ headers, body }: EventToSend): Promise<AppAnswer> {
    return this.app.event(headers, body, WEBHOOK_TIMEOUT_MS_MAX)
  }

  /** An event as the store would sign it. */
  get secret(): string {
    if (!this.parts.secret) throw new NotRun('There is no webhook secret.')
    return this.parts.secret
  }

  /** What refuses everything also refuses forgeries; that proves nothing. */
  async requireThatGenuineIsAccepted(): Promise<void> {
    const { delivered } = await this.sample()
    this.#control ??= this.send(genuine(delivered, this.secret))
    if (!isTwoHundred(await this.#control)) {
      throw new NotRun('Your endpoint refuses genuine events too, so it proves nothing; see "genuine-event".')
    }
  }

  /** With more lines than one, also more than one of an item. */
  #nextCart(linesMin: number): readonly Line[] {
    for (;;) {
      const { value: items, done } = this.#carts.next()
      if (done)
        throw new Error(
          'There are not enough items on sale to tell purchases apart. Name more with --items, or leave it out.',
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
      // It is written down when the endpoint has answered, or has not.
      this.patienceMs + WEBHOOK_TIMEOUT_MS_MAX,
    )
    if (!delivery)
      throw new NotRun('The emulator sent no order.delivered in time; is it told to fulfil late?')
    return { purchase, order, delivered: delivery.body, delivery }
  }

  async #whatItSays(purchase: Purchase, answer: AppAnswer): Promise<Outcome['said']> {
    if (answer.status !== 202) return isTwoHundred(answer) ? 'bought' : 'not_bought'
    if (this.app.urls.state) {
      const state = await this.untilState(purchase, ({ status }) => saysSettled(status) !== undefined)
      return (state && saysSettled(state.status)) ?? 'under_way'
    }
    // Without a state the emulator has to tell: an order, or nobody asks for one any more.
    let seen = -1
    let silentSince = performance.now()
    const bought = await until(async () => {
      if ((await this.ordersFor(purchase)).length > 0) return 'bought' as const
      const attempts = (await this.attemptsFor(purchase)).length
      if (attempts !== seen) silentSince = performance.now()
      seen = attempts
      return performance.now() - silentSince > SILENCE_MS ? ('under_way' as const) : undefined
    }, this.patienceMs)
    return bought ?? 'under_way'
  }

  #isOurs({ account_id }: RecordedRequest): boolean {
    // What was cut off before anybody looked has no account.
    return account_id === null || account_id === this.parts.accountId
  }

  #ownerOf(key: string | undefined): Purchase | undefined {
    return this.#purchases.findLast(({ items }) => cartKey(items) === key)
  }
}

function isSameCart(one: Purchase | undefined, other: Purchase): boolean {
  return one !== undefined && cartKey(one.items) === cartKey(other.items)
}

/** Undefined: not yet. */
function saysSettled(status: string): Outcome['said'] | undefined {
  if (['paid', 'delivered', 'cancelled'].includes(status)) return 'bought'
  return status === 'failed' ? 'not_bought' : undefined
}
