import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { webhookConfiguration as configurationShape, webhookHealth, webhookTest } from '../shapes.ts'
import type { Tools } from '../tools.ts'

export const webhookConfiguration = group('webhook-configuration', 'Webhook configuration', ['webhooks'])
const { check } = webhookConfiguration

const NONE = {
  webhook_url: null,
  pending: 0,
  failed: 0,
  last_delivered_at: null,
  last_failure_at: null,
  last_error: null,
}
const remove = (t: Tools, key: Key) => t.send({ method: 'DELETE', path: '/webhook', key })
const set = (t: Tools, key: Key, url: string | null) => t.post(key, '/webhook', { url })

/** An account without an endpoint, and none afterwards. */
export async function bare(t: Tools): Promise<Key> {
  const key = await t.buyer()
  await remove(t, key)
  t.afterwards(() => remove(t, key))
  return key
}

check(
  'none',
  'without an endpoint there is no URL and nothing is counted',
  ['ep.webhook', 'health.fields', 'd3.idempotent'],
  async (t) => {
    const reply = (await t.get(await bare(t), '/webhook')).is(200).shaped(webhookHealth)
    equal('the health', reply.json, NONE)
  },
)
check(
  'delete-none',
  'deleting what is not there is 200 and changes nothing',
  ['ep.webhook-delete', 'd3.idempotent'],
  async (t) => {
    const reply = (await remove(t, await bare(t))).is(200).shaped(webhookHealth)
    equal('the health', reply.json, NONE)
  },
)
check(
  'null-none',
  'null where there is none is 200 and changes nothing',
  ['whbody.null', 'd3.idempotent'],
  async (t) => {
    const reply = (await set(t, await bare(t), null)).is(200).shaped(configurationShape)
    equal('the configuration', reply.json, NONE)
  },
)
check('test-none', 'a test without an endpoint is 409', ['d3.test-none'], async (t) =>
  (await t.post(await bare(t), '/webhook/test', {})).refused(409, 'webhook_not_configured'),
)

/** The life of an endpoint: made, said again, moved, stopped, made again, deleted. */
const life = (t: Tools) =>
  t.scene('endpoint-life', async (tools) => {
    const key = await bare(tools)
    const [here, there] = [tools.receiver.open().url, tools.receiver.open().url]
    return {
      here,
      there,
      made: await set(tools, key, here),
      health: await tools.get(key, '/webhook'),
      again: await set(tools, key, here),
      moved: await set(tools, key, there),
      stopped: await set(tools, key, null),
      stoppedTest: await tools.post(key, '/webhook/test', {}),
      remade: await set(tools, key, here),
      deleted: await remove(tools, key),
      deletedAgain: await remove(tools, key),
    }
  })
const receiving = { needs: ['receiver'] } as const
check(
  'made',
  'a URL makes an endpoint and shows its secret',
  ['ep.webhook-post', 'whbody.register', 'whbody.secret', 'config.secret'],
  async (t) => {
    const { made, here } = await life(t)
    made.is(200).shaped(configurationShape)
    equal('webhook_url', made.json.webhook_url, here)
    that('a secret', typeof made.json.secret === 'string', Object.keys(made.json))
  },
  receiving,
)
check(
  'secret-form',
  'the secret is whsec_ and 32 random bytes',
  ['d3.secret-form'],
  async (t) => {
    const { secret = '' } = (await life(t)).made.is(200).json
    that('whsec_ and at least 43 characters', /^whsec_[A-Za-z0-9+/=_-]{43,}$/.test(secret), secret.length)
  },
  receiving,
)
check(
  'secret-separate',
  'the webhook secret is not the secret of an API key',
  ['whbody.separate-secret'],
  async (t) => {
    const { secret } = (await life(t)).made.is(200).json
    that(
      'another secret',
      t.fixtures.buyers.every((key) => key.secret !== secret),
      'the same',
    )
  },
  receiving,
)
check(
  'health',
  'reading it shows the URL and no secret',
  ['ep.webhook', 'config.secret', 'health.fields'],
  async (t) => {
    const { health, here } = await life(t)
    equal('webhook_url', health.is(200).shaped(webhookHealth).json.webhook_url, here)
  },
  receiving,
)
check(
  'again',
  'the same URL again shows no secret',
  ['config.secret', 'whbody.secret', 'd3.same-url'],
  async (t) => {
    const { json } = (await life(t)).again.is(200).shaped(configurationShape)
    equal('secret', json.secret, undefined)
  },
  receiving,
)
check(
  'moved',
  'another URL shows no secret: it is kept',
  ['config.secret', 'whbody.secret', 'd3.change-url'],
  async (t) => {
    const { moved, there } = await life(t)
    equal('webhook_url', moved.is(200).shaped(configurationShape).json.webhook_url, there)
    equal('secret', moved.json.secret, undefined)
  },
  receiving,
)
check(
  'stopped',
  'null stops deliveries',
  ['whbody.null', 'd3.idempotent'],
  async (t) => {
    const { stopped, stoppedTest } = await life(t)
    equal('webhook_url', stopped.is(200).json.webhook_url, null)
    stoppedTest.refused(409, 'webhook_not_configured')
  },
  receiving,
)
check(
  'remade',
  'a URL after null is a new endpoint with a new secret',
  ['d3.null-then-url', 'config.secret'],
  async (t) => {
    const { made, remade } = await life(t)
    that(
      'a new secret',
      typeof remade.is(200).json.secret === 'string' && remade.json.secret !== made.json.secret,
      'the old one or none',
    )
  },
  receiving,
)
check(
  'deleted',
  'DELETE ends it, and may be repeated',
  ['ep.webhook-delete', 'd3.idempotent'],
  async (t) => {
    const { deleted, deletedAgain } = await life(t)
    for (const reply of [deleted, deletedAgain])
      equal('webhook_url', reply.is(200).shaped(webhookHealth).json.webhook_url, null)
  },
  receiving,
)
check(
  'queued',
  'a test is queued',
  ['ep.webhook-test', 'test-result', 'whtest.queue'],
  async (t) => {
    const key = await bare(t)
    ;(await set(t, key, t.receiver.open().url)).is(200)
    ;(await t.post(key, '/webhook/test', {})).is(200).shaped(webhookTest)
  },
  receiving,
)
check(
  'test-spends-nothing',
  'a test makes no order and spends nothing',
  ['whtest.queue'],
  async (t) => {
    const key = await bare(t)
    ;(await set(t, key, t.receiver.open().url)).is(200)
    const before = [await t.balance(key), (await t.get(key, '/orders?limit=1')).json.total]
    ;(await t.post(key, '/webhook/test', {})).is(200)
    equal(
      'balance and orders',
      [await t.balance(key), (await t.get(key, '/orders?limit=1')).json.total],
      before,
    )
  },
  receiving,
)
check(
  'ten-tests',
  'ten tests that are not accepted may be queued within a minute, the eleventh is refused with a wait of at most that',
  ['d3.test-cost'],
  async (t) => {
    const key = await bare(t)
    const inbox = t.receiver.open()
    inbox.answers(() => ({ status: 500 }))
    ;(await set(t, key, inbox.url)).is(200)
    for (let n = 0; n < 10; n += 1) (await t.post(key, '/webhook/test', {})).is(200)
    const eleventh = await t.post(key, '/webhook/test', {})
    eleventh.refused(429)
    const waitS = Number(eleventh.header('retry-after'))
    that('Retry-After of 1 to 60 s', Number.isInteger(waitS) && waitS >= 1 && waitS <= 60, waitS)
  },
  receiving,
)
for (const [slug, body] of [
  ['extra', '{"url":"x"}'],
  ['list', '[]'],
  ['empty', ''],
  ['null', 'null'],
  ['text', 'test'],
] as const) {
  check(
    `test-body-${slug}`,
    `a test with the body ${body || '(none)'} is refused`,
    ['ep.webhook-test', 'd1.empty-body', 'err.400'],
    async (t) => (await t.post(await t.buyer(), '/webhook/test', body)).refused(400, 'invalid_request'),
  )
}

