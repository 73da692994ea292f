import { randomBytes } from 'node:crypto'
import { webhookHeaders } from '@shopwire/contract/headers'
import { WEBHOOK_RECEIVER_TOLERANCE_S } from '@shopwire/contract/limits'
import { type AppAnswer, describeAnswer, isTwoHundred } from '../app.ts'
import type { Bench } from '../bench.ts'
import { type EventToSend, genuine } from '../events.ts'
import { Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'

const RECEIVE = 'guides/receive-webhooks.md'
const STALE_S = WEBHOOK_RECEIVER_TOLERANCE_S + 60

/** What an endpoint must let in, and what it must not. */
export const signatures: readonly Scenario[] = [
  {
    id: 'forged-signature',
    title: 'A forged signature is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered whose signature is made up.',
    means: 'Whoever knows your URL can say that an order was delivered or refunded.',
    fix: 'Compute the HMAC over timestamp.id.body and compare it in constant time, before anything else is done.',
    docs: `${RECEIVE}#check`,
    run: refuses('an event with a made-up signature', (event) => ({
      ...event,
      headers: { ...event.headers, [webhookHeaders.signature]: randomBytes(32).toString('hex') },
    })),
  },
  {
    id: 'tampered-body',
    title: 'A body changed by one byte is refused with 4xx',
    needs: ['webhook'],
    does: 'A genuine order.delivered with one digit changed.',
    means: 'The signature is not checked against the body, so it protects nothing.',
    fix: 'The body belongs into the HMAC: timestamp, a period, the id, a period, then the raw bytes.',
    docs: `${RECEIVE}#check`,
    run: refuses('an event whose body was changed', (event) => ({
      ...event,
      body: changeOneDigit(event.body),
    })),
  },
  {
    id: 'missing-signature',
    title: 'An event without a signature is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered without the header X-Webhook-Signature.',
    means: 'Whoever leaves the header out is believed.',
    fix: 'No signature is a wrong signature.',
    docs: `${RECEIVE}#check`,
    run: refuses('an event without a signature', ({ headers, body }) => {
      const { [webhookHeaders.signature]: _, ...others } = headers
      return { headers: others, body }
    }),
  },
  {
    id: 'stale-timestamp',
    title: 'A timestamp six minutes off is refused with 4xx',
    needs: ['webhook'],
    does: 'A genuine order.delivered, signed six minutes ago; another, signed six minutes from now.',
    means: 'An event that was recorded once can be played back for ever.',
    fix: `Refuse timestamps more than ${WEBHOOK_RECEIVER_TOLERANCE_S} seconds from your clock.`,
    docs: `${RECEIVE}#check`,
    run: refusesStale,
  },
  {
    id: 'other-secret',
    title: 'A signature made with another secret is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered, signed with a secret that is not yours.',
    means: 'Every other customer of the store can sign events for you.',
    fix: 'Use the secret of this endpoint, exactly as it was shown, whsec_ included.',
    docs: `${RECEIVE}#check`,
    run: async (bench) => {
      const { delivered } = await bench.sample()
      await bench.requireThatGenuineIsAccepted()
      const other = `whsec_${randomBytes(32).toString('base64url')}`
      expectRefused(
        await bench.send(genuine(delivered, other)),
        "an event signed with somebody else's secret",
      )
    },
  },
  {
    id: 'empty-secret',
    title: 'A signature made with an empty secret is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered, signed with the empty string.',
    means: 'A variable that is not set has become a secret that everybody knows.',
    fix: 'Leave out secrets that are empty, and refuse to start without any.',
    docs: `${RECEIVE}#check`,
    run: async (bench) => {
      const { delivered } = await bench.sample()
      await bench.requireThatGenuineIsAccepted()
      expectRefused(await bench.send(genuine(delivered, '')), 'an event signed with an empty secret')
    },
  },
  {
    id: 'raw-bytes',
    title: 'Unusual but genuine bytes are accepted',
    needs: ['webhook'],
    does: 'A genuine order.delivered, written with odd spacing and escaped letters.',
    means: 'The body is parsed and written again before the check. It works until a name has an accent.',
    fix: 'Check the bytes as they arrived: turn the JSON parser off for this route, or use an adapter of the SDK.',
    docs: `${RECEIVE}#a-whole-receiver`,
    run: accepts('a genuine event with odd spacing and escapes', (event) => event, writeOddly),
  },
  {
    id: 'unknown-fields',
    title: 'Fields that nobody knows yet are ignored',
    needs: ['webhook'],
    does: 'A genuine order.delivered with more fields than there are today.',
    means: 'The day the store adds a field, all your events are refused.',
    fix: 'Read the fields you need and ignore the others.',
    docs: 'reference/versions.md',
    run: accepts('a genuine event with additional fields', addFields),
  },
  {
    id: 'unknown-event',
    title: 'An event type that nobody knows yet gets 2xx',
    needs: ['webhook'],
    does: 'A genuine event of the type account.notice.',
    means: 'The day the store adds an event, it fails here twelve times over.',
    fix: 'Answer 2xx to genuine events you have no use for.',
    docs: 'reference/versions.md',
    run: accepts('a genuine event of an unknown type', ({ created_at }) => ({
      event: 'account.notice',
      created_at,
      data: { message: 'A kind of event that does not exist yet.' },
    })),
  },
  {
    id: 'test-event',
    title: 'The test event gets 2xx',
    needs: ['webhook'],
    does: 'A genuine event of the type test, which has no order.',
    means: 'POST /webhook/test says that your endpoint is broken.',
    fix: 'Answer 2xx to test, and do not look for an order in it.',
    docs: 'reference/events.md',
    run: accepts('a genuine test event', ({ created_at }) => ({
      event: 'test',
      created_at,
      data: { message: 'A test event.' },
    })),
  },
  {
    id: 'rotation',
    title: 'While the secret rotates, both secrets are accepted',
    needs: ['webhook', 'previous_secret'],
    does: 'One event signed with the new secret, one signed with the previous one, one signed with both.',
    means: 'Between your deployment and the rotation every event is refused.',
    fix: 'Hold both secrets while you rotate, and accept what either of them signed.',
    docs: 'guides/rotate.md#the-webhook-secret',
    run: acceptsBothSecrets,
  },
  {
    id: 'rotated-first',
    title: 'When the store rotates before you do, the previous signature counts',
    needs: ['webhook'],
    does: 'An event signed with a secret you do not have yet, and in X-Webhook-Signature-Previous with the one you have.',
    means: 'From the moment of a rotation until your next deployment every event is refused.',
    fix: 'Check both X-Webhook-Signature and X-Webhook-Signature-Previous against every secret you hold.',
    docs: 'guides/rotate.md#the-webhook-secret',
    run: async (bench) => {
      const { delivered } = await bench.sample()
      await bench.requireThatGenuineIsAccepted()
      const next = `whsec_${randomBytes(32).toString('base64url')}`
      const event = genuine(delivered, next, { previous: bench.secret })
      expectAccepted(await bench.send(event), 'an event whose previous signature is yours')
    },
  },
]

type EventBody = { readonly event: string; readonly created_at: string; readonly data: object }

function refuses(what: string, spoil: (event: EventToSend) => EventToSend): Scenario['run'] {
  return async (bench) => {
    const { delivered } = await bench.sample()
    await bench.requireThatGenuineIsAccepted()
    expectRefused(await bench.send(spoil(genuine(delivered, bench.secret))), what)
  }
}

async function refusesStale(bench: Bench): Promise<void> {
  const { delivered } = await bench.sample()
  await bench.requireThatGenuineIsAccepted()
  const old = await bench.send(genuine(delivered, bench.secret, { offsetS: -STALE_S }))
  expectRefused(old, 'an event that was signed six minutes ago')
  const early = await bench.send(genuine(delivered, bench.secret, { offsetS: STALE_S }))
  expectRefused(early, 'an event that is signed six minutes from now')
}

function accepts(
  what: string,
  change: (event: EventBody) => object,
  write?: (event: object) => string,
): Scenario['run'] {
  return async (bench) => {
    const { delivered } = await bench.sample()
    await bench.requireThatGenuineIsAccepted()
    const event = change(JSON.parse(delivered) as EventBody)
    expectAccepted(await bench.send(genuine(event, bench.secret, write ? { write } : {})), what)
  }
}

async function acceptsBothSecrets(bench: Bench): Promise<void> {
  const { delivered } = await bench.sample()
  await bench.requireThatGenuineIsAccepted()
  const { previousSecret = '' } = bench.parts
  const both = genuine(delivered, bench.secret, { previous: previousSecret })
  expectAccepted(await bench.send(both), 'an event signed with both secrets')
  expectAccepted(await bench.send(genuine(delivered, bench.secret)), 'an event signed with the new secret')
  expectAccepted(
    await bench.send(genuine(delivered, previousSecret)),
    'an event signed with the previous secret',
  )
}

function expectRefused(answer: AppAnswer, what: string): void {
  if (answer.status !== null && answer.status >= 400 && answer.status < 500) return
  throw new Problem(`Your endpoint ${describeAnswer(answer)} to ${what}.`)
}

function expectAccepted(answer: AppAnswer, what: string): void {
  if (isTwoHundred(answer)) return
  throw new Problem(`Your endpoint ${describeAnswer(answer)} to ${what}.`)
}

/** The last digit of the total, or of whatever number comes first. */
function changeOneDigit(body: string): string {
  const changed = body.replace(
    /("total_cents":\d*)(\d)/,
    (_, rest: string, digit: string) => rest + ((Number(digit) + 1) % 10),
  )
  return changed === body ? body.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)) : changed
}

/** Indented with tabs, spaces before colons, and letters as escapes: the same JSON, other bytes. */
function writeOddly(event: object): string {
  const spaced = JSON.stringify(event, null, '\t').replaceAll('":', '" : ')
  return `\n${spaced.replaceAll('order.delivered', 'order\\u002edelivered').replaceAll('https:', 'https\\u003a')}\r\n`
}

function addFields(event: EventBody): object {
  const { order } = event.data as { order: object }
  return {
    ...event,
    api_version: '2',
    data: { ...event.data, order: { ...order, note: 'Schön', customs: { code: 7 } }, hints: ['new'] },
  }
}
