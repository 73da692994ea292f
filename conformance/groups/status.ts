import { group } from '../check.ts'
import { equal, fits, that } from '../expect.ts'
import { count, dateTime, oneOf, serviceStatus } from '../shapes.ts'
import type { Tools } from '../tools.ts'

export const status = group('status', 'Service status')
const { check } = status

const read = (t: Tools) => t.scene('status', async (tools) => (await tools.send({ path: '/status' })).is(200))

check('public', 'answers 200 to a request without any signature', ['ep.status', 'ep.signed'], read)
check('shape', 'has its five fields and no others', ['res.present', 'ep.status'], async (t) =>
  (await read(t)).shaped(serviceStatus),
)
const fields = [
  ['status', oneOf('operational', 'degraded')],
  ['api', oneOf('up', 'unavailable')],
  ['store', oneOf('open', 'closed')],
  ['queue', count],
  ['updated', dateTime],
] as const
for (const [name, rule] of fields) {
  check(`field-${name}`, `${name} has one of its values`, [`status.${name}`], async (t) =>
    fits(name, (await read(t)).json?.[name], rule),
  )
}
check('fresh', 'was sampled less than a few seconds ago', ['status.updated', 'd2.status'], async (t) => {
  const { json } = (await t.send({ path: '/status' })).is(200)
  const ageMs = Date.now() - Date.parse(json.updated)
  that('a sample of the last 10 s', Math.abs(ageMs) < 10_000, `${ageMs} ms`)
})
check(
  'wrong-credentials',
  'does not look at credentials, not even wrong ones',
  ['d1.status-headers'],
  async (t) => {
    const reply = await t.send({
      path: '/status',
      headers: [
        ['X-Api-Key', 'nobody'],
        ['X-Api-Timestamp', '1'],
        ['X-Api-Nonce', 'zz'],
        ['X-Api-Signature', 'no'],
      ],
    })
    reply.is(200).shaped(serviceStatus)
  },
)
check('half-credentials', 'ignores incomplete credentials', ['d1.status-headers'], async (t) => {
  const reply = await t.send({ path: '/status', headers: [['X-Api-Timestamp', '1000000000']] })
  reply.is(200)
})
check('unknown-query', 'ignores unknown query parameters', ['d1.unknown-query'], async (t) => {
  ;(await t.send({ path: '/status?verbose=1' })).is(200)
})
check(
  'queue',
  'queue counts an order that is paid and not delivered',
  ['status.queue', 'd2.status'],
  async (t) => {
    const key = await t.buyer()
    ;(await t.order(key, [{ id: t.item('plain').id }])).is(201)
    const before = Date.now()
    for (;;) {
      const { json } = (await t.send({ path: '/status' })).is(200)
      if (json.queue > 0) return
      that('a queue of at least 1 within 5 s', Date.now() - before < 5_000, json.queue)
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  },
  { needs: ['spend', 'item:plain'] },
)
check(
  'closed',
  'reports that the store is closed, with status degraded',
  ['status.store', 'd2.status'],
  async (t) => {
    const { json } = await t.scene('closed', closedStore)
    equal('store', json.store, 'closed')
    equal('status', json.status, 'degraded')
  },
  { needs: ['operator', 'spend', 'item:plain'], pace: 'alone' },
)

/** Everything that is looked at while the store is closed; done once, and alone. */
export async function closedStore(t: Tools) {
  const key = await t.buyer()
  const cart = [{ id: t.item('plain').id }]
  const idempotency_key = `conf-closed-${Date.now()}`
  const bought = (await t.order(key, cart, { idempotency_key })).is(201)
  const balance = await t.balance(key)
  await t.operator.closeStore()
  t.afterwards(() => t.operator.openStore())
  const startedMs = performance.now()
  let seen = await t.send({ path: '/status' })
  while (seen.json?.store !== 'closed' && performance.now() - startedMs < 5_000) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    seen = await t.send({ path: '/status' })
  }
  const freed = `conf-freed-${Date.now()}`
  const closed = {
    json: seen.json,
    bought,
    refused: await t.order(key, cart, { idempotency_key: freed }),
    unavailable: await t.order(key, [{ id: '99999999999999999999' }]),
    replayed: await t.order(key, cart, { idempotency_key }),
    quoted: await t.post(key, '/quote', { items: cart }),
    listed: await t.get(key, '/catalogue?limit=1'),
    read: await t.get(key, `/orders/${bought.json.id}`),
    balanceBefore: balance,
    balanceAfter: await t.balance(key),
  }
  await t.operator.openStore()
  return { ...closed, reopened: await t.order(key, cart, { idempotency_key: freed }) }
}
