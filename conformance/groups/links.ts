import { setTimeout as sleep } from 'node:timers/promises'
import { group } from '../check.ts'
import { equal, Mismatch, type Reply, that } from '../expect.ts'
import { order as orderShape } from '../shapes.ts'
import { newOrderKey, type Tools } from '../tools.ts'

export const links = group('links', 'Delivery, links and refunds', ['spend'])
const { check } = links

const DELIVERED_MS_MAX = 30_000
const LOOK_EVERY_MS = 250

/** An order of two units of what is in stock, waited for until it is delivered, and then read in every way. */
const delivery = (t: Tools) =>
  t.scene('delivery', async (tools) => {
    const key = await tools.buyer()
    const items = [{ id: tools.item('stocked').id, qty: 2 }]
    const idempotency_key = newOrderKey()
    const bought = (await tools.order(key, items, { idempotency_key })).is(201)
    const read = await untilStatus(() => tools.get(key, `/orders/${bought.json.id}`), 'delivered')
    const replayed = await tools.order(key, items, { idempotency_key })
    const list = await tools.get(key, '/orders')
    const writer = tools.fixtures.operator && (await tools.operator.newKey(key.account, 'orders:write'))
    const blind = writer && (await tools.order(writer, items, { idempotency_key }))
    const both =
      tools.fixtures.operator && (await tools.operator.newKey(key.account, 'orders:write,orders:read'))
    const seeing = both && (await tools.order(both, items, { idempotency_key }))
    return { bought, read, replayed, list, blind, seeing }
  })
async function untilStatus(read: () => Promise<Reply>, status: string): Promise<Reply> {
  const deadline = performance.now() + DELIVERED_MS_MAX
  for (;;) {
    const reply = (await read()).is(200)
    if (reply.json.status === status) return reply
    if (performance.now() > deadline)
      throw new Mismatch(`${status} within ${DELIVERED_MS_MAX / 1000} s`, reply.json.status)
    await sleep(LOOK_EVERY_MS)
  }
}
const stocked = { needs: ['item:stocked'] } as const

check(
  'delivered',
  'a delivered order is still an order',
  ['state.delivered', 'order.status', 'state.truth'],
  async (t) => (await delivery(t)).read.shaped(orderShape),
  stocked,
)
check(
  'delivered-at',
  'delivered_at is the time of delivery, not before created_at',
  ['order.delivered', 'state.delivered'],
  async (t) => {
    const { json } = (await delivery(t)).read
    that(
      'a moment not before created_at',
      Date.parse(json.delivered_at) >= Date.parse(json.created_at),
      json.delivered_at,
    )
  },
  stocked,
)
check(
  'one-per-unit',
  'there is one link for each unit, and none twice',
  ['order.links', 'd2.links', 'state.delivered'],
  async (t) => {
    const found = (await delivery(t)).read.json.links
    equal('number of links', found.length, 2)
    equal('number of different links', new Set(found).size, 2)
  },
  stocked,
)
check(
  'replay',
  'a replay shows the order as it is now, with its links',
  ['orule.6', 'd2.replay-body', 'orule.3'],
  async (t) => {
    const { replayed, read } = await delivery(t)
    equal('the order', replayed.is(200).json, read.json)
  },
  stocked,
)
check(
  'replay-write-only',
  'a key with orders:write alone sees no links of a delivered order',
  ['orule.6'],
  async (t) => {
    const { blind } = await delivery(t)
    blind?.is(200).shaped(orderShape)
    equal('status', blind?.json.status, 'delivered')
    equal('links', blind?.json.links, [])
  },
  { needs: ['item:stocked', 'operator'] },
)
check(
  'replay-both',
  'a key with orders:write and orders:read sees them',
  ['orule.6'],
  async (t) => {
    const { seeing, read } = await delivery(t)
    equal('links', seeing?.is(200).json.links, read.json.links)
  },
  { needs: ['item:stocked', 'operator'] },
)
check(
  'not-listed',
  'the list of orders shows no links',
  ['olist.summaries', 'summary.fields'],
  async (t) => {
    const { list, read } = await delivery(t)
    const text = list.is(200).body.toString()
    that(
      'no link in the list',
      read.json.links.every((link: string) => !text.includes(link)),
      'a link',
    )
  },
  stocked,
)
check(
  'not-cached',
  'an answer with links is not to be stored',
  ['d1.response-headers'],
  async (t) => equal('Cache-Control', (await delivery(t)).read.header('cache-control'), 'no-store'),
  stocked,
)
check(
  'status-listed',
  'the list shows that it is delivered',
  ['state.truth', 'order.status'],
  async (t) => {
    const { list, read } = await delivery(t)
    const listed = list.json.orders.find(({ id }: { id: string }) => id === read.json.id)
    equal('status', listed?.status, 'delivered')
  },
  stocked,
)

const cancellation = (t: Tools) =>
  t.scene('cancellation', async (tools) => {
    const key = await tools.buyer()
    const items = [{ id: tools.item('plain').id, qty: 3 }]
    const idempotency_key = newOrderKey()
    const before = await tools.balance(key)
    const { id } = (await tools.order(key, items, { idempotency_key })).is(201).json
    const between = await tools.balance(key)
    await tools.operator.cancel(id)
    const read = await tools.get(key, `/orders/${id}`)
    const replayed = await tools.order(key, items, { idempotency_key })
    return { before, between, after: await tools.balance(key), read, replayed }
  })
const cancelling = { needs: ['operator', 'item:plain'] } as const
check(
  'cancelled',
  'a cancelled order says so and has no links',
  ['state.cancelled', 'order.status', 'd2.links'],
  async (t) => {
    const { json } = (await cancellation(t)).read.is(200).shaped(orderShape)
    equal('status', json.status, 'cancelled')
    equal('links', json.links, [])
    equal('delivered_at', json.delivered_at, null)
  },
  cancelling,
)
check(
  'refunded',
  'a cancelled order is refunded in full',
  ['state.cancelled', 'd2.transitions'],
  async (t) => {
    const { before, between, after } = await cancellation(t)
    that('a debit first', between < before, between)
    equal('the balance after the refund', after, before)
  },
  cancelling,
)
check(
  'cancelled-replay',
  'its key stays taken: a replay shows the cancelled order and buys nothing',
  ['orule.3', 'd2.key-life', 'd2.replay-body'],
  async (t) => {
    const { replayed, read } = await cancellation(t)
    equal('the order', replayed.is(200).json, read.json)
  },
  cancelling,
)
