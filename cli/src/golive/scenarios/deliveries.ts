import { WEBHOOK_TIMEOUT_MS_MAX } from '@shopwire/contract/limits'
import type { RecordedDelivery } from '@shopwire/emulator'
import { describeAnswer, isTwoHundred } from '../app.ts'
import { unitsOf } from '../carts.ts'
import { genuine } from '../events.ts'
import { expectBoughtOnce } from '../expectations.ts'
import type { Harness } from '../harness.ts'
import { NotRun, Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'
import { until } from '../until.ts'

const RECEIVE = 'guides/receive-webhooks.md'

/** Scenarios after an order is paid. */
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
    means: 'Your customer has paid and does not get the links.',
    fix: 'On order.delivered keep all links of data.order. It may arrive before the answer to your own request.',
    docs: 'reference/events.md',
    run: deliversLinks,
  },
  {
    id: 'cancelled',
    title: 'An order that is cancelled and refunded ends as cancelled',
    needs: ['webhook', 'state'],
    does: 'The order is paid, cannot be fulfilled, and is cancelled and refunded.',
    means: 'The store has refunded you, and your customer waits for ever.',
    fix: 'On order.cancelled refund your customer or buy again as a new purchase, and mark this one cancelled.',
    docs: 'reference/events.md',
    run: noticesTheRefund,
  },
  {
    id: 'duplicate-event',
    title: 'An event that comes twice is handled once',
    needs: ['webhook', 'state'],
    does: 'The order.delivered of a purchase is sent two more times, with the same id and a fresh signature.',
    means: 'A link is handed out twice, or a customer is notified twice.',
    fix: 'Store event ids under a unique index, in the transaction that does the work. Answer 2xx to events that you already have.',
    docs: `${RECEIVE}#receive-webhooks`,
    run: handlesOnce,
  },
  {
    id: 'out-of-order',
    title: 'order.delivered before order.accepted: the purchase stays delivered',
    needs: ['webhook', 'state'],
    does: 'order.accepted is held back until order.delivered has been sent.',
    means: 'A delivered purchase goes back to paid, and its links are gone.',
    fix: 'Never let an older state overwrite a newer one: delivered and cancelled are final. webhooks.latest in the SDK returns the state to keep.',
    docs: `${RECEIVE}#receive-webhooks`,
    run: staysDelivered,
  },
  {
    id: 'lost-event',
    title: 'Without its events a purchase is still delivered',
    needs: ['webhook', 'state', 'reconcile'],
    does: 'No event of the order arrives; then your reconciliation is asked to run.',
    means: 'After a lost event the customer never gets the links, and nothing reports it.',
    fix: 'On a schedule, read every order that is not final in your database, and store the state that the store returns.',
    docs: 'guides/recover-after-an-outage.md#orders-without-links',
    run: reconciles,
  },
  {
    id: 'prompt-answer',
    title: `Events are answered within ${WEBHOOK_TIMEOUT_MS_MAX / 1000} seconds`,
    needs: ['webhook'],
    does: 'One order.delivered; its answer is timed.',
    means: 'The store counts it as a failed attempt and sends the event again, up to twelve times.',
    fix: 'Answer as soon as the event is stored in a durable queue, and do the work afterwards.',
    docs: `${RECEIVE}#when-you-do-not-answer`,
    run: answersInTime,
  },
  {
    id: 'keeps-secrets',
    title: 'Answers contain neither links nor secrets',
    needs: ['webhook'],
    does: 'One order.delivered; your answer to it is searched for its links, and all your answers for secrets.',
    means: 'Answers are logged, at the store and by proxies. Whoever reads a link can redeem it.',
    fix: 'Answer events with a status and nothing else.',
    docs: 'guides/go-live.md#links',
    run: keepsSecrets,
  },
]