const BODIES: [slug: string, what: string, body: string][] = [
  ['none', 'no body', ''],
  ['no-url', 'no url', '{}'],
  ['extra', 'another property', '{"url":null,"secret":"x"}'],
  ['number', 'a number', '{"url":1}'],
  ['empty', 'an empty url', '{"url":""}'],
  ['http', 'http', '{"url":"http://93.184.216.34/x"}'],
  ['upper-case', 'HTTPS in upper case', '{"url":"HTTPS://93.184.216.34/x"}'],
  ['space', 'a space in front', '{"url":" https://93.184.216.34/x"}'],
  ['ftp', 'another scheme', '{"url":"ftp://93.184.216.34/x"}'],
  [
    'long',
    'more than 2048 characters',
    JSON.stringify({ url: `https://93.184.216.34/${'x'.repeat(2_048)}` }),
  ],
]
for (const [slug, what, body] of BODIES) {
  check(
    `refuses-body-${slug}`,
    `${what} is refused`,
    ['whbody.url', 'err.400', ...(slug === 'long' ? ['d3.url-rules'] : [])],
    async (t) => (await t.post(await t.buyer(), '/webhook', body)).refused(400, 'invalid_request'),
  )
}
const URLS: [slug: string, url: string][] = [
  ['localhost', 'https://localhost/x'],
  ['loopback', 'https://127.0.0.1/x'],
  ['loopback-number', 'https://2130706433/x'],
  ['loopback-hex', 'https://0x7f.1/x'],
  ['loopback-6', 'https://[::1]/x'],
  ['mapped', 'https://[::ffff:127.0.0.1]/x'],
  ['ten', 'https://10.0.0.1/x'],
  ['172', 'https://172.16.0.1/x'],
  ['192', 'https://192.168.1.1/x'],
  ['shared', 'https://100.64.0.1/x'],
  ['link-local', 'https://169.254.169.254/latest/meta-data'],
  ['unique-local', 'https://[fd00::1]/x'],
  ['zero', 'https://0.0.0.0/x'],
  ['multicast', 'https://224.0.0.1/x'],
  ['one-label', 'https://intranet/x'],
  ['credentials', 'https://user:pass@93.184.216.34/x'],
  ['fragment', 'https://93.184.216.34/x#y'],
  ['port-22', 'https://93.184.216.34:22/x'],
  ['port-80', 'https://93.184.216.34:80/x'],
  ['port-6000', 'https://93.184.216.34:6000/x'],
  ['no-host', 'https:///'],
]
for (const [slug, url] of URLS) {
  const isRule = /port|credentials|fragment|host$/.test(slug)
  check(
    `refuses-url-${slug}`,
    `${url} is refused`,
    [...(isRule ? ['d3.url-rules'] : ['ev.public', 'd3.url-rules']), 'whbody.register'],
    async (t) => {
      const key = await t.buyer()
      const reply = await set(t, key, url)
      if (reply.status === 200) await remove(t, key)
      reply.refused(400, 'webhook_url_not_allowed')
    },
  )
}
