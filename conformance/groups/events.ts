import { setTimeout as sleep } from 'node:timers/promises'
import { group } from '../check.ts'
import { equal, fits, Mismatch, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { faultOf, type Inbox, type Received } from '../receiver.ts'
import { webhookEvent } from '../shapes.ts'
import type { Tools } from '../tools.ts'
import { bare } from './webhook-configuration.ts'

export const events = group('events', 'Events and delivery', ['webhooks', 'receiver'])
const { check } = events

const RETRY_MS = { min: 60_000, max: 66_000 }
/** A busy machine may be late, but never early. */
const LATE_MS = 6_000
const SOON_MS = 20_000

/** An account whose events go to an inbox of its own. */
async function listening(t: Tools) {
  const key = await bare(t)
  const inbox = t.receiver.open()
  const { secret } = (await t.post(key, '/webhook', { url: inbox.url })).is(200).json
  return { key, inbox, secret: secret as string }
}
const sendTest = async (t: Tools, key: Key) => (await t.post(key, '/webhook/test', {})).is(200)
const health = async (t: Tools, key: Key) => (await t.get(key, '/webhook')).is(200).json
const isTest = ({ json }: Received) => json?.event === 'test'
async function untilHealth(
  t: Tools,
  key: Key,
  what: string,
  holds: (found: Record<string, unknown>) => boolean,
) {
  const deadline = performance.now() + SOON_MS
  for (;;) {
    const found = await health(t, key)
    if (holds(found)) return found
    if (performance.now() > deadline)
      throw new Mismatch(`${what} within ${SOON_MS / 1000} s`, JSON.stringify(found))
    await sleep(250)
  }
}
function genuine(secret: string, event: Received) {
  const fault = faultOf(secret, event)
  if (fault !== undefined) throw new Mismatch('an event whose signature holds', fault)
}

const tested = (t: Tools) =>
  t.scene('test-event', async (tools) => {
    const { key, inbox, secret } = await listening(tools)
    await sendTest(tools, key)
    const event = await inbox.event('a test event', isTest)
    const after = await untilHealth(tools, key, 'nothing pending', ({ pending }) => pending === 0)
    return { event, secret, after }
  })
check('arrives', 'a test event arrives as a POST', ['ev.post', 'ev.test', 'whtest.queue'], async (t) =>
  equal('method', (await tested(t)).event.method, 'POST'),
)
check('json', 'its body is JSON and says so', ['ev.post'], async (t) => {
  const { event } = await tested(t)
  that(
    'application/json',
    /^application\/json\b/.test(event.headers['content-type'] ?? ''),
    event.headers['content-type'],
  )
  that('an object', typeof event.json === 'object' && event.json !== null, event.body.toString())
})
check(
  'body',
  'it has id, event, created_at and data, and nothing else',
  ['evb.id', 'evb.event', 'evb.created', 'evb.data'],
  async (t) => fits('the event', (await tested(t)).event.json, webhookEvent),
)
check(
  'header-timestamp',
  'X-Webhook-Timestamp is the time in digits',
  ['evh.timestamp', 'd3.timestamp', 'lim.webhook-clock'],
  async (t) => {
    const { event } = await tested(t)
    that('ten digits', /^[0-9]{10}$/.test(event.timestamp ?? ''), event.timestamp)
    that('a moment near now', Math.abs(Number(event.timestamp) - event.atMs / 1000) < 30, event.timestamp)
  },
)
check('header-id', 'X-Webhook-Id is the id of the event', ['evh.id', 'd3.event-id'], async (t) => {
  const { event } = await tested(t)
  equal('X-Webhook-Id', event.id, event.json.id)
})
check(
  'header-signature',
  'X-Webhook-Signature is 64 lower-case hex characters',
  ['evh.signature'],
  async (t) => {
    const { event } = await tested(t)
    that('64 hex characters', /^[0-9a-f]{64}$/.test(event.signature ?? ''), event.signature)
  },
)
check(
  'signature',
  'the signature is that of timestamp, id and raw body under the secret',
  ['ev.sign', 'd3.secret-form'],
  async (t) => {
    const { event, secret } = await tested(t)
    genuine(secret, event)
  },
)
check(
  'id-form',
  'the id is evt_ and 26 characters, without a period',
  ['evb.id', 'd3.event-id'],
  async (t) => {
    const { id } = (await tested(t)).event.json
    that('evt_ and 26 base32 characters', /^evt_[0-9a-hjkmnp-tv-z]{26}$/.test(id), id)
  },
)
check('test-data', 'a test carries a message and nothing else', ['d3.test-data', 'evb.data'], async (t) => {
  const { data } = (await tested(t)).event.json
  equal('members', Object.keys(data), ['message'])
  that('a text', typeof data.message === 'string' && data.message !== '', data.message)
})
check('created-at', 'created_at is the moment of the event', ['evb.created', 'd1.date-time'], async (t) => {
  const { event } = await tested(t)
  that(
    'a moment near now',
    Math.abs(Date.parse(event.json.created_at) - event.atMs) < 30_000,
    event.json.created_at,
  )
})
check(
  'health-after',
  'the health reports a delivery: nothing pending, nothing failed, and when it arrived',
  ['health.fields', 'd3.pending', 'ev.2xx'],
  async (t) => {
    const { after } = await tested(t)
    equal('failed', after.failed, 0)
    equal('last_error', after.last_error, null)
    that('last_delivered_at', typeof after.last_delivered_at === 'string', after.last_delivered_at)
  },
)

const ordered = (t: Tools) =>
  t.scene('order-events', async (tools) => {
    const { key, inbox, secret } = await listening(tools)
    const bought = (await tools.order(key, [{ id: tools.item('stocked').id, qty: 2 }])).is(201).json
    const of = (name: string, id: string) => (event: Received) =>
      event.json?.event === name && event.json?.data?.order?.id === id
    const accepted = await inbox.event('order.accepted', of('order.accepted', bought.id))
    const delivered = await inbox.event('order.delivered', of('order.delivered', bought.id))
    const read = (await tools.get(key, `/orders/${bought.id}`)).is(200).json
    let cancelled: Received | undefined
    let readCancelled: unknown
    if (tools.fixtures.operator) {
      const { id } = (await tools.order(key, [{ id: tools.item('plain').id }])).is(201).json
      await tools.operator.cancel(id)
      cancelled = await inbox.event('order.cancelled', of('order.cancelled', id))
      readCancelled = (await tools.get(key, `/orders/${id}`)).is(200).json
    }
    return { inbox, secret, bought, accepted, delivered, read, cancelled, readCancelled }
  })
const buying = { needs: ['spend', 'item:stocked', 'item:plain'] } as const
check(
  'accepted',
  'a purchase sends order.accepted with the order as it was bought',
  ['ev.order', 'd3.accepted', 'evb.event'],
  async (t) => {
    const { accepted, bought } = await ordered(t)
    equal('data.order', accepted.json.data.order, bought)
  },
  buying,
)
check(
  'accepted-no-links',
  'order.accepted has no links',
  ['d3.links-accepted'],
  async (t) => equal('links', (await ordered(t)).accepted.json.data.order.links, []),
  buying,
)
check(
  'delivered',
  'a delivery sends order.delivered with the order and its links',
  ['ev.order', 'd3.delivered', 'state.delivered'],
  async (t) => {
    const { delivered, read } = await ordered(t)
    equal('data.order', delivered.json.data.order, read)
    that('links', read.links.length === 2, read.links.length)
  },
  buying,
)
check(
  'cancelled',
  'a cancellation sends order.cancelled with the order, without links',
  ['ev.order', 'd3.delivered', 'd3.links-accepted'],
  async (t) => {
    const { cancelled, readCancelled } = await ordered(t)
    equal('data.order', cancelled?.json.data.order, readCancelled)
    equal('links', cancelled?.json.data.order.links, [])
  },
  { needs: [...buying.needs, 'operator'] },
)
check(
  'order-bodies',
  'order events have the shape of events, and nothing in data but the order',
  ['evb.data', 'd3.test-data', 'ev.order'],
  async (t) => {
    const { accepted, delivered } = await ordered(t)
    for (const { json } of [accepted, delivered]) {
      fits(json.event, json, webhookEvent)
      equal('members of data', Object.keys(json.data), ['order'])
    }
  },
  buying,
)
check(
  'order-signatures',
  'order events are signed as the test event is',
  ['ev.sign'],
  async (t) => {
    const { accepted, delivered, secret } = await ordered(t)
    for (const event of [accepted, delivered]) genuine(secret, event)
  },
  buying,
)
check(
  'ids-differ',
  'every event has an id of its own',
  ['evb.id'],
  async (t) => {
    const { accepted, delivered } = await ordered(t)
    that('two ids', accepted.json.id !== delivered.json.id, accepted.json.id)
  },
  buying,
)
check(
  'accepted-once',
  'one purchase is accepted once',
  ['d3.accepted'],
  async (t) => {
    const { inbox, bought } = await ordered(t)
    const ids = inbox.received
      .filter(({ json }) => json?.event === 'order.accepted' && json.data.order.id === bought.id)
      .map(({ id }) => id)
    equal('number of events', new Set(ids).size, 1)
  },
  buying,
)

/** A first attempt that fails, and what becomes of it a minute later. */
const retried = (t: Tools) =>
  t.scene('failed-attempt', async (tools) => {
    const { key, inbox, secret } = await listening(tools)
    let attempts = 0
    // A catalogue.changed may come in between.
    inbox.answers((event) => {
      if (isTest(event)) attempts += 1
      return { status: isTest(event) && attempts === 1 ? 500 : 204 }
    })
    await sendTest(tools, key)
    const failed = await inbox.event('a first attempt', isTest)
    const meanwhile = await untilHealth(
      tools,
      key,
      'last_error, and one pending',
      ({ last_error, pending }) => last_error !== null && pending === 1,
    )
    await sendTest(tools, key)
    const beside = await inbox.event(
      'a second event beside the failed one',
      (event) => isTest(event) && event.id !== failed.id,
    )
    const again = await inbox.event(
      'a second attempt',
      (event) => event.id === failed.id && event !== failed,
      RETRY_MS.max + LATE_MS,
    )
    const after = await untilHealth(tools, key, 'nothing pending', ({ pending }) => pending === 0)
    return { secret, failed, meanwhile, beside, again, after }
  })
const slow = { pace: 'slow' } as const
check(
  'retry-waits',
  'a failed delivery is tried again after one minute, and not before',
  ['ev.retry', 'lim.retries', 'd3.jitter'],
  async (t) => {
    const { failed, again } = await retried(t)
    const waitedMs = again.atMs - failed.atMs
    that(
      'between 60 and 66 s (72 on a busy machine)',
      waitedMs >= RETRY_MS.min - 500 && waitedMs <= RETRY_MS.max + LATE_MS,
      `${waitedMs} ms`,
    )
  },
  slow,
)
check(
  'retry-id',
  'the second attempt has the id of the first',
  ['d3.event-id', 'ev.retry', 'evh.id'],
  async (t) => {
    const { failed, again } = await retried(t)
    equal('X-Webhook-Id', again.id, failed.id)
    equal('id in the body', again.json.id, failed.json.id)
  },
  slow,
)
check(
  'retry-bytes',
  'the second attempt has the same bytes',
  ['d3.body-frozen'],
  async (t) => {
    const { failed, again } = await retried(t)
    equal('the body', again.body.toString(), failed.body.toString())
  },
  slow,
)
check(
  'retry-signed-afresh',
  'the second attempt has a fresh timestamp and its own signature',
  ['d3.timestamp', 'ev.sign'],
  async (t) => {
    const { failed, again, secret } = await retried(t)
    that('a later timestamp', Number(again.timestamp) >= Number(failed.timestamp) + 59, again.timestamp)
    genuine(secret, again)
  },
  slow,
)
check(
  'retry-health',
  'meanwhile it is pending, and the last error is returned; afterwards it is not',
  ['health.fields', 'd3.pending', 'd3.last-error'],
  async (t) => {
    const { meanwhile, after } = await retried(t)
    equal('pending', meanwhile.pending, 1)
    equal('failed', meanwhile.failed, 0)
    equal('last_error', meanwhile.last_error, 'http_500')
    that('last_failure_at', typeof meanwhile.last_failure_at === 'string', meanwhile.last_failure_at)
    equal('failed afterwards', after.failed, 0)
  },
  slow,
)
check(
  'no-blocking',
  'an event that fails holds up no other',
  ['d3.event-order'],
  async (t) => {
    const { beside, failed } = await retried(t)
    that('within seconds', beside.atMs - failed.atMs < SOON_MS, `${beside.atMs - failed.atMs} ms`)
  },
  slow,
)

check('redirect', 'a redirect is a failure and is not followed', ['ev.public', 'd3.success'], async (t) => {
  const { key, inbox } = await listening(t)
  const elsewhere = t.receiver.open()
  inbox.answers(() => ({ status: 307, headers: { location: elsewhere.url } }))
  await sendTest(t, key)
  const found = await untilHealth(t, key, 'last_error', ({ last_error }) => last_error !== null)
  equal('last_error', found.last_error, 'http_307')
  equal('events at the other place', elsewhere.received.length, 0)
})
for (const status of [200, 201, 299]) {
  check(`accepts-${status}`, `${status} accepts an event`, ['ev.2xx', 'd3.success'], async (t) => {
    const { key, inbox } = await listening(t)
    inbox.answers(() => ({ status }))
    await sendTest(t, key)
    await inbox.event('a test event', isTest)
    const found = await untilHealth(t, key, 'nothing pending', ({ pending }) => pending === 0)
    equal('last_error', found.last_error, null)
  })
}
for (const status of [400, 410, 503]) {
  check(
    `fails-${status}`,
    `${status} does not accept it: it stays pending`,
    ['ev.2xx', 'ev.retry', 'd3.success'],
    async (t) => {
      const { key, inbox } = await listening(t)
      inbox.answers(() => ({ status, headers: { 'retry-after': '1' } }))
      await sendTest(t, key)
      const found = await untilHealth(t, key, 'last_error', ({ last_error }) => last_error !== null)
      equal('last_error', found.last_error, `http_${status}`)
      equal('pending', found.pending, 1)
      equal('failed', found.failed, 0)
    },
  )
}
check(
  'retry-after-ignored',
  'a Retry-After of the receiver does not hurry the schedule',
  ['d3.receiver-retry-after', 'ev.retry'],
  async (t) => {
    const { key, inbox } = await listening(t)
    inbox.answers(() => ({ status: 503, headers: { 'retry-after': '1' } }))
    await sendTest(t, key)
    await inbox.event('a first attempt', isTest)
    await sleep(5_000)
    equal('attempts after 5 s', inbox.received.filter(isTest).length, 1)
  },
)

const moved = (t: Tools) =>
  t.scene('moved', async (tools) => {
    const { key, inbox, secret } = await listening(tools)
    inbox.answers(() => ({ status: 500 }))
    await sendTest(tools, key)
    await untilHealth(tools, key, 'last_error', ({ last_error }) => last_error !== null)
    const next = tools.receiver.open()
    const changed = (await tools.post(key, '/webhook', { url: next.url })).is(200)
    const attempts = inbox.received.filter(isTest).length
    await sendTest(tools, key)
    const event = await next.event('a test event at the new place', isTest)
    return { secret, inbox, next, changed, attempts, event, changedMs: Date.now() }
  })
check(
  'move-cancels',
  'another URL cancels what was queued, and counts begin anew',
  ['whbody.change-cancels', 'd3.change-url', 'd3.last-error'],
  async (t) => {
    const { json } = (await moved(t)).changed
    equal('pending', json.pending, 0)
    equal('last_error', json.last_error, null)
  },
)
check(
  'move-secret',
  'the account keeps its webhook secret when the URL changes',
  ['d3.change-url', 'ev.sign'],
  async (t) => {
    const { event, secret } = await moved(t)
    genuine(secret, event)
  },
)
check(
  'move-old-silent',
  'the old URL gets nothing more, not even the retry, and the new one gets only new events',
  ['whbody.change-cancels', 'd3.change-url'],
  async (t) => {
    const { inbox, next, attempts, changedMs, event } = await moved(t)
    await sleep(Math.max(0, changedMs + RETRY_MS.max + 1_000 - Date.now()))
    equal('attempts at the old place', inbox.received.filter(isTest).length, attempts)
    equal('ids at the new place', [...new Set(next.received.filter(isTest).map(({ id }) => id))], [event.id])
  },
  slow,
)
check('stop-cancels', 'null cancels what was queued', ['whbody.null', 'd3.idempotent'], async (t) => {
  const { key, inbox } = await listening(t)
  inbox.answers(() => ({ status: 500 }))
  await sendTest(t, key)
  await untilHealth(t, key, 'last_error', ({ last_error }) => last_error !== null)
  equal('pending', (await t.post(key, '/webhook', { url: null })).is(200).json.pending, 0)
})
check('same-url-keeps', 'the same URL again keeps what is queued', ['d3.same-url'], async (t) => {
  const { key, inbox } = await listening(t)
  inbox.answers(() => ({ status: 500 }))
  await sendTest(t, key)
  await untilHealth(t, key, 'last_error', ({ last_error }) => last_error !== null)
  equal('pending', (await t.post(key, '/webhook', { url: inbox.url })).is(200).json.pending, 1)
})
check(
  'no-backfill',
  'what happened without an endpoint is not sent later',
  ['d3.no-endpoint'],
  async (t) => {
    const key = await bare(t)
    ;(await t.order(key, [{ id: t.item('plain').id }])).is(201)
    const inbox: Inbox = t.receiver.open()
    ;(await t.post(key, '/webhook', { url: inbox.url })).is(200)
    await sendTest(t, key)
    await inbox.event('a test event', isTest)
    equal(
      'events',
      // That it was delivered may have happened since: some stores need no time for it.
      inbox.received
        .map(({ json }) => json.event)
        .filter((name) => name !== 'catalogue.changed' && name !== 'order.delivered'),
      ['test'],
    )
  },
  buying,
)
check(
  'first-in-order',
  'first attempts come in the order in which things happened',
  ['d3.event-order'],
  async (t) => {
    const { key, inbox } = await listening(t)
    for (let n = 0; n < 5; n += 1) {
      await sendTest(t, key)
      await inbox.event(`event ${n + 1}`, () => inbox.received.filter(isTest).length > n)
    }
    const times = inbox.received.filter(isTest).map(({ json }) => json.created_at)
    equal('created_at', times, [...times].sort())
  },
)
check(
  'rotation',
  'after a rotation the new secret signs, and the old one in a header of its own',
  ['whbody.separate-secret', 'd3.rotation', 'what.dashboard'],
  async (t) => {
    const { key, inbox, secret } = await listening(t)
    const next = await t.operator.rotateWebhookSecret(key.account)
    await sendTest(t, key)
    const event = await inbox.event('a test event', isTest)
    genuine(next, event)
    genuine(secret, { ...event, signature: String(event.headers['x-webhook-signature-previous']) })
  },
  { needs: ['operator'] },
)
check(
  'suspended',
  'nothing leaves while the account is suspended',
  ['d3.suspended'],
  async (t) => {
    const { key, inbox } = await listening(t)
    const { id } = (await t.order(key, [{ id: t.item('plain').id }])).is(201).json
    await inbox.event('order.accepted', ({ json }) => json?.event === 'order.accepted')
    await t.operator.suspend(key.account)
    t.afterwards(() => t.operator.resume(key.account))
    await t.operator.cancel(id)
    await sleep(3_000)
    equal(
      'events',
      inbox.received.map(({ json }) => json.event).filter((name) => name === 'order.cancelled'),
      [],
    )
  },
  { needs: [...buying.needs, 'operator'] },
)
check(
  'catalogue-changed',
  'a change of the catalogue is announced with its revision, and nothing about the items',
  ['evb.event', 'd3.catalogue-changed', 'evb.data'],
  async (t) => {
    const { inbox, secret } = await listening(t)
    const { id, price_cents } = t.item('frame')
    await t.operator.setPrice(id, price_cents + 1)
    t.afterwards(() => t.operator.setPrice(id, price_cents))
    const event = await inbox.event(
      'catalogue.changed',
      ({ json }) => json?.event === 'catalogue.changed',
      80_000,
    )
    fits('the event', event.json, webhookEvent)
    equal('members of data', Object.keys(event.json.data).sort(), ['refresh', 'revision'])
    equal('refresh', event.json.data.refresh, true)
    that(
      'a revision',
      typeof event.json.data.revision === 'string' && event.json.data.revision !== '',
      event.json.data.revision,
    )
    genuine(secret, event)
  },
  { needs: ['operator', 'item:frame'], pace: 'slow' },
)