async function acceptsGenuine(harness: Harness): Promise<void> {
  const { order } = await harness.sample()
  const sent = await harness.deliveriesOf(order.id)
  const refused = sent.find((delivery) => !isTwoHundred(delivery))
  if (!refused) return
  const why = refused.status === null ? (refused.error ?? 'no answer') : String(refused.status)
  throw new Problem(
    `Your endpoint did not accept a genuine ${refused.event}: ${why}.`,
    sent.map(describeDelivery),
  )
}

async function deliversLinks(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase({ linesMin: 2 })
  const { orders } = await harness.buy(purchase)
  const [order] = orders
  if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
  const wanted = unitsOf(purchase.items)
  const state = await harness.untilState(
    purchase,
    ({ status, links }) => status === 'delivered' && (links === undefined || links === wanted),
  )
  if (state) return
  const sent = await acceptedDeliveries(harness, order.id)
  const last = await harness.app.state(purchase.id)
  throw new Problem(
    last?.status === 'delivered'
      ? `The purchase has ${last.links} links in your state, and ${wanted} were delivered.`
      : `The store delivered the order; your state says ${last ? `"${last.status}"` : 'nothing'}.`,
    sent.map(describeDelivery),
  )
}

async function noticesTheRefund(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const { order, state } = await harness.withFault({ name: 'supplier_failure' }, async () => {
    const { orders } = await harness.buy(purchase)
    const order = orders[0]
    if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
    const isCancelled = await until(
      async () => (await harness.ordersFor(purchase)).some(({ status }) => status === 'cancelled'),
      harness.patienceMs,
    )
    if (!isCancelled) throw new NotRun('The emulator did not cancel the order in time.')
    return { order, state: await harness.untilState(purchase, ({ status }) => status === 'cancelled') }
  })
  if (state) return
  const last = await harness.app.state(purchase.id)
  const sent = await acceptedDeliveries(harness, order.id)
  throw new Problem(
    `The store cancelled the order and gave the money back; your state says ${last ? `"${last.status}"` : 'nothing'}.`,
    sent.map(describeDelivery),
  )
}

async function handlesOnce(harness: Harness): Promise<void> {
  const { purchase, delivered } = await harness.sample()
  const before = await harness.untilState(purchase, ({ status }) => status === 'delivered')
  if (!before) throw new NotRun('The purchase is not delivered in your state; see "delivered".')
  const { id } = JSON.parse(delivered) as { id: string }
  for (const copy of ['second', 'third']) {
    const answer = await harness.send(genuine(delivered, harness.secret, { id }))
    if (!isTwoHundred(answer)) {
      throw new Problem(
        `Your endpoint ${describeAnswer(answer)} to the ${copy} copy of an event. The store will keep sending it.`,
      )
    }
  }
  // An app may answer first and work later, so the state is watched for a while.
  const after = await until(async () => {
    const state = await harness.app.state(purchase.id)
    return state && (state.handled !== before.handled || state.links !== before.links) ? state : undefined
  }, SETTLE_MS)
  if (!after) return
  throw new Problem(
    after.links !== before.links
      ? `After two copies of one event the purchase has ${after.links} links instead of ${before.links}.`
      : `Two copies of an event were handled again: ${after.handled} events instead of ${before.handled}.`,
  )
}

async function staysDelivered(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  const sent = await harness.withFault({ name: 'out_of_order_events' }, async () => {
    const [order] = (await harness.buy(purchase)).orders
    if (!order) throw new NotRun('It needs one purchase that works; see "plain".')
    return until(async () => {
      const seen = await harness.deliveriesOf(order.id)
      return (
        ['order.accepted', 'order.delivered'].every((name) => seen.some(({ event }) => event === name)) &&
        seen
      )
    }, harness.patienceMs)
  })
  if (!sent) throw new NotRun('The emulator did not send both events in time.')
  if (sent[0]?.event !== 'order.delivered') throw new NotRun('The emulator sent the events in order.')
  const wanted = unitsOf(purchase.items)
  const isRight = (state: { status: string; links: number | undefined } | undefined) =>
    state?.status === 'delivered' && (state.links === undefined || state.links === wanted)
  const state = await harness.untilState(purchase, isRight)
  // Work that is done after the answer may still change the state.
  const spoilt = state && (await until(async () => !isRight(await harness.app.state(purchase.id)), SETTLE_MS))
  if (state && !spoilt) return
  await acceptedDeliveries(harness, sent[0].order_id ?? '')
  const last = await harness.app.state(purchase.id)
  throw new Problem(
    `After both events your state says ${last ? `"${last.status}" with ${last.links ?? 'unknown'} links` : 'nothing'}; the order is delivered with ${wanted}.`,
    sent.map(describeDelivery),
  )
}

