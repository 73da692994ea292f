import { setTimeout as sleep } from 'node:timers/promises'
import { group } from '../check.ts'
import { that } from '../expect.ts'
import { newNonce, nowS } from '../signer.ts'
import type { Draft, Tools } from '../tools.ts'

export const clock = group('clock', 'Timestamps')
const { check } = clock

const ATTEMPTS_MAX = 5

/** Just after the beginning of a second, so that both sides read the same one; again when the answer came in another one. */
async function signedAt(t: Tools, offsetS: number, more: Draft = {}) {
  const key = await t.buyer()
  for (let attempt = 1; ; attempt += 1) {
    await t.waitForCapacity(key)
    await sleep(1_000 - (Date.now() % 1_000) + 20)
    const signedS = nowS()
    const reply = await t.get(key, '/ping', {
      timestamp: String(signedS + offsetS),
      isUnpaced: true,
      ...more,
    })
    if (nowS() === signedS || attempt === ATTEMPTS_MAX) return reply
  }
}

for (const offset of [0, -30, 30, -60, 60]) {
  check(
    `takes${offset < 0 ? '' : '-plus'}${offset}`,
    `a timestamp ${offset} s from the clock is taken`,
    ['auth.timestamp', 'lim.clock', ...(Math.abs(offset) === 60 ? ['d1.clock-edge'] : [])],
    async (t) => (await signedAt(t, offset)).is(200),
  )
}
for (const offset of [-61, 61, -3_600, 3_600, -86_400 * 365]) {
  check(
    `refuses${offset < 0 ? '' : '-plus'}${offset}`,
    `a timestamp ${offset} s from the clock is refused`,
    ['auth.timestamp', 'lim.clock', 'fail.401', ...(Math.abs(offset) === 61 ? ['d1.clock-edge'] : [])],
    async (t) => (await signedAt(t, offset)).refused(401, 'timestamp_out_of_range'),
  )
}
const FORMS: [string, string, (s: number) => string][] = [
  ['milliseconds', 'milliseconds', (s) => `${s}000`],
  ['fraction', 'a fraction', (s) => `${s}.0`],
  ['plus', 'a plus sign', (s) => `+${s}`],
  ['minus', 'a minus sign', (s) => `-${s}`],
  ['leading-zero', 'a leading zero', (s) => `0${s}`],
  ['hex', 'hexadecimal', (s) => `0x${s.toString(16)}`],
  ['exponent', 'an exponent', (s) => `${s}e0`],
  ['words', 'a date as text', (s) => new Date(s * 1000).toISOString()],
  ['list', 'two of them', (s) => `${s}, ${s}`],
]
for (const [slug, what, spell] of FORMS) {
  check(
    `form-${slug}`,
    `a timestamp written as ${what} is refused`,
    ['auth.timestamp', 'd1.timestamp-form'],
    async (t) => (await t.get(await t.buyer(), '/ping', { timestamp: spell(nowS()) })).refused(401),
  )
}
check(
  'before-signature',
  'the clock is looked at before the signature',
  ['d1.order', 'd1.401-detail'],
  async (t) =>
    (await signedAt(t, -3_600, { signature: () => 'a'.repeat(64) })).refused(401, 'timestamp_out_of_range'),
)
check('keeps-nonce', 'a stale timestamp does not spend its nonce', ['d1.nonce-failed-auth'], async (t) => {
  const key = await t.buyer()
  const nonce = newNonce()
  ;(await t.get(key, '/ping', { nonce, timestamp: String(nowS() - 3_600) })).refused(401)
  ;(await t.get(key, '/ping', { nonce })).is(200)
})
check('date', 'every answer has the time of the service in Date', ['d1.response-headers'], async (t) => {
  const reply = await t.get(await t.buyer(), '/ping')
  const offMs = Math.abs(Date.parse(reply.header('date') ?? '') - Date.now())
  that('a Date near now', offMs < 60_000, reply.header('date'))
})
