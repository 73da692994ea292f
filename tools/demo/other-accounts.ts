import { join, memberOf, PEOPLE, type PersonName, type SignedUp, signUp } from './people.ts'
import { arrivals, chooseCart, createTrade, type DemoKey } from './trade.ts'
import { DAY, HOUR, MINUTE, type World } from './world.ts'

export const KESTREL = { name: 'Kestrel Community', days: 33 }
export const QUIET_HARBOR = { name: 'Quiet Harbor' }

interface Options {
  readonly webhookUrl: string
  readonly signedUp: Map<PersonName, SignedUp>
}

/**
 * A small account in trouble: its receiver answers 404 since the day before yesterday, because its address was moved and nobody
 * changed the webhook. Its money runs out as well.
 */
export function tellKestrel(world: World, { webhookUrl, signedUp }: Options): void {
  const { store, agenda, random, endMs, items } = world
  const { handlers, operator } = store
  const dayOf = (daysAgo: number) => Math.floor((endMs - daysAgo * DAY) / DAY) * DAY
  const brokenMs = endMs - 31 * HOUR
  let account_id = ''
  let orders = 300
  let key: DemoKey | undefined
  let trade: ReturnType<typeof createTrade>
  const owner = () => ({
    member: memberOf(store, account_id, signedUp.get('neighbour') as SignedUp, 'owner'),
    id: '',
    query: undefined,
    nowMs: store.nowMs(),
  })

  agenda.at(dayOf(KESTREL.days) + 13 * HOUR, async () => {
    account_id = (await operator.createAccount(KESTREL.name)).id
    trade = createTrade(world, account_id)
    world.receivers.set(account_id, (atMs) =>
      atMs >= brokenMs ? { status: 404, ms: random.duration(45) } : { status: 204, ms: random.duration(90) },
    )
    await operator.fundAccount(account_id, { amount_cents: 120_000, reference: 'WIRE 20-7781 KESTREL' })
    const { email } = PEOPLE.neighbour
    const { link } = await operator.invitePerson(account_id, { email, role: 'owner' })
    signedUp.set('neighbour', await signUp(store, link, PEOPLE.neighbour))
    const scopes = ['account:read', 'catalogue:read', 'orders:read', 'orders:write']
    const body = { name: 'community-bot', scopes: scopes as never }
    const made = await handlers.createKey({ ...owner(), body })
    key = { id: made.key.id, address: '198.51.100.201' }
  })
  agenda.at(dayOf(19) + 9 * HOUR, () =>
    operator.fundAccount(account_id, { amount_cents: 90_000, reference: 'WIRE 20-9140 KESTREL' }),
  )
  agenda.at(dayOf(KESTREL.days - 1) + 11 * HOUR, () => store.setWebhook(owner().member, webhookUrl))
  agenda.at(dayOf(KESTREL.days - 2) + 17 * HOUR, async () => {
    const link = await store.invite(owner().member, { email: PEOPLE.owner.email, role: 'owner' })
    await join(store, link, signedUp.get('owner') as SignedUp)
  })
  const popular = items.filter(({ type }) => type !== 'frame').map((item, n) => [item, 30 - n] as const)
  const buy = async () => {
    if (!key) return
    orders += 1
    const cart = chooseCart(world, popular).map(({ item, qty }) => ({ id: item.id, qty }))
    await trade.order({ key, cart, idempotency_key: `kestrel-${orders}` }, items)
  }
  // Whatever the time of day is: events of all ages wait for their next attempt.
  for (const hoursAgo of [27, 20, 11, 5.4, 4.1, 2.6, 1.2, 0.4])
    agenda.at(endMs - hoursAgo * HOUR - random.between(0, 10 * MINUTE), buy)
  for (let daysAgo = KESTREL.days - 2; daysAgo >= 0; daysAgo -= 1) {
    agenda.at(dayOf(daysAgo), async () => {
      for (const ms of arrivals(world, dayOf(daysAgo), 4.5 * world.pace)) agenda.at(ms, buy)
    })
  }
}

/** An account of this morning, with one person and nothing else: its home page is the checklist. */
export function tellQuietHarbor(world: World, signedUp: Map<PersonName, SignedUp>): void {
  const { store, agenda, endMs } = world
  agenda.at(endMs - 100 * MINUTE, async () => {
    const { id } = await store.operator.createAccount(QUIET_HARBOR.name)
    const { email } = PEOPLE.newcomer
    const { link } = await store.operator.invitePerson(id, { email, role: 'owner' })
    signedUp.set('newcomer', await signUp(store, link, PEOPLE.newcomer))
  })
}