async function reconciles(harness: Harness): Promise<void> {
  const purchase = await harness.newPurchase()
  await harness.withFault({ name: 'lost_event', times: 0 }, async () => {
    const outcome = await harness.buy(purchase)
    expectBoughtOnce(outcome)
    const isLost = await until(async () => {
      const [order] = await harness.ordersFor(purchase)
      const lost = order ? await harness.deliveriesOf(order.id) : []
      return order?.status === 'delivered' && lost.length >= 2
    }, harness.patienceMs)
    if (!isLost) throw new NotRun('The emulator did not deliver the order in time.')
  })
  const answer = await harness.app.reconcile(harness.patienceMs)
  if (!isTwoHundred(answer)) throw new Problem(`Your reconciliation ${describeAnswer(answer)}.`)
  const wanted = unitsOf(purchase.items)
  const state = await harness.untilState(
    purchase,
    ({ status, links }) => status === 'delivered' && (links === undefined || links === wanted),
  )
  if (state) return
  const last = await harness.app.state(purchase.id)
  throw new Problem(
    `The order is delivered, its events were lost, your reconciliation ran, and your state says ${last ? `"${last.status}" with ${last.links ?? 'unknown'} links` : 'nothing'}.`,
  )
}

async function answersInTime(harness: Harness): Promise<void> {
  // A slow endpoint delays later events, so the sample is requested only when no answer was slow so far.
  refuseSlow(await harness.deliveries())
  const { delivered, delivery } = await harness.sample()
  refuseSlow([delivery])
  const answer = await harness.send(genuine(delivered, harness.secret))
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

/** After waiting this long without an answer, the attempt timed out; it was not refused. */
const SLOW_SHARE = 0.9

async function keepsSecrets(harness: Harness): Promise<void> {
  const { delivered } = await harness.sample()
  const { data } = JSON.parse(delivered) as { data: { order: { links: string[] } } }
  const answer = await harness.send(genuine(delivered, harness.secret))
  if (data.order.links.some((link) => answer.text.includes(link))) {
    throw new Problem('Your answer to an order.delivered contains its links.')
  }
  const { key } = await harness.emulator.about()
  const secrets = [key.secret, harness.secret, harness.parts.previousSecret].filter(
    (one) => one !== undefined,
  )
  const leak = harness.app.answers.find(({ text }) => secrets.some((secret) => text.includes(secret)))
  if (leak) throw new Problem(`An answer of your ${leak.from} endpoint contains a secret.`)
}

/** When the endpoint refuses genuine events, or is still handling them, that is reported once instead of as many failures. */
async function acceptedDeliveries(harness: Harness, orderId: string): Promise<RecordedDelivery[]> {
  const sent = await harness.deliveriesOf(orderId)
  const isFinal = ({ event }: RecordedDelivery) => event === 'order.delivered' || event === 'order.cancelled'
  if (!sent.some(isFinal))
    throw new NotRun('Your endpoint has not answered its event yet; see "prompt-answer".')
  if (sent.every(isTwoHundred)) return sent
  throw new NotRun('Your endpoint refuses genuine events; see "genuine-event".')
}

/** How long a correct state must last before it is accepted. */
const SETTLE_MS = 400

function describeDelivery(delivery: RecordedDelivery): string {
  const { event, event_id, status, error, fault } = delivery
  return [event, event_id, String(status ?? error ?? 'no answer'), fault && `(${fault})`]
    .filter(Boolean)
    .join('  ')
}
