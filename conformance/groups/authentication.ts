import { createHmac } from 'node:crypto'
import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { balance, ping, quote } from '../shapes.ts'
import { canonical, hmac, newNonce, type Parts, sha256, signRequest } from '../signer.ts'
import { type Draft, type Tools, without } from '../tools.ts'

export const authentication = group('authentication', 'Authentication')
const { check } = authentication

const ENDPOINTS = [
  ['GET', '/ping'],
  ['GET', '/balance'],
  ['GET', '/catalogue'],
  ['GET', '/catalogue/12345678901234567'],
  ['POST', '/quote'],
  ['POST', '/orders'],
  ['GET', '/orders'],
  ['GET', '/orders/none'],
  ['GET', '/webhook'],
  ['POST', '/webhook'],
  ['DELETE', '/webhook'],
  ['POST', '/webhook/test'],
] as const
for (const [method, path] of ENDPOINTS) {
  check(
    `unsigned-${method.toLowerCase()}${path.replaceAll('/', '-')}`,
    `${method} ${path} is refused without credentials`,
    ['ep.signed', 'auth.hmac', 'd1.missing-header'],
    async (t) =>
      (await t.send({ method, path, ...(method === 'POST' && { body: '{}' }) })).refused(
        401,
        'authentication_failed',
      ),
  )
}

check(
  'ping',
  'a signed ping answers ok, name, status and account_status',
  ['ep.ping', 'ping.fields', 'auth.hmac'],
  async (t) => (await t.get(await t.buyer(), '/ping')).is(200).shaped(ping),
)
check('ping-active', 'both statuses of a ping are active', ['d2.ping-status'], async (t) => {
  const { json } = (await t.get(await t.buyer(), '/ping')).is(200)
  equal('status', json.status, 'active')
  equal('account_status', json.account_status, 'active')
})
check('ping-name', 'ping returns the name of the account', ['d2.ping-name', 'ping.fields'], async (t) => {
  const { json } = (await t.get(await t.buyer(), '/ping')).is(200)
  that('a name', typeof json.name === 'string' && json.name.length > 0, json.name)
})
check(
  'balance',
  'a signed balance is an integer of cents in USD',
  ['ep.balance', 'balance.fields', 'what.cents'],
  async (t) => (await t.get(await t.buyer(), '/balance')).is(200).shaped(balance),
)

const HEADERS = {
  key: 'x-api-key',
  timestamp: 'x-api-timestamp',
  nonce: 'x-api-nonce',
  signature: 'x-api-signature',
}
for (const [name, header] of Object.entries(HEADERS)) {
  const proves = [`auth.${name}`, 'fail.401']
  check(
    `missing-${name}`,
    `without ${header} the answer is 401`,
    [...proves, 'd1.missing-header'],
    async (t) =>
      (await t.get(await t.buyer(), '/ping', { edit: without(header) })).refused(
        401,
        'authentication_failed',
      ),
  )
  check(`empty-${name}`, `with an empty ${header} the answer is 401`, proves, async (t) =>
    (
      await t.get(await t.buyer(), '/ping', {
        edit: (list) => list.map(([n, v]) => [n, n.toLowerCase() === header ? '' : v]),
      })
    ).refused(401, 'authentication_failed'),
  )
  check(`twice-${name}`, `with ${header} twice the answer is 401`, ['d1.duplicate-headers'], async (t) =>
    (
      await t.get(await t.buyer(), '/ping', {
        edit: (list) => list.flatMap((pair) => (pair[0].toLowerCase() === header ? [pair, pair] : [pair])),
      })
    ).refused(401, 'authentication_failed'),
  )
}
check('header-case', 'the case of header names does not matter', ['auth.key'], async (t) =>
  (
    await t.get(await t.buyer(), '/ping', {
      edit: (list) => list.map(([n, v], at) => [at % 2 === 0 ? n.toUpperCase() : n.toLowerCase(), v]),
    })
  ).is(200),
)

