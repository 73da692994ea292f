import { randomBytes } from 'node:crypto'
import { webhookHeaders } from '@shopwire/contract/headers'
import { WEBHOOK_RECEIVER_TOLERANCE_S } from '@shopwire/contract/limits'
import { type AppAnswer, describeAnswer, isTwoHundred } from '../app.ts'
import { type EventToSend, genuine } from '../events.ts'
import type { Harness } from '../harness.ts'
import { Problem } from '../problem.ts'
import type { Scenario } from '../scenario.ts'

const RECEIVE = 'guides/receive-webhooks.md'
const STALE_S = WEBHOOK_RECEIVER_TOLERANCE_S + 60

/** Events that an endpoint must accept or refuse. */
export const signatures: readonly Scenario[] = [
  {
    id: 'forged-signature',
    title: 'A forged signature is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered whose signature is random.',
    means: 'Whoever knows your URL can report an order as delivered or refunded.',
    fix: 'Compute the HMAC over timestamp.id.body and compare it in constant time, before anything else is done.',
    docs: `${RECEIVE}#check`,
    run: refuses('an event with a random signature', (event) => ({
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
    fix: 'The HMAC must cover the body: timestamp, a period, the id, a period, then the raw bytes.',
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
    means: 'An attacker can leave out the header.',
    fix: 'Treat a missing signature as a wrong one.',
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
    means: 'A recorded event can be replayed for ever.',
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
    run: async (harness) => {
      const { delivered } = await harness.sample()
      await harness.requireThatGenuineIsAccepted()
      const other = `whsec_${randomBytes(32).toString('base64url')}`
      expectRefused(
        await harness.send(genuine(delivered, other)),
        "an event signed with somebody else's secret",
      )
    },
  },
  {
    id: 'empty-secret',
    title: 'A signature made with an empty secret is refused with 4xx',
    needs: ['webhook'],
    does: 'An order.delivered, signed with the empty string.',
    means: 'An unset variable acts as a secret that everybody knows.',
    fix: 'Ignore empty secrets, and refuse to start without a secret.',
    docs: `${RECEIVE}#check`,
    run: async (harness) => {
      const { delivered } = await harness.sample()
      await harness.requireThatGenuineIsAccepted()
      expectRefused(await harness.send(genuine(delivered, '')), 'an event signed with an empty secret')
    },
  },
  {
    id: 'raw-bytes',
    title: 'Unusual but genuine bytes are accepted',
    needs: ['webhook'],
    does: 'A genuine order.delivered, written with odd spacing and escaped letters.',
    means:
      'The body is parsed and serialised again before the check, which fails for names with non-ASCII letters.',
    fix: 'Check the bytes as they arrived: turn the JSON parser off for this route, or use an adapter of the SDK.',
    docs: `${RECEIVE}#a-whole-receiver`,
    run: accepts('a genuine event with odd spacing and escapes', (event) => event, writeOddly),
  },
  {
    id: 'unknown-fields',
    title: 'Unknown fields are ignored',
    needs: ['webhook'],
    does: 'A genuine order.delivered with more fields than there are today.',
    means: 'When the store adds a field, your endpoint refuses all events.',
    fix: 'Read the fields you need and ignore the others.',
    docs: 'reference/endpoints.md#versions',
    run: accepts('a genuine event with additional fields', addFields),
  },
  {
    id: 'unknown-event',
    title: 'An unknown event type gets 2xx',
    needs: ['webhook'],
    does: 'A genuine event of the type account.notice.',
    means: 'When the store adds an event type, each such event fails twelve times.',
    fix: 'Answer 2xx to genuine events that you do not handle.',
    docs: 'reference/endpoints.md#versions',
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
    means: 'POST /webhook/test makes your endpoint look broken.',
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
    fix: 'Keep both secrets during a rotation, and accept signatures made with either.',
    docs: 'guides/keys-and-tokens.md#the-webhook-secret',
    run: acceptsBothSecrets,
  },
  {
    id: 'rotated-first',
    title: 'When the store rotates before you do, the previous signature is accepted',
    needs: ['webhook'],
    does: 'An event signed with a secret you do not have yet, and in X-Webhook-Signature-Previous with the one you have.',
    means: 'From the moment of a rotation until your next deployment every event is refused.',
    fix: 'Check both X-Webhook-Signature and X-Webhook-Signature-Previous against every secret you hold.',
    docs: 'guides/keys-and-tokens.md#the-webhook-secret',
    run: async (harness) => {
      const { delivered } = await harness.sample()
      await harness.requireThatGenuineIsAccepted()
      const next = `whsec_${randomBytes(32).toString('base64url')}`
      const event = genuine(delivered, next, { previous: harness.secret })
      expectAccepted(await harness.send(event), 'an event whose previous signature is yours')
    },
  },
]

type EventBody = { readonly event: string; readonly created_at: string; readonly data: object }

function refuses(what: string, spoil: (event: EventToSend) => EventToSend): Scenario['run'] {
  return async (harness) => {
    const { delivered } = await harness.sample()
    await harness.requireThatGenuineIsAccepted()
    expectRefused(await harness.send(spoil(genuine(delivered, harness.secret))), what)
  }
}

async function refusesStale(harness: Harness): Promise<void> {
  const { delivered } = await harness.sample()
  await harness.requireThatGenuineIsAccepted()
  const old = await harness.send(genuine(delivered, harness.secret, { offsetS: -STALE_S }))
  expectRefused(old, 'an event that was signed six minutes ago')
  const early = await harness.send(genuine(delivered, harness.secret, { offsetS: STALE_S }))
  expectRefused(early, 'an event that is signed six minutes from now')
}

function accepts(
  what: string,
  change: (event: EventBody) => object,
  write?: (event: object) => string,
): Scenario['run'] {
  return async (harness) => {
    const { delivered } = await harness.sample()
    await harness.requireThatGenuineIsAccepted()
    const event = change(JSON.parse(delivered) as EventBody)
    expectAccepted(await harness.send(genuine(event, harness.secret, write ? { write } : {})), what)
  }
}

async function acceptsBothSecrets(harness: Harness): Promise<void> {
  const { delivered } = await harness.sample()
  await harness.requireThatGenuineIsAccepted()
  const { previousSecret = '' } = harness.parts
  const both = genuine(delivered, harness.secret, { previous: previousSecret })
  expectAccepted(await harness.send(both), 'an event signed with both secrets')
  expectAccepted(
    await harness.send(genuine(delivered, harness.secret)),
    'an event signed with the new secret',
  )
  expectAccepted(
    await harness.send(genuine(delivered, previousSecret)),
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

/** Changes the last digit of the total, or of the first number. */
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
