import { setTimeout as sleep } from 'node:timers/promises'
import { webhookHeadersLower } from '@shopwire/contract'
import { webhookSignatureMatches } from '@shopwire/contract/signing'
import type { Arrival } from '@shopwire/test-kit/receivers/webhook-receiver'
import { until } from '@shopwire/test-kit/servers'
import { describe, expect } from 'vitest'
import { IS_SHORT } from '../../../test-forms.ts'
import { type Customer, SOON_MS, THERE, test } from './rig.ts'

const CHANGERS = 24
const CHANGES_EACH = IS_SHORT ? 8 : 16
const SEND_EVERY_MS = 100

describe('threat 60: a URL that changes while events are being sent', () => {
  test(`nothing reaches the old URL after the change was answered, ${CHANGERS} accounts at once; the rate is printed`, async ({
    rig,
    listen,
    annotate,
  }) => {
    const places = await Promise.all([
      listen('here.example.net'),
      listen('there.example.net', { address: THERE }),
    ])
    const customers = await rig.anyAccounts(CHANGERS)
    const urlOf = ({ account_id }: Customer, n: number) => `${places[n % 2]?.origin}/${account_id}/${n}`
    await Promise.all(customers.map((customer) => customer.configure(urlOf(customer, 0))))
    for (const place of places) place.setSecrets(...customers.map(({ secret }) => secret()))
    const answeredMs = new Map<string, number>()

    /** Every URL is used once, so whatever comes to one after the next was answered has come too late. */
    async function change(customer: Customer) {
      for (let n = 1; n <= CHANGES_EACH; n += 1) {
        expect((await customer.configure(urlOf(customer, n))).status).toBe(200)
        answeredMs.set(urlOf(customer, n - 1), Date.now())
      }
    }
    let isChanging = true
    async function send({ sendTest }: Customer) {
      while (isChanging) await Promise.all([sendTest(), sleep(SEND_EVERY_MS)])
    }
    const beganMs = Date.now()
    const sending = Promise.all(customers.map(send))
    await Promise.all(customers.map(change))
    const tookS = (Date.now() - beganMs) / 1000
    isChanging = false
    await sending
    await Promise.all(customers.map(({ untilNothingPending }) => untilNothingPending()))

    const received = places.flatMap((place) => place.arrivals)
    const changes = CHANGERS * CHANGES_EACH
    await annotate(`${Math.round(changes / tookS)} changes a second, ${received.length} events arrived`)
    const late = received.filter(({ url, atMs }) => atMs > (answeredMs.get(url) ?? Infinity))
    expect(late.map(({ url, atMs }) => [url, atMs - (answeredMs.get(url) ?? 0)])).toEqual([])
    expect(received.length).toBeGreaterThan(changes / 4)
  })
})

describe('threat 61: a secret rotated between two attempts', () => {
  test('the next attempt is signed with both the new and the old secret', async ({ subscribe }) => {
    const { receiver, sendTest, untilError, rotateSecret, makeDue, ...customer } =
      await subscribe('rotated.example.net')
    receiver.answers(({ response }) => response.writeHead(500).end())
    await sendTest()
    await untilError('http_500')
    const old = customer.secret()
    await rotateSecret()
    const fresh = customer.secret()
    receiver.setSecrets(fresh)
    receiver.answers(({ response }) => response.writeHead(200).end())
    await makeDue()
    await until(
      () => receiver.arrivals.length === 2,
      SOON_MS,
      () => 'the second attempt does not come',
    )
    const [before, after] = receiver.arrivals as [Arrival, Arrival]
    expect([after.id, after.body]).toEqual([before.id, before.body])
    expect(signersOf(before, { old, fresh })).toEqual({
      signature: 'old',
      previousSignature: undefined,
    })
    expect(signersOf(after, { old, fresh })).toEqual({ signature: 'fresh', previousSignature: 'old' })
  })
})

test('all invariants hold after the tests above', ({ rig }) => rig.expectAllHolds())

/** Whose secret made each signature. */
function signersOf({ headers, id, body }: Arrival, secrets: Record<string, string>) {
  const parts = { timestamp: String(headers[webhookHeadersLower.timestamp]), id, body: Buffer.from(body) }
  const signerOf = (presented: unknown) =>
    Object.keys(secrets).find((name) => webhookSignatureMatches(secrets[name] ?? '', parts, presented))
  return {
    signature: signerOf(headers[webhookHeadersLower.signature]),
    previousSignature: signerOf(headers[webhookHeadersLower.previousSignature]),
  }
}