/** Each signs something else than the interface says, in one way. */
const MISTAKES: [
  slug: string,
  what: string,
  proves: string[],
  sign: (parts: Parts, key: Key) => string,
  more?: Draft,
][] = [
  [
    'trailing-newline',
    'a newline at the end of the signed text',
    ['canon.join'],
    (p, k) => hmac(k.secret, `${canonical(p)}\n`),
  ],
  [
    'crlf',
    'lines of the signed text that end in CR LF',
    ['canon.join'],
    (p, k) => hmac(k.secret, canonical(p).replaceAll('\n', '\r\n')),
  ],
  [
    'no-separator',
    'a signed text without newlines',
    ['canon.join'],
    (p, k) => hmac(k.secret, canonical(p).replaceAll('\n', '')),
  ],
  [
    'swapped-lines',
    'nonce before timestamp in the signed text',
    ['canon.join'],
    (p, k) => hmac(k.secret, [p.method, p.target, p.nonce, p.timestamp, sha256(p.body)].join('\n')),
  ],
  [
    'lower-method',
    'the method signed in lower case',
    ['canon.method'],
    (p, k) => signRequest(k.secret, { ...p, method: p.method.toLowerCase() }),
  ],
  [
    'other-method',
    'the signature of another method',
    ['canon.method'],
    (p, k) => signRequest(k.secret, { ...p, method: 'POST' }),
  ],
  [
    'no-prefix',
    'the path signed without its prefix',
    ['canon.path', 'ver.path'],
    (p, k) => signRequest(k.secret, { ...p, target: p.target.replace('/v1', '') }),
  ],
  [
    'with-host',
    'the whole address signed instead of the path',
    ['canon.path'],
    (p, k) => signRequest(k.secret, { ...p, target: `https://shop.example${p.target}` }),
  ],
  [
    'other-path',
    'the signature of another path',
    ['canon.path'],
    (p, k) => signRequest(k.secret, { ...p, target: `${p.target}x` }),
  ],
  [
    'query-dropped',
    'a query that is not signed',
    ['canon.path'],
    (p, k) => signRequest(k.secret, { ...p, target: p.target.split('?')[0] ?? '' }),
    { path: '/catalogue?limit=1' },
  ],
  [
    'query-reordered',
    'a query signed in another order',
    ['canon.path'],
    (p, k) =>
      signRequest(k.secret, { ...p, target: p.target.replace('limit=1&offset=0', 'offset=0&limit=1') }),
    { path: '/catalogue?limit=1&offset=0' },
  ],
  [
    'query-decoded',
    'a query signed in decoded form',
    ['canon.path'],
    (p, k) => signRequest(k.secret, { ...p, target: decodeURIComponent(p.target) }),
    { path: '/catalogue?limit=1&search=a%20b' },
  ],
  [
    'bare-mark-dropped',
    'a bare question mark that is not signed',
    ['canon.path', 'd1.bare-query'],
    (p, k) => signRequest(k.secret, { ...p, target: p.target.replace('?', '') }),
    { path: '/ping?' },
  ],
  [
    'timestamp-changed',
    'another timestamp signed than sent',
    ['canon.timestamp'],
    (p, k) => signRequest(k.secret, { ...p, timestamp: String(Number(p.timestamp) - 1) }),
  ],
  [
    'nonce-changed',
    'another nonce signed than sent',
    ['canon.nonce'],
    (p, k) => signRequest(k.secret, { ...p, nonce: newNonce() }),
  ],
  [
    'no-body-line',
    'the line of the empty body left out',
    ['canon.body'],
    (p, k) => hmac(k.secret, canonical(p).split('\n').slice(0, 4).join('\n')),
  ],
  [
    'empty-body-line',
    'nothing instead of the hash of zero bytes',
    ['canon.body'],
    (p, k) => hmac(k.secret, canonical(p).replace(sha256(''), '')),
  ],
  [
    'body-as-object',
    'an absent body signed as {}',
    ['canon.body'],
    (p, k) => signRequest(k.secret, { ...p, body: Buffer.from('{}') }),
  ],
  [
    'hash-upper',
    'the hash of the body in upper case',
    ['canon.body'],
    (p, k) => hmac(k.secret, canonical(p).replace(sha256(p.body), sha256(p.body).toUpperCase())),
  ],
  [
    'body-reserialised',
    'a body that was written anew after signing',
    ['canon.bytes'],
    (p, k) =>
      signRequest(k.secret, {
        ...p,
        body: Buffer.from(JSON.stringify(JSON.parse(Buffer.from(p.body).toString()))),
      }),
    { method: 'POST', path: '/quote', body: '{ "items": [] }' },
  ],
  [
    'body-changed',
    'a body that was changed after signing',
    ['canon.body', 'canon.bytes'],
    (p, k) => signRequest(k.secret, { ...p, body: Buffer.from('{"items":[{"id":"12345678901234567"}]}') }),
    { method: 'POST', path: '/quote', body: '{"items":[{"id":"12345678901234568"}]}' },
  ],
  [
    'upper-case',
    'a signature in upper case',
    ['auth.signature'],
    (p, k) => signRequest(k.secret, p).toUpperCase(),
  ],
  [
    'base64',
    'a signature in base64',
    ['auth.signature'],
    (p, k) => Buffer.from(signRequest(k.secret, p), 'hex').toString('base64'),
  ],
  [
    'prefixed',
    'a signature with a prefix',
    ['auth.signature'],
    (p, k) => `sha256=${signRequest(k.secret, p)}`,
  ],
  ['cut', 'half a signature', ['auth.signature'], (p, k) => signRequest(k.secret, p).slice(0, 32)],
  [
    'last-digit',
    'a signature with its last digit changed',
    ['auth.signature'],
    (p, k) => signRequest(k.secret, p).replace(/.$/, (d) => (d === '0' ? '1' : '0')),
  ],
  [
    'sha512',
    'an HMAC with another hash',
    ['auth.hmac'],
    (p, k) => createHmac('sha512', k.secret).update(canonical(p)).digest('hex').slice(0, 64),
  ],
  ['no-hmac', 'a plain hash instead of an HMAC', ['auth.hmac'], (p) => sha256(canonical(p))],
  [
    'other-secret',
    'a secret that belongs to no key',
    ['auth.signature'],
    (p, k) => signRequest(`${k.secret}x`, p),
  ],
  ['key-as-secret', 'the key id used as secret', ['auth.signature'], (p, k) => signRequest(k.id, p)],
]
for (const [slug, what, proves, signature, more] of MISTAKES) {
  check(`mistake-${slug}`, `refuses ${what}`, [...proves, 'err.401'], async (t) =>
    (await t.send({ path: '/ping', key: await t.buyer(), signature, ...more })).refused(
      401,
      'authentication_failed',
    ),
  )
}

