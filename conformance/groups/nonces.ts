import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { newNonce, nowS } from '../signer.ts'
import { newOrderKey, type Tools } from '../tools.ts'

export const nonces = group('nonces', 'Nonces')
const { check } = nonces

for (const length of [32, 33, 48, 64]) {
  check(
    `length-${length}`,
    `a nonce of ${length} characters is taken`,
    ['auth.nonce', 'lim.nonce'],
    async (t) => (await t.get(await t.buyer(), '/ping', { nonce: newNonce(length) })).is(200),
  )
}
const FORMS: [string, string, string][] = [
  ['short', '31 characters', newNonce(31)],
  ['long', '65 characters', newNonce(65)],
  ['upper-case', 'upper case', `A${newNonce(31)}`],
  ['not-hex', 'a letter beyond f', `g${newNonce(31)}`],
  ['uuid', 'dashes', '0b6f1c1e-4c3a-4b5e-9d55-0123456789ab'],
  ['spaced', 'a space inside', `${newNonce(16)} ${newNonce(16)}`],
]
for (const [slug, what, nonce] of FORMS) {
  check(
    `form-${slug}`,
    `a nonce with ${what} is refused`,
    ['auth.nonce', 'lim.nonce', 'fail.401'],
    async (t) => (await t.get(await t.buyer(), '/ping', { nonce })).refused(401, 'authentication_failed'),
  )
}

const SINGLE = ['auth.nonce', 'lim.nonce']
check('twice', 'the same bytes a second time are refused', [...SINGLE, 'err.401'], async (t) => {
  const key = await t.buyer()
  await t.waitForCapacity(key, 2)
  const bytes = t.bytes({ path: '/ping', key })
  ;(await t.raw(bytes)).is(200)
  ;(await t.raw(bytes)).refused(401, 'nonce_reused')
})
check('other-timestamp', 'a spent nonce stays spent under another timestamp', SINGLE, async (t) => {
  const key = await t.buyer()
  const nonce = newNonce()
  ;(await t.get(key, '/ping', { nonce })).is(200)
  ;(await t.get(key, '/ping', { nonce, timestamp: String(nowS() + 5) })).refused(401, 'nonce_reused')
})
check('other-target', 'a spent nonce stays spent for another path', SINGLE, async (t) => {
  const key = await t.buyer()
  const nonce = newNonce()
  ;(await t.get(key, '/ping', { nonce })).is(200)
  ;(await t.get(key, '/balance', { nonce })).refused(401, 'nonce_reused')
})
check('at-once', 'of twenty copies at one moment one passes', SINGLE, async (t) => {
  const key = await t.buyer()
  await t.waitForCapacity(key, 20)
  const bytes = t.bytes({ path: '/ping', key })
  const replies = await Promise.all(Array.from({ length: 20 }, () => t.raw(bytes)))
  equal('how many passed', replies.filter(({ status }) => status === 200).length, 1)
  for (const reply of replies) if (reply.status !== 200) reply.refused(401, 'nonce_reused')
})
check(
  'per-key',
  'the same nonce under another key of the account is another one',
  ['d1.nonce-scope'],
  async (t) => {
    const nonce = newNonce()
    const keys = Object.values(t.fixtures.only ?? {}).slice(0, 2) as Key[]
    for (const key of keys) {
      const { status } = await t.get(key, '/catalogue?limit=1', { nonce })
      that('200 or 403, but no 401', status !== 401, status)
    }
  },
  { needs: ['only'] },
)
check(
  'other-account',
  'the same nonce in another account is another one',
  ['d1.nonce-scope'],
  async (t) => {
    const nonce = newNonce()
    for (const key of await t.buyers(2)) (await t.get(key, '/ping', { nonce })).is(200)
  },
  { needs: ['twoBuyers'] },
)
check(
  'wrong-signature',
  'a wrong signature does not spend the nonce',
  ['d1.nonce-failed-auth'],
  async (t) => {
    const key = await t.buyer()
    const nonce = newNonce()
    ;(await t.get(key, '/ping', { nonce, signature: () => 'b'.repeat(64) })).refused(401)
    ;(await t.get(key, '/ping', { nonce })).is(200)
  },
)
check(
  'unknown-path',
  'a path that does not exist does not spend the nonce',
  ['d1.unknown-path', 'd1.order'],
  async (t) => {
    const key = await t.buyer()
    const nonce = newNonce()
    ;(await t.get(key, '/nothing', { nonce })).refused(404)
    ;(await t.get(key, '/ping', { nonce })).is(200)
  },
)
check('after-413', 'a body that is too large does not spend the nonce', ['d1.408-413'], async (t) => {
  const key = await t.buyer()
  const nonce = newNonce()
  ;(await t.post(key, '/quote', 'x'.repeat(16_385), { nonce })).refused(413)
  ;(await t.get(key, '/ping', { nonce })).is(200)
})

const SPENT: [string, string, (t: Tools, key: Key, nonce: string) => Promise<{ status: number }>, number][] =
  [
    ['400', 'an invalid request', (t, key, nonce) => t.get(key, '/catalogue?limit=0', { nonce }), 400],
    ['404', 'an unknown item', (t, key, nonce) => t.get(key, '/catalogue/x', { nonce }), 404],
    [
      '409',
      'an order for what is not there',
      (t, key, nonce) => t.order(key, [{ id: '99999999999999999999' }], { nonce }),
      409,
    ],
  ]
for (const [slug, what, send, status] of SPENT) {
  check(`after-${slug}`, `${what} (${slug}) spends its nonce`, ['d1.nonce-spent', ...SINGLE], async (t) => {
    const key = await t.buyer()
    const nonce = newNonce()
    equal('the first status', (await send(t, key, nonce)).status, status)
    ;(await t.get(key, '/ping', { nonce })).refused(401, 'nonce_reused')
  })
}
check(
  'after-403',
  'a missing scope (403) spends the nonce',
  ['d1.nonce-spent'],
  async (t) => {
    const key = t.fixtures.without?.['account:read'] as Key
    const nonce = newNonce()
    ;(await t.get(key, '/ping', { nonce })).refused(403)
    ;(await t.get(key, '/catalogue?limit=1', { nonce })).refused(401, 'nonce_reused')
  },
  { needs: ['without'] },
)
check(
  'captured-order',
  'a captured order cannot be sent again, not even as a replay',
  [...SINGLE, 'orule.7'],
  async (t) => {
    const key = await t.buyer()
    const body = JSON.stringify({ items: [{ id: t.item('plain').id }], idempotency_key: newOrderKey() })
    await t.waitForCapacity(key, 2, true)
    const bytes = t.bytes({ method: 'POST', path: '/orders', key, body })
    ;(await t.raw(bytes)).is(201)
    ;(await t.raw(bytes)).refused(401, 'nonce_reused')
  },
  { needs: ['spend', 'item:plain'] },
)
check(
  'fresh-for-retries',
  'a retry with a fresh nonce and the same body passes',
  ['auth.nonce', 'orule.7'],
  async (t) => {
    const key = await t.buyer()
    for (let n = 0; n < 3; n += 1) (await t.get(key, '/ping')).is(200)
  },
)
