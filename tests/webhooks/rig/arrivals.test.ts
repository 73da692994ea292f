import { until } from '@shopwire/test-kit/servers'
import { expect } from 'vitest'
import { ITEM, SOON_MS, test } from './rig.ts'

const EVENTS = 30

test('events of a real order arrive signed, over TLS, at the registered URL', async ({ rig, subscribe }) => {
  const { receiver, account_id, order, untilNothingPending } = await subscribe('hook.example.net')
  await rig.system.admin('accounts', 'fund', account_id, '1.00', '--reference', account_id)
  const { status, body } = await order({ items: [{ id: ITEM }], idempotency_key: 'rig-order' })
  expect(status).toBe(201)
  await untilNothingPending()
  expect(receiver.arrivals).toMatchObject([
    { event: 'order.accepted', url: 'https://hook.example.net/hook', isGenuine: true },
  ])
  expect(JSON.parse(receiver.arrivals[0]?.body ?? '').data.order.id).toBe(body.id)
})

test('an idle worker sends a new event promptly; the latency is printed', async ({ subscribe, annotate }) => {
  const { receiver, sendTest } = await subscribe('quick.example.net')
  const waits: number[] = []
  for (let n = 0; n < EVENTS; n += 1) {
    const sentMs = Date.now()
    await sendTest()
    await until(
      () => receiver.arrivals.length === n + 1,
      SOON_MS,
      () => 'the event does not arrive',
    )
    waits.push((receiver.arrivals[n]?.atMs ?? 0) - sentMs)
  }
  waits.sort((a, b) => a - b)
  await annotate(`event to first attempt: p50 ${waits[EVENTS / 2]} ms, most ${waits.at(-1)} ms`)
  expect(waits[EVENTS / 2]).toBeLessThan(250)
  expect(receiver.arrivals.every(({ isGenuine }) => isGenuine)).toBe(true)
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())