const cart = (t: Tools) => ({ items: [{ id: t.item('plain').id }] })
const RIGHT: [slug: string, what: string, proves: string[], draft: (t: Tools) => Draft][] = [
  [
    'query-percent',
    'a query with escapes, signed as sent',
    ['canon.path'],
    () => ({ path: '/catalogue?limit=1&search=%C3%A9%20%26' }),
  ],
  [
    'query-lower-escapes',
    'escapes in lower case, signed as sent',
    ['canon.path'],
    () => ({ path: '/catalogue?limit=1&search=%c3%a9' }),
  ],
  [
    'query-plus',
    'a plus in a query, signed as sent',
    ['canon.path'],
    () => ({ path: '/catalogue?limit=1&search=a+b' }),
  ],
  [
    'query-order',
    'parameters in any order, signed as sent',
    ['canon.path'],
    () => ({ path: '/catalogue?offset=0&limit=1' }),
  ],
  [
    'query-empty-value',
    'a parameter without a value, signed as sent',
    ['canon.path'],
    () => ({ path: '/catalogue?limit=1&search=' }),
  ],
  [
    'bare-question-mark',
    'a bare question mark, signed as sent',
    ['d1.bare-query', 'canon.path'],
    () => ({ path: '/ping?' }),
  ],
  [
    'body-spaced',
    'a body with spaces and newlines',
    ['canon.body', 'canon.bytes'],
    (t) => ({ method: 'POST', path: '/quote', body: `${JSON.stringify(cart(t), null, 2)}\n` }),
  ],
  [
    'body-escapes',
    'a body with escapes in its text',
    ['canon.body'],
    (t) => ({
      method: 'POST',
      path: '/quote',
      body: JSON.stringify(cart(t)).replace('items', '\\u0069tems'),
    }),
  ],
]
for (const [slug, what, proves, draft] of RIGHT) {
  check(
    `right-${slug}`,
    `takes ${what}`,
    [...proves, 'auth.hmac'],
    async (t) => (await t.send({ key: await t.buyer(), ...draft(t) })).is(200),
    { needs: ['item:plain'] },
  )
}
check(
  'post-signed',
  'takes a signed POST and answers JSON',
  ['ep.json', 'ep.quote'],
  async (t) => (await t.post(await t.buyer(), '/quote', cart(t))).is(200).shaped(quote),
  { needs: ['item:plain'] },
)
check(
  'delete-signed',
  'takes a signed DELETE without a body',
  ['canon.body', 'ep.webhook-delete'],
  async (t) => (await t.send({ method: 'DELETE', path: '/webhook', key: await t.buyer() })).is(200),
  { needs: ['webhooks'] },
)

