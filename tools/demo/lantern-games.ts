import { randomUUID } from 'node:crypto'
import type { CartItem } from '@shopwire/contract'
import type { Role } from '@shopwire/contract/dashboard'
import { join, memberOf, PEOPLE, type PersonName, type SignedUp, signUp } from './people.ts'
import { arrivals, chooseCart, createTrade, type DemoKey, type Wish } from './trade.ts'
import { DAY, type DemoItem, HOUR, MINUTE, SECOND, type World } from './world.ts'

export const LANTERN = { name: 'Lantern Games', days: 124 }
const GREENHOUSE = 'Greenhouse'
const AURORA_RING_CENTS = '549'
const FIRST_FUNDS_CENTS = 150_000
const TOP_UP_DAYS_LEFT = 7

export interface LanternOptions {
  readonly webhookUrl: string
  readonly signedUp: Map<PersonName, SignedUp>
}

/**
 * The busy account: a shop for players that has grown for four months. It has two servers with a key each, a team of four, a new collection that
 * sold well, a changed price, one bad afternoon of its webhook receiver, and a key that is being rotated out.
 */
export function tellLanternGames(world: World, { webhookUrl, signedUp }: LanternOptions): void {
  const { store, agenda, random, endMs, items } = world
  const { handlers, operator } = store
  const dayOf = (daysAgo: number) => Math.floor((endMs - daysAgo * DAY) / DAY) * DAY
  const at = (daysAgo: number, hour: number, run: () => Promise<unknown>) =>
    agenda.at(dayOf(daysAgo) + hour * HOUR + random.between(0, 59_999), run)
  const call = (who: PersonName, role: Role) => ({
    member: memberOf(store, account_id, signedUp.get(who) as SignedUp, role),
    id: '',
    query: undefined,
    nowMs: store.nowMs(),
  })
  const comesIn = (who: PersonName, role: Role) => async () => {
    const { email } = PEOPLE[who]
    const link = await store.invite(call('owner', 'owner').member, { email, role })
    agenda.at(store.nowMs() + random.between(20 * MINUTE, 3 * HOUR), async () => {
      const known = signedUp.get(who)
      if (known) await join(store, link, known)
      else signedUp.set(who, await signUp(store, link, PEOPLE[who]))
    })
  }
  const outageMs = dayOf(9) + 13 * HOUR + 10 * MINUTE
  const keys = new Map<string, DemoKey>()
  const makeKey = (name: string, scopes: readonly string[], address: string) => async () => {
    const body = { name, scopes: [...scopes] as never }
    const { key } = await handlers.createKey({ ...call('developer', 'developer'), body })
    keys.set(name, { id: key.id, address })
  }
  let account_id = ''
  let trade: ReturnType<typeof createTrade>
  let orders = 10_400
  let isTopUpOpen = false

  at(LANTERN.days, 9.2, async () => {
    account_id = (await operator.createAccount(LANTERN.name)).id
    trade = createTrade(world, account_id)
    world.receivers.set(account_id, receiverOf(world, outageMs))
    const { link } = await operator.invitePerson(account_id, { email: PEOPLE.owner.email, role: 'owner' })
    signedUp.set('owner', await signUp(store, link, PEOPLE.owner))
    await operator.fundAccount(account_id, {
      amount_cents: FIRST_FUNDS_CENTS,
      reference: 'SEPA 4471-0093 LANTERN GAMES',
      note: 'First funds',
    })
  })
  at(LANTERN.days, 10, comesIn('developer', 'developer'))
  at(LANTERN.days - 2, 8.6, comesIn('finance', 'finance'))
  at(LANTERN.days - 30, 11, comesIn('contractor', 'developer'))
  at(41, 15.4, comesIn('viewer', 'viewer'))
  at(29, 9.8, async () => {
    const person_id = signedUp.get('contractor')?.id ?? ''
    await handlers.removeMember({ ...call('owner', 'owner'), body: { person_id } })
  })
  at(2, 14.1, () =>
    store.invite(call('owner', 'owner').member, { email: 'hana.kim@lantern.example', role: 'developer' }),
  )

  const ordering = ['catalogue:read', 'orders:read', 'orders:write']
  const reading = ['account:read', 'catalogue:read', 'orders:read']
  at(LANTERN.days, 16, makeKey('storefront', ordering, '198.51.100.14'))
  at(LANTERN.days - 19, 12.5, makeKey('reconciliation', reading, '198.51.100.30'))
  at(LANTERN.days - 33, 10.2, makeKey('discord-bot', [...ordering, 'webhooks:read'], '198.51.100.77'))
  at(LANTERN.days - 36, 15, makeKey('staging', ordering, '203.0.113.9'))
  at(29, 10, async () => {
    const body = { id: keys.get('staging')?.id ?? '' }
    await handlers.revokeKey({ ...call('owner', 'owner'), body })
  })
  // Both keys live on until the second server has changed over.
  at(3, 13.6, async () => {
    const old = keys.get('storefront') as DemoKey
    const { key } = await handlers.rotateKey({ ...call('developer', 'developer'), body: { id: old.id } })
    keys.set('storefront-old', old)
    keys.set('storefront', { ...old, id: key.id })
  })

  at(52, 8.5, async () => {
    const ring = items[0] as DemoItem
    await operator.setItem(ring.id, { price_cents: AURORA_RING_CENTS })
    agenda.at(store.nowMs() + 2 * SECOND, announce)
  })
  at(80, 7.5, async () => {
    await store.importItems(items.filter(({ collection }) => collection === GREENHOUSE))
    agenda.at(store.nowMs() + 2 * SECOND, announce)
  })
  const announce = async () => {
    await store.announceCatalogue()
    trade.deliverSoon()
  }

  at(46, 9.4, () => store.setWebhook(call('developer', 'developer').member, webhookUrl))
  at(46, 9.5, async () => {
    await handlers.testWebhook({ ...call('developer', 'developer'), body: {} })
    trade.deliverSoon()
  })
  at(20, 10.7, () => handlers.rotateSecret({ ...call('developer', 'developer'), body: {} }))
  at(100, 9.1, async () => {
    const people = (['owner', 'finance'] as const).map((name) => signedUp.get(name)?.id ?? '')
    const body = { threshold_cents: 75_000, people }
    await handlers.setBalanceAlert({ ...call('finance', 'finance'), body })
  })

  for (let daysAgo = LANTERN.days - 1; daysAgo >= 0; daysAgo -= 1) {
    at(daysAgo, 8.2 + random.next(), topUpIfLow)
    agenda.at(dayOf(daysAgo), async () => {
      for (const ms of arrivals(world, dayOf(daysAgo), ordersPerDay(daysAgo))) agenda.at(ms, buy)
      for (let hour = 0; hour < 24; hour += 1) agenda.at(dayOf(daysAgo) + (hour + 0.05) * HOUR, reconcile)
    })
  }

  // Whatever the day and its hour are, and however little is bought: something was bought within the hour, a frame waits for its
  // operator, another was cancelled, and an event of the bad afternoon was given up.
  for (const minutesAgo of [56, 41, 33, 19, 8, 3])
    agenda.at(endMs - minutesAgo * MINUTE - random.between(0, 59_000), buy)
  agenda.at(endMs - 26 * MINUTE, () => orderFrame())
  at(6, 10.4, () => orderFrame({ isCancelled: true }))
  agenda.at(outageMs + 2 * MINUTE, buy)

  async function orderFrame(end: Pick<Wish, 'isCancelled'> = {}): Promise<void> {
    const [frame] = items.filter(({ type }) => type === 'frame')
    const cart = [{ id: frame?.id ?? '', qty: 1 }]
    const idempotency_key = `checkout-${orders}-frame`
    await trade.order({ key: chooseKey() as DemoKey, cart, idempotency_key, ...end }, items)
  }

  /** It grows from day to day; the new collection sold twice as much for a few days. */
  function ordersPerDay(daysAgo: number): number {
    const share = 1 - daysAgo / LANTERN.days
    const launch = daysAgo <= 80 && daysAgo > 75 ? 1.3 - 0.2 * (80 - daysAgo) : 0
    return world.pace * (7 + 24 * share ** 1.3) * (1 + Math.max(0, launch))
  }

  async function buy(): Promise<void> {
    const key = chooseKey()
    if (!key) return
    const isOut = (item: DemoItem) => item.collection === GREENHOUSE && store.nowMs() < dayOf(80) + 8 * HOUR
    const popular = items
      .filter((item) => !isOut(item))
      .map((item, n) => [item, item.type === 'frame' ? 2 : item.type === 'bundle' ? 8 : 26 - n] as const)
    const cart = chooseCart(world, popular).map(
      ({ item, qty }): CartItem => ({
        id: item.id,
        qty,
        // The bot names the price it showed, which on the day of a change is the old one.
        ...(key === keys.get('discord-bot') && { expected_price_cents: priceShown(item) }),
      }),
    )
    orders += random.between(1, 3)
    const prefix = key === keys.get('discord-bot') ? 'bot' : 'checkout'
    await trade.order({ key, cart, idempotency_key: `${prefix}-${orders}` }, items)
  }

  function priceShown(item: DemoItem): number {
    const isNew = store.nowMs() > dayOf(51)
    return item === items[0] && isNew ? Number(AURORA_RING_CENTS) : item.price_cents
  }

  /** The old key is still used by one server for a day and a half after the rotation. */
  function chooseKey(): DemoKey | undefined {
    const bot = keys.get('discord-bot')
    if (bot && random.chance(0.35)) return bot
    const old = keys.get('storefront-old')
    const isLingering = store.nowMs() < dayOf(3) + 13.6 * HOUR + 36 * HOUR
    return old && isLingering && random.chance(0.4) ? old : keys.get('storefront')
  }

  async function reconcile(): Promise<void> {
    const key = keys.get('reconciliation')
    if (!key) return
    for (let n = random.between(2, 5); n > 0; n -= 1)
      await store.read({ account_id, key_id: key.id, address: key.address })
  }

  /** Finance looks every morning; an operator confirms the transfer when the bank shows it. */
  async function topUpIfLow(): Promise<void> {
    const found = await handlers.getBalance({ ...call('owner', 'owner'), query: {}, body: undefined })
    const { days_left, per_day_cents } = found.burn
    const isAsked = signedUp.has('finance') && days_left !== null && days_left < TOP_UP_DAYS_LEFT
    if (!isAsked || isTopUpOpen) return
    const amount_cents = Math.max(100_000, Math.round((18 * per_day_cents) / 50_000) * 50_000)
    const body = { provider: 'bank' as const, amount_cents, attempt: randomUUID() }
    const { top_up } = await handlers.startTopUp({ ...call('finance', 'finance'), body })
    isTopUpOpen = true
    // The bank shows it on one of the next two days.
    const today = Math.floor(store.nowMs() / DAY) * DAY
    agenda.at(today + random.between(1, 2) * DAY + random.between(9 * HOUR, 16 * HOUR), async () => {
      const reference = `SEPA ${random.between(1000, 9999)}-${random.between(1000, 9999)} LANTERN GAMES`
      await operator.confirmTopUp(top_up.id, { amount_cents, reference })
      isTopUpOpen = false
    })
  }
}

/** Accepts within a moment, but for a failure now and then and eight and a half hours on one day. */
function receiverOf({ random }: World, outageMs: number) {
  const untilMs = outageMs + 8.5 * HOUR
  return (atMs: number) => {
    if (atMs >= outageMs && atMs < untilMs) {
      if (random.chance(0.25)) return 'timeout' as const
      return { status: atMs > untilMs - 40 * MINUTE ? 502 : 503, ms: random.duration(220) }
    }
    if (random.chance(0.006)) return { status: 502, ms: random.duration(900) }
    return { status: 200, ms: 12 + random.duration(60) }
  }
}
