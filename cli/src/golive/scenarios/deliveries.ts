import { WEBHOOK_TIMEOUT_MS_MAX } from '@shopwire/contract/limits'
import type { RecordedDelivery } from '@shopwire/emulator'
import { describeAnswer, isTwoHundred } from '../app.ts'
import type { Bench } from '../bench.ts'
import { unitsOf } from '../carts.ts'
import { genuine } from '../events.ts'
import { expectBoughtOnce } from '../expectations.ts'
import { NotRun, Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'
import { until } from '../until.ts'

const RECEIVE = 'guides/receive-webhooks.md'

/** What becomes of an order after it is paid. */
export const deliveries: readonly Scenario[] = [
  {
    id: 'genuine-event',
    title: 'Genuine events are accepted',
    needs: ['webhook'],
    does: 'One purchase; the emulator sends order.accepted and order.delivered.',
    means:
      'Your endpoint refuses the store. Most often the secret is another one, or a parser has changed the bytes.',
    fix: 'Check the signature over the raw bytes with the secret of this endpoint, and answer 2xx.',
    docs: `${RECEIVE}#check`,
    run: acceptsGenuine,
  },
  {
    id: 'delivered',
    title: 'A purchase is delivered, with all its links',
    needs: ['webhook', 'state'],
    does: 'One purchase; the emulator sends order.accepted and order.delivered.',
    means: 'Your customer has paid and gets nothing.',
    fix: 'On order.delivered keep all links of data.order. It may arrive before the answer to your own request.',
    docs: 'reference/events.md',
    run: deliversLinks,
  },
  {
    id: 'cancelled',
    title: 'An order that is cancelled and refunded ends as cancelled',
    needs: ['webhook', 'state'],
    does: 'The order is paid, cannot be fulfilled, and is cancelled and refunded.',
    means: 'The store gave the money back to you, and your customer waits for ever.',
    fix: 'On order.cancelled give your customer the money back or buy again under a new purchase, and mark this one cancelled.',
    docs: 'reference/events.md',
    run: noticesTheRefund,
  },
  {
    id: 'duplicate-event',
    title: 'An event that comes twice is handled once',
    needs: ['webhook', 'state'],
    does: 'The order.delivered of a purchase is sent two more times, with the same id and a fresh signature.',
    means: 'A link is handed out twice, or a customer is told twice.',
    fix: 'Store event ids under a unique index, in the transaction that does the work. Answer 2xx to what you have already.',
    docs: `${RECEIVE}#receive-webhooks`,
    run: handlesOnce,
  },
  {
    id: 'out-of-order',
    title: 'order.delivered before order.accepted: the purchase stays delivered',
    needs: ['webhook', 'state'],
    does: 'order.accepted is held back until order.delivered has been sent.',
    means: 'A delivered purchase goes back to paid, and its links are gone.',
    fix: 'Never let an older state overwrite a newer one: delivered and cancelled are final. webhooks.latest in the SDK tells which to keep.',
    docs: `${RECEIVE}#receive-webhooks`,
    run: staysDelivered,
  },
  {
    id: 'lost-event',
    title: 'Without its events a purchase is still delivered',
    needs: ['webhook', 'state', 'reconcile'],
    does: 'No event of the order arrives; then your reconciliation is asked to run.',
    means: 'One lost event is one customer without links, and nobody notices.',
    fix: 'From a clock, read every order that is not final in your books, and take what the store says.',
    docs: 'guides/recover-after-an-outage.md#orders-without-links',
    run: reconciles,
  },
  {
    id: 'prompt-answer',
    title: `Events are answered within ${WEBHOOK_TIMEOUT_MS_MAX / 1000} seconds`,
    needs: ['webhook'],
    does: 'One order.delivered; its answer is timed.',
    means: 'The store takes it for a failure and sends the event again, up to twelve times.',
    fix: 'Answer as soon as the event is safe in a queue of yours, and do the work afterwards.',
    docs: `${RECEIVE}#when-you-do-not-answer`,
    run: answersInTime,
  },
  {
    id: 'keeps-secrets',
    title: 'Answers give away neither links nor secrets',
    needs: ['webhook'],
    does: 'One order.delivered; your answer to it is searched for its links, and all your answers for secrets.',
    means: 'Answers end up in logs, here and on the way. Whoever reads a link can redeem it.',
    fix: 'Answer events with a status and nothing else.',
    docs: 'guides/go-live.md#links',
    run: keepsSecrets,
  },
]

async function acceptsGenuine(bench: Bench): Promise<void> {
  const { order } = await bench.sample()
  const sent = await bench.deliveriesOf(order.id)
  const refused = sent.find((delivery) => !isTwoHundred(delivery))
  if (!refused) return
  const why = refused.status === null ? (refused.error ?? 'no answer') : String(refused.status)
  throw new Problem(
    `Your endpoint did not accept a genuine ${refused.event}: ${why}.`,
    sent.map(describeDelivery),
  )
}

async function deliversLinks(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase({ linesMin: 2 })
  const { orders } = await bench.buy(purchase)
  const [order] = orders
  if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
  const wanted = unitsOf(purchase.items)
  const state = await bench.untilState(
    purchase,
    ({ status, links }) => status === 'delivered' && (links === undefined || links === wanted),
  )
  if (state) return
  const sent = await acceptedDeliveries(bench, order.id)
  const last = await bench.app.state(purchase.id)
  throw new Problem(
    last?.status === 'delivered'
      ? `The purchase has ${last.links} links in your state, and ${wanted} were delivered.`
      : `The store delivered the order; your state says ${last ? `"${last.status}"` : 'nothing'}.`,
    sent.map(describeDelivery),
  )
}

async function noticesTheRefund(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const { order, state } = await bench.withFault({ name: 'supplier_failure' }, async () => {
    const { orders } = await bench.buy(purchase)
    const order = orders[0]
    if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
    const isCancelled = await until(
      async () => (await bench.ordersFor(purchase)).some(({ status }) => status === 'cancelled'),
      bench.patienceMs,
    )
    if (!isCancelled) throw new NotRun('The emulator did not cancel the order in time.')
    return { order, state: await bench.untilState(purchase, ({ status }) => status === 'cancelled') }
  })
  if (state) return
  const last = await bench.app.state(purchase.id)
  const sent = await acceptedDeliveries(bench, order.id)
  throw new Problem(
    `The store cancelled the order and gave the money back; your state says ${last ? `"${last.status}"` : 'nothing'}.`,
    sent.map(describeDelivery),
  )
}

async function handlesOnce(bench: Bench): Promise<void> {
  const { purchase, delivered } = await bench.sample()
  const before = await bench.untilState(purchase, ({ status }) => status === 'delivered')
  if (!before) throw new NotRun('The purchase is not delivered in your state; see "delivered".')
  const { id } = JSON.parse(delivered) as { id: string }
  for (const copy of ['second', 'third']) {
    const answer = await bench.send(genuine(delivered, bench.secret, { id }))
    if (!isTwoHundred(answer)) {
      throw new Problem(
        `Your endpoint ${describeAnswer(answer)} to the ${copy} copy of an event. The store will send it again and again.`,
      )
    }
  }
  // An app that answers first and works later has not done its work yet; a change is looked for a little longer.
  const after = await until(async () => {
    const state = await bench.app.state(purchase.id)
    return state && (state.handled !== before.handled || state.links !== before.links) ? state : undefined
  }, SETTLE_MS)
  if (!after) return
  throw new Problem(
    after.links !== before.links
      ? `After two copies of one event the purchase has ${after.links} links instead of ${before.links}.`
      : `Two copies of an event were handled again: ${after.handled} events instead of ${before.handled}.`,
  )
}

async function staysDelivered(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  const sent = await bench.withFault({ name: 'out_of_order_events' }, async () => {
    const [order] = (await bench.buy(purchase)).orders
    if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
    return until(async () => {
      const seen = await bench.deliveriesOf(order.id)
      return (
        ['order.accepted', 'order.delivered'].every((name) => seen.some(({ event }) => event === name)) &&
        seen
      )
    }, bench.patienceMs)
  })
  if (!sent) throw new NotRun('The emulator did not send both events in time.')
  if (sent[0]?.event !== 'order.delivered') throw new NotRun('The emulator sent the events in order.')
  const wanted = unitsOf(purchase.items)
  const isRight = (state: { status: string; links: number | undefined } | undefined) =>
    state?.status === 'delivered' && (state.links === undefined || state.links === wanted)
  const state = await bench.untilState(purchase, isRight)
  // Work that is done after the answer may still spoil it.
  const spoilt = state && (await until(async () => !isRight(await bench.app.state(purchase.id)), SETTLE_MS))
  if (state && !spoilt) return
  await acceptedDeliveries(bench, sent[0].order_id ?? '')
  const last = await bench.app.state(purchase.id)
  throw new Problem(
    `After both events your state says ${last ? `"${last.status}" with ${last.links ?? 'unknown'} links` : 'nothing'}; the order is delivered with ${wanted}.`,
    sent.map(describeDelivery),
  )
}

async function reconciles(bench: Bench): Promise<void> {
  const purchase = await bench.newPurchase()
  await bench.withFault({ name: 'lost_event', times: 0 }, async () => {
    const outcome = await bench.buy(purchase)
    expectBoughtOnce(outcome)
    const isLost = await until(async () => {
      const [order] = await bench.ordersFor(purchase)
      const lost = order ? await bench.deliveriesOf(order.id) : []
      return order?.status === 'delivered' && lost.length >= 2
    }, bench.patienceMs)
    if (!isLost) throw new NotRun('The emulator did not deliver the order in time.')
  })
  const answer = await bench.app.reconcile(bench.patienceMs)
  if (!isTwoHundred(answer)) throw new Problem(`Your reconciliation ${describeAnswer(answer)}.`)
  const wanted = unitsOf(purchase.items)
  const state = await bench.untilState(
    purchase,
    ({ status, links }) => status === 'delivered' && (links === undefined || links === wanted),
  )
  if (state) return
  const last = await bench.app.state(purchase.id)
  throw new Problem(
    `The order is delivered, its events were lost, your reconciliation ran, and your state says ${last ? `"${last.status}" with ${last.links ?? 'unknown'} links` : 'nothing'}.`,
  )
}

async function answersInTime(bench: Bench): Promise<void> {
  // A slow endpoint holds up what comes after it, so the sample is asked for only when nothing was slow so far.
  refuseSlow(await bench.deliveries())
  const { delivered, delivery } = await bench.sample()
  refuseSlow([delivery])
  const answer = await bench.send(genuine(delivered, bench.secret))
  if (answer.status === null)
    throw new Problem(`Your endpoint ${describeAnswer(answer)} to an order.delivered.`)
}

function refuseSlow(sent: readonly RecordedDelivery[]): void {
  const slow = sent.find(
    ({ status, duration_ms }) => status === null && duration_ms > SLOW_SHARE * WEBHOOK_TIMEOUT_MS_MAX,
  )
  if (!slow) return
  const waitedS = (slow.duration_ms / 1000).toFixed(1)
  throw new Problem(`The store waited ${waitedS} s for your answer to an ${slow.event}, and gave up.`)
}

/** Whoever waited so much of the time and got nothing was not refused; they gave up. */
const SLOW_SHARE = 0.9

async function keepsSecrets(bench: Bench): Promise<void> {
  const { delivered } = await bench.sample()
  const { data } = JSON.parse(delivered) as { data: { order: { links: string[] } } }
  const answer = await bench.send(genuine(delivered, bench.secret))
  if (data.order.links.some((link) => answer.text.includes(link))) {
    throw new Problem('Your answer to an order.delivered contains its links.')
  }
  const { key } = await bench.emulator.about()
  const secrets = [key.secret, bench.secret, bench.parts.previousSecret].filter((one) => one !== undefined)
  const leak = bench.app.answers.find(({ text }) => secrets.some((secret) => text.includes(secret)))
  if (leak) throw new Problem(`An answer of your ${leak.from} endpoint contains a secret.`)
}

/** Who refuses genuine events, or is still at them, cannot know better, and is told so once. */
async function acceptedDeliveries(bench: Bench, orderId: string): Promise<RecordedDelivery[]> {
  const sent = await bench.deliveriesOf(orderId)
  const isFinal = ({ event }: RecordedDelivery) => event === 'order.delivered' || event === 'order.cancelled'
  if (!sent.some(isFinal))
    throw new NotRun('Your endpoint has not answered its event yet; see "prompt-answer".')
  if (sent.every(isTwoHundred)) return sent
  throw new NotRun('Your endpoint refuses genuine events; see "genuine-event".')
}

/** For how long a state that is right is watched before it is believed. */
const SETTLE_MS = 400

function describeDelivery(delivery: RecordedDelivery): string {
  const { event, event_id, status, error, fault } = delivery
  return [event, event_id, String(status ?? error ?? 'no answer'), fault && `(${fault})`]
    .filter(Boolean)
    .join('  ')
}
