import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key, Scope } from '../fixtures.ts'
import { scopes as allScopes } from '../fixtures.ts'
import { type Draft, newOrderKey, type Tools } from '../tools.ts'

export const scopes = group('scopes', 'Scopes and suspension')
const { check } = scopes

const UNKNOWN = '99999999999999999999'
/** What a key with the scope gets from a request that does no harm. */
const ROWS: [name: string, scope: Scope, draft: () => Draft, passes: number][] = [
  ['ping', 'account:read', () => ({ path: '/ping' }), 200],
  ['balance', 'account:read', () => ({ path: '/balance' }), 200],
  ['catalogue', 'catalogue:read', () => ({ path: '/catalogue?limit=1' }), 200],
  ['catalogue-id', 'catalogue:read', () => ({ path: `/catalogue/${UNKNOWN}` }), 404],
  [
    'quote',
    'catalogue:read',
    () => ({ method: 'POST', path: '/quote', body: JSON.stringify({ items: [{ id: UNKNOWN }] }) }),
    200,
  ],
  [
    'orders-post',
    'orders:write',
    () => ({
      method: 'POST',
      path: '/orders',
      body: JSON.stringify({ items: [{ id: UNKNOWN }], idempotency_key: newOrderKey() }),
    }),
    409,
  ],
  ['orders', 'orders:read', () => ({ path: '/orders' }), 200],
  ['orders-id', 'orders:read', () => ({ path: '/orders/ord_none' }), 404],
  ['webhook', 'webhooks:read', () => ({ path: '/webhook' }), 200],
  ['webhook-post', 'webhooks:write', () => ({ method: 'POST', path: '/webhook', body: '{"url":null}' }), 200],
  ['webhook-delete', 'webhooks:write', () => ({ method: 'DELETE', path: '/webhook' }), 200],
  ['webhook-test', 'webhooks:write', () => ({ method: 'POST', path: '/webhook/test', body: '{}' }), 409],
]
const called = ({ method = 'GET', path = '' }: Draft) => `${method} ${path.split('?')[0]}`
for (const [name, scope, draft, passes] of ROWS) {
  check(
    `only-${name}`,
    `${called(draft())} needs ${scope} and nothing more`,
    [`ep.${name}`, 'scope.list'],
    async (t) => (await t.send({ ...draft(), key: keyOf(t, 'only', scope) })).is(passes),
    { needs: name.startsWith('webhook-') ? ['only', 'webhooks'] : ['only'] },
  )
  check(
    `without-${name}`,
    `${called(draft())} is refused to a key with every scope but ${scope}`,
    [`ep.${name}`, 'scope.403', 'fail.403', 'err.403'],
    async (t) =>
      (await t.send({ ...draft(), key: keyOf(t, 'without', scope) })).refused(403, 'insufficient_scope'),
    { needs: ['without'] },
  )
  check(
    `suspended-${name}`,
    `${called(draft())} is refused to a suspended account`,
    ['fail.403', 'err.403', 'd2.suspended'],
    async (t) => (await t.send({ ...draft(), key: t.key('suspended') })).refused(403, 'account_suspended'),
    { needs: ['suspended'] },
  )
}
check(
  'suspended-at-once',
  'a suspension counts from the next request, and so does its end',
  ['d2.suspended', 'fail.403'],
  async (t) => {
    const key = await t.buyer()
    ;(await t.get(key, '/ping')).is(200)
    await t.operator.suspend(key.account)
    t.afterwards(() => t.operator.resume(key.account))
    ;(await t.get(key, '/ping')).refused(403, 'account_suspended')
  },
  { needs: ['operator'] },
)
check(
  'url-needs-two',
  'setting a URL needs orders:read as well',
  ['whbody.scopes', 'ep.webhook-post', 'd1.webhook-url-scope'],
  async (t) =>
    (
      await t.post(keyOf(t, 'only', 'webhooks:write'), '/webhook', { url: 'https://93.184.216.34/x' })
    ).refused(403, 'insufficient_scope'),
  { needs: ['only', 'webhooks'] },
)
check(
  'url-needs-write',
  'setting a URL needs webhooks:write, whatever else the key has',
  ['whbody.scopes'],
  async (t) =>
    (
      await t.post(keyOf(t, 'without', 'webhooks:write'), '/webhook', { url: 'https://93.184.216.34/x' })
    ).refused(403, 'insufficient_scope'),
  { needs: ['without'] },
)
check(
  'url-body-first',
  'a body that is none is 400 before the second scope is asked for',
  ['d1.webhook-url-scope'],
  async (t) =>
    (await t.post(keyOf(t, 'only', 'webhooks:write'), '/webhook', { url: 'ftp://93.184.216.34/x' })).refused(
      400,
    ),
  { needs: ['only'] },
)
check(
  '403-before-400',
  'a missing scope is returned before an invalid query',
  ['d1.403-400-404'],
  async (t) =>
    (await t.get(keyOf(t, 'without', 'catalogue:read'), '/catalogue?limit=0')).refused(
      403,
      'insufficient_scope',
    ),
  { needs: ['without'] },
)
check(
  '403-before-body',
  'a missing scope is returned before an invalid body',
  ['d1.403-400-404'],
  async (t) =>
    (await t.post(keyOf(t, 'without', 'orders:write'), '/orders', 'no json')).refused(
      403,
      'insufficient_scope',
    ),
  { needs: ['without'] },
)
check(
  '403-before-404',
  'a missing scope is returned before an unknown order',
  ['d1.403-400-404'],
  async (t) =>
    (await t.get(keyOf(t, 'without', 'orders:read'), '/orders/ord_none')).refused(403, 'insufficient_scope'),
  { needs: ['without'] },
)
check(
  '400-before-404',
  'an invalid request is returned before anything is looked up',
  ['d1.403-400-404', 'd1.order'],
  async (t) => {
    const reply = await t.send({ path: `/catalogue/${UNKNOWN}`, key: await t.buyer(), body: '{}' })
    reply.refused(400, 'invalid_request')
  },
)
check('six', 'a key with all six scopes is refused nowhere', ['scope.list'], async (t) => {
  equal('number of scopes', allScopes.length, 6)
  const key = await t.buyer()
  for (const [, , draft] of ROWS.filter(([name]) => !name.startsWith('webhook-'))) {
    const { status } = await t.send({ ...draft(), key })
    that('no 403', status !== 403, status)
  }
})

function keyOf(t: Tools, kind: 'only' | 'without', scope: Scope): Key {
  return t.fixtures[kind]?.[scope] as Key
}
