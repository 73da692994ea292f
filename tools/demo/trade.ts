import type { CartItem } from '@shopwire/contract'
import { type DemoItem, HOUR, isByHand, MINUTE, newLinks, type World } from './world.ts'

export interface DemoKey {
  readonly id: string
  readonly address: string
}

/** What one customer wants, at the moment they want it. */
export interface Wish {
  readonly key: DemoKey
  readonly cart: readonly CartItem[]
  readonly idempotency_key: string
  /** What waits for an operator is cancelled. Without this, chance decides. */
  readonly isCancelled?: true
}

/** Orders come about as many as this by hour of the day, UTC. */
const HOURS = [9, 7, 5, 4, 3, 2, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 15, 18, 20, 21, 20, 18, 15, 12]
/** From Sunday to Saturday. */
const WEEKDAYS = [1.2, 0.85, 0.8, 0.85, 0.95, 1.25, 1.35]
const CANCEL_REASONS = ['The publisher withdrew this item.', 'No links could be obtained for this item.']

/** Times of one day's orders, as the days of a week and the hours of a day have them. */
export function arrivals({ random }: World, dayMs: number, mean: number): number[] {
  const weekday = WEEKDAYS[new Date(dayMs).getUTCDay()] ?? 1
  const hours = HOURS.map((weight, hour) => [hour, weight] as const)
  return Array.from({ length: random.count(mean * weekday) }, () => {
    return dayMs + random.weighted(hours) * HOUR + random.between(0, HOUR - 1)
  }).sort((a, b) => a - b)
}

/** The orders and events of one account. */
export function createTrade(world: World, account_id: string) {
  const { store, agenda, random, stock, endMs } = world
  let deliverMs: number | undefined

  /** Sends the account's events at this time; those that failed are sent again when they are due. */
  function deliverAt(ms: number): void {
    if (deliverMs !== undefined && deliverMs <= ms) return
    deliverMs = ms
    agenda.at(ms, async () => {
      if (deliverMs !== ms) return
      deliverMs = undefined
      const nextMs = await store.deliver(account_id)
      if (nextMs !== undefined) deliverAt(nextMs)
    })
  }
  /** A moment after something was committed. */
  const deliverSoon = () => deliverAt(store.nowMs() + random.between(150, 900))

  async function finishByHand(order_id: string, missing: number, isCancelled: boolean): Promise<void> {
    if (isCancelled) await store.operator.cancelOrder(order_id, random.pick(CANCEL_REASONS))
    else await store.operator.deliverOrder(order_id, newLinks(missing))
    deliverSoon()
  }

  async function order(wish: Wish, items: readonly DemoItem[]): Promise<void> {
    const { key, cart, idempotency_key } = wish
    const call = { account_id, key_id: key.id, address: key.address }
    const request = { items: [...cart], idempotency_key }
    // A quote comes first, and now and then somebody looks without buying.
    await store.read(call)
    const outcome = await store.buy(call, request)
    if (!('kind' in outcome) || outcome.kind !== 'bought') return
    const { id, lines } = outcome.order
    const now = store.nowMs()
    deliverSoon()
    // The caller's connection broke, and it asks again with the same key.
    if (random.chance(0.015)) agenda.at(now + random.between(1_200, 4_000), () => store.buy(call, request))
    const handMade = lines.filter((line) => items.some((item) => item.id === line.id && isByHand(item)))
    const missing = handMade.reduce((sum, { qty }) => sum + qty, 0)
    const doneMs = now + random.duration(missing > 0 ? 2_000 : 5_000)
    agenda.at(doneMs, async () => {
      for (const line of lines) if (!handMade.includes(line)) await stock.take(line.id, line.qty)
      await store.fulfil(account_id, id)
      deliverSoon()
    })
    const readyMs = missing > 0 ? now + random.between(6 * MINUTE, 50 * MINUTE) : doneMs
    // The newest ones are still waiting for their operator.
    const isLeftOpen = now > endMs - HOUR
    if (missing > 0 && !isLeftOpen)
      agenda.at(readyMs, () => finishByHand(id, missing, wish.isCancelled ?? random.chance(0.12)))
    const links = lines.reduce((sum, { qty }) => sum + qty, 0)
    agenda.at(readyMs + random.duration(3_000), async () => {
      const { status } = await store.orderStatus(account_id, id)
      if (status === 'delivered') await store.read(call, { order_id: id, links })
    })
  }

  return { order, deliverAt, deliverSoon }
}

/** One to three different items, mostly one of each. */
export function chooseCart(
  { random }: World,
  popular: readonly (readonly [DemoItem, number])[],
): { item: DemoItem; qty: number }[] {
  const wanted = random.weighted([
    [1, 60],
    [2, 28],
    [3, 12],
  ])
  const chosen = new Map<string, { item: DemoItem; qty: number }>()
  for (let n = 0; n < wanted; n += 1) {
    const item = random.weighted(popular)
    const qty = random.weighted([
      [1, 78],
      [2, 14],
      [3, 5],
      [5, 3],
    ])
    chosen.set(item.id, { item, qty })
  }
  return [...chosen.values()]
}