check('unknown-key', 'refuses a key that does not exist', ['auth.key', 'err.401'], async (t) =>
  (await t.get(strangerOf(await t.buyer()), '/ping')).refused(401, 'authentication_failed'),
)
check('malformed-key', 'refuses a key id that is none', ['auth.key'], async (t) =>
  (await t.get({ ...(await t.buyer()), id: "' or 1=1 --" }, '/ping')).refused(401, 'authentication_failed'),
)
check('long-key', 'refuses a key id of 5000 characters', ['auth.key'], async (t) => {
  const { status } = await t.get({ ...(await t.buyer()), id: 'k'.repeat(5_000) }, '/ping')
  equal('status', status, 401)
})
check(
  'revoked-key',
  'refuses a revoked key',
  ['scope.revoked', 'err.401'],
  async (t) => (await t.get(t.key('revoked'), '/ping')).refused(401, 'authentication_failed'),
  { needs: ['revoked'] },
)
check(
  'revoked-at-once',
  'a key ends with its revocation, not later',
  ['scope.revoked'],
  async (t) => {
    const { account } = await t.buyer()
    const key = await t.operator.newKey(account, 'all')
    ;(await t.get(key, '/ping')).is(200)
    await t.operator.revoke(key)
    ;(await t.get(key, '/ping')).refused(401, 'authentication_failed')
  },
  { needs: ['operator'] },
)
check(
  'one-text',
  'unknown, revoked and wrong credentials all get the same answer',
  ['d1.401-detail'],
  async (t) => {
    const key = await t.buyer()
    const replies = [
      await t.get(strangerOf(key), '/ping'),
      await t.get(key, '/ping', { signature: () => '0'.repeat(64) }),
      ...(t.fixtures.revoked ? [await t.get(t.fixtures.revoked, '/ping')] : []),
    ]
    const bodies = new Set(replies.map(({ body }) => body.toString()))
    that('one answer for all of them', bodies.size === 1, [...bodies])
  },
)
check(
  'names-header',
  'a missing and a malformed header are named, with the same text for a known and an unknown key',
  ['d1.401-detail'],
  async (t) => {
    const key = await t.buyer()
    const unsigned = { edit: without('x-api-signature') }
    const malformed = { signature: () => 'sha256=' }
    for (const draft of [unsigned, malformed]) {
      const [known, unknown] = [
        await t.get(key, '/ping', draft),
        await t.get(strangerOf(key), '/ping', draft),
      ]
      known.refused(401, 'authentication_failed')
      const text = known.body.toString()
      that('the header is named', text.includes('X-Api-Signature'), text)
      that('the same text for both keys', text === unknown.body.toString(), unknown.body.toString())
    }
  },
)
check(
  'before-scope',
  'who is not proven learns nothing about scopes',
  ['d1.401-403'],
  async (t) => {
    const key = t.fixtures.without?.['account:read']
    ;(await t.get({ ...(key as Key), secret: 'wrong' }, '/ping')).refused(401, 'authentication_failed')
  },
  { needs: ['without'] },
)
check(
  'before-suspension',
  'who is not proven learns nothing about a suspension',
  ['d1.401-403'],
  async (t) =>
    (await t.get({ ...t.key('suspended'), secret: 'wrong' }, '/ping')).refused(401, 'authentication_failed'),
  { needs: ['suspended'] },
)
check(
  'before-validation',
  'who is not proven learns nothing about the body',
  ['d1.401-403', 'fail.401'],
  async (t) =>
    (await t.post({ ...(await t.buyer()), secret: 'wrong' }, '/quote', 'not json')).refused(
      401,
      'authentication_failed',
    ),
)
check('before-lookup', 'who is not proven learns nothing about an item', ['d1.401-403'], async (t) =>
  (await t.get({ ...(await t.buyer()), secret: 'wrong' }, '/catalogue/x')).refused(
    401,
    'authentication_failed',
  ),
)
check(
  'body-bytes',
  'bytes that are not UTF-8 are proven first and refused as a body',
  ['canon.bytes', 'd1.json'],
  async (t) =>
    (await t.post(await t.buyer(), '/quote', Buffer.from([0x7b, 0xff, 0x7d]))).refused(
      400,
      'invalid_request',
    ),
)
check(
  'several-keys',
  'several keys of one account live side by side and name the same account',
  ['what.reads', 'd3.api-secret'],
  async (t) => {
    const keys = [t.fixtures.only?.['account:read'], t.fixtures.without?.['orders:write']] as Key[]
    const names = []
    for (const key of keys) names.push((await t.get(key, '/ping')).is(200).json.name)
    equal('the second name', names[1], names[0])
  },
  { needs: ['only', 'without'] },
)

function strangerOf(key: Key): Key {
  // One letter off, in the same form.
  return { ...key, id: key.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }
}
